//! The arguments of a tool call: checked all at once, so that a model can correct
//! everything in its next try.

use alloc::{string::String, vec::Vec};
use core::{fmt, time::Duration};

use super::check::{SHOWN_CHARS, flag, ids, one_of, required_id, sort, text, timeout_ms};
use super::clean::line_within;
use super::{ControlsConfig, UnknownTask};
use crate::TaskId;

/// The most tasks that one `task_output` may ask for.
pub const MAX_TASK_IDS: usize = 32;

/// One argument, whatever library parsed the call.
#[derive(Clone, Debug, PartialEq)]
pub enum Arg<'a> {
    /// `null`; of an optional argument it means that there is none.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number.
    Number(f64),
    /// A string.
    Text(&'a str),
    /// An array.
    List(Vec<Arg<'a>>),
    /// Anything else, named for an error: `an object`.
    Other(&'static str),
}

impl fmt::Display for Arg<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => write!(f, "{value}"),
            // Written out, 1e300 has three hundred digits.
            Self::Number(value) if *value == 0.0 || (1e-5..1e15).contains(&value.abs()) => {
                write!(f, "{value}")
            }
            Self::Number(value) => write!(f, "{value:e}"),
            Self::Text(text) => write!(f, "the string `{}`", line_within(text, SHOWN_CHARS)),
            Self::List(_) => f.write_str("an array"),
            Self::Other(what) => f.write_str(what),
        }
    }
}

/// Everything that is wrong with the arguments of one call, as one short message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid arguments: {}", .violations.join("; "))]
pub struct ArgsError {
    violations: Vec<String>,
}

impl ArgsError {
    fn of(violations: impl IntoIterator<Item = Option<String>>) -> Self {
        Self { violations: violations.into_iter().flatten().collect() }
    }

    /// What is wrong, one by one: what was expected and what came.
    #[must_use]
    pub fn violations(&self) -> &[String] {
        &self.violations
    }
}

/// A task that is asked for; or, if that is not an id, the answer to give, which is that
/// of an id which names no task.
pub type AskedTask = Result<TaskId, UnknownTask>;

/// What `task_output` is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputArgs {
    /// Of which tasks.
    pub tasks: AskedTasks,
    /// How long to wait for an end: whole milliseconds, from 1 to the cap. `None`: not
    /// at all.
    pub wait: Option<Duration>,
}

/// The tasks that a `task_output` asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AskedTasks {
    /// One, by `task_id`.
    One(AskedTask),
    /// Up to [`MAX_TASK_IDS`] and perhaps one more, by `task_ids`; also `task_id`, which
    /// comes first.
    Several {
        /// Which.
        ids: Vec<AskedTask>,
        /// Whether a wait is for the ends of all, or for that of the first.
        until_all: bool,
    },
}

/// What `task_kill` is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KillArgs<'a> {
    /// The task.
    pub task_id: AskedTask,
    /// Why, verbatim.
    pub reason: Option<&'a str>,
}

/// Reads the arguments of `task_output`.
///
/// `timeout_ms` counts only with `wait: true`; then fractions are rounded up and what is
/// above the cap is lowered to it, short of what no wait can last. `task_ids` and `until`
/// are known where the configuration [offers](ControlsConfig::with_task_ids) them.
///
/// # Errors
///
/// [`ArgsError`] lists every argument that is missing, unknown, of the wrong type
/// or, with `wait: true`, out of range.
///
/// ```
/// use core::time::Duration;
/// use longrun_core::controls::{Arg, ControlsConfig, parse_output};
///
/// let config = ControlsConfig::default();
/// let wait = [
///     ("task_id", Arg::Text("bash-1")),
///     ("wait", Arg::Bool(true)),
///     ("timeout_ms", Arg::Number(3_600_000.0)),
/// ];
/// assert_eq!(parse_output(wait, &config).unwrap().wait, Some(Duration::from_secs(600)));
/// assert_eq!(
///     parse_output([("id", Arg::Text("bash-1"))], &config).unwrap_err().to_string(),
///     "invalid arguments: unknown `id`, expected only `task_id`, `wait`, `timeout_ms`; \
///      `task_id`: expected a non-empty string, got nothing",
/// );
/// ```
pub fn parse_output<'a>(
    args: impl IntoIterator<Item = (&'a str, Arg<'a>)>,
    config: &ControlsConfig,
) -> Result<OutputArgs, ArgsError> {
    if config.offers_task_ids() {
        return parse_several(args, config);
    }
    let ([task_id, wait, timeout_arg], unknown) = sort(args, ["task_id", "wait", "timeout_ms"]);
    let (wait, task_id) = (flag("wait", wait), required_id(task_id));
    let timeout = timeout_ms("timeout_ms", timeout_arg, wait == Ok(true), config);
    match (unknown, task_id, wait, timeout) {
        (None, Ok(task_id), Ok(wait), Ok(timeout)) => {
            Ok(OutputArgs { tasks: AskedTasks::One(task_id), wait: wait.then_some(timeout) })
        }
        (unknown, task_id, wait, timeout) => {
            Err(ArgsError::of([unknown, task_id.err(), wait.err(), timeout.err()]))
        }
    }
}

fn parse_several<'a>(
    args: impl IntoIterator<Item = (&'a str, Arg<'a>)>,
    config: &ControlsConfig,
) -> Result<OutputArgs, ArgsError> {
    let known = ["task_id", "task_ids", "until", "wait", "timeout_ms"];
    let ([task_id, task_ids, until, wait, timeout_arg], unknown) = sort(args, known);
    let wait = flag("wait", wait);
    let timeout = timeout_ms("timeout_ms", timeout_arg, wait == Ok(true), config);
    let until = one_of("until", until, ["any", "all"]);
    let task_ids = ids("task_ids", task_ids, MAX_TASK_IDS);
    let task_id = match task_id {
        None | Some(Arg::Null) if task_ids == Ok(None) => {
            Err("`task_id` or `task_ids`: expected one of them, got neither".into())
        }
        None | Some(Arg::Null) => Ok(None),
        task_id => required_id(task_id).map(Some),
    };
    match (unknown, task_id, task_ids, until, wait, timeout) {
        (None, Ok(task_id), Ok(task_ids), Ok(until), Ok(wait), Ok(timeout)) => {
            let wait = wait.then_some(timeout);
            let tasks = match (task_id, task_ids) {
                (Some(id), None) => AskedTasks::One(id),
                (id, ids) => AskedTasks::Several {
                    ids: id.into_iter().chain(ids.into_iter().flatten()).collect(),
                    until_all: until == 1,
                },
            };
            Ok(OutputArgs { tasks, wait })
        }
        (unknown, task_id, task_ids, until, wait, timeout) => Err(ArgsError::of([
            unknown,
            task_id.err(),
            task_ids.err(),
            until.err(),
            wait.err(),
            timeout.err(),
        ])),
    }
}

/// Reads the arguments of `task_list`, which has none.
///
/// # Errors
///
/// [`ArgsError`] if there are any.
pub fn parse_list<'a>(args: impl IntoIterator<Item = (&'a str, Arg<'a>)>) -> Result<(), ArgsError> {
    let ([], unknown) = sort(args, []);
    unknown.map_or(Ok(()), |unknown| Err(ArgsError::of([Some(unknown)])))
}

/// Reads the arguments of `task_kill`.
///
/// # Errors
///
/// [`ArgsError`] lists every argument that is missing, unknown or of the wrong
/// type.
pub fn parse_kill<'a>(
    args: impl IntoIterator<Item = (&'a str, Arg<'a>)>,
) -> Result<KillArgs<'a>, ArgsError> {
    let ([task_id, reason], unknown) = sort(args, ["task_id", "reason"]);
    match (unknown, required_id(task_id), text("reason", reason)) {
        (None, Ok(task_id), Ok(reason)) => Ok(KillArgs { task_id, reason }),
        (unknown, task_id, reason) => Err(ArgsError::of([unknown, task_id.err(), reason.err()])),
    }
}
