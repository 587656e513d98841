//! The answers of the three tools, without a producer's cap.

use alloc::{format, string::String, vec, vec::Vec};

use super::clean::{name, one_line};
use super::cut::tail;
use crate::{Status, TaskId, TaskSnapshot};

/// A sensible cap for [`list_text`]: 16 KiB.
pub const LIST_CAP_BYTES: usize = 16 * 1024;

const NO_NEW_OUTPUT: &str = "(no new output)";
const NO_TASKS: &str = "(no background tasks)";

/// The line that ends every read.
///
/// ```
/// use longrun_core::{Status, controls::status_line};
///
/// assert_eq!(status_line(Status::Running, None), "[status: running]");
/// assert_eq!(
///     status_line(Status::Completed, Some("exit code: 0")),
///     "[status: completed, exit code: 0]",
/// );
/// ```
#[must_use]
pub fn status_line(status: Status, detail: Option<&str>) -> String {
    match detail {
        None => format!("[status: {status}]"),
        Some(detail) => format!("[status: {status}, {}]", one_line(detail)),
    }
}

pub(super) fn status_line_of(task: &TaskSnapshot) -> String {
    status_line(task.status, task.detail.as_deref())
}

/// The answer of `task_output`: the body, or `(no new output)`, and on the last
/// line the status. The body is not rewritten; a newline is added unless it ends
/// in one.
#[must_use]
pub fn output_text(body: &str, task: &TaskSnapshot) -> String {
    let body = if body.is_empty() { NO_NEW_OUTPUT } else { body };
    let newline = if body.ends_with('\n') { "" } else { "\n" };
    format!("{body}{newline}{}", status_line_of(task))
}

/// What a task has to say in an answer about several: as [`output_text`], with the task's
/// id on a line of its own before the status. It is to be a block of its own: nothing that a
/// task has written can then be taken for another task's.
///
/// ```
/// use longrun_core::controls::one_of_several_text;
/// # use longrun_core::{Status, TaskId, TaskSnapshot};
/// # let task = TaskSnapshot {
/// #     id: TaskId::parse("bash-1").unwrap(), kind: "bash".into(), label: "make".into(),
/// #     output_limit_bytes: None, owner_session: None, status: Status::Running, detail: None,
/// #     started_at_ms: 0, finished_at_ms: None, reported: false, stop: None,
/// # };
/// assert_eq!(one_of_several_text("a line", &task), "a line\n[task bash-1]\n[status: running]");
/// ```
#[must_use]
pub fn one_of_several_text(body: &str, task: &TaskSnapshot) -> String {
    let body = if body.is_empty() { NO_NEW_OUTPUT } else { body };
    let newline = if body.ends_with('\n') { "" } else { "\n" };
    let ending = one_of_several_ending(&task.id, task.status, task.detail.as_deref());
    format!("{body}{newline}{ending}")
}

/// What [`one_of_several_text`] ends in.
#[must_use]
pub fn one_of_several_ending(id: &TaskId, status: Status, detail: Option<&str>) -> String {
    format!("[task {}]\n{}", name(id.as_str()), status_line(status, detail))
}

/// The tasks that go on and have written nothing since, as [`list_text`] lists them.
#[must_use]
pub fn quiet_tasks_text(tasks: &[TaskSnapshot], cap_bytes: usize) -> String {
    const HEAD: &str = "(no new output from)\n";
    format!("{HEAD}{}", list_text(tasks, cap_bytes.saturating_sub(HEAD.len())))
}

/// Whether that is what stands before the status line where nothing came.
pub(super) fn is_placeholder(before_status: &str) -> bool {
    before_status.trim_end_matches('\n') == NO_NEW_OUTPUT
}

/// The answer of `task_list`: one row per task in the order given, which is the
/// order of registration, and at most `cap_bytes` in all.
///
/// Where they do not all fit, live tasks are kept before ended ones and newer
/// before older ones, and the rest is counted in a last line. What is kept stays
/// in the order of registration.
#[must_use]
pub fn list_text(tasks: &[TaskSnapshot], cap_bytes: usize) -> String {
    if tasks.is_empty() {
        return tail(NO_TASKS, cap_bytes).into();
    }
    let rows: Vec<String> = tasks.iter().map(row).collect();
    let whole = rows.join("\n");
    if whole.len() <= cap_bytes { whole } else { shortened(tasks, rows, cap_bytes) }
}

fn row(task: &TaskSnapshot) -> String {
    let (id, kind) = (name(task.id.as_str()), name(&task.kind));
    format!("{id} [{kind}] {} — {}", task.status, one_line(&task.label))
}

fn shortened(tasks: &[TaskSnapshot], rows: Vec<String>, cap_bytes: usize) -> String {
    let total = rows.len();
    // The last line is priced at its longest, before it is known how many it names.
    let room = cap_bytes.saturating_sub(left_out(total, total).len());
    let mut lines = keep(tasks, rows, room);
    lines.push(left_out(total - lines.len(), total));
    tail(&lines.join("\n"), cap_bytes).into()
}

/// The rows that fit into `room` with a newline each, the most useful ones first
/// considered, in their old order.
fn keep(tasks: &[TaskSnapshot], rows: Vec<String>, mut room: usize) -> Vec<String> {
    let mut by_use: Vec<usize> = (0..rows.len()).rev().collect();
    by_use.sort_by_key(|&at| tasks[at].status.is_terminal());
    let mut kept = vec![false; rows.len()];
    for at in by_use {
        if let Some(rest) = room.checked_sub(rows[at].len() + 1) {
            room = rest;
            kept[at] = true;
        }
    }
    rows.into_iter().zip(kept).filter_map(|(row, kept)| kept.then_some(row)).collect()
}

fn left_out(count: usize, total: usize) -> String {
    format!("({count} of {total} tasks left out; task_output reads each by its id)")
}

/// The answer of a `task_kill` whose request was passed on.
///
/// ```
/// use longrun_core::{TaskId, controls::kill_requested_text};
///
/// let id = TaskId::parse("bash-1").unwrap();
/// assert_eq!(kill_requested_text(&id), "requested cancellation of task bash-1");
/// ```
#[must_use]
pub fn kill_requested_text(id: &TaskId) -> String {
    format!("requested cancellation of task {}", name(id.as_str()))
}

/// The answer of a `task_kill` that came after the end.
#[must_use]
pub fn kill_finished_text(task: &TaskSnapshot) -> String {
    format!("task {} already finished {}", name(task.id.as_str()), status_line_of(task))
}
