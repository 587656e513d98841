//! The arguments of `subagent`: checked all at once, so that a model can correct
//! everything in its next try.

use serde_json::{Map, Value};

use super::args::{arg, object, run_in_background, unknown};

const KNOWN: [&str; 2] = ["description", "prompt"];

#[derive(Debug, PartialEq)]
pub(super) struct SubagentArgs {
    pub(super) description: String,
    pub(super) prompt: String,
    pub(super) run_in_background: bool,
}

impl SubagentArgs {
    pub(super) fn parse(args: &Value, may_run_in_background: bool) -> Result<Self, String> {
        let args = object(args)?;
        let mut wrong = Vec::new();
        let what = "what the subagent is for, in a few words";
        let description = text(args, "description", what, &mut wrong);
        let prompt = text(args, "prompt", "what the subagent is to do", &mut wrong);
        let run_in_background =
            run_in_background(args, "subagents", may_run_in_background, &mut wrong);
        wrong.extend(unknown(args, &KNOWN, may_run_in_background));
        if !wrong.is_empty() {
            return Err(format!("invalid arguments: {}", wrong.join("; ")));
        }
        Ok(Self { description, prompt, run_in_background })
    }
}

fn text(args: &Map<String, Value>, name: &str, what: &str, wrong: &mut Vec<String>) -> String {
    let got = match args.get(name) {
        Some(Value::String(text)) if !text.trim().is_empty() => return text.clone(),
        None | Some(Value::Null | Value::String(_)) => "nothing".to_owned(),
        Some(other) => arg(other).to_string(),
    };
    wrong.push(format!("`{name}`: expected {what}, got {got}"));
    String::new()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // contract: P2
    #[test]
    fn a_forced_background_argument_is_refused_where_it_is_not_offered() {
        let args = json!({"description": "d", "prompt": "p", "run_in_background": false});
        let error = SubagentArgs::parse(&args, false).unwrap_err();
        assert!(error.contains("foreground"), "{error}");
        assert!(SubagentArgs::parse(&args, true).is_ok());
    }

    #[test]
    fn everything_that_is_wrong_is_said_at_once() {
        let args = json!({"prompt": 1, "run_in_background": "yes", "model": "x", "a": 1});
        let error = SubagentArgs::parse(&args, true).unwrap_err();
        let wrong = [
            "`description`: expected what the subagent is for, in a few words, got nothing",
            "`prompt`: expected what the subagent is to do, got 1",
            "`run_in_background`: expected true or false, got the string `yes`",
            "and 1 more, expected only `description`, `prompt`, `run_in_background`",
        ];
        for wrong in wrong {
            assert!(error.contains(wrong), "{wrong} is missing in: {error}");
        }
        let blank = json!({"description": "d", "prompt": " \n"});
        assert!(SubagentArgs::parse(&blank, true).unwrap_err().contains("got nothing"));
        assert!(SubagentArgs::parse(&json!(7), true).unwrap_err().contains("expected an object"));
    }
}
