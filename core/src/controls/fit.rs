//! A producer's cap on one model-facing text.
//!
//! Of a text that is too long the tail is kept, a marker says so, and what must
//! follow (the status line of a read) comes last. If marker and status alone are
//! too long, their tail is kept. Cuts fall between characters, so a text may be up
//! to three bytes under its cap.

use alloc::{format, string::String};

use super::cut::tail;
use super::render::{is_placeholder, output_text, status_line_of};
use crate::TaskSnapshot;

/// The last line of output that was cut to its tail. A producer that cuts output
/// itself can end it with this line; it is then not said twice.
pub const OUTPUT_TRUNCATED: &str = "[output truncated]";

/// The last line of any other text that was cut.
pub const RESULT_TRUNCATED: &str = "[result truncated]";

/// [`output_text`](super::output_text) within the cap of the task's producer, if
/// it set one.
#[must_use]
pub fn capped_output_text(body: &str, task: &TaskSnapshot) -> String {
    match limit_of(task) {
        None => output_text(body, task),
        Some(limit) => fit_output(body, task, limit),
    }
}

/// Any other text about the task (an error, the answer to a kill) within the cap
/// of its producer, if it set one.
#[must_use]
pub fn capped_text(text: &str, task: &TaskSnapshot) -> String {
    limit_of(task).map_or_else(|| text.into(), |limit| fit_text(text, limit))
}

/// The cap as a size in memory, where nothing is longer than `usize::MAX`.
pub(super) fn limit_of(task: &TaskSnapshot) -> Option<usize> {
    task.output_limit_bytes.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX))
}

/// [`output_text`](super::output_text) in at most `limit` bytes: the body's tail,
/// [`OUTPUT_TRUNCATED`], the status line. Where nothing came, the status line is
/// all there is to keep.
#[must_use]
pub fn fit_output(body: &str, task: &TaskSnapshot, limit: usize) -> String {
    let whole = output_text(body, task);
    if whole.len() <= limit {
        return whole;
    }
    let status = status_line_of(task);
    if body.is_empty() {
        return tail(&status, limit).into();
    }
    keep_tail(body, &format!("{OUTPUT_TRUNCATED}\n{status}"), limit)
}

/// A read that is made up already, in at most `limit` bytes, whatever was changed in it
/// since: as [`fit_output`] does it, where the text still ends in that status line, and
/// as [`fit_text`] does elsewhere.
///
/// ```
/// use longrun_core::controls::fit_read;
///
/// let (text, status) = ("the key of it all is ***\n[status: running]", "[status: running]");
/// assert_eq!(fit_read(text, status, 40), "***\n[output truncated]\n[status: running]");
/// assert_eq!(fit_read("withheld, for it is secret", status, 25), "secret\n[result truncated]");
/// ```
#[must_use]
pub fn fit_read(text: &str, status_line: &str, limit: usize) -> String {
    match text.strip_suffix(status_line) {
        Some(_) if text.len() <= limit => text.into(),
        Some(before) if is_placeholder(before) => tail(status_line, limit).into(),
        Some(before) => keep_tail(before, &format!("{OUTPUT_TRUNCATED}\n{status_line}"), limit),
        None => fit_text(text, limit),
    }
}

/// The text in at most `limit` bytes: its tail and [`RESULT_TRUNCATED`].
///
/// ```
/// use longrun_core::controls::fit_text;
///
/// assert_eq!(fit_text("short", 32), "short");
/// let long = "a text that is too long for it";
/// assert_eq!(fit_text(long, 29), "ong for it\n[result truncated]");
/// assert_eq!(fit_text(long, 8), "uncated]");
/// ```
#[must_use]
pub fn fit_text(text: &str, limit: usize) -> String {
    if text.len() <= limit { text.into() } else { keep_tail(text, RESULT_TRUNCATED, limit) }
}

fn keep_tail(content: &str, last_lines: &str, limit: usize) -> String {
    let content = without_marker(content);
    let room = limit.saturating_sub(last_lines.len() + 1);
    let kept = tail(content, room);
    let newline = if kept.is_empty() { "" } else { "\n" };
    format!("{kept}{newline}{}", tail(last_lines, limit))
}

/// The content without its last newline, and without a marker that is already at
/// its end.
fn without_marker(content: &str) -> &str {
    let content = content.strip_suffix('\n').unwrap_or(content);
    [OUTPUT_TRUNCATED, RESULT_TRUNCATED]
        .iter()
        .find_map(|marker| content.strip_suffix(marker))
        .map_or(content, |before| before.strip_suffix('\n').unwrap_or(before))
}
