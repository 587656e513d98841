//! Stop: a kill and its answer; the cancels of a disposal and theirs.
//!
//! A kill leaves the task as it is until the producer has accepted it, so one that
//! fails has changed nothing. While it is in flight it counts like a wait: if the
//! task ends meanwhile, the kill is promised the terminal state, and if its cancel
//! failed instead, the promise is given back.

use alloc::{format, sync::Arc, vec::Vec};

use super::{
    Registry,
    arena::Arena,
    deadlines::Due,
    tasks::{Task, Teller},
};
use crate::{
    Caller, Command, KillKey, KillRefusal, Refusal, Reply, Stop, StopCause, TaskId, TaskKey,
    TaskSnapshot, Warning, phase::Step,
};

#[derive(Clone, Debug)]
pub(super) struct Kill {
    pub(super) task: TaskKey,
    reason: Option<Arc<str>>,
    /// The terminal state, if the task ended meanwhile.
    pub(super) promised: Option<TaskSnapshot>,
}

pub(super) type Kills = Arena<KillKey, Kill>;

impl Registry {
    pub(super) fn begin_kill(
        &mut self,
        id: TaskId,
        caller: Caller,
        reason: Option<Arc<str>>,
        out: &mut Vec<Command>,
    ) -> Result<Reply, Refusal> {
        let reached = self.tasks.reach(&id, caller.as_ref()).map_err(KillRefusal::from)?;
        let (key, live, in_flight) = (reached.0, reached.1.is_live(), reached.1.in_flight());
        if !live {
            self.tell(key, Teller::Kill, out);
            return Ok(self.already_finished(key));
        }
        let limit = self.config.max_waiters_per_task;
        if in_flight >= limit {
            return Err(KillRefusal::TooMany { limit }.into());
        }
        let reason = reason.map(|text| self.config.bounded_detail(text));
        let kill = self.kills.insert(Kill { task: key, reason, promised: None });
        if let Some(task) = self.tasks.get_mut(key) {
            task.kills.push(kill);
        }
        Ok(Reply::Killing { kill, task: key })
    }

    pub(super) fn kill_answered(
        &mut self,
        kill: KillKey,
        accepted: bool,
        out: &mut Vec<Command>,
    ) -> Result<Reply, Refusal> {
        let Some(Kill { task: key, reason, promised }) = self.kills.remove(kill) else {
            if canary!(AnswersAreTrusted) {
                unreachable!("a kill is answered once");
            }
            return Ok(Reply::Done);
        };
        if let Some(task) = self.tasks.get_mut(key) {
            task.kills.retain(|in_flight| *in_flight != kill);
        }
        match promised {
            Some(snapshot) => {
                let teller = accepted.then_some(Teller::Kill);
                self.settle_promise(key, teller, out);
                Ok(if accepted { Reply::AlreadyFinished(snapshot) } else { Reply::Done })
            }
            None if accepted => Ok(self.kill_accepted(key, reason, out)),
            None => Ok(Reply::Done),
        }
    }

    fn kill_accepted(
        &mut self,
        key: TaskKey,
        reason: Option<Arc<str>>,
        out: &mut Vec<Command>,
    ) -> Reply {
        self.stop_accepted(key, Stop { by: StopCause::Kill, reason });
        self.tell(key, Teller::Kill, out);
        let task = self.tasks.get(key).expect("a task outlives the kills that found it alive");
        let (owner, snapshot) = (task.owner, task.snapshot());
        self.notify_changed(owner, out);
        Reply::KillRequested(snapshot)
    }

    fn already_finished(&self, key: TaskKey) -> Reply {
        self.tasks.get(key).map_or(Reply::Done, |task| Reply::AlreadyFinished(task.snapshot()))
    }

    /// The producer is stopping the task now.
    fn stop_accepted(&mut self, key: TaskKey, stop: Stop) {
        if let Some(task) = self.tasks.get_mut(key)
            && let Some(status) = task.status.after(Step::Cancelled)
        {
            task.status = status;
            task.stop.get_or_insert(stop);
        }
    }

    /// Asks a live task's producer to stop, for a disposal. Nobody is left to read a
    /// notice, so none will be sent.
    pub(super) fn cancel_for_teardown(
        &mut self,
        key: TaskKey,
        cause: StopCause,
        out: &mut Vec<Command>,
    ) {
        let deadline = self.config.teardown_deadline.map(|span| self.now.at.saturating_add(span));
        let Some(task) = self.tasks.get_mut(key).filter(|task| task.is_live()) else { return };
        if !canary!(TeardownSpeaks) {
            task.told.get_or_insert(Teller::Teardown);
        }
        task.teardown.unanswered.push(cause);
        if task.teardown.deadline.is_none() {
            task.teardown.deadline = deadline.map(|at| self.deadlines.add(at, Due::Teardown(key)));
        }
        out.push(Command::Cancel { task: key, reason: cause.teardown_reason().into() });
    }

    pub(super) fn cancel_answered(
        &mut self,
        key: TaskKey,
        error: Option<Arc<str>>,
        out: &mut Vec<Command>,
    ) -> Result<Reply, Refusal> {
        let task = self.tasks.get_mut(key);
        let Some(task) = task.filter(|task| !task.teardown.unanswered.is_empty()) else {
            return Ok(Reply::Done);
        };
        let cause = task.teardown.unanswered.remove(0);
        let (id, owner, live) = (task.id.clone(), task.owner, task.is_live());
        match error {
            _ if !live => {}
            None => {
                let reason = Some(cause.teardown_reason().into());
                self.stop_accepted(key, Stop { by: cause, reason });
                self.notify_changed(owner, out);
            }
            Some(error) => {
                let error = self.config.bounded_detail(error);
                out.push(Command::Warn(Warning::CancelFailed { id, error: error.clone() }));
                self.force_fail(key, &format!("cancel failed: {error}"), out);
            }
        }
        Ok(Reply::Done)
    }

    pub(super) fn teardown_overdue(&mut self, key: TaskKey, out: &mut Vec<Command>) {
        let Some(task) = self.tasks.get_mut(key) else { return };
        task.teardown.deadline = None;
        let id = task.id.clone();
        out.push(Command::Warn(Warning::TeardownOverdue { id }));
        self.force_fail(key, "did not end within the teardown deadline", out);
    }
}

impl Task {
    /// Waits and kills on it.
    pub(super) fn in_flight(&self) -> usize {
        self.waiters.len() + self.kills.len()
    }
}
