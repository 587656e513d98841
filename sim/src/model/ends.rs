//! What the end of a task brings about, and who is told of it.

use std::sync::Arc;

use longrun_core::{
    Command, Delivery, End, Lane, NoticePreference, Outcome, OutputMode, Stop, StopCause, Warning,
};

use super::{
    Model, cut,
    entities::{Ended, Index, Life, Notice, OwnerFact, ServiceFact, Stage, TaskFact},
};

/// What a disposal tells the producer.
pub(super) const fn disposal_reason(cause: StopCause) -> &'static str {
    match cause {
        StopCause::Kill => "killed",
        StopCause::OwnerDisposal => "owner disposed",
        StopCause::Shutdown => "tasks service disposed",
    }
}

impl Model {
    /// The first end wins; each party is told in turn, the notice last.
    // contract: L3, L4
    pub(super) fn end_task(&mut self, index: Index, outcome: &Outcome, out: &mut Vec<Command>) {
        let max = self.config.max_detail_bytes;
        let task = &self.tasks[index];
        if !task.is_live() || !task.is_on_record() {
            return;
        }
        let ended = Ended {
            status: outcome.end.status(),
            detail: outcome.detail.as_ref().map(|detail| cut(detail, max)),
            output: outcome.output.clone().filter(|_| task.mode == OutputMode::Final),
            finished_at_ms: self.now.wall_ms.max(task.started_at_ms),
        };
        let owner = task.owner;
        self.note(index, TaskFact::Ended(ended));

        self.promise(index, out);
        self.changed(owner, out);
        self.done(index, out);
        self.send_notice(index, out);
        self.evict(owner, out);
        self.end_disposals(owner, out);
    }

    /// Everything that waits for the end of the task is promised it.
    fn promise(&mut self, index: Index, out: &mut Vec<Command>) {
        let waits = (0..self.waits.len())
            .filter(|&wait| self.waits[wait].task == index && self.waits[wait].is_waiting());
        let waits: Vec<Index> = waits.collect();
        let kills = (0..self.kills.len())
            .filter(|&kill| self.kills[kill].task == index && !self.kills[kill].over);
        let kills: Vec<Index> = kills.collect();
        let mut snapshot = self.snapshot(index);
        snapshot.reported |= !waits.is_empty() || !kills.is_empty();
        for wait in waits {
            self.waits[wait].promised = Some(snapshot.clone());
            out.push(Command::Wake { waiter: self.waits[wait].key });
        }
        for kill in kills {
            self.kills[kill].promised = Some(snapshot.clone());
        }
    }

    // contract: C3, C4
    pub(super) fn changed(&self, owner: Option<Index>, out: &mut Vec<Command>) {
        let key = owner.map(|owner| self.owners[owner].key);
        for observer in self.serving(&self.observers, self.scope_of(owner)) {
            out.push(Command::NotifyChanged { observer: observer.key, owner: key });
        }
    }

    // contract: C2, C4, T1
    fn done(&self, index: Index, out: &mut Vec<Command>) {
        if self.stage() != Stage::Open {
            return;
        }
        let owner = self.tasks[index].owner;
        for listener in self.serving(&self.listeners, self.scope_of(owner)) {
            out.push(Command::NotifyDone {
                listener: listener.key,
                owner: owner.map(|owner| self.owners[owner].key),
                snapshot: self.snapshot(index),
            });
        }
    }

    /// The notice goes out if nothing else tells the owner.
    // contract: N1, N2, N5, W6, K5
    pub(super) fn send_notice(&mut self, index: Index, out: &mut Vec<Command>) {
        let task = &self.tasks[index];
        let Some(owner) = task.owner else { return };
        let wanted = task.preference != NoticePreference::Never;
        let owner_reads = self.owners[owner].life() == Life::Live && self.stage() == Stage::Open;
        let told = self.is_reported(index) || task.notice() != Notice::None;
        if wanted && owner_reads && !told {
            let serial = self.next_serial();
            self.note(index, TaskFact::NoticePending { serial });
            self.announce(index, out);
        }
    }

    // contract: N3, N8, C4
    pub(super) fn announce(&mut self, index: Index, out: &mut Vec<Command>) {
        let Some(owner) = self.tasks[index].owner else { return };
        let Some(policy) = self.notice_policy(self.scope_of(Some(owner))) else { return };
        let wakes = policy.delivery == Delivery::Wakeup
            && self.owners[owner].wakes() < policy.max_consecutive_wakes
            && !self.owners[owner].is_busy()
            && self.tasks[index].preference == NoticePreference::AsMounted;
        if wakes {
            self.owners[owner].log.push(OwnerFact::Woken);
        }
        self.note(index, TaskFact::NoticeAnnounced);
        out.push(Command::Nudge {
            owner: self.owners[owner].key,
            lane: if wakes { Lane::Wake } else { Lane::Inject },
            snapshot: self.snapshot(index),
        });
    }

    /// Something has told of the end: a notice of it is no longer news.
    // contract: N7
    pub(super) fn withdraw(&mut self, index: Index, out: &mut Vec<Command>) {
        let task = &self.tasks[index];
        let notice = task.notice();
        let Some(owner) = task.owner else { return };
        if notice == Notice::Announced {
            let owner = self.owners[owner].key;
            out.push(Command::WithdrawNotice { owner, id: task.id.clone() });
        }
        if matches!(notice, Notice::Pending | Notice::Announced) {
            self.note(index, TaskFact::NoticeGone);
        }
    }

    pub(super) fn tell(&mut self, index: Index, out: &mut Vec<Command>) {
        if self.tasks[index].is_on_record() {
            self.note(index, TaskFact::Told);
            self.withdraw(index, out);
        }
    }

    /// A promise was taken, or given back.
    pub(super) fn end_promise(&mut self, index: Index, taken: bool, out: &mut Vec<Command>) {
        if !self.tasks[index].is_on_record() {
            return;
        }
        if taken {
            self.tell(index, out);
        } else {
            self.send_notice(index, out);
        }
    }

    /// Keeps an owner's ended tasks within their limit.
    pub(super) fn evict(&mut self, owner: Option<Index>, out: &mut Vec<Command>) {
        let Some(limit) = self.config.max_settled_per_owner else { return };
        let of_owner = |index: &Index| {
            let task = &self.tasks[*index];
            task.owner == owner && task.is_on_record() && !task.is_live()
        };
        let ended: Vec<Index> = (0..self.tasks.len()).filter(of_owner).collect();
        let surplus = ended.len().saturating_sub(limit);
        let known = |index: &Index| {
            let task = &self.tasks[*index];
            (task.is_told() || task.notice() == Notice::Claimed)
                && self.promises(*index) == 0
                && !self.is_being_read(*index)
        };
        let evicted: Vec<Index> = ended.into_iter().filter(known).take(surplus).collect();
        self.forget(&evicted, out);
        if !evicted.is_empty() {
            self.changed(owner, out);
        }
    }

    pub(super) fn forget(&mut self, tasks: &[Index], out: &mut Vec<Command>) {
        for &index in tasks {
            self.note(index, TaskFact::Forgotten);
            out.push(Command::Forget { task: self.tasks[index].key });
        }
    }

    pub(super) fn accept_stop(&mut self, index: Index, by: StopCause, reason: Option<Arc<str>>) {
        self.note(index, TaskFact::StopAccepted(Stop { by, reason }));
    }

    /// A disposal could not stop the task: its end is recorded for it.
    // contract: O5
    pub(super) fn force_fail(&mut self, index: Index, why: &str, out: &mut Vec<Command>) {
        let (owner, id) = (self.tasks[index].owner, self.tasks[index].id.clone());
        if let Some(owner) = owner.filter(|&o| self.owners[o].life() == Life::Disposing) {
            self.owners[owner].log.push(OwnerFact::Orphaned(id.clone()));
        }
        if self.stage() == Stage::Closing {
            self.service.push(ServiceFact::Orphaned(id));
        }
        let detail: Arc<str> = format!("{why}; its work may be orphaned").into();
        let outcome = Outcome { end: End::Failed, detail: Some(detail), output: None };
        self.end_task(index, &outcome, out);
    }

    // contract: O6
    pub(super) fn give_up_on(&mut self, index: Index, out: &mut Vec<Command>) {
        let id = self.tasks[index].id.clone();
        out.push(Command::Warn(Warning::TeardownOverdue { id }));
        self.force_fail(index, "did not end within the teardown deadline", out);
    }
}
