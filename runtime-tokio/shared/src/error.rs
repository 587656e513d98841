//! One error type for each family of calls.

use longrun_core::{
    AccessRefusal, Gone, KillRefusal, ReadRefusal, StartRefusal, TaskId, WaitRefusal,
};

/// Any error of a producer's or a harness's.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The service met a bug of its own, or the clock that it was given panicked, and it does
/// nothing any more. Its tasks were asked to stop.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the task service is broken: {message}")]
pub struct Broken {
    /// Whose fault it is, and the message of the panic.
    pub message: String,
}

/// Why a task was not started. Nothing was registered and no number was used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError<E = BoxError> {
    /// It was refused before the starter ran.
    #[error(transparent)]
    Refused(StartRefusal),
    /// The starter failed.
    #[error("{0}")]
    Starter(E),
    /// The service met a bug of its own.
    #[error(transparent)]
    Broken(Broken),
}

/// Why a task cannot be seen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AccessError {
    /// There is no such task, or it is another session's.
    #[error(transparent)]
    Refused(#[from] AccessRefusal),
    /// The service met a bug of its own.
    #[error(transparent)]
    Broken(#[from] Broken),
}

/// Why a read returned nothing. Nothing was consumed and nothing was reported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// It was refused.
    #[error(transparent)]
    Refused(#[from] ReadRefusal),
    /// The producer's reader failed.
    #[error("the output could not be read: {0}")]
    Reader(BoxError),
    /// The service met a bug of its own.
    #[error(transparent)]
    Broken(#[from] Broken),
}

/// A read of a task that cannot be reached.
impl From<AccessError> for ReadError {
    fn from(error: AccessError) -> Self {
        match error {
            AccessError::Refused(refusal) => Self::Refused(refusal.into()),
            AccessError::Broken(broken) => Self::Broken(broken),
        }
    }
}

/// Why a task is not observed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ObserveError {
    /// It cannot be seen.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// Its producer offers its output to be read alone.
    #[error("the output of task {id} cannot be observed, only read: its producer has no `observe`")]
    NotObservable {
        /// Which task.
        id: TaskId,
    },
    /// The producer failed.
    #[error("the output could not be observed: {0}")]
    Producer(BoxError),
}

/// Why a kill did nothing. The task is as it was, and can be killed again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KillError {
    /// It was refused.
    #[error(transparent)]
    Refused(#[from] KillRefusal),
    /// The producer's cancel failed.
    #[error("the task could not be asked to stop: {0}")]
    Cancel(BoxError),
    /// The service met a bug of its own.
    #[error(transparent)]
    Broken(#[from] Broken),
}

/// Why a wait ended without a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WaitError {
    /// It was refused.
    #[error(transparent)]
    Refused(#[from] WaitRefusal),
    /// The service met a bug of its own.
    #[error(transparent)]
    Broken(#[from] Broken),
}

/// Why a task that was waited for, perhaps, was not read. Nothing was consumed or reported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CollectError {
    /// It could not be waited for.
    #[error(transparent)]
    Wait(#[from] WaitError),
    /// It could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Whoever called gave up.
    #[error("the wait was aborted; the work goes on")]
    Aborted,
}

impl CollectError {
    /// That there is no such task or that it is another session's, if it is that.
    #[must_use]
    pub fn access(&self) -> Option<&AccessRefusal> {
        match self {
            Self::Wait(WaitError::Refused(WaitRefusal::Access(access)))
            | Self::Read(ReadError::Refused(ReadRefusal::Access(access))) => Some(access),
            Self::Wait(_) | Self::Read(_) | Self::Aborted => None,
        }
    }
}

/// A task that cannot be reached is neither waited for nor read.
impl From<AccessError> for CollectError {
    fn from(error: AccessError) -> Self {
        Self::Read(error.into())
    }
}

/// Why something could not be registered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScopeError {
    /// The scope is closed.
    #[error(transparent)]
    Gone(#[from] Gone),
    /// The service met a bug of its own.
    #[error(transparent)]
    Broken(#[from] Broken),
}
