//! What an outsider can tell from events, answers and commands alone.
//!
//! The ledger knows neither the registry nor the model. It writes down who was told
//! of what, and checks the few rules that need no more than that; so a mistake that
//! the model shares with the registry still shows here.

use longrun_core::{
    Caller, Command, Event, NoticePreference, Output, OwnerKey, ReadKey, Reply, ReservationKey,
    SessionId, StartRequest, TaskId, TaskKey, TaskSnapshot, WaiterKey,
};

use crate::{model::Answer, property::Property};

/// A rule that was broken, and how.
pub(crate) type Broken = (Property, String);

#[derive(Clone, Debug)]
struct Entry {
    key: TaskKey,
    id: TaskId,
    owner: Option<OwnerKey>,
    session: Option<SessionId>,
    preference: NoticePreference,
    /// The state in which it was first seen to have ended.
    ended: Option<TaskSnapshot>,
    /// Something other than a notice told of its end.
    told: bool,
    claimed: bool,
    /// Its owner's harness was told that its notice is pending, and not that it is not.
    pending: bool,
    /// What it has written: a byte with every event until it is done.
    written: usize,
    done: bool,
    /// Up to where reads have drained, and up to where they have been delivered.
    drained: usize,
    delivered: usize,
}

impl Entry {
    /// Takes what was written since the last drain.
    fn drain(&mut self) -> (usize, usize) {
        let from = self.drained;
        self.drained = self.written;
        (from, self.drained)
    }
}

#[derive(Clone, Debug)]
struct Drain {
    read: ReadKey,
    task: TaskKey,
    stream: bool,
    terminal: bool,
    /// What it took, if it drained at its beginning.
    taken: Option<(usize, usize)>,
}

/// Who was told of what.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    starts: Vec<(ReservationKey, StartRequest)>,
    sessions: Vec<(OwnerKey, SessionId)>,
    entries: Vec<Entry>,
    drains: Vec<Drain>,
    reads_begun: usize,
    waits: Vec<(WaiterKey, TaskId)>,
    disposing: Vec<OwnerKey>,
    disposed: Vec<OwnerKey>,
    closing: bool,
    closed: bool,
}

impl Ledger {
    /// Takes in an event, what it was answered, and what it emitted.
    pub(crate) fn observe(
        &mut self,
        event: &Event,
        answer: &Answer,
        commands: &[Command],
    ) -> Result<(), Broken> {
        for entry in self.entries.iter_mut().filter(|entry| !entry.done) {
            entry.written += 1;
        }
        self.observe_event(event, answer)?;
        commands.iter().try_for_each(|command| self.observe_command(command))
    }

    fn entry(&mut self, key: TaskKey) -> Option<&mut Entry> {
        self.entries.iter_mut().rfind(|entry| entry.key == key)
    }

    fn named(&mut self, id: &TaskId) -> Option<&mut Entry> {
        self.entries.iter_mut().rfind(|entry| entry.id == *id)
    }

    fn observe_event(&mut self, event: &Event, answer: &Answer) -> Result<(), Broken> {
        match (event, answer) {
            (Event::OpenOwner { session, .. }, Ok(Reply::Owner { owner, .. })) => {
                self.sessions.push((*owner, session.clone()));
            }
            (Event::Reserve(request), Ok(Reply::Reserved(key))) => {
                self.starts.push((*key, request.clone()));
            }
            (Event::Commit { reservation, .. }, Ok(Reply::Started { task, id })) => {
                self.started(*reservation, *task, id)?;
            }
            (Event::Release { reservation }, _) => {
                self.starts.retain(|(open, _)| open != reservation);
            }
            (Event::Settled { task, .. } | Event::Broke { task, .. }, _) => self.done(*task),
            (Event::Read { id, caller }, Ok(Reply::Reading { read, task, snapshot, output })) => {
                self.may_reach(id, caller)?;
                self.ended(snapshot)?;
                self.read_begun(*read, *task, snapshot, output);
            }
            (Event::ReadEnded { read, delivered }, _) => self.read_ended(*read, *delivered)?,
            (Event::Kill { id, caller, .. }, Ok(reply)) => {
                self.may_reach(id, caller)?;
                self.killed(reply)?;
            }
            (Event::KillAnswered { .. }, Ok(reply)) => self.killed(reply)?,
            (Event::Wait { id, caller, .. }, Ok(Reply::Waiting { waiter, .. })) => {
                self.may_reach(id, caller)?;
                self.waits.push((*waiter, id.clone()));
            }
            (
                Event::TakeWait { waiter } | Event::AbortWait { waiter },
                Ok(Reply::WaitOver { snapshot, timed_out }),
            ) => self.wait_over(*waiter, snapshot, *timed_out)?,
            (Event::Claim { owner, .. }, Ok(Reply::Claimed { notices, idle })) => {
                notices.iter().try_for_each(|snapshot| self.claimed(*owner, snapshot))?;
                if *idle {
                    self.idle(*owner, notices)?;
                }
            }
            (Event::AbortWait { waiter } | Event::WaitDropped { waiter }, _) => {
                self.waits.retain(|(open, _)| open != waiter);
            }
            (Event::DisposeOwner { owner }, Ok(Reply::Done))
            | (Event::OwnerDropped { owner }, _) => {
                // Nobody is left to read them.
                for entry in self.entries.iter_mut().filter(|e| e.owner == Some(*owner)) {
                    entry.pending = false;
                }
                let known = self.sessions.iter().any(|(key, _)| key == owner);
                if known && !self.disposing.contains(owner) {
                    self.disposing.push(*owner);
                }
            }
            (Event::Shutdown, Ok(_)) => self.closing = true,
            _ => {}
        }
        Ok(())
    }

    fn observe_command(&mut self, command: &Command) -> Result<(), Broken> {
        match command {
            Command::Cancel { task, .. } => {
                if let Some(entry) = self.entry(*task) {
                    entry.told = true;
                }
            }
            Command::NotifyDone { owner, snapshot, .. } => {
                if self.closing {
                    return Err((Property::Listeners, format!("{} after shutdown", snapshot.id)));
                }
                self.exact(*owner, snapshot, Property::Listeners)?;
                self.ended(snapshot)?;
            }
            Command::Nudge { owner, snapshot, .. } => {
                self.exact(Some(*owner), snapshot, Property::ExactOwner)?;
                self.ended(snapshot)?;
                if self.named(&snapshot.id).is_some_and(|entry| entry.told || entry.claimed) {
                    let what = format!("{} was told, and a notice came too", snapshot.id);
                    return Err((Property::Notices, what));
                }
                self.set_pending(&snapshot.id, true);
            }
            Command::WithdrawNotice { id, .. } => self.set_pending(id, false),
            Command::Forget { task } => {
                self.done(*task);
                if let Some(entry) = self.entry(*task) {
                    entry.pending = false;
                }
                if self.closed {
                    return Err((Property::Disposal, format!("{task:?} outlived the shutdown")));
                }
            }
            Command::OwnerDisposed { owner, .. } => self.owner_disposed(*owner)?,
            Command::ShutDown { .. } if self.closed => {
                return Err((Property::Disposal, "the shutdown ended twice".to_owned()));
            }
            Command::ShutDown { .. } => self.closed = true,
            Command::Wake { .. } | Command::NotifyChanged { .. } | Command::Warn(_) => {}
        }
        Ok(())
    }

    // contract: S1
    fn started(&mut self, start: ReservationKey, key: TaskKey, id: &TaskId) -> Result<(), Broken> {
        let Some(position) = self.starts.iter().position(|(open, _)| *open == start) else {
            return Err((Property::Admission, format!("{id} was committed and never admitted")));
        };
        let (_, request) = self.starts.remove(position);
        let latest = self.entries.iter().rfind(|entry| entry.id.kind() == &*request.kind);
        let due = latest.map_or(1, |entry| entry.id.number() + 1);
        if id.kind() != &*request.kind || id.number() != due {
            let what = format!("{}-{due} was due, and {id} came", request.kind);
            return Err((Property::ConsecutiveIds, what));
        }
        let owner = self.sessions.iter().find(|(key, _)| Some(*key) == request.owner);
        let session = owner.map(|(_, session)| session.clone());
        self.entries.push(Entry {
            key,
            id: id.clone(),
            owner: request.owner,
            session,
            preference: request.notice,
            ended: None,
            told: false,
            claimed: false,
            pending: false,
            written: 0,
            done: false,
            drained: 0,
            delivered: 0,
        });
        Ok(())
    }

    fn done(&mut self, key: TaskKey) {
        if let Some(entry) = self.entry(key) {
            entry.done = true;
        }
    }

    // contract: A1, A2
    fn may_reach(&mut self, id: &TaskId, caller: &Caller) -> Result<(), Broken> {
        match self.named(id).map(|entry| entry.session.clone()) {
            None => Err((Property::Access, format!("{id} was reached and never registered"))),
            Some(Some(session)) if caller.as_ref() != Some(&session) => {
                Err((Property::Access, format!("{caller:?} reached {id} of {session:?}")))
            }
            Some(_) => Ok(()),
        }
    }

    /// A terminal state is the same whenever it is shown.
    // contract: L1, L3
    fn ended(&mut self, snapshot: &TaskSnapshot) -> Result<(), Broken> {
        let Some(entry) = self.named(&snapshot.id) else { return Ok(()) };
        let Some(first) = &entry.ended else {
            if snapshot.status.is_terminal() {
                entry.ended = Some(snapshot.clone());
                entry.done = true;
            }
            return Ok(());
        };
        let same = first.status == snapshot.status
            && first.detail == snapshot.detail
            && first.finished_at_ms == snapshot.finished_at_ms;
        if same {
            return Ok(());
        }
        let what = format!("it had ended as {first:?}, and now is {snapshot:?}");
        Err((Property::FirstOutcome, what))
    }

    // contract: A4, N5
    fn exact(
        &mut self,
        owner: Option<OwnerKey>,
        snapshot: &TaskSnapshot,
        property: Property,
    ) -> Result<(), Broken> {
        let id = &snapshot.id;
        match self.named(id) {
            None => Err((property, format!("{id} was announced and never registered"))),
            Some(entry) if entry.owner != owner => {
                Err((property, format!("{id} is of {:?}, and {owner:?} was told", entry.owner)))
            }
            Some(_) => Ok(()),
        }
    }

    /// Every other read drains at its beginning, the rest at their end: both may be.
    fn read_begun(
        &mut self,
        read: ReadKey,
        task: TaskKey,
        snapshot: &TaskSnapshot,
        output: &Output,
    ) {
        self.reads_begun += 1;
        let early = self.reads_begun % 2 == 1;
        let (stream, terminal) = (*output == Output::Drain, snapshot.status.is_terminal());
        let taken = self.entry(task).filter(|_| early && stream).map(Entry::drain);
        self.drains.push(Drain { read, task, stream, terminal, taken });
    }

    // contract: R1, R3, R4
    fn read_ended(&mut self, read: ReadKey, delivered: bool) -> Result<(), Broken> {
        let Some(position) = self.drains.iter().position(|drain| drain.read == read) else {
            return Ok(());
        };
        let drain = self.drains.remove(position);
        let Some(entry) = self.entry(drain.task) else { return Ok(()) };
        if drain.stream && delivered {
            let (from, to) = drain.taken.unwrap_or_else(|| entry.drain());
            let (after, written) = (entry.delivered, entry.written);
            if from != after || (drain.terminal && to != written) {
                let what =
                    format!("{}: bytes {from}..{to} came after {after} of {written}", entry.id);
                return Err((Property::Reads, what));
            }
            entry.delivered = to;
        } else if let Some((from, _)) = drain.taken {
            entry.drained = from;
        }
        entry.told |= delivered && drain.terminal;
        Ok(())
    }

    fn killed(&mut self, reply: &Reply) -> Result<(), Broken> {
        if let Reply::AlreadyFinished(snapshot) | Reply::KillRequested(snapshot) = reply {
            self.ended(snapshot)?;
            if let Some(entry) = self.named(&snapshot.id) {
                entry.told = true;
            }
        }
        Ok(())
    }

    fn wait_over(
        &mut self,
        waiter: WaiterKey,
        snapshot: &TaskSnapshot,
        timed_out: bool,
    ) -> Result<(), Broken> {
        let Some(position) = self.waits.iter().position(|(key, _)| *key == waiter) else {
            return Err((Property::Wakes, format!("{waiter:?} ended twice, or never began")));
        };
        let (_, id) = self.waits.remove(position);
        if id != snapshot.id || timed_out == snapshot.status.is_terminal() {
            let what = format!("{waiter:?} on {id} ended with {snapshot:?}");
            return Err((Property::Wakes, what));
        }
        // What a timeout shows is how things were then.
        if timed_out {
            return Ok(());
        }
        self.ended(snapshot)?;
        if let Some(entry) = self.named(&id) {
            entry.told = true;
        }
        Ok(())
    }

    // contract: N1, N2, N5, N7
    fn claimed(&mut self, owner: OwnerKey, snapshot: &TaskSnapshot) -> Result<(), Broken> {
        self.exact(Some(owner), snapshot, Property::ExactOwner)?;
        self.ended(snapshot)?;
        let Some(entry) = self.named(&snapshot.id) else { return Ok(()) };
        if entry.told || entry.claimed {
            let what = format!("{} was told before its notice was claimed", snapshot.id);
            return Err((Property::Notices, what));
        }
        entry.claimed = true;
        entry.pending = false;
        Ok(())
    }

    fn set_pending(&mut self, id: &TaskId, pending: bool) {
        if let Some(entry) = self.named(id) {
            entry.pending = pending;
        }
    }

    /// An owner was marked idle: nothing may be left that its harness was told of before,
    /// since it will not be told again.
    // contract: N6
    fn idle(&self, owner: OwnerKey, notices: &[TaskSnapshot]) -> Result<(), Broken> {
        let mine = self.entries.iter().filter(|entry| entry.owner == Some(owner));
        let stranded = mine.filter(|entry| entry.pending).map(|entry| entry.id.to_string());
        let claimed = notices.iter().map(|task| task.id.to_string());
        let stranded: Vec<_> = stranded.chain(claimed).collect();
        if stranded.is_empty() {
            return Ok(());
        }
        Err((Property::Stranded, format!("{owner:?} went idle with {}", stranded.join(", "))))
    }

    // contract: O2
    fn owner_disposed(&mut self, owner: OwnerKey) -> Result<(), Broken> {
        if self.disposed.contains(&owner) {
            return Err((Property::Disposal, format!("{owner:?} was disposed twice")));
        }
        self.disposed.push(owner);
        let starting = self.starts.iter().any(|(_, request)| request.owner == Some(owner));
        let live = self.entries.iter().find(|entry| entry.owner == Some(owner) && !entry.done);
        match live {
            Some(entry) => Err((Property::Disposal, format!("{} is still at work", entry.id))),
            None if starting => Err((Property::Disposal, format!("{owner:?} is still starting"))),
            None => Ok(()),
        }
    }

    /// What has been asked for and has not come to its end.
    pub(crate) fn pending(&self) -> Option<String> {
        if let Some((waiter, id)) = self.waits.first() {
            return Some(format!("{waiter:?} on {id} never came to an end"));
        }
        let disposing = self.disposing.iter().find(|owner| !self.disposed.contains(owner));
        if let Some(owner) = disposing {
            return Some(format!("the disposal of {owner:?} never came to an end"));
        }
        (self.closing && !self.closed).then(|| "the shutdown never came to an end".to_owned())
    }

    /// The ended tasks of an owner that nothing has told it of, though it was owed.
    // contract: N1, W6, K5
    pub(crate) fn untold(&self, owner: OwnerKey) -> Vec<TaskId> {
        let mine = self.entries.iter().filter(|entry| entry.owner == Some(owner));
        let owed = mine.filter(|entry| entry.done && entry.preference != NoticePreference::Never);
        owed.filter(|entry| !entry.told && !entry.claimed).map(|entry| entry.id.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use longrun_core::{Config, Now, Outcome, OutputMode, Registry};

    use super::*;

    /// A registry whose answers the ledger sees, and whose commands it does not.
    struct Deaf(Registry, Ledger);

    impl Deaf {
        fn send(&mut self, event: Event) -> Reply {
            let answer = self.0.handle(Now::default(), event.clone(), &mut Vec::new());
            self.1.observe(&event, &answer, &[]).expect("nothing is wrong so far");
            answer.expect("nothing is refused")
        }

        /// An owner with a task that has ended.
        fn with_ended_task() -> (Self, OwnerKey, TaskId) {
            let registry = Registry::new(Config::default()).expect("fit limits");
            let mut deaf = Self(registry, Ledger::default());
            deaf.send(Event::AttachController { scope: None, notices: None });
            let open = Event::OpenOwner { session: "ann".into(), scope: None, busy: false };
            let Reply::Owner { owner, .. } = deaf.send(open) else { panic!("an owner") };
            let notice = NoticePreference::AsMounted;
            let (kind, label) = ("t".into(), "a".into());
            let owner_key = Some(owner);
            let request =
                StartRequest { kind, label, output_limit_bytes: None, owner: owner_key, notice };
            let Reply::Reserved(reservation) = deaf.send(Event::Reserve(request)) else {
                panic!("a reservation")
            };
            let output = OutputMode::Final;
            let Reply::Started { task, id } = deaf.send(Event::Commit { reservation, output })
            else {
                panic!("a task")
            };
            deaf.send(Event::Settled { task, outcome: Outcome::completed() });
            (deaf, owner, id)
        }
    }

    #[test]
    fn an_end_that_nothing_told_of_is_untold_until_its_notice_is_claimed() {
        let (mut deaf, owner, id) = Deaf::with_ended_task();
        assert_eq!(deaf.1.untold(owner), [id]);
        let source = longrun_core::ClaimSource::User;
        deaf.send(Event::Claim { owner, source, or_idle: false });
        assert_eq!(deaf.1.untold(owner), []);
    }

    #[test]
    fn a_wait_is_pending_until_it_is_over() {
        let (mut deaf, _, id) = Deaf::with_ended_task();
        assert_eq!(deaf.1.pending(), None);
        let (caller, timeout) = (Some("ann".into()), Duration::from_secs(1));
        let Reply::Waiting { waiter, .. } = deaf.send(Event::Wait { id, caller, timeout }) else {
            panic!("a wait")
        };
        assert_eq!(deaf.1.pending().as_deref(), Some("waiter#0.0 on t-1 never came to an end"));
        deaf.send(Event::TakeWait { waiter });
        assert_eq!(deaf.1.pending(), None);
    }

    #[test]
    fn a_disposal_and_a_shutdown_whose_end_nobody_heard_are_pending() {
        let (mut deaf, owner, _) = Deaf::with_ended_task();
        deaf.send(Event::DisposeOwner { owner });
        let what = deaf.1.pending().expect("the disposal");
        assert_eq!(what, "the disposal of owner#0.0 never came to an end");
        deaf.1.disposed.push(owner);
        deaf.send(Event::Shutdown);
        assert_eq!(deaf.1.pending().as_deref(), Some("the shutdown never came to an end"));
    }
}
