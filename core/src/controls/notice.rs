//! The message that tells an owner that a task has ended, or several.

use alloc::{format, string::String, vec::Vec};

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
    within(task, limit_of(task))
}

/// A sensible cap for [`notices_text`]: 16 KiB.
pub const NOTICES_CAP_BYTES: usize = 16 * 1024;

/// One message for several ends that are told together, in the order given, of at most
/// `cap_bytes`: a line for each, its [`notice_text`] within the cap of its own producer.
/// Of a single end it is that text.
///
/// Every id is named. Where the lines do not all fit, or a producer's own cap leaves no room
/// for the id, the last line names those that have none: `background tasks <id>, <id> done.
/// Use task_output.`; the first ends keep theirs. Where not even the ids fit, it says how
/// many more there are. Where that does not fit, the tail of ` done. Use task_output.` is
/// left. Of no task it is empty.
///
/// ```
/// use longrun_core::{Status, TaskId, TaskSnapshot, controls::notices_text};
///
/// let ended = |id: &str| TaskSnapshot {
///     id: TaskId::parse(id).unwrap(),
///     kind: "bash".into(),
///     label: "make".into(),
///     output_limit_bytes: None,
///     owner_session: None,
///     status: Status::Completed,
///     detail: None,
///     started_at_ms: 0,
///     finished_at_ms: Some(1),
///     reported: false,
///     stop: None,
/// };
/// let tasks = [ended("bash-1"), ended("bash-2"), ended("bash-3")];
/// assert_eq!(
///     notices_text(&tasks, 200),
///     "background task bash-1 (bash: make) finished [status: completed]. \
///      Read its output with task_output.\n\
///      background tasks bash-2, bash-3 done. Use task_output.",
/// );
/// ```
#[must_use]
pub fn notices_text<'a>(
    tasks: impl IntoIterator<Item = &'a TaskSnapshot>,
    cap_bytes: usize,
) -> String {
    let tasks: Vec<&TaskSnapshot> = tasks.into_iter().collect();
    match &tasks[..] {
        [] => String::new(),
        [task] => {
            within(task, Some(limit_of(task).map_or(cap_bytes, |limit| limit.min(cap_bytes))))
        }
        _ => {
            let lines: Vec<(String, Option<String>)> = tasks.into_iter().map(line).collect();
            let mut texts = (0..=lines.len()).rev().map(|whole| told(&lines, whole));
            let fitting = texts.find(|text| text.len() <= cap_bytes);
            fitting.unwrap_or_else(|| counted(&lines, cap_bytes))
        }
    }
}

/// A task's id, and its notice if that names it.
fn line(task: &TaskSnapshot) -> (String, Option<String>) {
    let (id, text) = (name(task.id.as_str()), notice_text(task));
    let names_it = text.strip_prefix("background task ").and_then(|rest| rest.strip_prefix(&*id));
    let names_it = names_it.is_some_and(|rest| rest.starts_with(' '));
    (id, names_it.then_some(text))
}

/// The first ones in lines of their own, the rest by their ids.
fn told(lines: &[(String, Option<String>)], whole: usize) -> String {
    let own = lines.iter().take(whole).filter_map(|(_, line)| line.as_deref());
    let mut texts: Vec<String> = own.map(Into::into).collect();
    let rest = lines.iter().enumerate().filter(|(at, (_, line))| *at >= whole || line.is_none());
    let ids: Vec<&str> = rest.map(|(_, (id, _))| id.as_str()).collect();
    match &ids[..] {
        [] => {}
        [id] => texts.push(format!("background task {id}{SHORT_INSTRUCTION}")),
        _ => texts.push(format!("background tasks {}{SHORT_INSTRUCTION}", ids.join(", "))),
    }
    texts.join("\n")
}

/// As many ids as fit, and how many more there are.
fn counted(lines: &[(String, Option<String>)], cap_bytes: usize) -> String {
    let texts = (1..lines.len()).rev().map(|named| {
        let ids: Vec<&str> = lines.iter().take(named).map(|(id, _)| id.as_str()).collect();
        let more = lines.len() - named;
        format!("background tasks {} and {more} more{SHORT_INSTRUCTION}", ids.join(", "))
    });
    let all = format!("{} background tasks{SHORT_INSTRUCTION}", lines.len());
    let mut texts = texts.chain([all]);
    let fitting = texts.find(|text| text.len() <= cap_bytes);
    fitting.unwrap_or_else(|| tail(SHORT_INSTRUCTION, cap_bytes).into())
}

fn within(task: &TaskSnapshot, limit: Option<usize>) -> String {
    let prefix = format!("background task {}", name(task.id.as_str()));
    let (kind, label) = (name(&task.kind), one_line(&task.label));
    let middle = format!(" ({kind}: {label}) finished {}", status_line_of(task));
    let whole = format!("{prefix}{middle}{INSTRUCTION}");
    match limit {
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
