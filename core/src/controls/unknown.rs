//! The one answer for every task that a caller cannot reach.

use alloc::string::{String, ToString};

use super::clean::line_within;

/// Longer than any id that a registry makes; only what is no id is cut.
const SHOWN_CHARS: usize = 100;

/// A task that the caller cannot reach, by the text it was asked for. What it
/// displays is the model-facing answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown task `{shown}`: call task_list for the ids of your background tasks")]
pub struct UnknownTask {
    shown: String,
}

impl UnknownTask {
    /// Keeps the text, escaped and cut.
    #[must_use]
    pub fn new(id: &str) -> Self {
        Self { shown: line_within(id, SHOWN_CHARS) }
    }

    /// The text, escaped and cut.
    #[must_use]
    pub fn shown(&self) -> &str {
        &self.shown
    }
}

/// What a model reads when it asks for a task that is unknown, or another
/// session's, or whose id is not one: the same in each case, so that ids cannot be
/// probed. Bounded, one line, no control characters.
///
/// ```
/// use longrun_core::controls::unknown_task_text;
///
/// assert_eq!(
///     unknown_task_text("bash-9\u{7}"),
///     r"unknown task `bash-9\u{7}`: call task_list for the ids of your background tasks",
/// );
/// ```
#[must_use]
pub fn unknown_task_text(id: &str) -> String {
    UnknownTask::new(id).to_string()
}
