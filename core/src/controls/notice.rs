//! The message that tells an owner that a task has ended.

use alloc::{format, string::String};

use super::clean::{name, one_line};
use super::cut::{head, tail};
use super::fit::limit_of;
use super::render::status_line_of;
use crate::TaskSnapshot;

const INSTRUCTION: &str = ". Read its output with task_output.";

/// What stays of a notice under a tight cap: that it is over and what to call.
/// With the marker it leaves 13 bytes for the id at a cap of 64.
const SHORT_INSTRUCTION: &str = " done. Use task_output.";
const MARKER: &str = " [truncated]";
const CUT_MARK: &str = "…";

/// `background task <id> (<kind>: <label>) finished [status: …]. Read its output
/// with task_output.`, within the cap of the task's producer, if it set one.
///
/// Under a cap the id and what to call come first, and the rest is cut. The first
/// of these that fits is the notice:
///
/// 1. the whole sentence;
/// 2. `background task <id>`, the whole middle or as much of it as fits with
///    ` [truncated]`, then ` done. Use task_output.`;
/// 3. `background task <id> done. Use task_output.`;
/// 4. the same with the id cut and marked with `…`, so that `bash-12` is not taken
///    for `bash-1`;
/// 5. the tail of ` done. Use task_output.`.
#[must_use]
pub fn notice_text(task: &TaskSnapshot) -> String {
    let prefix = format!("background task {}", name(task.id.as_str()));
    let (kind, label) = (name(&task.kind), one_line(&task.label));
    let middle = format!(" ({kind}: {label}) finished {}", status_line_of(task));
    let whole = format!("{prefix}{middle}{INSTRUCTION}");
    match limit_of(task) {
        Some(limit) if whole.len() > limit => fit(&prefix, &middle, limit),
        Some(_) | None => whole,
    }
}

fn fit(prefix: &str, middle: &str, limit: usize) -> String {
    let Some(room) = limit.checked_sub(SHORT_INSTRUCTION.len()) else {
        return tail(SHORT_INSTRUCTION, limit).into();
    };
    let Some(for_middle) = room.checked_sub(prefix.len()) else {
        return format!("{}{SHORT_INSTRUCTION}", cut(prefix, room));
    };
    if middle.len() <= for_middle {
        return format!("{prefix}{middle}{SHORT_INSTRUCTION}");
    }
    match for_middle.checked_sub(MARKER.len()) {
        None => format!("{prefix}{SHORT_INSTRUCTION}"),
        Some(room) => format!("{prefix}{}{MARKER}{SHORT_INSTRUCTION}", head(middle, room)),
    }
}

fn cut(prefix: &str, room: usize) -> String {
    match room.checked_sub(CUT_MARK.len()) {
        None => head(prefix, room).into(),
        Some(room) => format!("{}{CUT_MARK}", head(prefix, room)),
    }
}
