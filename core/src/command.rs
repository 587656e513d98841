//! The one way out.

use alloc::{sync::Arc, vec::Vec};

use crate::{ListenerKey, ObserverKey, OwnerKey, TaskId, TaskKey, TaskSnapshot, WaiterKey};

/// Something the driver is to do, in the order in which it was emitted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Command {
    /// Wake a waiter: there is something to take. Answered by
    /// [`Event::TakeWait`](crate::Event::TakeWait),
    /// [`Event::AbortWait`](crate::Event::AbortWait) or
    /// [`Event::WaitDropped`](crate::Event::WaitDropped).
    Wake {
        /// Which wait.
        waiter: WaiterKey,
    },
    /// Ask a producer to stop, for a disposal. Answered by
    /// [`Event::CancelAnswered`](crate::Event::CancelAnswered).
    Cancel {
        /// Which task.
        task: TaskKey,
        /// What to tell the producer.
        reason: Arc<str>,
    },
    /// Call a change observer. Not answered.
    NotifyChanged {
        /// Which observer.
        observer: ObserverKey,
        /// Whose visible tasks changed; `None`: an unowned task did.
        owner: Option<OwnerKey>,
    },
    /// Call a completion listener. Not answered.
    NotifyDone {
        /// Which listener.
        listener: ListenerKey,
        /// The exact owner of the task.
        owner: Option<OwnerKey>,
        /// The task as it ended.
        snapshot: TaskSnapshot,
    },
    /// Tell an owner's harness that a notice is pending. The notice stays here until
    /// it is claimed with [`Event::Claim`](crate::Event::Claim).
    Nudge {
        /// Whose notice.
        owner: OwnerKey,
        /// Whether to open a turn for it.
        lane: Lane,
        /// The task that ended.
        snapshot: TaskSnapshot,
    },
    /// A notice that was announced is no longer pending: its news was delivered
    /// another way. Not answered.
    WithdrawNotice {
        /// Whose notice.
        owner: OwnerKey,
        /// About which task.
        id: TaskId,
    },
    /// A task's record is gone: let go of its producer. Not answered.
    Forget {
        /// Which task.
        task: TaskKey,
    },
    /// An owner's work has stopped and its records are gone. Not answered.
    OwnerDisposed {
        /// Which owner.
        owner: OwnerKey,
        /// Tasks that may still be at work.
        orphans: Vec<TaskId>,
    },
    /// All work has stopped and the registry is empty. Not answered.
    ShutDown {
        /// Tasks that may still be at work.
        orphans: Vec<TaskId>,
    },
    /// Write a warning to the log. Not answered.
    Warn(Warning),
}

/// How a notice reaches its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Lane {
    /// With the owner's next step, whenever that is.
    Inject,
    /// Now: a turn is opened for the idle owner.
    Wake,
}

/// Something a person should know.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Warning {
    /// A producer could not be asked to stop during a disposal.
    #[error("{id} could not be cancelled and may be orphaned: {error}")]
    CancelFailed {
        /// Which task.
        id: TaskId,
        /// What its cancel said.
        error: Arc<str>,
    },
    /// A task had not ended when the teardown deadline passed.
    #[error("{id} did not end within the teardown deadline and may be orphaned")]
    TeardownOverdue {
        /// Which task.
        id: TaskId,
    },
    /// A producer's `done` did not end with an outcome.
    #[error("the producer of {id} broke its contract: {error}")]
    ProducerBroke {
        /// Which task.
        id: TaskId,
        /// What was seen.
        error: Arc<str>,
    },
    /// The same, for a task that is no longer on record.
    #[error("the producer of a task that is gone broke its contract: {error}")]
    LateProducerBroke {
        /// What was seen.
        error: Arc<str>,
    },
}
