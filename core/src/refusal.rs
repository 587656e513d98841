//! Why a request was turned down. A refused request has changed nothing.

use crate::{MAX_KIND_BYTES, MAX_WAIT, TaskId};

/// A request that was turned down.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// A start.
    #[error(transparent)]
    Start(#[from] StartRefusal),
    /// Access to a task.
    #[error(transparent)]
    Access(#[from] AccessRefusal),
    /// A wait.
    #[error(transparent)]
    Wait(#[from] WaitRefusal),
    /// A read.
    #[error(transparent)]
    Read(#[from] ReadRefusal),
    /// A kill.
    #[error(transparent)]
    Kill(#[from] KillRefusal),
    /// A request that names a scope, an owner or a wait that is gone.
    #[error(transparent)]
    Gone(#[from] Gone),
}

/// Why a start was refused, in the order in which it is checked.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum StartRefusal {
    /// The service is shutting down or has shut down.
    #[error("the service is shutting down and starts nothing any more")]
    ShuttingDown,
    /// Nothing is attached that could read and stop the task for this owner.
    #[error("no task controller serves this owner: attach one, then start")]
    NoController,
    /// The kind cannot be part of an id.
    #[error(
        "the kind must be 1 to {MAX_KIND_BYTES} bytes without control characters, white space or \
         brackets, and one of {got_bytes} bytes came"
    )]
    InvalidKind {
        /// How long the kind was.
        got_bytes: usize,
    },
    /// The label is empty.
    #[error("the label must not be empty: say what the task does")]
    EmptyLabel,
    /// The output limit is zero.
    #[error("the output limit must be at least 1 byte: leave it out for no limit")]
    ZeroOutputLimit,
    /// Another owner is live under that session id, or none was ever.
    #[error("this owner is no longer the live one of its session")]
    OwnerNotLive,
    /// The owner's disposal has begun.
    #[error("this owner is being disposed and starts nothing any more")]
    OwnerDisposing,
    /// The owner has as many tasks at work as it may.
    #[error(
        "{limit} background tasks are already running: wait for one to end, or kill one with \
         task_kill, then try again"
    )]
    LimitReached {
        /// How many it may have.
        limit: usize,
    },
}

/// Why a task cannot be reached. A model is shown one text for both.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum AccessRefusal {
    /// There is no such task.
    #[error("there is no task {id}")]
    Unknown {
        /// The id that was asked for.
        id: TaskId,
    },
    /// The task belongs to another session.
    #[error("task {id} belongs to another session")]
    Foreign {
        /// The id that was asked for.
        id: TaskId,
    },
}

/// Why a wait was refused.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum WaitRefusal {
    /// The task cannot be reached.
    #[error(transparent)]
    Access(#[from] AccessRefusal),
    /// The timeout is zero or too long.
    #[error("the timeout must be above 0 and at most {} ms", MAX_WAIT.as_millis())]
    TimeoutOutOfRange,
    /// Too many wait for this task.
    #[error("{limit} waits on this task are in flight, the most there may be")]
    TooMany {
        /// How many there may be.
        limit: usize,
    },
}

/// Why a read was refused.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum ReadRefusal {
    /// The task cannot be reached.
    #[error(transparent)]
    Access(#[from] AccessRefusal),
    /// Another read of this task is between its beginning and its end.
    #[error("another read of task {id} is in progress")]
    InProgress {
        /// Which task.
        id: TaskId,
    },
}

/// Why a kill was refused.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum KillRefusal {
    /// The task cannot be reached.
    #[error(transparent)]
    Access(#[from] AccessRefusal),
    /// Too many kills of this task are in flight.
    #[error("{limit} requests on this task are in flight, the most there may be")]
    TooMany {
        /// How many there may be.
        limit: usize,
    },
}

/// The request names something that is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Gone {
    /// A scope that was closed.
    #[error("that scope is closed")]
    Scope,
    /// An owner whose handle was dropped.
    #[error("that owner is gone")]
    Owner,
    /// A reservation that was committed or released.
    #[error("that reservation was already used")]
    Reservation,
}
