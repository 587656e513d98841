//! Owners, their disposal, the shutdown of the service.

use longrun_core::{ClaimSource, Command, OwnerKey, Reply, ScopeKey, SessionId, StopCause};

use super::{
    Model,
    ends::disposal_reason,
    entities::{Index, Life, Notice, Owner, OwnerFact, ServiceFact, Stage, TaskFact},
};

impl Model {
    pub(super) fn open_owner(
        &mut self,
        key: OwnerKey,
        session: &SessionId,
        scope: Option<ScopeKey>,
        busy: bool,
    ) -> Reply {
        let replaced = self.registered(session).map(|index| self.owners[index].key);
        self.owners.push(Owner {
            key,
            session: session.clone(),
            scope: scope.and_then(|scope| self.scope_index(scope)),
            log: vec![OwnerFact::Busy(busy)],
        });
        Reply::Owner { owner: key, replaced }
    }

    // contract: N6, N3
    pub(super) fn claim(&mut self, owner: Index, source: ClaimSource, or_idle: bool) -> Reply {
        if source == ClaimSource::User {
            self.owners[owner].log.push(OwnerFact::ClaimedUserInput);
        }
        let tasks = 0..self.tasks.len();
        let mine = tasks.filter(|&index| self.tasks[index].owner == Some(owner));
        let mut pending: Vec<(u64, Index)> =
            mine.filter_map(|index| Some((self.tasks[index].pending_since()?, index))).collect();
        pending.sort_unstable();
        for &(_, index) in &pending {
            self.note(index, TaskFact::NoticeClaimed);
        }
        let idle = or_idle && pending.is_empty();
        if idle {
            self.owners[owner].log.push(OwnerFact::Busy(false));
        }
        let notices = pending.into_iter().map(|(_, index)| self.snapshot(index)).collect();
        Reply::Claimed { notices, idle }
    }

    // contract: O1, O3, O4
    pub(super) fn dispose(&mut self, owner: Index, out: &mut Vec<Command>) -> Reply {
        match self.owners[owner].life() {
            Life::Live => {
                self.owners[owner].log.push(OwnerFact::DisposalBegan);
                for index in 0..self.tasks.len() {
                    let pending =
                        matches!(self.tasks[index].notice(), Notice::Pending | Notice::Announced);
                    if self.tasks[index].owner == Some(owner) && pending {
                        self.note(index, TaskFact::NoticeGone);
                    }
                }
                for index in 0..self.tasks.len() {
                    if self.tasks[index].owner == Some(owner) {
                        self.cancel(index, StopCause::OwnerDisposal, out);
                    }
                }
                self.end_disposal(owner, out);
                Reply::Done
            }
            Life::Disposing | Life::Gone => Reply::Done,
            Life::Disposed => Reply::Disposed { orphans: self.owners[owner].orphans() },
        }
    }

    pub(super) fn drop_owner(&mut self, owner: Index, out: &mut Vec<Command>) {
        if !self.owners[owner].is_gone() {
            self.owners[owner].log.push(OwnerFact::Dropped);
            self.dispose(owner, out);
        }
    }

    /// Asks a live task to stop, for a disposal: nobody is left to read a notice.
    // contract: O1, O7
    pub(super) fn cancel(&mut self, index: Index, cause: StopCause, out: &mut Vec<Command>) {
        if !self.tasks[index].is_live() {
            return;
        }
        let due = self.config.teardown_deadline.map(|span| self.now.at.saturating_add(span));
        let serial = self.next_serial();
        self.note(index, TaskFact::Told);
        self.note(index, TaskFact::CancelSent { serial, cause, due });
        let task = self.tasks[index].key;
        out.push(Command::Cancel { task, reason: disposal_reason(cause).into() });
    }

    /// After something of that owner has ended, so may have what waits for it.
    pub(super) fn end_disposals(&mut self, owner: Option<Index>, out: &mut Vec<Command>) {
        if let Some(owner) = owner {
            self.end_disposal(owner, out);
        }
        self.end_shutdown(out);
    }

    // contract: O1, O2
    fn end_disposal(&mut self, owner: Index, out: &mut Vec<Command>) {
        let at_work = self.taken_slots(Some(owner)) > 0;
        if self.owners[owner].life() != Life::Disposing || at_work {
            return;
        }
        let on_record = |&index: &Index| {
            self.tasks[index].owner == Some(owner) && self.tasks[index].is_on_record()
        };
        let tasks: Vec<Index> = (0..self.tasks.len()).filter(on_record).collect();
        self.forget(&tasks, out);
        if !tasks.is_empty() {
            self.changed(Some(owner), out);
        }
        let (key, orphans) = (self.owners[owner].key, self.owners[owner].orphans());
        out.push(Command::OwnerDisposed { owner: key, orphans });
        self.owners[owner].log.push(OwnerFact::DisposalEnded);
    }

    fn service_orphans(&self) -> Vec<longrun_core::TaskId> {
        let orphans = self.service.iter().filter_map(|fact| match fact {
            ServiceFact::Orphaned(id) => Some(id.clone()),
            ServiceFact::ShutdownBegan | ServiceFact::ShutdownEnded => None,
        });
        orphans.collect()
    }

    // contract: T1
    pub(super) fn shut_down(&mut self, out: &mut Vec<Command>) -> Reply {
        match self.stage() {
            Stage::Open => {
                self.service.push(ServiceFact::ShutdownBegan);
                for index in 0..self.tasks.len() {
                    self.cancel(index, StopCause::Shutdown, out);
                }
                self.end_shutdown(out);
                Reply::Done
            }
            Stage::Closing => Reply::Done,
            Stage::Closed => Reply::Disposed { orphans: self.service_orphans() },
        }
    }

    // contract: T1, C3
    fn end_shutdown(&mut self, out: &mut Vec<Command>) {
        let at_work = self.tasks.iter().any(|task| task.is_live());
        let starting = self.starts.iter().any(|start| !start.over);
        if self.stage() != Stage::Closing || at_work || starting {
            return;
        }
        self.service.push(ServiceFact::ShutdownEnded);
        let on_record = |&index: &Index| self.tasks[index].is_on_record();
        let tasks: Vec<Index> = (0..self.tasks.len()).filter(on_record).collect();
        self.forget(&tasks, out);
        let mut told: Vec<Option<Index>> = Vec::new();
        for index in tasks {
            let owner = self.tasks[index].owner;
            if !told.contains(&owner) {
                told.push(owner);
                self.changed(owner, out);
            }
        }
        out.push(Command::ShutDown { orphans: self.service_orphans() });
    }
}
