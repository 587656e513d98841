//! JSON arguments: for the core's parsers, which know no JSON library, and what the tools
//! that start work have in common.

use longrun_shared::core::controls::{Arg, one_line};
use serde_json::{Map, Value};

/// The arguments of a call, or what came instead.
pub(super) fn object(args: &Value) -> Result<&Map<String, Value>, String> {
    args.as_object()
        .ok_or_else(|| format!("invalid arguments: expected an object, and {} came", arg(args)))
}

/// One by one, as the core takes them.
pub(super) fn each(args: &Map<String, Value>) -> impl Iterator<Item = (&str, Arg<'_>)> {
    args.iter().map(|(key, value)| (key.as_str(), arg(value)))
}

pub(super) fn arg(value: &Value) -> Arg<'_> {
    match value {
        Value::Null => Arg::Null,
        Value::Bool(value) => Arg::Bool(*value),
        Value::Number(number) => Arg::Number(number.as_f64().unwrap_or(f64::NAN)),
        Value::String(text) => Arg::Text(text),
        Value::Array(items) => Arg::List(items.iter().map(arg).collect()),
        Value::Object(_) => Arg::Other("an object"),
    }
}

const BACKGROUND: &str = "run_in_background";

/// Whether `work` is to run in the background. Where it may not, an argument that says
/// anything of it is refused.
pub(super) fn run_in_background(
    args: &Map<String, Value>,
    work: &str,
    allowed: bool,
    wrong: &mut Vec<String>,
) -> bool {
    match args.get(BACKGROUND) {
        None => false,
        Some(_) if !allowed => {
            wrong.push(format!("`{BACKGROUND}`: {work} run in the foreground here"));
            false
        }
        Some(Value::Null) => false,
        Some(Value::Bool(value)) => *value,
        Some(other) => {
            wrong.push(format!("`{BACKGROUND}`: expected true or false, got {}", arg(other)));
            false
        }
    }
}

/// The arguments that are neither `known` nor the one of the background, which is offered
/// only where that is allowed.
pub(super) fn unknown(
    args: &Map<String, Value>,
    known: &[&str],
    may_run_in_background: bool,
) -> Option<String> {
    let is_known = |key: &str| known.contains(&key) || key == BACKGROUND;
    let mut unknown = args.keys().filter(|key| !is_known(key));
    let first = unknown.next()?;
    let more = match unknown.count() {
        0 => String::new(),
        further => format!(" and {further} more"),
    };
    let offered: Vec<&str> =
        known.iter().copied().chain(may_run_in_background.then_some(BACKGROUND)).collect();
    let expected = offered.join("`, `");
    Some(format!("unknown `{}`{more}, expected only `{expected}`", one_line(first)))
}
