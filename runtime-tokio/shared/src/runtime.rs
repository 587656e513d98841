//! What the service needs of a runtime: a clock, a timer, a place to run futures.

use std::{future::Future, pin::Pin};

use longrun_core::{Now, TaskId, Warning};

/// A future that a runtime can run to its end.
pub type BoxFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The runtime under a service. An adapter implements this, and nothing else.
///
/// None of these may call the service; `spawn` must not run the future before it
/// returns.
pub trait Runtime: Send + Sync + 'static {
    /// The time by both clocks. Called under the lock of the service: it must be
    /// quick and must not block. A panic breaks the service.
    fn now(&self) -> Now;

    /// Runs a future to its end, somewhere.
    fn spawn(&self, future: BoxFuture);

    /// The next deadline is earlier than what the timer last heard from
    /// [`WeakTaskService::tick`](crate::WeakTaskService::tick): call that soon.
    fn rearm(&self);

    /// Something that a person should know. Nothing depends on it.
    fn report(&self, report: &Report);
}

/// Something that a person should know.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Report {
    /// The core has a warning.
    #[error(transparent)]
    Warning(#[from] Warning),
    /// A completion listener, a change observer or an inbox panicked. The others
    /// were called all the same.
    #[error("a {callback} panicked: {message}")]
    CallbackPanicked {
        /// Which kind of callback.
        callback: &'static str,
        /// The message of the panic.
        message: String,
    },
    /// An inbox could not be nudged. The notice is still pending.
    #[error("the inbox could not be told of {id}: {message}")]
    InboxFailed {
        /// The task that the notice is about.
        id: TaskId,
        /// What the inbox said.
        message: String,
    },
    /// A task was killed for a reason.
    #[error("{id} was asked to stop: {reason}")]
    Killed {
        /// Which task.
        id: TaskId,
        /// Why.
        reason: String,
    },
    /// A tap failed or panicked. It is not called any more; the service goes on.
    #[error("a tap is shown no further events: {message}")]
    TapEnded {
        /// What it said.
        message: String,
    },
    /// The core panicked, which is a bug, or the clock did: the service is broken.
    #[error("the task service is broken: {message}")]
    Broke {
        /// Whose fault it is, and the message of the panic.
        message: String,
    },
}
