//! The arguments of `bash`: checked all at once, so that a model can correct
//! everything in its next try.

use std::path::PathBuf;

use longrun_shared::core::controls::Arg;
use serde_json::{Map, Value};

use super::args::{arg, object, run_in_background, unknown};

const KNOWN: [&str; 4] = ["command", "description", "timeout_ms", "workdir"];

#[derive(Debug, PartialEq)]
pub(super) struct BashArgs {
    pub(super) command: String,
    pub(super) timeout_ms: Option<f64>,
    pub(super) workdir: Option<PathBuf>,
    pub(super) run_in_background: bool,
}

impl BashArgs {
    pub(super) fn parse(args: &Value, may_run_in_background: bool) -> Result<Self, String> {
        let args = object(args)?;
        let mut wrong = Vec::new();
        let command = text(args, "command", &mut wrong);
        let blank = command.as_ref().is_none_or(|command| command.trim().is_empty());
        if blank && wrong.is_empty() {
            wrong.push("`command`: expected a bash command, got nothing".to_owned());
        }
        // For the user alone: checked, and not used.
        let _ = text(args, "description", &mut wrong);
        let timeout_ms = timeout(args, &mut wrong);
        let workdir = text(args, "workdir", &mut wrong).map(PathBuf::from);
        let run_in_background =
            run_in_background(args, "commands", may_run_in_background, &mut wrong);
        wrong.extend(unknown(args, &KNOWN, may_run_in_background));
        if !wrong.is_empty() {
            return Err(format!("invalid arguments: {}", wrong.join("; ")));
        }
        let command = command.unwrap_or_default();
        Ok(Self { command, timeout_ms, workdir, run_in_background })
    }
}

fn text(args: &Map<String, Value>, name: &str, wrong: &mut Vec<String>) -> Option<String> {
    match args.get(name) {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text.clone()),
        Some(other) => {
            wrong.push(format!("`{name}`: expected a string, got {}", arg(other)));
            None
        }
    }
}

fn timeout(args: &Map<String, Value>, wrong: &mut Vec<String>) -> Option<f64> {
    let value = args.get("timeout_ms").map(arg)?;
    match value {
        Arg::Null => None,
        Arg::Number(ms) if ms.is_finite() && ms > 0.0 => Some(ms),
        other => {
            let expected = "a finite number of milliseconds above 0";
            wrong.push(format!("`timeout_ms`: expected {expected}, got {other}"));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refused(args: Value) -> String {
        BashArgs::parse(&args, true).unwrap_err()
    }

    // contract: P2
    #[test]
    fn a_forced_background_argument_is_refused_where_it_is_not_offered() {
        for forced in [json!(true), json!(false), json!(null)] {
            let args = json!({"command": "true", "run_in_background": forced});
            let error = BashArgs::parse(&args, false).unwrap_err();
            assert!(error.contains("foreground"), "{error}");
        }
    }

    #[test]
    fn everything_that_is_wrong_is_said_at_once() {
        let error = refused(json!({"command": 1, "timeout_ms": -1, "workdir": [], "colour": 1}));
        for wrong in ["`command`", "`timeout_ms`", "`workdir`", "unknown `colour`"] {
            assert!(error.contains(wrong), "{wrong} is missing in: {error}");
        }
        assert!(refused(json!({"command": " "})).contains("`command`: expected a bash command"));
        assert!(refused(json!([])).contains("expected an object, and an array came"));
        assert!(refused(json!({"command": "x", "timeout_ms": "1"})).contains("got the string `1`"));
    }
}
