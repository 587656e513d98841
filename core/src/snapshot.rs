//! What can be seen of a task: fresh values, never references into the registry.

use alloc::sync::Arc;

use crate::{End, SessionId, Status, TaskId};

/// One task at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TaskSnapshot {
    /// Its public name.
    pub id: TaskId,
    /// What kind of work it is.
    pub kind: Arc<str>,
    /// What the producer calls it, for people and models.
    pub label: Arc<str>,
    /// The producer's cap on one model-facing text about this task, in bytes.
    pub output_limit_bytes: Option<u64>,
    /// The session that can reach it; `None`: everybody can.
    pub owner_session: Option<SessionId>,
    /// Where it stands.
    pub status: Status,
    /// What the producer had to say about its state; never interpreted.
    pub detail: Option<Arc<str>>,
    /// When it was registered, in milliseconds since the Unix epoch.
    pub started_at_ms: u64,
    /// When it ended; present exactly if it has, and never before the start.
    pub finished_at_ms: Option<u64>,
    /// Whether its end has been delivered, or is committed to be delivered, by
    /// something other than a notice.
    pub reported: bool,
    /// Who asked it to stop first, and why, if somebody has.
    pub stop: Option<Stop>,
}

/// A request to stop that a producer accepted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Stop {
    /// Who asked.
    pub by: StopCause,
    /// Why, as it was forwarded to the producer.
    pub reason: Option<Arc<str>>,
}

/// Who asked a task to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum StopCause {
    /// A caller's kill.
    Kill,
    /// The disposal of its owner.
    OwnerDisposal,
    /// The shutdown of the service.
    Shutdown,
}

impl StopCause {
    /// The reason that a disposal forwards to the producer.
    pub(crate) const fn teardown_reason(self) -> &'static str {
        match self {
            Self::Kill => "killed",
            Self::OwnerDisposal => "owner disposed",
            Self::Shutdown => "tasks service disposed",
        }
    }
}

/// How a task ended, as its producer reports it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Outcome {
    /// Which end it was.
    pub end: End,
    /// Facts about it for people and models, such as `exit code: 0`.
    pub detail: Option<Arc<str>>,
    /// The result of a final-output task; of a stream task it is not used.
    pub output: Option<Arc<str>>,
}

impl Outcome {
    /// It came to its own end.
    #[must_use]
    pub const fn completed() -> Self {
        Self { end: End::Completed, detail: None, output: None }
    }

    /// It was stopped.
    #[must_use]
    pub const fn killed() -> Self {
        Self { end: End::Killed, detail: None, output: None }
    }

    /// It failed; the detail says why.
    #[must_use]
    pub fn failed(detail: &str) -> Self {
        Self { end: End::Failed, detail: Some(detail.into()), output: None }
    }

    /// The same with that detail.
    #[must_use]
    pub fn with_detail(self, detail: &str) -> Self {
        Self { detail: Some(detail.into()), ..self }
    }

    /// The same with that final output.
    #[must_use]
    pub fn with_output(self, output: &str) -> Self {
        Self { output: Some(output.into()), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // contract: L2
    #[test]
    fn what_is_said_of_an_outcome_is_in_it() {
        let outcome = Outcome::completed().with_output("42").with_detail("exit code: 0");
        let Outcome { end, detail, output } = outcome;
        assert_eq!(
            (end, detail.as_deref(), output.as_deref()),
            (End::Completed, Some("exit code: 0"), Some("42"),)
        );
        assert_eq!(Outcome::killed().end, End::Killed);
        assert_eq!(Outcome::failed("no shell").detail.as_deref(), Some("no shell"));
    }
}
