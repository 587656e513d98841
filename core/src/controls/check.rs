//! One argument at a time: its value, or what is wrong with it.

use alloc::{format, string::String, vec::Vec};
use core::time::Duration;

use super::clean::line_within;
use super::{Arg, AskedTask, ControlsConfig, UnknownTask};
use crate::{MAX_WAIT, TaskId};

/// How much of a value or a key an error repeats.
pub(super) const SHOWN_CHARS: usize = 40;

const SHOWN_KEYS: usize = 5;

/// The longest wait that can be asked for. Beyond the configured cap a wait is cut;
/// beyond this, what was asked for cannot have been meant.
const LONGEST_MS: f64 = MAX_WAIT.as_millis() as f64;

/// Puts the arguments into the order of the known ones, and says which ones are
/// unknown. Of an argument given twice the last one counts, as in JSON parsers.
pub(super) fn sort<'a, const N: usize>(
    args: impl IntoIterator<Item = (&'a str, Arg<'a>)>,
    known: [&str; N],
) -> ([Option<Arg<'a>>; N], Option<String>) {
    let mut sorted = [const { None }; N];
    let mut unknown = Vec::new();
    let mut further = 0;
    for (key, arg) in args {
        match known.iter().position(|&name| name == key) {
            Some(at) => sorted[at] = Some(arg),
            None if unknown.len() == SHOWN_KEYS => further += 1,
            None => unknown.push(format!("`{}`", line_within(key, SHOWN_CHARS))),
        }
    }
    let unknown = (!unknown.is_empty()).then(|| refuse(&unknown.join(", "), further, &known));
    (sorted, unknown)
}

fn refuse(unknown: &str, further: usize, known: &[&str]) -> String {
    let further = if further == 0 { String::new() } else { format!(" and {further} more") };
    if known.is_empty() {
        return format!("unknown {unknown}{further}, expected no arguments");
    }
    format!("unknown {unknown}{further}, expected only `{}`", known.join("`, `"))
}

fn wrong<T>(name: &str, expected: &str, got: Arg<'_>) -> Result<T, String> {
    Err(format!("`{name}`: expected {expected}, got {got}"))
}

/// The `task_id`: a string that is there, whether or not it names a task.
pub(super) fn required_id(arg: Option<Arg<'_>>) -> Result<AskedTask, String> {
    let expected = "a non-empty string";
    match arg {
        None => wrong("task_id", expected, Arg::Other("nothing")),
        Some(Arg::Text("")) => wrong("task_id", expected, Arg::Other("an empty one")),
        Some(Arg::Text(id)) => Ok(TaskId::parse(id).map_err(|_| UnknownTask::new(id))),
        Some(got @ (Arg::Null | Arg::Bool(_) | Arg::Number(_) | Arg::List(_) | Arg::Other(_))) => {
            wrong("task_id", expected, got)
        }
    }
}

/// Optional `task_ids`: some strings that are there, whether or not they name tasks.
pub(super) fn ids(
    name: &str,
    arg: Option<Arg<'_>>,
    most: usize,
) -> Result<Option<Vec<AskedTask>>, String> {
    let expected = format!("1 to {most} non-empty strings");
    match arg {
        None | Some(Arg::Null) => Ok(None),
        Some(Arg::List(items)) if (1..=most).contains(&items.len()) => {
            let ids = items.into_iter().map(|item| match item {
                Arg::Text(id) if !id.is_empty() => {
                    Ok(TaskId::parse(id).map_err(|_| UnknownTask::new(id)))
                }
                Arg::Text(_) => wrong(name, &expected, Arg::Other("an empty one among them")),
                got
                @ (Arg::Null | Arg::Bool(_) | Arg::Number(_) | Arg::List(_) | Arg::Other(_)) => {
                    wrong(name, &expected, got)
                }
            });
            ids.collect::<Result<_, _>>().map(Some)
        }
        Some(Arg::List(items)) => {
            Err(format!("`{name}`: expected {expected}, got {}", items.len()))
        }
        Some(got @ (Arg::Bool(_) | Arg::Number(_) | Arg::Text(_) | Arg::Other(_))) => {
            wrong(name, &format!("an array of {expected}"), got)
        }
    }
}

/// An optional choice, as its place among the options; the first if it is absent.
pub(super) fn one_of<const N: usize>(
    name: &str,
    arg: Option<Arg<'_>>,
    options: [&str; N],
) -> Result<usize, String> {
    let arg = match arg {
        None | Some(Arg::Null) => return Ok(0),
        Some(arg) => arg,
    };
    let chosen = |text| options.iter().position(|&option| option == text);
    match &arg {
        Arg::Text(text) => chosen(*text),
        Arg::Null | Arg::Bool(_) | Arg::Number(_) | Arg::List(_) | Arg::Other(_) => None,
    }
    .map_or_else(|| wrong(name, &format!("`{}`", options.join("` or `")), arg), Ok)
}

/// An optional boolean, which is false if it is absent.
pub(super) fn flag(name: &str, arg: Option<Arg<'_>>) -> Result<bool, String> {
    match arg {
        None | Some(Arg::Null) => Ok(false),
        Some(Arg::Bool(value)) => Ok(value),
        Some(got @ (Arg::Number(_) | Arg::Text(_) | Arg::List(_) | Arg::Other(_))) => {
            wrong(name, "true or false", got)
        }
    }
}

/// An optional string.
pub(super) fn text<'a>(name: &str, arg: Option<Arg<'a>>) -> Result<Option<&'a str>, String> {
    match arg {
        None | Some(Arg::Null) => Ok(None),
        Some(Arg::Text(text)) => Ok(Some(text)),
        Some(got @ (Arg::Bool(_) | Arg::Number(_) | Arg::List(_) | Arg::Other(_))) => {
            wrong(name, "a string", got)
        }
    }
}

/// An optional number of milliseconds, as a wait within the configured range. Its
/// type always matters, its value only if it is `used`.
pub(super) fn timeout_ms(
    name: &str,
    arg: Option<Arg<'_>>,
    used: bool,
    config: &ControlsConfig,
) -> Result<Duration, String> {
    let default = Duration::from_millis(config.wait_timeout_ms());
    let cap = config.max_wait_timeout_ms();
    match arg {
        None | Some(Arg::Null) => Ok(default),
        Some(Arg::Number(_)) if !used => Ok(default),
        Some(Arg::Number(value)) if value > 0.0 && value <= LONGEST_MS => {
            Ok(Duration::from_millis(whole_ms(value, cap)))
        }
        Some(got @ Arg::Number(_)) => {
            wrong(name, &format!("above 0 and at most {LONGEST_MS} milliseconds"), got)
        }
        Some(got @ (Arg::Bool(_) | Arg::Text(_) | Arg::List(_) | Arg::Other(_))) => {
            wrong(name, "a number of milliseconds", got)
        }
    }
}

/// A positive time rounded up to whole milliseconds, at most `cap`.
fn whole_ms(value: f64, cap: u64) -> u64 {
    // A cast drops the fraction, and what no u64 can hold becomes the largest one.
    let floor = value as u64;
    let rounded_up = floor.saturating_add(u64::from((floor as f64) < value));
    rounded_up.min(cap)
}
