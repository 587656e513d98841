//! Who lives, in which session, and how to signal exactly them.
//!
//! A session is a number that every process inherits and only `setsid` changes.
//! There is no call that lists or signals one, so its members are read from
//! `/proc`, and there the *strays* are found as well, which left it: by the mark in
//! their environment, and by their parents (see [`Census::family`]). A pid found there may be somebody else's by the time it is used;
//! therefore a descriptor of the process is opened first, then the identity
//! (session and start time) is read again, and only then is the *descriptor*
//! signalled: from the opening on it means that process or none.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal};

use super::marker::{self, Serial};
use super::signals::Signaller;

/// Large enough for any line of `/proc/<pid>/stat`.
const STAT_BYTES: usize = 4096;

/// How often one look reads the list of processes at most; more than twice only where
/// something forks without pause.
const LISTINGS: u32 = 16;

/// One live process, at the moment of a look. Ordered by age, eldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Member {
    /// In clock ticks since boot; together with the pid it names a process.
    started: u64,
    pub(super) pid: i32,
    session: i32,
}

/// What tells the processes of one task from all others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kin {
    /// The leader's pid.
    pub(crate) session: Pid,
    /// When the leader started; nothing of its started earlier.
    pub(crate) started: u64,
    /// What their mark says.
    pub(crate) serial: Serial,
}

/// Who was found to belong to a task.
#[derive(Debug, Default)]
pub(crate) struct Family {
    /// Those in its session, eldest first: parents before the children that they would
    /// otherwise miss.
    pub(crate) members: Vec<Member>,
    /// Those who left it, eldest first.
    pub(crate) strays: Vec<Member>,
    /// Whose children they are, and in which process group.
    pub(crate) ties: HashMap<Member, Ties>,
    /// Who of them is stopped.
    pub(crate) stopped: HashSet<Member>,
    /// See [`Census`].
    pub(crate) whole: bool,
}

/// What binds a process to others beside its session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ties {
    pub(super) parent: i32,
    pub(super) group: i32,
}

/// A live process, with what tells whose it is.
#[derive(Debug)]
struct Found {
    member: Member,
    ties: Ties,
    stopped: bool,
    marks: Vec<Serial>,
}

/// What became of somebody in a list by the time of the look.
enum Seen {
    Gone,
    /// It has ended and waits to be reaped, by its parent.
    Dead {
        session: i32,
        parent: i32,
    },
    Alive(Found),
}

/// Every live process that could be seen, at one moment.
///
/// Not `whole` if something may have been missed: the list of processes named some that were
/// gone by the time they were looked at, over and over. Each may have handed on to a child.
#[derive(Debug)]
pub(crate) struct Census {
    /// Eldest first.
    live: Vec<Found>,
    /// The children of ours that have ended and are not reaped.
    zombies: Vec<Pid>,
    whole: bool,
}

impl Census {
    /// Looks at every process, and at the environment of those that are not older than
    /// `marked_since`. Blocks as long.
    ///
    /// # Errors
    ///
    /// If `/proc` could not be read, for lack of descriptors for example: then
    /// nothing is known, and in particular not that a session is empty.
    pub(crate) fn take(marked_since: Option<u64>) -> io::Result<Self> {
        Self::take_from(pids, |pid| {
            let Some(now) = look_at(pid)? else { return Ok(Seen::Gone) };
            let Sighting { member, ties, stopped, alive } = now;
            if !alive {
                return Ok(Seen::Dead { session: member.session, parent: ties.parent });
            }
            let marks = match marked_since {
                Some(since) if member.started >= since => marker::serials_of(pid)?,
                _ => Vec::new(),
            };
            Ok(Seen::Alive(Found { member, ties, stopped, marks }))
        })
    }

    /// The same, where `list` says the pids of all.
    ///
    /// A process may hand on to a child and end, again and again, always ahead of the
    /// look. But whenever a list is read one of such a chain is in it: the one that lived
    /// when its place came, for a child's place comes later. So if all that a list has
    /// brought turned out to be alive, or in a session where somebody is, nobody was missed.
    fn take_from(
        mut list: impl FnMut() -> io::Result<BTreeSet<i32>>,
        mut look: impl FnMut(i32) -> io::Result<Seen>,
    ) -> io::Result<Self> {
        let own = rustix::process::getpid().as_raw_nonzero().get();
        let (mut live, mut zombies) = (Vec::new(), Vec::new());
        let (mut seen, mut inhabited) = (BTreeSet::new(), HashSet::new());
        let mut whole = false;
        for listing in 0..LISTINGS {
            let mut any_gone = false;
            let mut ended_in = HashSet::new();
            for pid in list()? {
                if !seen.insert(pid) {
                    continue;
                }
                match look(pid)? {
                    Seen::Gone => any_gone = true,
                    Seen::Dead { session, parent } => {
                        ended_in.insert(session);
                        zombies.extend(Pid::from_raw(pid).filter(|_| parent == own));
                    }
                    Seen::Alive(alive) => {
                        inhabited.insert(alive.member.session);
                        live.push(alive);
                    }
                }
            }
            whole = listing > 0 && !any_gone && ended_in.is_subset(&inhabited);
            if whole {
                break;
            }
        }
        live.sort_unstable_by_key(|found| found.member);
        Ok(Self { live, zombies, whole })
    }

    /// How many were seen.
    #[cfg(test)]
    pub(crate) const fn len(&self) -> usize {
        self.live.len()
    }

    /// The children of ours that have ended and are not reaped.
    pub(crate) fn zombies(&self) -> &[Pid] {
        &self.zombies
    }

    /// Those who live in that session, eldest first.
    pub(crate) fn members_of(&self, session: Pid) -> Vec<Member> {
        let session = session.as_raw_nonzero().get();
        let members = self.live.iter().map(|found| found.member);
        members.filter(|member| member.session == session).collect()
    }

    /// Who belongs to a task: the members of its session, if that number is still its
    /// own; the strays `known` from earlier looks; who carries its mark, if marks were
    /// looked at; and the children of all these.
    pub(crate) fn family(
        &self,
        session: Option<Pid>,
        serial: Serial,
        known: &BTreeSet<Member>,
    ) -> Family {
        let members = session.map_or_else(Vec::new, |session| self.members_of(session));
        let mut kin: HashMap<i32, Member> =
            members.iter().map(|member| (member.pid, *member)).collect();
        let mut strays = Vec::new();
        // Parents come before children, but where they started in the same tick.
        let mut grown = true;
        while grown {
            grown = false;
            for Found { member, ties, marks, .. } in &self.live {
                let ours = || {
                    marks.contains(&serial)
                        || known.iter().any(|stray| stray.is_same_process(*member))
                        || kin.get(&ties.parent).is_some_and(|parent| parent.fathered(*member))
                };
                if !kin.contains_key(&member.pid) && ours() {
                    kin.insert(member.pid, *member);
                    strays.push(*member);
                    grown = true;
                }
            }
        }
        strays.sort_unstable();
        let ours = || self.live.iter().filter(|found| kin.contains_key(&found.member.pid));
        let ties = ours().map(|found| (found.member, found.ties)).collect();
        let stopped = ours().filter(|found| found.stopped).map(|found| found.member).collect();
        Family { members, strays, ties, stopped, whole: self.whole }
    }
}

impl Member {
    /// A process that need not exist.
    #[cfg(test)]
    pub(crate) const fn imagine(pid: i32, session: i32, started: u64) -> Self {
        Self { started, pid, session }
    }

    /// A descriptor of this very process, or `None` if it is gone.
    pub(crate) fn open(self) -> io::Result<Option<OwnedFd>> {
        Ok(self.open_with_state()?.map(|(pidfd, _)| pidfd))
    }

    /// Whether they are one process, whatever session it is in.
    const fn is_same_process(self, other: Self) -> bool {
        self.pid == other.pid && self.started == other.started
    }

    /// Whether a process that names it as its parent is its child indeed. A child whose
    /// parent ends gets another one, so that is certain if the parent lives now.
    fn fathered(self, child: Self) -> bool {
        self.started <= child.started
            && matches!(look_at(self.pid), Ok(Some(now)) if now.alive && now.member.is_same_process(self))
    }

    /// Whether it still lives, and in the same session.
    pub(crate) fn is_there(self) -> io::Result<bool> {
        Ok(look_at(self.pid)?.is_some_and(|now| now.alive && now.member == self))
    }

    /// Sends it a signal. Says whether it was there and took it.
    pub(crate) fn signal(self, signals: &dyn Signaller, signal: Signal) -> io::Result<bool> {
        let Some((pidfd, stopped)) = self.open_with_state()? else { return Ok(false) };
        match signals.to_process(&pidfd, signal) {
            Ok(()) => {}
            Err(Errno::SRCH) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        if stopped && signal == Signal::TERM {
            // A stopped process could use its grace only once it runs again.
            match signals.to_process(&pidfd, Signal::CONT) {
                Ok(()) | Err(Errno::SRCH) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(true)
    }

    fn open_with_state(self) -> io::Result<Option<(OwnedFd, bool)>> {
        if self.is_untouchable()? {
            return Ok(None);
        }
        let Some(pid) = Pid::from_raw(self.pid) else { return Ok(None) };
        let pidfd = match rustix::process::pidfd_open(pid, PidfdFlags::empty()) {
            Ok(pidfd) => pidfd,
            Err(Errno::SRCH) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let now = look_at(self.pid)?.filter(|now| now.alive && now.member == self);
        Ok(now.map(|now| (pidfd, now.stopped)))
    }

    /// The kernel's and init's numbers, and everything that belongs to us.
    fn is_untouchable(self) -> io::Result<bool> {
        Ok(self.pid <= 1 || self.session <= 1 || self.session == own_session()?)
    }
}

/// Our own session: zero where its leader is outside of our pid namespace, as it is
/// for what `docker exec` starts. (`rustix::process::getsid` cannot say so.)
///
/// # Errors
///
/// If `/proc` is not there, or shows the processes of another namespace.
pub(crate) fn own_session() -> io::Result<i32> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let shown = fs::read_link("/proc/self")?;
    if shown.to_str() != Some(&own.to_string()) {
        let message = format!("/proc shows {} as our process, not {own}", shown.display());
        return Err(io::Error::other(message));
    }
    let sighting = look_at(own)?.ok_or_else(|| io::Error::other("/proc does not show us"))?;
    Ok(sighting.member.session)
}

/// When a process started, unless it is gone. One that ended and was not reaped is there.
pub(crate) fn start_of(pid: Pid) -> io::Result<Option<u64>> {
    Ok(look_at(pid.as_raw_nonzero().get())?.map(|now| now.member.started))
}

fn pids() -> io::Result<BTreeSet<i32>> {
    let mut pids = BTreeSet::new();
    for entry in fs::read_dir("/proc")? {
        pids.extend(entry?.file_name().to_str().and_then(|name| name.parse::<i32>().ok()));
    }
    Ok(pids)
}

/// What `/proc` says of one process.
#[derive(Debug)]
struct Sighting {
    member: Member,
    ties: Ties,
    alive: bool,
    stopped: bool,
}

fn look_at(pid: i32) -> io::Result<Option<Sighting>> {
    let mut stat = [0; STAT_BYTES];
    let read = File::open(format!("/proc/{pid}/stat")).and_then(|mut file| file.read(&mut stat));
    match read {
        Ok(length) => Ok(parse(pid, &stat[..length])),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) if error.raw_os_error() == Some(Errno::SRCH.raw_os_error()) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads a line of `/proc/<pid>/stat`. The second field is the program's name in
/// parentheses and may hold anything, blanks and parentheses included; the last
/// closing one ends it.
fn parse(pid: i32, stat: &[u8]) -> Option<Sighting> {
    let after_name = stat.iter().rposition(|byte| *byte == b')')? + 1;
    let fields = std::str::from_utf8(&stat[after_name..]).ok()?;
    let mut fields = fields.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    let session = fields.next()?.parse().ok()?;
    let threads: u64 = fields.nth(13)?.parse().ok()?;
    let started = fields.nth(1)?.parse().ok()?;
    // A first thread that ended is a zombie while the others go on.
    let zombie = state == "Z" && threads <= 1;
    let alive = !zombie && state != "X" && state != "x";
    let member = Member { started, pid, session };
    let ties = Ties { parent, group };
    Some(Sighting { member, ties, alive, stopped: state == "T" })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAIL: &str = "7 8 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0";

    fn sighting(name: &str, state: &str, threads: u32) -> Sighting {
        let line = format!("42 ({name}) {state} {TAIL} {threads} 0 777 1 2 3\n");
        parse(42, line.as_bytes()).unwrap()
    }

    // contract: B5
    #[test]
    fn a_program_name_cannot_forge_its_session() {
        for name in ["sh", "a b", "x) Z 1 1 1", "((", ") ("] {
            let found = sighting(name, "S", 1);
            assert_eq!(found.member, Member { started: 777, pid: 42, session: 9 });
            assert_eq!((found.ties.parent, found.ties.group), (7, 8));
            assert!(found.alive);
        }
    }

    // contract: B6
    #[test]
    fn a_zombie_is_not_alive_unless_other_threads_go_on() {
        assert!(!sighting("sh", "Z", 1).alive);
        assert!(!sighting("sh", "X", 1).alive);
        assert!(sighting("sh", "Z", 2).alive);
        assert!(sighting("sh", "D", 1).alive);
    }

    /// A look at a chain of processes, each of which starts the next one and ends. `late`
    /// listings are looked at too late.
    fn look_at_a_chain(late: u32, is_reaped: bool) -> Census {
        let listings = std::cell::Cell::new(0);
        let next = || {
            listings.set(listings.get() + 1);
            Ok(BTreeSet::from([1, 100 + listings.get()]))
        };
        let look = |pid: i32| {
            let member = Member::imagine(pid, pid.min(9), 0);
            let ties = Ties { parent: 1, group: 1 };
            let found = Found { member, ties, stopped: false, marks: Vec::new() };
            Ok(if pid == 1 || listings.get() > late.cast_signed() {
                Seen::Alive(found)
            } else if is_reaped {
                Seen::Gone
            } else {
                Seen::Dead { session: member.session, parent: 1 }
            })
        };
        Census::take_from(next, look).unwrap()
    }

    // contract: B6
    #[test]
    fn who_runs_ahead_of_the_look_is_caught_or_the_look_says_that_it_may_have_missed_some() {
        let session = Pid::from_raw(9).unwrap();
        for is_reaped in [false, true] {
            for late in [0, 1, 2, LISTINGS - 1] {
                let census = look_at_a_chain(late, is_reaped);
                assert!(census.whole && !census.members_of(session).is_empty(), "{late}");
            }
            let census = look_at_a_chain(LISTINGS, is_reaped);
            assert!(!census.whole && census.members_of(session).is_empty());
        }
    }

    // contract: B5
    #[test]
    fn our_own_session_is_never_opened_for_signalling() {
        let own = rustix::process::getpid().as_raw_nonzero().get();
        let found = look_at(own).unwrap().unwrap();
        assert_eq!(found.member.open().unwrap().map(drop), None);
        let init = look_at(1).unwrap().unwrap();
        assert_eq!(init.member.open().unwrap().map(drop), None);
    }
}
