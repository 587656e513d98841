//! The canonical values of the three tools: for code, never cut, never escaped.

use alloc::{string::String, sync::Arc, vec::Vec};

use crate::{Status, TaskId, TaskSnapshot};

/// What a task shows of itself outside the runtime: neither the session that owns
/// it nor whether its end has been reported.
///
/// The value of `task_list` is a list of these.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct PublicTask {
    /// Its public name.
    pub id: TaskId,
    /// What kind of work it is.
    pub kind: Arc<str>,
    /// What its producer calls it.
    pub label: Arc<str>,
    /// Where it stands.
    pub status: Status,
    /// What its producer had to say about its state.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub detail: Option<Arc<str>>,
    /// When it was registered, in milliseconds since the Unix epoch.
    #[cfg_attr(feature = "serde", serde(rename = "startedAt"))]
    pub started_at_ms: u64,
    /// When it ended; present exactly if it has.
    #[cfg_attr(
        feature = "serde",
        serde(rename = "finishedAt", skip_serializing_if = "Option::is_none")
    )]
    pub finished_at_ms: Option<u64>,
}

impl From<&TaskSnapshot> for PublicTask {
    fn from(task: &TaskSnapshot) -> Self {
        Self {
            id: task.id.clone(),
            kind: task.kind.clone(),
            label: task.label.clone(),
            status: task.status,
            detail: task.detail.clone(),
            started_at_ms: task.started_at_ms,
            finished_at_ms: task.finished_at_ms,
        }
    }
}

/// The value of `task_output`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct OutputValue {
    /// What was read, without placeholder or status line.
    pub text: String,
    /// The task it was read from.
    pub task: PublicTask,
}

/// The value of a `task_output` of several tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct CollectedValue {
    /// Those that had something new, or have ended.
    pub read: Vec<OutputValue>,
    /// Those that go on and had nothing new. They were not read.
    pub quiet: Vec<PublicTask>,
    /// Those that were not read.
    pub failed: Vec<FailedTask>,
}

/// A task that was not read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct FailedTask {
    /// What it was asked for by.
    #[cfg_attr(feature = "serde", serde(rename = "taskId"))]
    pub task_id: String,
    /// Why.
    pub error: String,
}

/// The value of `task_kill`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct KillValue {
    /// What became of the request.
    pub outcome: KillOutcome,
    /// The task after it.
    pub task: PublicTask,
}

/// What became of a request to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum KillOutcome {
    /// It was passed on to the producer.
    CancellationRequested,
    /// The task was over already.
    AlreadyFinished,
}
