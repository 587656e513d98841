//! The one way in which a task ends.
//!
//! The first end wins, and each party sees the committed record: waiters, then
//! change observers, then completion listeners, then the notice.

use alloc::{format, sync::Arc, vec::Vec};

use super::{Registry, owners::Stage, tasks::Task};
use crate::{
    Command, Outcome, OutputMode, OwnerKey, Refusal, Reply, TaskKey, Warning, phase::Step,
};

impl Registry {
    pub(super) fn settled(
        &mut self,
        task: TaskKey,
        outcome: Outcome,
        out: &mut Vec<Command>,
    ) -> Result<Reply, Refusal> {
        self.settle(task, outcome, out);
        Ok(Reply::Done)
    }

    pub(super) fn broke(
        &mut self,
        key: TaskKey,
        error: Arc<str>,
        out: &mut Vec<Command>,
    ) -> Result<Reply, Refusal> {
        let error = self.config.bounded_detail(error);
        out.push(Command::Warn(match self.tasks.get(key) {
            Some(task) => Warning::ProducerBroke { id: task.id.clone(), error: error.clone() },
            None => Warning::LateProducerBroke { error: error.clone() },
        }));
        self.settle(key, Outcome::failed(&error), out);
        Ok(Reply::Done)
    }

    pub(super) fn settle(&mut self, key: TaskKey, outcome: Outcome, out: &mut Vec<Command>) {
        let Some(task) = self.tasks.get_mut(key) else { return };
        if canary!(SecondOutcomeWins) && !task.is_live() {
            task.status = outcome.end.status();
        }
        let Some(status) = task.status.after(Step::Settled(outcome.end)) else { return };
        task.status = status;
        task.detail = outcome.detail.map(|text| self.config.bounded_detail(text));
        task.output = match task.output_mode {
            OutputMode::Final => outcome.output,
            OutputMode::Stream => None,
        };
        task.finished_at_ms = Some(self.now.wall_ms.max(task.started_at_ms));
        if let Some(deadline) = task.teardown.deadline.take() {
            self.deadlines.remove(deadline);
        }
        let owner = task.owner;
        self.owners.bucket(owner).active -= 1;
        self.tasks.one_ended();

        self.promise_to_all(key, out);
        if canary!(NoticeBeforeListeners) {
            self.notice_if_untold(key, out);
        }
        self.notify_changed(owner, out);
        self.notify_done(key, out);
        self.notice_if_untold(key, out);

        self.evict(owner, out);
        self.finish_disposals_of(owner, out);
    }

    /// Ends a task for its producer, which could not be stopped.
    pub(super) fn force_fail(&mut self, key: TaskKey, why: &str, out: &mut Vec<Command>) {
        let Some(task) = self.tasks.get(key) else { return };
        let (owner, id) = (task.owner, task.id.clone());
        self.report_orphan(owner, id);
        self.settle(key, Outcome::failed(&format!("{why}; its work may be orphaned")), out);
    }

    pub(super) fn notify_changed(&self, owner: Option<OwnerKey>, out: &mut Vec<Command>) {
        let observers = self.scopes.observers(self.scope_of(owner));
        out.extend(observers.map(|observer| Command::NotifyChanged { observer, owner }));
    }

    fn notify_done(&self, key: TaskKey, out: &mut Vec<Command>) {
        let Some(task) = self.tasks.get(key) else { return };
        if self.service.stage != Stage::Open {
            return;
        }
        let owner = task.owner;
        out.extend(
            self.scopes.listeners(self.scope_of(owner)).map(|listener| Command::NotifyDone {
                listener,
                owner,
                snapshot: task.snapshot(),
            }),
        );
    }

    /// Keeps an owner's ended tasks within their limit: the oldest whose end the
    /// owner knows of go first, and one that it does not know of never goes.
    pub(super) fn evict(&mut self, owner: Option<OwnerKey>, out: &mut Vec<Command>) {
        let Some(limit) = self.config.max_settled_per_owner else { return };
        let bucket = self.owners.bucket(owner);
        let surplus = (bucket.tasks.len() - bucket.active).saturating_sub(limit);
        let keys = bucket.tasks.iter();
        let evicted: Vec<TaskKey> = keys
            .copied()
            .filter(|&key| self.tasks.get(key).is_some_and(Task::may_be_evicted))
            .take(surplus)
            .collect();
        for &key in &evicted {
            self.forget_task(key, out);
        }
        if !evicted.is_empty() {
            self.notify_changed(owner, out);
        }
    }
}
