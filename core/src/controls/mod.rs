//! The model-facing controls: what a model is offered, and every text it gets
//! back about its background tasks.
//!
//! All of it is text in, text out. Nothing here holds state or touches the
//! registry: a harness parses a tool call with this module, asks the registry, and
//! renders the answer with this module.
//!
//! 1. Offer [`tool_specs`] and add [`PROMPT_SECTION`] to the system prompt.
//! 2. A call comes: [`parse_output`], [`parse_list`] or [`parse_kill`]. What does
//!    not parse is an error that lists everything wrong at once.
//! 3. The registry says that a task is unknown, or foreign, or the id did not even
//!    parse: all three are [`unknown_task_text`], so that ids cannot be probed.
//! 4. Otherwise answer with [`capped_output_text`], [`list_text`], or
//!    [`kill_requested_text`] / [`kill_finished_text`] through [`capped_text`];
//!    announce an end with [`notice_text`], or several that are claimed together with
//!    [`notices_text`]. The values for code, never cut, are
//!    [`OutputValue`], [`PublicTask`] and [`KillValue`].
//!
//! Three things hold for each text. What a producer or a model named (id, kind,
//! label, detail) is one line of bounded length and cannot imitate the controls'
//! own lines, see [`one_line`]. With a task's `output_limit_bytes` the complete
//! text, marker and status included, stays within it. Output is only ever cut at
//! its head: the last line of a read is the real status line.
//!
//! ```
//! use longrun_core::controls::{Arg, ControlsConfig, capped_output_text, parse_output};
//! use longrun_core::{Status, TaskId, TaskSnapshot};
//!
//! let config = ControlsConfig::default();
//! let args = parse_output([("task_id", Arg::Text("bash-1"))], &config).unwrap();
//! assert_eq!(args.wait, None);
//!
//! let task = TaskSnapshot {
//!     id: TaskId::parse("bash-1").unwrap(),
//!     kind: "bash".into(),
//!     label: "cargo test".into(),
//!     output_limit_bytes: Some(62),
//!     owner_session: None,
//!     status: Status::Completed,
//!     detail: Some("exit code: 0".into()),
//!     started_at_ms: 0,
//!     finished_at_ms: Some(1200),
//!     reported: false,
//!     stop: None,
//! };
//! assert_eq!(
//!     capped_output_text("12 passed\n", &task),
//!     "12 passed\n[status: completed, exit code: 0]",
//! );
//! assert_eq!(
//!     capped_output_text("test a ... ok\ntest b ... ok\n12 passed\n", &task),
//!     "12 passed\n[output truncated]\n[status: completed, exit code: 0]",
//! );
//! ```

mod args;
mod check;
mod clean;
mod cut;
#[cfg(any(test, feature = "check"))]
mod exercise;
mod fit;
mod notice;
mod prompt;
mod render;
mod schema;
#[cfg(test)]
mod tests;
mod unknown;
mod value;

pub use args::{
    Arg, ArgsError, AskedTask, AskedTasks, KillArgs, MAX_TASK_IDS, OutputArgs, parse_kill,
    parse_list, parse_output,
};
pub use clean::{MAX_LINE_CHARS, line_within, one_line};
#[cfg(any(test, feature = "check"))]
pub use exercise::exercise;
pub use fit::{
    OUTPUT_TRUNCATED, RESULT_TRUNCATED, capped_output_text, capped_text, fit_output, fit_read,
    fit_text,
};
pub use notice::{NOTICES_CAP_BYTES, notice_text, notices_text};
pub use prompt::PROMPT_SECTION;
pub use render::{
    LIST_CAP_BYTES, kill_finished_text, kill_requested_text, list_text, one_of_several_ending,
    one_of_several_text, output_text, quiet_tasks_text, status_line,
};
pub use schema::{Card, ControlsConfig, InvalidControlsConfig, ToolSpec, tool_specs};
pub use unknown::{UnknownTask, unknown_task_text};
pub use value::{CollectedValue, FailedTask, KillOutcome, KillValue, OutputValue, PublicTask};
