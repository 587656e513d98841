//! Live owners, their disposal, and the shutdown of the service.
//!
//! Session equality grants access; the exact owner selects cleanup, admission and
//! notices. So an owner that was replaced under its session id goes on as before,
//! but for starting work.

use alloc::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    vec::Vec,
};

use super::{Registry, arena::Arena};
use crate::{
    Command, Gone, OwnerKey, Refusal, Reply, ScopeKey, SessionId, StopCause, TaskId, TaskKey,
};

/// The tasks that one admission limit is for: one owner's, or the unowned ones.
#[derive(Clone, Debug, Default)]
pub(super) struct Bucket {
    pub(super) tasks: BTreeSet<TaskKey>,
    /// Tasks that are running or stopping.
    pub(super) active: usize,
    /// Starts that were admitted and are neither committed nor released.
    pub(super) reserved: usize,
}

impl Bucket {
    pub(super) fn is_at_rest(&self) -> bool {
        self.active == 0 && (self.reserved == 0 || canary!(DisposalEndsEarly))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    Live,
    Disposing,
    Disposed,
}

#[derive(Clone, Debug)]
pub(super) struct Owner {
    pub(super) session: SessionId,
    pub(super) scope: Option<ScopeKey>,
    pub(super) life: Life,
    pub(super) busy: bool,
    /// Somebody holds its key and may still ask about it.
    held: bool,
    pub(super) bucket: Bucket,
    /// Tasks whose notice is pending, in the order in which they ended.
    pub(super) pending: VecDeque<TaskKey>,
    /// How often it was woken since it last claimed user input.
    pub(super) wakes: u32,
    /// Tasks that may still be at work after its disposal.
    orphans: Vec<TaskId>,
}

#[derive(Clone, Debug)]
pub(super) struct Owners {
    owners: Arena<OwnerKey, Owner>,
    /// Who is registered under a session id now: the latest, disposed or not.
    live: BTreeMap<SessionId, OwnerKey>,
    unowned: Bucket,
}

impl Owners {
    pub(super) const fn new() -> Self {
        Self {
            owners: Arena::new(),
            live: BTreeMap::new(),
            unowned: Bucket { tasks: BTreeSet::new(), active: 0, reserved: 0 },
        }
    }

    pub(super) fn get(&self, key: OwnerKey) -> Option<&Owner> {
        self.owners.get(key)
    }

    pub(super) fn get_mut(&mut self, key: OwnerKey) -> Option<&mut Owner> {
        self.owners.get_mut(key)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (OwnerKey, &Owner)> {
        self.owners.iter()
    }

    /// The owner registered under the session id of that one.
    pub(super) fn live_one(&self, key: OwnerKey) -> Option<OwnerKey> {
        self.live.get(&self.get(key)?.session).copied()
    }

    /// Whether that owner is the one registered under its session id.
    pub(super) fn is_registered(&self, key: OwnerKey) -> bool {
        self.live_one(key) == Some(key)
    }

    /// The bucket of an owner, or that of the unowned tasks.
    pub(super) fn bucket(&mut self, owner: Option<OwnerKey>) -> &mut Bucket {
        match owner {
            None => &mut self.unowned,
            Some(key) => {
                let owner = self.owners.get_mut(key);
                &mut owner.expect("an owner is kept while it has tasks or starts").bucket
            }
        }
    }

    #[cfg(any(test, feature = "check"))]
    pub(super) fn unowned(&self) -> &Bucket {
        &self.unowned
    }
}

/// The life of the service.
#[derive(Clone, Debug, Default)]
pub(super) struct Service {
    pub(super) stage: Stage,
    orphans: Vec<TaskId>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stage {
    #[default]
    Open,
    Closing,
    Closed,
}

impl Registry {
    pub(super) fn open_owner(
        &mut self,
        session: SessionId,
        scope: Option<ScopeKey>,
        busy: bool,
    ) -> Result<Reply, Refusal> {
        self.scopes.require_open(scope)?;
        self.scopes.hold(scope);
        let owner = self.owners.owners.insert(Owner {
            session: session.clone(),
            scope,
            life: Life::Live,
            busy,
            held: true,
            bucket: Bucket::default(),
            pending: VecDeque::new(),
            wakes: 0,
            orphans: Vec::new(),
        });
        let replaced = self.owners.live.insert(session, owner);
        Ok(Reply::Owner { owner, replaced })
    }

    pub(super) fn busy_changed(&mut self, owner: OwnerKey, busy: bool) -> Result<Reply, Refusal> {
        if let Some(owner) = self.owners.get_mut(owner) {
            owner.busy = busy;
        }
        Ok(Reply::Done)
    }

    pub(super) fn dispose_owner(
        &mut self,
        key: OwnerKey,
        out: &mut Vec<Command>,
    ) -> Result<Reply, Refusal> {
        let owner = self.owners.get_mut(key).ok_or(Gone::Owner)?;
        match owner.life {
            Life::Live => {
                owner.life = Life::Disposing;
                self.drop_pending(key);
                let tasks: Vec<TaskKey> =
                    self.owners.bucket(Some(key)).tasks.iter().copied().collect();
                for task in tasks {
                    self.cancel_for_teardown(task, StopCause::OwnerDisposal, out);
                }
                self.finish_disposal(key, out);
                Ok(Reply::Done)
            }
            Life::Disposing => Ok(Reply::Done),
            Life::Disposed => Ok(Reply::Disposed { orphans: owner.orphans.clone() }),
        }
    }

    pub(super) fn owner_dropped(
        &mut self,
        key: OwnerKey,
        out: &mut Vec<Command>,
    ) -> Result<Reply, Refusal> {
        let Some(owner) = self.owners.get_mut(key) else { return Ok(Reply::Done) };
        owner.held = false;
        self.dispose_owner(key, out)?;
        self.forget_owner(key);
        Ok(Reply::Done)
    }

    /// Ends an owner's disposal if its work has.
    pub(super) fn finish_disposal(&mut self, key: OwnerKey, out: &mut Vec<Command>) {
        let Some(owner) = self.owners.get_mut(key) else { return };
        if owner.life != Life::Disposing || !owner.bucket.is_at_rest() {
            return;
        }
        owner.life = Life::Disposed;
        let tasks: Vec<TaskKey> = owner.bucket.tasks.iter().copied().collect();
        for &task in &tasks {
            self.forget_task(task, out);
        }
        if !tasks.is_empty() {
            self.notify_changed(Some(key), out);
        }
        let orphans = self.owners.get(key).map(|owner| owner.orphans.clone()).unwrap_or_default();
        out.push(Command::OwnerDisposed { owner: key, orphans });
        self.forget_owner(key);
    }

    /// Lets go of an owner that nobody holds and that has nothing any more.
    fn forget_owner(&mut self, key: OwnerKey) {
        let Some(owner) = self.owners.get(key) else { return };
        if owner.held || owner.life != Life::Disposed {
            return;
        }
        if let Some(owner) = self.owners.owners.remove(key) {
            if self.owners.live.get(&owner.session) == Some(&key) {
                self.owners.live.remove(&owner.session);
            }
            self.scopes.let_go(owner.scope);
        }
    }

    pub(super) fn shutdown(&mut self, out: &mut Vec<Command>) -> Result<Reply, Refusal> {
        match self.service.stage {
            Stage::Open => {
                self.service.stage = Stage::Closing;
                let tasks: Vec<TaskKey> = self.tasks.iter().map(|(key, _)| key).collect();
                for task in tasks {
                    self.cancel_for_teardown(task, StopCause::Shutdown, out);
                }
                self.finish_shutdown(out);
                Ok(Reply::Done)
            }
            Stage::Closing => Ok(Reply::Done),
            Stage::Closed => Ok(Reply::Disposed { orphans: self.service.orphans.clone() }),
        }
    }

    /// Ends the shutdown if all work has.
    pub(super) fn finish_shutdown(&mut self, out: &mut Vec<Command>) {
        let at_rest = self.reservations.len() + self.tasks.live() == 0;
        if self.service.stage != Stage::Closing || !at_rest {
            return;
        }
        self.service.stage = Stage::Closed;
        let tasks: Vec<TaskKey> = self.tasks.iter().map(|(key, _)| key).collect();
        let mut owners: Vec<Option<OwnerKey>> = Vec::new();
        for task in tasks {
            let owner = self.owner_of(task);
            if !owners.contains(&owner) {
                owners.push(owner);
            }
            self.forget_task(task, out);
        }
        for owner in owners {
            self.notify_changed(owner, out);
        }
        out.push(Command::ShutDown { orphans: self.service.orphans.clone() });
    }

    /// Puts a task that may still be at work on the reports that it belongs to.
    pub(super) fn report_orphan(&mut self, owner: Option<OwnerKey>, id: TaskId) {
        if let Some(owner) = owner.and_then(|owner| self.owners.get_mut(owner))
            && owner.life == Life::Disposing
        {
            owner.orphans.push(id.clone());
        }
        if self.service.stage == Stage::Closing {
            self.service.orphans.push(id);
        }
    }

    /// Removes a task's record.
    pub(super) fn forget_task(&mut self, key: TaskKey, out: &mut Vec<Command>) {
        let Some(task) = self.tasks.remove(key) else { return };
        self.owners.bucket(task.owner).tasks.remove(&key);
        if let Some(owner) = task.owner.and_then(|owner| self.owners.get_mut(owner)) {
            owner.pending.retain(|pending| *pending != key);
        }
        out.push(Command::Forget { task: key });
    }

    /// Whether the service has begun to shut down.
    #[must_use]
    pub fn is_closing(&self) -> bool {
        self.service.stage != Stage::Open
    }

    /// Whether the shutdown has ended.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.service.stage == Stage::Closed && !canary!(ShutdownUntold)
    }
}
