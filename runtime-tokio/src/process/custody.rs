//! The leader, unreaped, and with it the right to signal its session.
//!
//! As long as the leader is not reaped, its number, which is the session's, can
//! be given to nobody else. So whoever signals and whoever reaps do it under one
//! lock, and after the reaping the session is not signalled any more. Strays are
//! known by what they are, not by a number that somebody keeps for them, so they
//! can be ended before and after.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Signal, WaitId, WaitIdOptions};

use super::census;
use super::closed::{Left, Signals};
use super::exit::Exit;
use super::orphans::Kept;
use super::pidfd;
use super::session::{Census, Family, Kin, Member};
use super::signals::Signaller;
use super::told::Told;

/// How many looks one kill at once takes: each finds what was forked since.
const ROUNDS: u32 = 8;

/// How long what got a SIGKILL may take to be gone, before it is given up or told of.
pub(crate) const LAST_WAIT: Duration = Duration::from_secs(2);

/// How old the answer to a question about the living may be.
const RECENT: Duration = Duration::from_millis(200);

#[derive(Debug)]
pub(crate) struct Custody {
    kin: Kin,
    signals: &'static dyn Signaller,
    held: Mutex<Held>,
}

#[derive(Debug)]
struct Held {
    /// The leader has not been reaped.
    unreaped: bool,
    /// Its descriptor, until it is reaped, unless it was gone before one could be had.
    leader: Option<Arc<OwnedFd>>,
    /// Until it is reaped, nobody else may do it.
    kept: Option<Kept>,
    /// When it started, or when its leader was seen to have exited: what was seen before
    /// tells nothing of it now.
    changed: Instant,
    /// Who had left the session and lived, at the last look.
    strays: BTreeSet<Member>,
    /// Who lived at the last look.
    left: Left,
    /// The last look was at everything, succeeded, and found the session empty.
    empty: bool,
    sent: Signals,
}

impl Custody {
    pub(crate) fn new(
        kin: Kin,
        leader: Option<Arc<OwnedFd>>,
        kept: Kept,
        signals: &'static dyn Signaller,
    ) -> Self {
        let held = Held {
            unreaped: true,
            leader,
            kept: Some(kept),
            changed: Instant::now(),
            strays: BTreeSet::new(),
            left: Left::default(),
            empty: false,
            sent: Signals::Nothing,
        };
        Self { kin, signals, held: Mutex::new(held) }
    }

    pub(crate) const fn kin(&self) -> &Kin {
        &self.kin
    }

    pub(crate) fn leader(&self) -> Option<Arc<OwnedFd>> {
        self.lock().leader.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Who was known to live at the last look.
    pub(crate) fn left(&self) -> Left {
        self.lock().left
    }

    /// Whether the session was empty at the last look.
    pub(crate) fn is_empty(&self) -> bool {
        self.lock().empty
    }

    /// The strongest signal that was sent.
    pub(crate) fn sent(&self) -> Signals {
        self.lock().sent
    }

    /// Notes that the leader was seen to have exited.
    pub(crate) fn note_exit(&self) {
        self.lock().changed = Instant::now();
    }

    /// How the leader ended, if it has. It stays unreaped.
    pub(crate) fn peek(&self) -> Option<Exit> {
        Self::wait(self.leader().as_deref(), WaitIdOptions::NOWAIT)
    }

    fn wait(leader: Option<&OwnedFd>, more: WaitIdOptions) -> Option<Exit> {
        let Some(leader) = leader else { return Some(Exit::Unavailable) };
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | more;
        loop {
            match rustix::process::waitid(WaitId::PidFd(leader.as_fd()), options) {
                Ok(status) => return status.map(|status| Exit::of(&status)),
                Err(Errno::INTR) => {}
                // Somebody else has reaped it; if it still runs, that is not known.
                Err(_) => return pidfd::has_ended(leader).then_some(Exit::Unavailable),
            }
        }
    }

    /// Who of all that live belongs to us. What is found is noted: by the next look a
    /// stray may have lost the parent that it was known by.
    pub(crate) fn find(&self, census: &Census) -> Family {
        let mut held = self.lock();
        let session = held.unreaped.then_some(self.kin.session);
        let family = census.family(session, self.kin.serial, &held.strays);
        held.strays = family.strays.iter().copied().collect();
        held.left = Left { members: family.members.len(), strays: family.strays.len() };
        if held.unreaped {
            held.empty = family.members.is_empty();
        }
        family
    }

    /// Signals those who are not among `told` yet, and notes them there. Says how many
    /// that were.
    ///
    /// SIGTERM goes to the leader's group first, as a whole (so does SIGKILL, which needs no
    /// look and comes before it: see [`Self::signal_leaders_group`]): the kernel lets no process escape that
    /// is just being forked into it. Whoever is found in it later was started after the
    /// signal, by one who got it and goes on. Before it come only those whom its end would end.
    pub(crate) fn signal(
        &self,
        family: &Family,
        told: &mut Told,
        signal: Signal,
    ) -> io::Result<usize> {
        let mut held = self.lock();
        let members = if held.unreaped { family.members.as_slice() } else { &[] };
        let all = || members.iter().chain(&family.strays);
        let mut fresh = 0;
        if signal == Signal::TERM && told.group.is_none() {
            let first = told.choose_first(family, all(), self.kin.session);
            fresh += self.signal_each(&mut held, first, told, signal)?;
            if self.signal_group(&mut held, signal) {
                told.group = Some(self.kin.session);
                // A stopped process could use its grace only once it runs again.
                self.signal_group(&mut held, Signal::CONT);
                fresh += 1;
            }
        }
        let chosen = told.choose(family, all(), signal);
        Ok(fresh + self.signal_each(&mut held, chosen, told, signal)?)
    }

    /// Signals those one by one, and notes them. Says how many they were.
    fn signal_each(
        &self,
        held: &mut Held,
        chosen: Vec<Member>,
        told: &mut Told,
        signal: Signal,
    ) -> io::Result<usize> {
        let count = chosen.len();
        for member in chosen {
            match member.signal(self.signals, signal) {
                Ok(true) => held.note(signal),
                Ok(false) => {}
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    tracing::warn!(?member, %error, "a process of a task refuses signals");
                }
                Err(error) => return Err(error),
            }
            told.note(member);
        }
        Ok(count)
    }

    /// Signals the leader's process group, without a look. The kernel signals a group as
    /// a whole, so what is just being forked into it is caught too, and something that
    /// forks without pause can be ended at all: a look at it would take ever longer. Only
    /// an unreaped leader's group has a sure number.
    pub(crate) fn signal_leaders_group(&self, signal: Signal) {
        self.signal_group(&mut self.lock(), signal);
    }

    /// The same; says whether it was done.
    fn signal_group(&self, held: &mut Held, signal: Signal) -> bool {
        let Some(leader) = held.leader.as_ref().filter(|_| held.unreaped) else { return false };
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let Ok(ended) = rustix::process::waitid(WaitId::PidFd(leader.as_fd()), options) else {
            return false;
        };
        // An error means that nobody in it could be signalled; the members
        // are signalled one by one all the same.
        let done = self.signals.to_group(self.kin.session, signal).is_ok();
        if done && (ended.is_none() || held.left.members > 0) {
            held.note(signal);
        }
        done
    }

    /// Everybody who lives now; blocks for one look at all processes and at the
    /// environment of the younger ones.
    fn look(&self) -> io::Result<Family> {
        Ok(self.find(&Census::take(Some(self.kin.started))?))
    }

    /// How many live in the session now; blocks for one look.
    pub(crate) fn count_members(&self) -> io::Result<usize> {
        // Under the lock: nobody may reap the leader while its number is looked for.
        let held = self.lock();
        if !held.unreaped {
            return Ok(0);
        }
        Ok(Census::take(None)?.members_of(self.kin.session).len())
    }

    /// The same as of a short while ago, but not of before its leader's exit was seen.
    pub(crate) fn count_members_lately(&self) -> io::Result<usize> {
        let held = self.lock();
        if !held.unreaped {
            return Ok(0);
        }
        let changed = held.changed;
        drop(held);
        Ok(census::recent(RECENT, changed)?.members_of(self.kin.session).len())
    }

    /// Sends SIGKILL to all of it, at once and on this thread.
    pub(crate) fn kill_now(&self) {
        let mut told = Told::default();
        for _ in 0..ROUNDS {
            self.signal_leaders_group(Signal::KILL);
            let killed = self.look().and_then(|family| {
                let fresh = self.signal(&family, &mut told, Signal::KILL)?;
                Ok(fresh == 0 && family.whole)
            });
            match killed {
                Ok(true) => return,
                Ok(false) => {}
                Err(error) => {
                    tracing::warn!(%error, "not everything could be killed");
                    return;
                }
            }
        }
    }

    /// Kills all of it and waits for it to be gone, within bounds.
    pub(crate) fn kill_until_gone(&self) {
        let deadline = Instant::now() + LAST_WAIT;
        self.kill_now();
        while let Ok(family) = self.look() {
            let Some(eldest) = family.members.first().or(family.strays.first()) else { break };
            if Instant::now() >= deadline {
                tracing::warn!(left = ?self.left(), "processes of a task live in spite of SIGKILL");
                break;
            }
            if let Ok(Some(pidfd)) = eldest.open() {
                pidfd::wait_until(&pidfd, deadline);
            }
            self.kill_now();
        }
        if let Some(leader) = self.leader() {
            pidfd::wait_until(&leader, deadline);
        }
    }

    /// Reaps the leader. From now on its session is not signalled. Says how it ended, and
    /// whether it was us who reaped it.
    pub(crate) fn release(&self) -> (Exit, bool) {
        let mut held = self.lock();
        held.unreaped = false;
        // The record of a task outlives its process by far: no descriptor may.
        let leader = held.leader.take();
        let exit = Self::wait(leader.as_deref(), WaitIdOptions::empty());
        held.kept = None;
        (exit.unwrap_or(Exit::Unavailable), exit.is_some_and(|exit| exit != Exit::Unavailable))
    }
}

impl Held {
    fn note(&mut self, signal: Signal) {
        let sent = if signal == Signal::KILL { Signals::Kill } else { Signals::Term };
        self.sent = self.sent.max(sent);
    }
}
