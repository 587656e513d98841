//! JSON arguments for the core's parsers, which know no JSON library.

use longrun_shared::core::controls::Arg;
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
