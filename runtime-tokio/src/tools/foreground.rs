//! The text and the value of a foreground command, and of one that was moved.

use std::time::Duration;

use longrun_shared::{TaskId, core::controls::one_line};
use serde_json::{Number, Value, json};

use super::ToolReply;
use crate::{
    bash::{BashSpec, Cause, Foreground, ForegroundResult, Turn, could_not_be_ended, count},
    process::{Delta, Exit, SpillFiles, SpillState, Stream},
};

/// The variables that a command names and does not get, if there are any.
pub(super) fn missed(spec: &BashSpec) -> Option<String> {
    let missed: Vec<String> = spec.missed().map(one_line).collect();
    (!missed.is_empty())
        .then(|| format!("[not passed to commands, as secrets: {}]", missed.join(", ")))
}

/// A command that has ended, what it missed, and why it could not go on as a background
/// task, if it should have.
pub(super) fn foreground_reply(
    result: &ForegroundResult,
    missed: Option<String>,
    refused: Option<&str>,
) -> ToolReply {
    let mut markers: Vec<String> = missed.into_iter().chain(ends(result)).collect();
    markers.extend(refused.map(|why| format!("[not moved to the background: {why}]")));
    markers.extend(exit(result));
    let text = text(&result.output, &result.files, "(no output)", &markers);
    let is_error = result.cause == Cause::Aborted;
    ToolReply { is_error, ..ToolReply::new(text, value(result)) }
}

/// A command that goes on as that task, whole or with what its shell has left behind.
/// The output so far is given here and not again.
pub(super) fn moved_reply(
    run: &Foreground,
    missed: Option<String>,
    turn: Turn,
    id: &TaskId,
) -> ToolReply {
    let what_to_do = "read it with task_output, stop it with task_kill";
    let Some(exit_of_shell) = run.exit() else {
        let output = run.process.read_delta();
        let why = match turn {
            Turn::TimedOut => "timed out, and was not ended",
            _ => "moved to the background on request",
        };
        let marker = format!("[{why}: still running as background task {id}; {what_to_do}]");
        let markers: Vec<String> = missed.into_iter().chain([marker]).collect();
        let text = text(&output, &run.process.files(), "(no output yet)", &markers);
        return background_reply(id, text);
    };
    let result = run.so_far(exit_of_shell);
    let alive = match turn {
        Turn::Outlived(alive) => alive,
        _ => run.process.live_processes().ok(),
    };
    let (left, goes) = match alive {
        Some(1) => (count(1), "goes"),
        // Not seen, or gone by now.
        Some(0) | None => ("something".to_owned(), "goes"),
        Some(left) => (count(left), "go"),
    };
    let marker =
        format!("[{left} outlived the shell and {goes} on as background task {id}: {what_to_do}]");
    let markers: Vec<String> = missed.into_iter().chain([marker]).chain(exit(&result)).collect();
    let mut value = value(&result);
    value["taskId"] = json!(id);
    ToolReply::new(text(&result.output, &result.files, "(no output)", &markers), value)
}

/// A command in the background.
pub(super) fn background_reply(id: &TaskId, text: String) -> ToolReply {
    ToolReply::new(text, json!({"kind": "background", "taskId": id}))
}

/// The output, and what a reader must know of it, each on a line of its own.
fn text(output: &Delta, files: &SpillFiles, nothing: &str, markers: &[String]) -> String {
    let mut text = output.text_telling(|stream| files.state(stream).whereabouts());
    if text.is_empty() {
        text.push_str(nothing);
    }
    for marker in markers {
        append_line(&mut text, marker);
    }
    text
}

/// What was ended, and what was not.
fn ends(result: &ForegroundResult) -> Vec<String> {
    let mut markers = Vec::new();
    let was_ended = result.signalled && result.resisting == 0;
    let ended = if was_ended { ", and was ended" } else { "" };
    match result.cause {
        Cause::TimedOut => {
            let ms = milliseconds(result.timeout);
            markers.push(format!("[timed out after {ms} ms{ended}]"));
        }
        Cause::Aborted => markers.push(format!("[aborted{ended}]")),
        Cause::Exited => {}
    }
    if result.resisting > 0 {
        markers.push(format!("[{}]", could_not_be_ended(result.resisting)));
        return markers;
    }
    let were = |processes| if processes == 1 { "was" } else { "were" };
    if result.leftovers_ended > 0 {
        let (left, were) = (count(result.leftovers_ended), were(result.leftovers_ended));
        markers.push(format!("[{left} outlived the shell and {were} ended]"));
    }
    if result.left_session > 0 {
        let (left, were) = (count(result.left_session), were(result.left_session));
        markers.push(format!("[{left} left the session and {were} ended]"));
    } else if !result.drained {
        markers.push("[a process outside the session still holds the output open]".to_owned());
    }
    markers
}

/// How the shell ended; nothing after a plain success.
fn exit(result: &ForegroundResult) -> Option<String> {
    (result.exit != Exit::Code(0)).then(|| format!("[{}]", result.exit))
}

/// On a line of its own.
fn append_line(text: &mut String, line: &str) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(line);
}

/// A whole number, unless it is less than one.
fn milliseconds(duration: Duration) -> Number {
    let whole = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let part = Number::from_f64(duration.as_secs_f64() * 1000.0).filter(|_| whole == 0);
    part.unwrap_or_else(|| whole.into())
}

fn value(result: &ForegroundResult) -> Value {
    let (exit_code, signal) = match result.exit {
        Exit::Code(code) => (Some(code), None),
        Exit::Signal(signal) => (None, Some(signal.to_string())),
        Exit::Unavailable => (None, None),
    };
    let stream = |of| {
        let stream = result.output.of(of);
        let mut value = json!({
            "text": stream.text,
            "truncated": stream.dropped_bytes > 0,
            "droppedBytes": stream.dropped_bytes,
        });
        if let SpillState::Kept { path, .. } = result.files.state(of) {
            value["spillPath"] = path.to_string_lossy().into();
        }
        value
    };
    json!({
        "kind": "foreground",
        "exitCode": exit_code,
        "signal": signal,
        "timedOut": result.cause == Cause::TimedOut,
        "aborted": result.cause == Cause::Aborted,
        "timeoutMs": milliseconds(result.timeout),
        "leftoversEnded": result.leftovers_ended,
        "stdout": stream(Stream::Stdout),
        "stderr": stream(Stream::Stderr),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bash::{BashConfig, BashExecutor, BashRequest};

    // contract: B3
    #[tokio::test]
    async fn a_command_that_nobody_ended_is_not_said_to_have_been_ended() {
        let executor = BashExecutor::new(BashConfig::new("/")).unwrap();
        for (timeout_ms, told) in [(52.0, "52"), (52.9, "52"), (0.4, "0.4")] {
            let timeout_ms = Some(timeout_ms);
            let request = BashRequest { timeout_ms, ..BashRequest::new("exit 6") };
            let run = Foreground::start(executor.resolve(request).unwrap()).unwrap();
            run.process.done().await;
            let reply = foreground_reply(&run.end(Turn::TimedOut).await, None, None);
            let text = format!("(no output)\n[timed out after {told} ms]\n[exit code: 6]");
            assert_eq!(reply.text(), text);
            assert_eq!(reply.value["timeoutMs"].to_string(), told);
        }
    }
}
