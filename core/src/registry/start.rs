//! Start: reserve → the starter runs → commit or release.
//!
//! All that can fail is checked when the slot is reserved. Once the starter has
//! returned its hooks nothing can, whatever happened in between: work without an id
//! cannot exist.

use alloc::{collections::BTreeMap, vec::Vec};

use smallvec::SmallVec;

use super::{
    Registry,
    arena::Arena,
    owners::{Life, Stage},
    tasks::{Notice, Task, Teardown},
};
use crate::{
    Command, Gone, OutputMode, OwnerKey, Refusal, Reply, ReservationKey, SessionId, StartRefusal,
    StartRequest, Status, StopCause, ids,
};

#[derive(Clone, Debug)]
pub(super) struct Reservation {
    pub(super) request: StartRequest,
    session: Option<SessionId>,
}

pub(super) type Reservations = Arena<ReservationKey, Reservation>;

impl Registry {
    pub(super) fn reserve(&mut self, request: StartRequest) -> Result<Reply, Refusal> {
        self.admit(&request)?;
        let session = request.owner.and_then(|owner| self.owners.get(owner));
        let session = session.map(|owner| owner.session.clone());
        self.owners.bucket(request.owner).reserved += 1;
        Ok(Reply::Reserved(self.reservations.insert(Reservation { request, session })))
    }

    /// Everything that can fail, in the order that the contract gives.
    fn admit(&mut self, request: &StartRequest) -> Result<(), StartRefusal> {
        if self.service.stage != Stage::Open {
            return Err(StartRefusal::ShuttingDown);
        }
        if !self.scopes.has_controller(self.scope_of(request.owner)) {
            return Err(StartRefusal::NoController);
        }
        if !ids::kind_is_valid(&request.kind) {
            return Err(StartRefusal::InvalidKind { got_bytes: request.kind.len() });
        }
        if request.label.is_empty() {
            return Err(StartRefusal::EmptyLabel);
        }
        if request.output_limit_bytes == Some(0) {
            return Err(StartRefusal::ZeroOutputLimit);
        }
        if let Some(owner) = request.owner {
            self.admit_owner(owner)?;
        }
        let limit = self.config.max_active_per_owner;
        let stopping = if canary!(StoppingIsFree) { self.stopping(request.owner) } else { 0 };
        let bucket = self.owners.bucket(request.owner);
        if bucket.active + bucket.reserved - stopping >= limit {
            if canary!(RefusalBurnsNumber) {
                self.tasks.mint(&request.kind);
            }
            return Err(StartRefusal::LimitReached { limit });
        }
        Ok(())
    }

    /// How many tasks of an owner are stopping.
    fn stopping(&self, owner: Option<OwnerKey>) -> usize {
        let tasks = self.tasks.iter().filter(|(_, task)| task.owner == owner);
        tasks.filter(|(_, task)| task.status == Status::Stopping).count()
    }

    fn admit_owner(&self, owner: OwnerKey) -> Result<(), StartRefusal> {
        if !self.owners.is_registered(owner) {
            return Err(StartRefusal::OwnerNotLive);
        }
        match self.owners.get(owner).map(|owner| owner.life) {
            Some(Life::Live) => Ok(()),
            Some(Life::Disposing | Life::Disposed) | None => Err(StartRefusal::OwnerDisposing),
        }
    }

    pub(super) fn commit(
        &mut self,
        reservation: ReservationKey,
        output_mode: OutputMode,
        out: &mut Vec<Command>,
    ) -> Result<Reply, Refusal> {
        let reserved = self.reservations.remove(reservation).ok_or(Gone::Reservation)?;
        let Reservation { request, session } = reserved;
        let id = self.tasks.mint(&request.kind);
        let owner = request.owner;
        let task = self.tasks.insert(Task {
            id: id.clone(),
            kind: request.kind,
            label: self.config.bounded_label(request.label),
            output_limit_bytes: request.output_limit_bytes,
            owner,
            session,
            output_mode,
            preference: request.notice,
            status: Status::Running,
            detail: None,
            output: None,
            started_at_ms: self.now.wall_ms,
            finished_at_ms: None,
            stop: None,
            waiters: BTreeMap::new(),
            kills: SmallVec::new(),
            reading: None,
            teardown: Teardown::default(),
            told: None,
            promises: 0,
            notice: Notice::None,
        });
        let bucket = self.owners.bucket(owner);
        bucket.reserved -= 1;
        bucket.active += 1;
        bucket.tasks.insert(task);
        self.notify_changed(owner, out);
        self.evict(owner, out);
        self.cancel_if_late(task, owner, out);
        Ok(Reply::Started { task, id })
    }

    /// A disposal that began while the starter ran cancels and awaits the new task.
    fn cancel_if_late(
        &mut self,
        task: crate::TaskKey,
        owner: Option<OwnerKey>,
        out: &mut Vec<Command>,
    ) {
        let life = owner.and_then(|owner| self.owners.get(owner)).map(|owner| owner.life);
        if self.service.stage != Stage::Open {
            self.cancel_for_teardown(task, StopCause::Shutdown, out);
        } else if life.is_some_and(|life| life != Life::Live) {
            self.cancel_for_teardown(task, StopCause::OwnerDisposal, out);
        }
    }

    pub(super) fn release(
        &mut self,
        reservation: ReservationKey,
        out: &mut Vec<Command>,
    ) -> Result<Reply, Refusal> {
        if let Some(reserved) = self.reservations.remove(reservation) {
            let owner = reserved.request.owner;
            self.owners.bucket(owner).reserved -= usize::from(!canary!(ReleaseLeaksSlot));
            self.finish_disposals_of(owner, out);
        }
        Ok(Reply::Done)
    }

    /// After a task or a start of that owner has ended: so may have what waits for it.
    pub(super) fn finish_disposals_of(&mut self, owner: Option<OwnerKey>, out: &mut Vec<Command>) {
        if let Some(owner) = owner {
            self.finish_disposal(owner, out);
        }
        self.finish_shutdown(out);
    }
}
