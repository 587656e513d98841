//! The leader, unreaped, and with it the right to signal its session.
//!
//! As long as the leader is not reaped, its number, which is the session's, can
//! be given to nobody else. So whoever signals and whoever reaps do it under one
//! lock, and after the reaping nothing is signalled any more.

use std::collections::HashSet;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

use super::exit::Exit;
use super::pidfd;
use super::session::{Census, Member};

/// How many looks one kill at once takes: each finds what was forked since.
const ROUNDS: u32 = 8;

/// How long a kill at once waits for what it killed to be gone.
const LAST_WAIT: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(crate) struct Custody {
    session: Pid,
    held: Mutex<Held>,
}

#[derive(Debug)]
struct Held {
    /// The leader has not been reaped.
    unreaped: bool,
    /// Its descriptor, until it is reaped, unless it was gone before one could be had.
    leader: Option<Arc<OwnedFd>>,
}

impl Custody {
    pub(crate) fn new(session: Pid, leader: Option<Arc<OwnedFd>>) -> Self {
        Self { session, held: Mutex::new(Held { unreaped: true, leader }) }
    }

    pub(crate) const fn session(&self) -> Pid {
        self.session
    }

    pub(crate) fn leader(&self) -> Option<Arc<OwnedFd>> {
        self.lock().leader.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
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

    /// Signals those members that are not among `told` yet, and notes them there.
    /// Says how many that were.
    pub(crate) fn signal(
        &self,
        members: &[Member],
        told: &mut HashSet<Member>,
        signal: Signal,
    ) -> io::Result<usize> {
        let held = self.lock();
        if !held.unreaped {
            return Ok(0);
        }
        let mut fresh = 0;
        for member in members {
            if told.contains(member) {
                continue;
            }
            match member.signal(signal) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    tracing::warn!(?member, %error, "a process of the session refuses signals");
                }
                Err(error) => return Err(error),
            }
            told.insert(*member);
            fresh += 1;
        }
        Ok(fresh)
    }

    /// Sends SIGKILL to the leader's process group, without a look. The kernel
    /// signals a group as a whole, so what is just being forked into it is caught
    /// too, and something that forks without pause can be ended at all: a look at
    /// it would take ever longer. Only an unreaped leader's group has a sure
    /// number.
    pub(crate) fn kill_leaders_group(&self) {
        let held = self.lock();
        let Some(leader) = held.leader.as_ref().filter(|_| held.unreaped) else { return };
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        if rustix::process::waitid(WaitId::PidFd(leader.as_fd()), options).is_ok() {
            // An error means that nobody in it could be signalled; the members
            // are signalled one by one all the same.
            let _ = rustix::process::kill_process_group(self.session, Signal::KILL);
        }
    }

    /// Everybody who lives in the session now; blocks for one look.
    pub(crate) fn members(&self) -> io::Result<Vec<Member>> {
        let held = self.lock();
        if held.unreaped { Ok(Census::take()?.members_of(self.session)) } else { Ok(Vec::new()) }
    }

    /// Sends SIGKILL to the whole session, at once and on this thread.
    pub(crate) fn kill_now(&self) {
        self.kill_leaders_group();
        let mut told = HashSet::new();
        for _ in 0..ROUNDS {
            let killed =
                self.members().and_then(|members| self.signal(&members, &mut told, Signal::KILL));
            match killed {
                Ok(0) => return,
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(%error, "not everything could be killed");
                    return;
                }
            }
        }
    }

    /// Kills the whole session, waits for it to be gone, within bounds, and reaps
    /// the leader.
    pub(crate) fn kill_and_release(&self) -> Exit {
        let deadline = Instant::now() + LAST_WAIT;
        self.kill_now();
        while let Ok(Some(eldest)) = self.members().map(|members| members.first().copied()) {
            if Instant::now() >= deadline {
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
        self.release()
    }

    /// Reaps the leader. From now on nothing is signalled.
    pub(crate) fn release(&self) -> Exit {
        let mut held = self.lock();
        held.unreaped = false;
        // The record of a task outlives its process by far: no descriptor may.
        let leader = held.leader.take();
        Self::wait(leader.as_deref(), WaitIdOptions::empty()).unwrap_or(Exit::Unavailable)
    }
}
