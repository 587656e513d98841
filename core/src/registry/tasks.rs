//! The records, who can reach them, what is seen of them.

use alloc::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    vec::Vec,
};

use smallvec::SmallVec;

use super::{Registry, deadlines::Deadline};
use crate::{
    AccessRefusal, KillKey, NoticePreference, OutputMode, OwnerKey, ReadKey, SessionId, Status,
    Stop, StopCause, TaskId, TaskKey, TaskSnapshot, WaiterKey,
};

/// One task.
#[derive(Clone, Debug)]
pub(super) struct Task {
    pub(super) id: TaskId,
    pub(super) kind: Arc<str>,
    pub(super) label: Arc<str>,
    pub(super) output_limit_bytes: Option<u64>,
    pub(super) owner: Option<OwnerKey>,
    pub(super) session: Option<SessionId>,
    pub(super) output_mode: OutputMode,
    pub(super) preference: NoticePreference,
    pub(super) status: Status,
    pub(super) detail: Option<Arc<str>>,
    pub(super) output: Option<Arc<str>>,
    pub(super) started_at_ms: u64,
    pub(super) finished_at_ms: Option<u64>,
    pub(super) stop: Option<Stop>,
    /// The waits that are registered, in order.
    pub(super) waiters: BTreeMap<u64, WaiterKey>,
    /// The kills between request and answer.
    pub(super) kills: SmallVec<[KillKey; 1]>,
    /// The read between beginning and end.
    pub(super) reading: Option<ReadKey>,
    pub(super) teardown: Teardown,
    /// What delivered the terminal state first, or is to.
    pub(super) told: Option<Teller>,
    /// Waits and kills that were promised the terminal state and have not taken it.
    pub(super) promises: usize,
    pub(super) notice: Notice,
}

/// What delivers a terminal state, other than a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Teller {
    Read,
    Wait,
    Kill,
    Teardown,
}

/// Where the notice of a task's end is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Notice {
    /// There is none.
    None,
    /// With the owner, to be claimed; `announced` once its harness was told of it.
    Pending { announced: bool },
    /// Claimed.
    Claimed,
}

/// The cancels that disposals have sent to a task.
#[derive(Clone, Debug, Default)]
pub(super) struct Teardown {
    /// Sent and not answered, oldest first.
    pub(super) unanswered: SmallVec<[StopCause; 2]>,
    pub(super) deadline: Option<Deadline>,
}

impl Task {
    pub(super) fn is_live(&self) -> bool {
        !self.status.is_terminal()
    }

    pub(super) fn reported(&self) -> bool {
        self.told.is_some() || self.promises > 0
    }

    pub(super) fn snapshot(&self) -> TaskSnapshot {
        TaskSnapshot {
            id: self.id.clone(),
            kind: self.kind.clone(),
            label: self.label.clone(),
            output_limit_bytes: self.output_limit_bytes,
            owner_session: self.session.clone(),
            status: self.status,
            detail: self.detail.clone(),
            started_at_ms: self.started_at_ms,
            finished_at_ms: self.finished_at_ms,
            reported: self.reported(),
            stop: self.stop.clone(),
        }
    }
}

/// All records, by each of the ways in which they are looked up.
#[derive(Clone, Debug, Default)]
pub(super) struct Tasks {
    records: BTreeMap<TaskKey, Task>,
    by_id: BTreeMap<TaskId, TaskKey>,
    /// Unowned tasks are under `None`.
    by_session: BTreeMap<Option<SessionId>, BTreeSet<TaskKey>>,
    /// How many of each kind have ever been registered.
    counters: BTreeMap<Arc<str>, u64>,
    registered: u64,
    /// How many are running or stopping.
    live: usize,
}

impl Tasks {
    /// The next id of a kind; it is used up with this.
    pub(super) fn mint(&mut self, kind: &Arc<str>) -> TaskId {
        let counter = self.counters.entry(kind.clone()).or_insert(0);
        *counter += 1;
        TaskId::mint(kind, *counter)
    }

    pub(super) fn insert(&mut self, task: Task) -> TaskKey {
        let key = TaskKey(self.registered);
        self.registered += 1;
        self.live += 1;
        self.by_id.insert(task.id.clone(), key);
        self.by_session.entry(task.session.clone()).or_default().insert(key);
        self.records.insert(key, task);
        key
    }

    pub(super) fn remove(&mut self, key: TaskKey) -> Option<Task> {
        let task = self.records.remove(&key)?;
        self.by_id.remove(&task.id);
        if let Some(keys) = self.by_session.get_mut(&task.session) {
            keys.remove(&key);
            if keys.is_empty() {
                self.by_session.remove(&task.session);
            }
        }
        Some(task)
    }

    pub(super) fn get(&self, key: TaskKey) -> Option<&Task> {
        self.records.get(&key)
    }

    pub(super) fn get_mut(&mut self, key: TaskKey) -> Option<&mut Task> {
        self.records.get_mut(&key)
    }

    /// One of them has ended.
    pub(super) fn one_ended(&mut self) {
        self.live -= 1;
    }

    pub(super) fn live(&self) -> usize {
        self.live
    }

    /// All of them, in the order of registration.
    pub(super) fn iter(&self) -> impl Iterator<Item = (TaskKey, &Task)> {
        self.records.iter().map(|(&key, task)| (key, task))
    }

    /// Looks up an id for a caller.
    pub(super) fn reach(
        &self,
        id: &TaskId,
        caller: Option<&SessionId>,
    ) -> Result<(TaskKey, &Task), AccessRefusal> {
        let found = self.by_id.get(id).and_then(|&key| Some((key, self.records.get(&key)?)));
        let Some((key, task)) = found else {
            return Err(AccessRefusal::Unknown { id: id.clone() });
        };
        if task.session.is_none() || task.session.as_ref() == caller {
            Ok((key, task))
        } else {
            Err(AccessRefusal::Foreign { id: id.clone() })
        }
    }

    /// The session whose task has that id.
    pub(super) fn session_of(&self, id: &TaskId) -> Option<SessionId> {
        self.records.get(self.by_id.get(id)?)?.session.clone()
    }

    fn keys_of(&self, session: Option<&SessionId>) -> impl Iterator<Item = TaskKey> {
        self.by_session.get(&session.cloned()).into_iter().flatten().copied()
    }
}

impl Registry {
    /// One task at this moment. Consumes and reports nothing.
    ///
    /// # Errors
    ///
    /// [`AccessRefusal`] if there is no such task, or it is another session's.
    pub fn get(
        &self,
        id: &TaskId,
        caller: Option<&SessionId>,
    ) -> Result<TaskSnapshot, AccessRefusal> {
        self.tasks.reach(id, caller).map(|(_, task)| task.snapshot())
    }

    /// The key of a task that the caller can reach.
    ///
    /// # Errors
    ///
    /// [`AccessRefusal`] if there is no such task, or it is another session's.
    pub fn key_of(
        &self,
        id: &TaskId,
        caller: Option<&SessionId>,
    ) -> Result<TaskKey, AccessRefusal> {
        self.tasks.reach(id, caller).map(|(key, _)| key)
    }

    /// The caller's tasks and the unowned ones, in the order of registration.
    /// Consumes and reports nothing.
    #[must_use]
    pub fn list(&self, caller: Option<&SessionId>) -> Vec<TaskSnapshot> {
        let mut keys: Vec<TaskKey> = self.tasks.keys_of(None).collect();
        if caller.is_some() {
            keys.extend(self.tasks.keys_of(caller));
            keys.sort_unstable();
        }
        keys.into_iter().filter_map(|key| self.tasks.get(key)).map(Task::snapshot).collect()
    }

    /// The exact owner of a task, whoever may reach it.
    #[must_use]
    pub fn owner_of(&self, task: TaskKey) -> Option<OwnerKey> {
        self.tasks.get(task)?.owner
    }

    /// Where a task's owner lives: whose registrations serve it.
    pub(super) fn scope_of(&self, owner: Option<OwnerKey>) -> Option<crate::ScopeKey> {
        owner.and_then(|owner| self.owners.get(owner)).and_then(|owner| owner.scope)
    }
}
