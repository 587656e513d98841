//! The one section of the system prompt.

/// What a model is told about background tasks, the same in every request, also
/// where the tools themselves are filtered out: a prompt that never changes stays
/// cached.
pub const PROMPT_SECTION: &str = "Track every background task id you start. You are notified \
    in-session when a task finishes — do not busy-poll or sleep on one; keep working on \
    independent steps and do not duplicate a running task's work. Before giving a final answer, \
    collect every still-relevant task with task_output (set wait: true only when you are \
    genuinely blocked on it), and task_kill tasks that stopped mattering.";
