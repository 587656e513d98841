//! Wait → woken → taken, aborted or dropped.
//!
//! When a task ends, each wait on it is *promised* the terminal state, and the state
//! counts as reported. The promise is kept when the result is taken. When the last
//! one that was promised is dropped untaken, and nothing else told the owner, the
//! promise is given back and the notice goes out: nothing is ever suppressed for a
//! reader that got nothing.

use alloc::vec::Vec;
use core::time::Duration;

use super::{
    Registry,
    arena::Arena,
    deadlines::{Deadline, Due},
    tasks::Teller,
};
use crate::{
    Caller, Command, MAX_WAIT, Refusal, Reply, TaskId, TaskKey, TaskSnapshot, WaitRefusal,
    WaiterKey,
};

#[derive(Clone, Debug)]
pub(super) struct Waiter {
    pub(super) task: TaskKey,
    pub(super) state: Waiting,
}

#[derive(Clone, Debug)]
pub(super) enum Waiting {
    /// For the task to end. Its place among the waits on the task, and its timeout.
    ForEnd { place: u64, deadline: Deadline },
    /// To be taken: the terminal state.
    Promised(TaskSnapshot),
    /// To be taken: the live state at the timeout.
    TimedOut(TaskSnapshot),
}

#[derive(Clone, Debug)]
pub(super) struct Waiters {
    pub(super) waiters: Arena<WaiterKey, Waiter>,
    registered: u64,
}

impl Waiters {
    pub(super) const fn new() -> Self {
        Self { waiters: Arena::new(), registered: 0 }
    }
}

impl Registry {
    pub(super) fn begin_wait(
        &mut self,
        id: TaskId,
        caller: Caller,
        timeout: Duration,
        out: &mut Vec<Command>,
    ) -> Result<Reply, Refusal> {
        let reached = self.tasks.reach(&id, caller.as_ref()).map_err(WaitRefusal::from)?;
        let (key, live, in_flight) = (reached.0, reached.1.is_live(), reached.1.in_flight());
        if timeout.is_zero() || timeout > MAX_WAIT {
            return Err(WaitRefusal::TimeoutOutOfRange.into());
        }
        let limit = self.config.max_waiters_per_task;
        if live && in_flight >= limit {
            return Err(WaitRefusal::TooMany { limit }.into());
        }
        let waiter =
            if live { self.wait_for_end(key, timeout) } else { self.wait_for_ended(key, out) };
        Ok(Reply::Waiting { waiter, ready: !live })
    }

    fn wait_for_end(&mut self, key: TaskKey, timeout: Duration) -> WaiterKey {
        let place = self.waiters.registered;
        self.waiters.registered += 1;
        let at = self.now.at.saturating_add(timeout);
        let deadlines = &mut self.deadlines;
        let waiter = self.waiters.waiters.insert_with(|waiter| {
            let deadline = deadlines.add(at, Due::Wait(waiter));
            Waiter { task: key, state: Waiting::ForEnd { place, deadline } }
        });
        if let Some(task) = self.tasks.get_mut(key) {
            task.waiters.insert(place, waiter);
        }
        waiter
    }

    fn wait_for_ended(&mut self, key: TaskKey, out: &mut Vec<Command>) -> WaiterKey {
        let task = self.tasks.get_mut(key).expect("it was just reached");
        task.promises += 1;
        let state = Waiting::Promised(task.snapshot());
        self.withdraw_notice(key, out);
        self.waiters.waiters.insert(Waiter { task: key, state })
    }

    /// A task has ended: every wait and every kill in flight is promised its state.
    pub(super) fn promise_to_all(&mut self, key: TaskKey, out: &mut Vec<Command>) {
        let Some(task) = self.tasks.get_mut(key) else { return };
        let waiters = core::mem::take(&mut task.waiters);
        let mut kills = core::mem::take(&mut task.kills);
        if canary!(KillNotCounted) {
            kills.clear();
        }
        task.promises = waiters.len() + kills.len();
        let snapshot = task.snapshot();
        for waiter in waiters.into_values() {
            if let Some(entry) = self.waiters.waiters.get_mut(waiter) {
                if let Waiting::ForEnd { deadline, .. } = entry.state {
                    self.deadlines.remove(deadline);
                }
                entry.state = Waiting::Promised(snapshot.clone());
                out.push(Command::Wake { waiter });
            }
        }
        for kill in kills {
            if let Some(kill) = self.kills.get_mut(kill) {
                kill.promised = Some(snapshot.clone());
            }
        }
    }

    pub(super) fn wait_timed_out(&mut self, waiter: WaiterKey, out: &mut Vec<Command>) {
        let Some(entry) = self.waiters.waiters.get_mut(waiter) else { return };
        let Waiting::ForEnd { place, .. } = entry.state else { return };
        let task = self.tasks.get_mut(entry.task).expect("a live task is on record");
        task.waiters.remove(&place);
        entry.state = Waiting::TimedOut(task.snapshot());
        out.push(Command::Wake { waiter });
    }

    pub(super) fn take_wait(
        &mut self,
        waiter: WaiterKey,
        out: &mut Vec<Command>,
    ) -> Result<Reply, Refusal> {
        let entry = self.waiters.waiters.get(waiter);
        if entry.is_none_or(|entry| matches!(entry.state, Waiting::ForEnd { .. })) {
            return Ok(Reply::Done);
        }
        Ok(self.end_wait(waiter, Some(Teller::Wait), out))
    }

    pub(super) fn abort_wait(
        &mut self,
        waiter: WaiterKey,
        out: &mut Vec<Command>,
    ) -> Result<Reply, Refusal> {
        Ok(self.end_wait(waiter, Some(Teller::Wait), out))
    }

    pub(super) fn wait_dropped(
        &mut self,
        waiter: WaiterKey,
        out: &mut Vec<Command>,
    ) -> Result<Reply, Refusal> {
        self.end_wait(waiter, None, out);
        Ok(Reply::Done)
    }

    /// Removes a wait. `teller` is what it becomes if it was promised the terminal
    /// state: `None` gives the promise back.
    fn end_wait(
        &mut self,
        waiter: WaiterKey,
        teller: Option<Teller>,
        out: &mut Vec<Command>,
    ) -> Reply {
        let Some(Waiter { task: key, state }) = self.waiters.waiters.remove(waiter) else {
            return Reply::Done;
        };
        match state {
            Waiting::ForEnd { place, deadline } => {
                if !canary!(TimerLeftBehind) {
                    self.deadlines.remove(deadline);
                }
                if let Some(task) = self.tasks.get_mut(key) {
                    task.waiters.remove(&place);
                }
                Reply::Done
            }
            Waiting::Promised(snapshot) => {
                self.settle_promise(key, teller, out);
                Reply::WaitOver { snapshot, timed_out: false }
            }
            Waiting::TimedOut(snapshot) => Reply::WaitOver { snapshot, timed_out: true },
        }
    }
}
