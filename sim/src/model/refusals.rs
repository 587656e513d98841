//! Whether a request has to be turned down, and why.

use std::time::Duration;

use longrun_core::{
    AccessRefusal, Caller, Event, Gone, KillRefusal, MAX_WAIT, OwnerKey, ReadRefusal, Refusal,
    ScopeKey, StartRefusal, StartRequest, TaskId, WaitRefusal,
};

use super::{
    Model,
    entities::{Index, Life, Stage},
};

impl Model {
    /// The refusal that this event has to meet now, if any.
    pub(crate) fn refusal(&self, event: &Event) -> Option<Refusal> {
        match event {
            Event::OpenScope { parent: scope }
            | Event::AttachController { scope, .. }
            | Event::AddListener { scope }
            | Event::AddObserver { scope }
            | Event::OpenOwner { scope, .. } => self.scope_refusal(*scope),
            Event::CloseScope { scope } => self.scope_refusal(Some(*scope)),
            Event::Claim { owner, .. } | Event::DisposeOwner { owner } => {
                self.owner_refusal(*owner)
            }
            Event::Reserve(request) => self.start_refusal(request).map(Refusal::Start),
            Event::Commit { reservation, .. } => {
                let open = self.starts.iter().any(|s| s.key == *reservation && !s.over);
                (!open).then_some(Refusal::Gone(Gone::Reservation))
            }
            Event::Read { id, caller } => self.read_refusal(id, caller).map(Refusal::Read),
            Event::Kill { id, caller, .. } => self.kill_refusal(id, caller).map(Refusal::Kill),
            Event::Wait { id, caller, timeout } => {
                self.wait_refusal(id, caller, *timeout).map(Refusal::Wait)
            }
            Event::Tick
            | Event::ControllerDetached { .. }
            | Event::ListenerRemoved { .. }
            | Event::ObserverRemoved { .. }
            | Event::BusyChanged { .. }
            | Event::OwnerDropped { .. }
            | Event::Release { .. }
            | Event::Settled { .. }
            | Event::Broke { .. }
            | Event::CancelAnswered { .. }
            | Event::ReadEnded { .. }
            | Event::KillAnswered { .. }
            | Event::TakeWait { .. }
            | Event::AbortWait { .. }
            | Event::WaitDropped { .. }
            | Event::Shutdown => None,
        }
    }

    fn scope_refusal(&self, scope: Option<ScopeKey>) -> Option<Refusal> {
        let open = scope.is_none_or(|key| {
            self.scope_index(key).is_some_and(|index| !self.scopes[index].closed)
        });
        (!open).then_some(Refusal::Gone(Gone::Scope))
    }

    fn owner_refusal(&self, owner: OwnerKey) -> Option<Refusal> {
        let found = self.owner_index(owner).is_some_and(|index| !self.owners[index].is_gone());
        (!found).then_some(Refusal::Gone(Gone::Owner))
    }

    // contract: S2
    fn start_refusal(&self, request: &StartRequest) -> Option<StartRefusal> {
        let known = request.owner.and_then(|owner| self.owner_index(owner));
        let owner = known.filter(|&index| !self.owners[index].is_gone());
        if self.stage() != Stage::Open {
            return Some(StartRefusal::ShuttingDown);
        }
        if self.serving(&self.controllers, self.scope_of(owner)).is_empty() {
            return Some(StartRefusal::NoController);
        }
        let unfit = |c: char| c.is_control() || c.is_whitespace() || c == '[' || c == ']';
        if !(1..=64).contains(&request.kind.len()) || request.kind.contains(unfit) {
            return Some(StartRefusal::InvalidKind { got_bytes: request.kind.len() });
        }
        if request.label.is_empty() {
            return Some(StartRefusal::EmptyLabel);
        }
        if request.output_limit_bytes == Some(0) {
            return Some(StartRefusal::ZeroOutputLimit);
        }
        if request.owner.is_some() {
            let registered = owner.filter(|&o| self.registered(&self.owners[o].session) == Some(o));
            match registered.map(|index| self.owners[index].life()) {
                None => return Some(StartRefusal::OwnerNotLive),
                Some(Life::Live) => {}
                Some(Life::Disposing | Life::Disposed | Life::Gone) => {
                    return Some(StartRefusal::OwnerDisposing);
                }
            }
        }
        let limit = self.config.max_active_per_owner;
        (self.taken_slots(owner) >= limit).then_some(StartRefusal::LimitReached { limit })
    }

    // contract: A1, A2, A4
    fn access(&self, id: &TaskId, caller: &Caller) -> Result<Index, AccessRefusal> {
        let Some(index) = self.task_named(id) else {
            return Err(AccessRefusal::Unknown { id: id.clone() });
        };
        match &self.tasks[index].session {
            Some(session) if caller.as_ref() != Some(session) => {
                Err(AccessRefusal::Foreign { id: id.clone() })
            }
            Some(_) | None => Ok(index),
        }
    }

    fn read_refusal(&self, id: &TaskId, caller: &Caller) -> Option<ReadRefusal> {
        match self.access(id, caller) {
            Err(refusal) => Some(ReadRefusal::Access(refusal)),
            Ok(task) if self.is_being_read(task) => {
                Some(ReadRefusal::InProgress { id: id.clone() })
            }
            Ok(_) => None,
        }
    }

    fn kill_refusal(&self, id: &TaskId, caller: &Caller) -> Option<KillRefusal> {
        let limit = self.config.max_waiters_per_task;
        match self.access(id, caller) {
            Err(refusal) => Some(KillRefusal::Access(refusal)),
            Ok(task) if self.tasks[task].is_live() && self.in_flight(task) >= limit => {
                Some(KillRefusal::TooMany { limit })
            }
            Ok(_) => None,
        }
    }

    fn wait_refusal(&self, id: &TaskId, caller: &Caller, timeout: Duration) -> Option<WaitRefusal> {
        let limit = self.config.max_waiters_per_task;
        match self.access(id, caller) {
            Err(refusal) => Some(WaitRefusal::Access(refusal)),
            Ok(_) if timeout.is_zero() || timeout > MAX_WAIT => {
                Some(WaitRefusal::TimeoutOutOfRange)
            }
            Ok(task) if self.tasks[task].is_live() && self.in_flight(task) >= limit => {
                Some(WaitRefusal::TooMany { limit })
            }
            Ok(_) => None,
        }
    }
}
