//! The text and the value of a foreground command.

use serde_json::{Value, json};

use super::ToolReply;
use crate::{
    bash::{Cause, ForegroundResult},
    process::{Exit, Stream},
};

pub(super) fn foreground_reply(result: &ForegroundResult) -> ToolReply {
    ToolReply { text: text(result), value: value(result), is_error: false }
}

fn text(result: &ForegroundResult) -> String {
    let mut text = result.output.text();
    if text.is_empty() {
        text.push_str("(no output)");
    }
    for marker in markers(result) {
        append_line(&mut text, &marker);
    }
    text
}

/// What a reader must know of the end, one line each; nothing after a plain success.
fn markers(result: &ForegroundResult) -> Vec<String> {
    let mut markers = Vec::new();
    match result.cause {
        Cause::TimedOut => markers
            .push(format!("[timed out after {} ms, and was ended]", result.timeout.as_millis())),
        Cause::Aborted => markers.push("[aborted, and was ended]".to_owned()),
        Cause::Exited => {}
    }
    if result.leftovers_ended > 0 {
        let left = result.leftovers_ended;
        let processes = if left == 1 { "process" } else { "processes" };
        markers.push(format!("[{left} {processes} outlived the shell and were ended]"));
    }
    if !result.drained {
        markers.push("[a process outside the session still holds the output open]".to_owned());
    }
    if result.exit != Exit::Code(0) {
        markers.push(format!("[{}]", result.exit));
    }
    markers
}

/// On a line of its own.
fn append_line(text: &mut String, line: &str) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(line);
}

fn value(result: &ForegroundResult) -> Value {
    let (exit_code, signal) = match result.exit {
        Exit::Code(code) => (Some(code), None),
        Exit::Signal(signal) => (None, Some(signal.to_string())),
        Exit::Unavailable => (None, None),
    };
    let stream = |stream| {
        let stream = result.output.of(stream);
        json!({
            "text": stream.text,
            "truncated": stream.dropped_bytes > 0,
            "droppedBytes": stream.dropped_bytes,
        })
    };
    json!({
        "kind": "foreground",
        "exitCode": exit_code,
        "signal": signal,
        "timedOut": result.cause == Cause::TimedOut,
        "aborted": result.cause == Cause::Aborted,
        "timeoutMs": u64::try_from(result.timeout.as_millis()).unwrap_or(u64::MAX),
        "leftoversEnded": result.leftovers_ended,
        "stdout": stream(Stream::Stdout),
        "stderr": stream(Stream::Stderr),
    })
}
