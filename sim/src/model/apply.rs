//! What an event does, and what the registry has to answer.

use longrun_core::{
    Command, ControllerKey, Event, ListenerKey, OutputMode, Refusal, Reply, ReservationKey,
    ScopeKey, StopCause, TaskId, TaskKey,
};

use super::{
    Model, cut,
    entities::{Life, Notice, OwnerFact, Registration, Scope, Stage, Start, Task},
};

/// What the registry answered.
pub(crate) type Answer = Result<Reply, Refusal>;

/// The registry gave out no key where it had to, or one that it had given out before.
#[derive(Clone, Debug)]
pub(crate) struct NoFreshKey;

impl Model {
    /// Takes in an event that is not to be refused, and says what it comes to. `actual` is
    /// asked for nothing but the keys of new things.
    pub(crate) fn apply(
        &mut self,
        event: &Event,
        actual: &Answer,
        out: &mut Vec<Command>,
    ) -> Result<Reply, NoFreshKey> {
        match event {
            Event::Tick => Ok(Reply::Done),
            Event::OpenScope { .. }
            | Event::CloseScope { .. }
            | Event::AttachController { .. }
            | Event::ControllerDetached { .. }
            | Event::AddListener { .. }
            | Event::ListenerRemoved { .. }
            | Event::AddObserver { .. }
            | Event::ObserverRemoved { .. } => self.apply_to_scopes(event, actual, out),
            Event::OpenOwner { .. }
            | Event::BusyChanged { .. }
            | Event::Claim { .. }
            | Event::DisposeOwner { .. }
            | Event::OwnerDropped { .. } => self.apply_to_owners(event, actual, out),
            Event::Reserve(_) | Event::Commit { .. } | Event::Release { .. } => {
                self.apply_to_starts(event, actual, out)
            }
            Event::Read { .. } | Event::Kill { .. } | Event::Wait { .. } => {
                self.apply_request(event, actual, out)
            }
            _ => Ok(self.apply_fact(event, out)),
        }
    }

    fn apply_to_scopes(
        &mut self,
        event: &Event,
        actual: &Answer,
        out: &mut Vec<Command>,
    ) -> Result<Reply, NoFreshKey> {
        match (event, actual) {
            (Event::OpenScope { parent }, Ok(Reply::Scope(key))) => {
                let parent = parent.and_then(|parent| self.scope_index(parent));
                new_key(self.scopes.iter().map(|scope| scope.key), *key)?;
                self.scopes.push(Scope { key: *key, parent, closed: false });
                Ok(Reply::Scope(*key))
            }
            (Event::CloseScope { scope }, _) => {
                self.close_scope(*scope);
                Ok(Reply::Done)
            }
            (Event::AttachController { scope, notices }, Ok(Reply::Controller(key))) => {
                let scope = scope.and_then(|scope| self.scope_index(scope));
                new_key(self.controllers.iter().map(|r| r.key), *key)?;
                self.controllers.push(Registration {
                    key: *key,
                    scope,
                    notices: *notices,
                    gone: false,
                });
                if notices.is_some() {
                    self.announce_what_waits(out);
                }
                Ok(Reply::Controller(*key))
            }
            (Event::AddListener { scope }, Ok(Reply::Listener(key))) => {
                let scope = scope.and_then(|scope| self.scope_index(scope));
                new_key(self.listeners.iter().map(|r| r.key), *key)?;
                self.listeners.push(Registration { key: *key, scope, notices: None, gone: false });
                Ok(Reply::Listener(*key))
            }
            (Event::AddObserver { scope }, Ok(Reply::Observer(key))) => {
                let scope = scope.and_then(|scope| self.scope_index(scope));
                new_key(self.observers.iter().map(|r| r.key), *key)?;
                self.observers.push(Registration { key: *key, scope, notices: None, gone: false });
                Ok(Reply::Observer(*key))
            }
            (Event::ControllerDetached { controller }, _) => {
                let key: ControllerKey = *controller;
                self.controllers.iter_mut().filter(|r| r.key == key).for_each(|r| r.gone = true);
                Ok(Reply::Done)
            }
            (Event::ListenerRemoved { listener }, _) => {
                let key: ListenerKey = *listener;
                self.listeners.iter_mut().filter(|r| r.key == key).for_each(|r| r.gone = true);
                Ok(Reply::Done)
            }
            (Event::ObserverRemoved { observer }, _) => {
                self.observers
                    .iter_mut()
                    .filter(|r| r.key == *observer)
                    .for_each(|r| r.gone = true);
                Ok(Reply::Done)
            }
            _ => Err(NoFreshKey),
        }
    }

    fn close_scope(&mut self, key: ScopeKey) {
        let Some(closing) = self.scope_index(key) else { return };
        for index in 0..self.scopes.len() {
            if self.chain(Some(index)).contains(&Some(closing)) {
                self.scopes[index].closed = true;
            }
        }
    }

    /// Controls were mounted: what became pending without any is announced, owner by
    /// owner.
    fn announce_what_waits(&mut self, out: &mut Vec<Command>) {
        let tasks = (0..self.tasks.len()).filter(|&i| self.tasks[i].notice() == Notice::Pending);
        let mut waiting: Vec<_> = tasks
            .map(|index| {
                let owner = self.tasks[index].owner.map(|owner| self.owners[owner].key);
                (owner, self.tasks[index].pending_since(), index)
            })
            .collect();
        waiting.sort_unstable();
        for (_, _, index) in waiting {
            self.announce(index, out);
        }
    }

    fn apply_to_owners(
        &mut self,
        event: &Event,
        actual: &Answer,
        out: &mut Vec<Command>,
    ) -> Result<Reply, NoFreshKey> {
        match (event, actual) {
            (Event::OpenOwner { session, scope, busy }, Ok(Reply::Owner { owner, .. })) => {
                new_key(self.owners.iter().map(|owner| owner.key), *owner)?;
                Ok(self.open_owner(*owner, session, *scope, *busy))
            }
            (Event::BusyChanged { owner, busy }, _) => {
                if let Some(index) = self.owner_index(*owner) {
                    self.owners[index].log.push(OwnerFact::Busy(*busy));
                }
                Ok(Reply::Done)
            }
            (Event::Claim { owner, source, or_idle }, _) => {
                let index = self.owner_index(*owner).ok_or(NoFreshKey)?;
                Ok(self.claim(index, *source, *or_idle))
            }
            (Event::DisposeOwner { owner }, _) => {
                let index = self.owner_index(*owner).ok_or(NoFreshKey)?;
                Ok(self.dispose(index, out))
            }
            (Event::OwnerDropped { owner }, _) => {
                if let Some(index) = self.owner_index(*owner) {
                    self.drop_owner(index, out);
                }
                Ok(Reply::Done)
            }
            _ => Err(NoFreshKey),
        }
    }

    fn apply_to_starts(
        &mut self,
        event: &Event,
        actual: &Answer,
        out: &mut Vec<Command>,
    ) -> Result<Reply, NoFreshKey> {
        match (event, actual) {
            (Event::Reserve(request), Ok(Reply::Reserved(key))) => {
                new_key(self.starts.iter().map(|start| start.key), *key)?;
                let owner = request.owner.and_then(|owner| self.owner_index(owner));
                let request = request.clone();
                self.starts.push(Start { key: *key, request, owner, over: false });
                Ok(Reply::Reserved(*key))
            }
            (Event::Commit { reservation, output }, Ok(Reply::Started { task, .. })) => {
                new_key(self.tasks.iter().map(|task| task.key), *task)?;
                self.commit(*reservation, *output, *task, out)
            }
            (Event::Release { reservation }, _) => {
                let open = self.starts.iter().position(|s| s.key == *reservation && !s.over);
                if let Some(index) = open {
                    self.starts[index].over = true;
                    self.end_disposals(self.starts[index].owner, out);
                }
                Ok(Reply::Done)
            }
            _ => Err(NoFreshKey),
        }
    }

    // contract: S1, S4, S10
    fn commit(
        &mut self,
        reservation: ReservationKey,
        mode: OutputMode,
        key: TaskKey,
        out: &mut Vec<Command>,
    ) -> Result<Reply, NoFreshKey> {
        let found = self.starts.iter().position(|s| s.key == reservation && !s.over);
        let start = found.ok_or(NoFreshKey)?;
        self.starts[start].over = true;
        let Start { request, owner, .. } = self.starts[start].clone();
        let earlier = self.tasks.iter().filter(|task| task.kind == request.kind).count();
        let id = TaskId::parse(&format!("{}-{}", request.kind, earlier + 1));
        let id = id.map_err(|_| NoFreshKey)?;
        let index = self.tasks.len();
        self.tasks.push(Task {
            key,
            id: id.clone(),
            label: cut(&request.label, self.config.max_label_bytes),
            kind: request.kind,
            output_limit_bytes: request.output_limit_bytes,
            owner,
            session: owner.map(|owner| self.owners[owner].session.clone()),
            mode,
            preference: request.notice,
            started_at_ms: self.now.wall_ms,
            log: Vec::new(),
        });
        self.changed(owner, out);
        self.evict(owner, out);
        if self.stage() != Stage::Open {
            self.cancel(index, StopCause::Shutdown, out);
        } else if owner.is_some_and(|o| self.owners[o].life() != Life::Live) {
            self.cancel(index, StopCause::OwnerDisposal, out);
        }
        Ok(Reply::Started { task: key, id })
    }
}

/// Makes sure that a key was not given out before.
pub(super) fn new_key<K: PartialEq>(
    mut earlier: impl Iterator<Item = K>,
    key: K,
) -> Result<(), NoFreshKey> {
    if earlier.any(|earlier| earlier == key) { Err(NoFreshKey) } else { Ok(()) }
}
