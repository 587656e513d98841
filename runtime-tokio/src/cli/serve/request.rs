//! A line of input as a request.

use std::path::PathBuf;

use longrun_shared::ClaimSource;
use serde::Deserialize;
use serde_json::{Value, json};

use super::lines::{Line, MAX_LINE_BYTES};

/// What can be asked for.
#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Request {
    Open {
        owner: String,
        session: String,
        cwd: Option<PathBuf>,
    },
    Call {
        #[serde(deserialize_with = "Option::deserialize")]
        owner: Option<String>,
        tool: String,
        #[serde(default = "no_args")]
        args: Value,
    },
    Abort {
        call: Value,
    },
    Background {
        call: Value,
    },
    State {
        owner: String,
        busy: bool,
    },
    Claim {
        owner: String,
        source: ClaimSource,
        #[serde(default)]
        or_idle: bool,
    },
    Observe {
        #[serde(deserialize_with = "Option::deserialize")]
        owner: Option<String>,
        task_id: String,
        #[serde(default)]
        from: u64,
    },
    Tasks {
        #[serde(deserialize_with = "Option::deserialize")]
        owner: Option<String>,
    },
    Dispose {
        owner: String,
    },
    Shutdown {},
}

fn no_args() -> Value {
    json!({})
}

/// A request that cannot be carried out. It has changed nothing.
#[derive(Debug)]
pub(super) struct Trouble {
    code: &'static str,
    message: String,
}

impl Trouble {
    pub(super) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// The reply that says so.
    pub(super) fn reply(&self) -> Value {
        json!({"error": {"code": self.code, "message": self.message}})
    }
}

/// A request, or what is wrong with the line, and the tag to answer under.
pub(super) fn parse(line: Line) -> (Option<Value>, Result<Request, Trouble>) {
    let value = match value(line) {
        Ok(value) => value,
        Err(trouble) => return (None, Err(trouble)),
    };
    let Value::Object(mut fields) = value else {
        let trouble = Trouble::new("invalid_request", "expected a JSON object with an `op`");
        return (None, Err(trouble));
    };
    let tag = fields.remove("tag");
    if !fields.contains_key("op") {
        return (tag, Err(Trouble::new("invalid_request", "expected an `op`, and there is none")));
    }
    let request = serde_json::from_value(Value::Object(fields));
    (tag, request.map_err(|error| Trouble::new("invalid_request", bounded(&error.to_string()))))
}

/// An error may repeat what came, of which there can be much: what was expected stands at
/// its end, so its head and its tail are kept.
fn bounded(message: &str) -> String {
    const ENDS: usize = 300;
    if message.len() <= 2 * ENDS {
        return message.to_owned();
    }
    let head = message.floor_char_boundary(ENDS);
    let tail = message.ceil_char_boundary(message.len() - ENDS);
    format!("{}…{}", &message[..head], &message[tail..])
}

fn value(line: Line) -> Result<Value, Trouble> {
    match line {
        Line::Text(text) => serde_json::from_str(&text).map_err(|error| {
            Trouble::new("invalid_json", format!("expected one JSON object on the line: {error}"))
        }),
        Line::TooLong { bytes } => Err(Trouble::new(
            "line_too_long",
            format!("expected a line of at most {MAX_LINE_BYTES} bytes, and {bytes} came"),
        )),
        Line::NotUtf8 => Err(Trouble::new("invalid_json", "expected UTF-8")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(line: &str) -> (Option<Value>, String) {
        let (tag, request) = parse(Line::Text(line.to_owned()));
        let trouble = request.unwrap_err();
        (tag, format!("{}: {}", trouble.code, trouble.message))
    }

    #[test]
    fn a_bad_line_is_answered_under_its_tag_with_what_was_expected() {
        let cases = [
            ("nonsense", "invalid_json: expected one JSON object on the line"),
            ("[]", "invalid_request: expected a JSON object with an `op`"),
            ("{}", "invalid_request: expected an `op`, and there is none"),
            (r#"{"op": "dance"}"#, "unknown variant `dance`, expected one of `open`, `call`"),
            (r#"{"op": "state", "owner": "a", "busy": 1}"#, "expected a boolean"),
            (r#"{"op": "open", "owner": "a"}"#, "missing field `session`"),
            (r#"{"op": "call", "tool": "bash"}"#, "missing field `owner`"),
            (r#"{"op": "dispose", "owner": "a", "now": true}"#, "unknown field `now`"),
            (r#"{"op": "claim", "owner": "a", "source": "me"}"#, "expected `user` or `inbox`"),
        ];
        for (line, expected) in cases {
            let (tag, message) = refused(line);
            assert_eq!(tag, None);
            assert!(message.contains(expected), "{line}: {message}");
        }
        assert_eq!(refused(r#"{"tag": [1], "op": 7}"#).0, Some(json!([1])));
        let (_, long) = refused(&format!(r#"{{"op": "{}"}}"#, "é".repeat(9_000)));
        assert!(long.len() < 700 && long.ends_with("`shutdown`"), "{long}");
    }
}
