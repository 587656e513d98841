//! Subagents: child agents whose final answer is the output of a task.
//!
//! # The model
//!
//! A [`Provider`] knows how to start a child. It does so in two steps, and an
//! [`AbortHandle`] that exists before either ends the child in each of them:
//!
//! - *startup*: begun inside the task's starter, it ends with a [`Run`];
//! - the *run*: a result, then a disposal that releases whatever the child held.
//!
//! [`Subagents`] makes the hooks of a task from that, or runs a child while the caller
//! waits. A task ends when the child has ended *and* is disposed. What the child says on
//! its way is not readable through the task: its final answer is.
//!
//! | what happened | the task | its output |
//! |---|---|---|
//! | the child completed | `completed` | the answer |
//! | it was asked to stop first, whatever came of it then | `killed` | what it had said so far |
//! | it stopped for another reason, failed or panicked, or could not be started | `failed`, with the reason | what it had said so far |
//! | its disposal failed | `failed`, with that and how the child ended | the same |
//!
//! Two providers are here: [`InProcess`] runs a future, `acp::AcpProvider` (feature `acp`)
//! runs any agent that speaks the Agent Client Protocol, as a child process.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use std::time::Duration;
//! use longrun_tokio::{Builder, NoticePolicy};
//! use longrun_tokio::subagent::{Child, InProcess, Request, Subagents};
//!
//! let service = Builder::new().build()?;
//! let _controls = service.mount_controls(NoticePolicy::default())?;
//! let agent = service.owner("session-1").open()?;
//!
//! let subagents = Subagents::new(InProcess::new(|child: Child| async move {
//!     format!("{} has six letters", child.request.prompt)
//! }));
//! let request = Request::new("count letters", "oxygen");
//! let id = agent.start(subagents.spec(&request), || subagents.start(request))?;
//! assert_eq!(id.as_str(), "subagent-1");
//!
//! service.wait(&id, &agent.caller(), Duration::from_secs(30)).await?;
//! assert_eq!(service.read(&id, &agent.caller())?.text, "oxygen has six letters");
//! # service.shutdown().await?;
//! # Ok(())
//! # }
//! ```

mod abort;
#[cfg(feature = "acp")]
pub mod acp;
mod ended;
mod in_process;
mod life;
mod producer;
#[cfg(test)]
mod tests;
mod transcript;

use std::{fmt, future::Future, path::PathBuf, time::Duration};

use futures::{FutureExt as _, future::BoxFuture};
use longrun_shared::BoxError;

pub use self::abort::AbortHandle;
pub use self::ended::Ended;
pub use self::in_process::{Child, InProcess};
pub use self::producer::Subagents;

/// What a child is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Request {
    /// What it is about, in a few words: the label of the task.
    pub description: String,
    /// What the child is told.
    pub prompt: String,
    /// The directory to work in; where the provider is set to without one.
    pub cwd: Option<PathBuf>,
    /// How many agents are above the child: 1 for the child of an agent that is nobody's.
    pub depth: u32,
}

impl Request {
    /// A request by an agent that is nobody's child.
    pub fn new(description: impl Into<String>, prompt: impl Into<String>) -> Self {
        Self { description: description.into(), prompt: prompt.into(), cwd: None, depth: 1 }
    }
}

/// A startup on its way. It ends with the child's run; or, when nothing of the child is left
/// any more, with why there is none.
pub type Startup = BoxFuture<'static, Result<Run, Finish>>;

/// Starts children of one sort.
pub trait Provider: Send + Sync + 'static {
    /// Begins to start a child. Called inside the task's starter: what can fail at once
    /// fails here, and then the task is refused. It must return at once.
    ///
    /// The abort handle ends the startup and the run. A startup that is aborted ends soon,
    /// and releases what it holds first. If it is dropped, so is the child.
    ///
    /// # Errors
    ///
    /// If the child is known to be impossible. Nothing of it is left then.
    fn start(&self, request: Request, abort: AbortHandle) -> Result<Startup, BoxError>;

    /// How long a startup may take. After that it is aborted, and the task fails.
    fn startup_deadline(&self) -> Duration {
        Duration::from_secs(60)
    }
}

type Dispose = Box<dyn Fn() -> BoxFuture<'static, Result<(), BoxError>> + Send + Sync>;

/// A child that has been started. Dropping it ends the child.
pub struct Run {
    result: BoxFuture<'static, Finish>,
    dispose: Dispose,
}

impl Run {
    /// A child with that result. The future must end soon after the abort handle was used.
    pub fn new(result: impl Future<Output = Finish> + Send + 'static) -> Self {
        Self { result: result.boxed(), dispose: Box::new(|| async { Ok(()) }.boxed()) }
    }

    /// How to release what the child holds; ended once nothing of it is left. It is called
    /// once the result is there, and may be called again.
    #[must_use]
    pub fn on_dispose<F>(self, dispose: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<(), BoxError>> + Send + 'static,
    {
        Self { dispose: Box::new(move || dispose().boxed()), ..self }
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").finish_non_exhaustive()
    }
}

/// Why a child stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stop {
    /// It has done what it was asked to do.
    Completed,
    /// It was asked to stop, or stopped itself.
    Aborted,
    /// The model had no tokens left.
    MaxTokens,
    /// It may take no further turn.
    MaxTurns,
    /// The model refused to go on.
    Refused,
    /// It failed, for that reason.
    Failed(String),
    /// Another reason, by its name.
    Other(String),
}

/// In words, for people and models.
impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Completed => "completed",
            Self::Aborted => "aborted",
            Self::MaxTokens => "max tokens",
            Self::MaxTurns => "max turns",
            Self::Refused => "refusal",
            Self::Failed(reason) | Self::Other(reason) => reason,
        })
    }
}

/// What came of a child.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finish {
    /// Why it stopped.
    pub stop: Stop,
    /// Its answer, or what there is of it.
    pub text: String,
    /// How many bytes in front of the text were let go, since there were too many.
    pub dropped_bytes: u64,
    /// What else a reader must know, in a few words.
    pub note: Option<String>,
}

impl Finish {
    /// A child that stopped for that reason, with what it had said by then.
    pub fn new(stop: Stop, text: impl Into<String>) -> Self {
        Self { stop, text: text.into(), dropped_bytes: 0, note: None }
    }

    /// A child that failed, and said nothing.
    pub fn failed(reason: impl Into<String>) -> Self {
        Self::new(Stop::Failed(reason.into()), "")
    }

    /// The same with what else there is to know.
    #[must_use]
    pub fn with_note(self, note: impl Into<String>) -> Self {
        Self { note: Some(note.into()), ..self }
    }
}

/// The answer of a child that completed.
impl From<String> for Finish {
    fn from(text: String) -> Self {
        Self::new(Stop::Completed, text)
    }
}

/// The answer of a child that completed, or why it failed.
impl<E: fmt::Display> From<Result<String, E>> for Finish {
    fn from(result: Result<String, E>) -> Self {
        result.map_or_else(|error| Self::failed(error.to_string()), Into::into)
    }
}
