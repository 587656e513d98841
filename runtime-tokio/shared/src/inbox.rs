//! What a harness gives the service to be told of ended tasks.

use longrun_core::{TaskId, TaskSnapshot, controls};

use crate::error::BoxError;

/// The news that a task has ended, for the agent that owns it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The task as it ended.
    pub task: TaskSnapshot,
    /// The message for the model, within the task's own cap.
    pub text: String,
}

impl Notice {
    /// One message for all of them, of at most `cap_bytes`, for a harness that puts what was
    /// claimed together into one: it names each id, and a single one reads as it does alone.
    /// [`NOTICES_CAP_BYTES`](controls::NOTICES_CAP_BYTES) is a sensible cap.
    #[must_use]
    pub fn joined(notices: &[Self], cap_bytes: usize) -> String {
        controls::notices_text(notices.iter().map(|notice| &notice.task), cap_bytes)
    }

    pub(crate) fn about(task: TaskSnapshot) -> Self {
        Self { text: controls::notice_text(&task), task }
    }
}

/// An agent's inbox: how its harness is nudged.
///
/// A notice stays with the service until the agent takes it with
/// [`OwnerScope::claim`](crate::OwnerScope::claim), so a nudge that is lost loses
/// nothing. These are called one at a time, outside every lock, and may call the
/// service. An error or a panic is logged.
pub trait Inbox: Send + Sync + 'static {
    /// A notice is pending: let the agent claim it with its next step, whenever that
    /// is.
    ///
    /// # Errors
    ///
    /// Whatever kept the harness from taking note.
    fn inject(&self, notice: &Notice) -> Result<(), BoxError>;

    /// A notice is pending and the agent is idle: open a turn for it now.
    ///
    /// # Errors
    ///
    /// Whatever kept the harness from doing so.
    fn wake(&self, notice: &Notice) -> Result<(), BoxError>;

    /// The notice about that task is no longer pending: the agent learned of its end
    /// another way.
    fn withdraw(&self, id: &TaskId) {
        let _ = id;
    }
}
