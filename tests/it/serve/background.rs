//! Moving a foreground command to the background.

use serde_json::{Value, json};

use super::{
    driver::{Serve, processes_in, text},
    leftovers::{COUNT, numbers},
};

fn output(reply: &Value) -> &str {
    reply["value"]["text"].as_str().unwrap()
}

/// The lines of a reply in front of its last one, which is returned too.
fn body_and_marker(reply: &Value) -> (&str, &str) {
    text(reply).rsplit_once('\n').unwrap()
}

// contract: B10, P3, S7, R1, L7
#[test]
fn a_command_is_moved_while_it_runs_and_is_the_same_process_with_each_byte_once() {
    let mut serve = Serve::start(&[]);
    serve.open("a", "s");
    let command = format!("echo pid $$; echo >up; {COUNT}; echo pid $$; exit 4");
    let call = serve.send_call("a", "bash", json!({"command": command}));
    serve.appears("up");
    assert_eq!(serve.ask(json!({"op": "background", "call": call}))["ok"], true);
    let reply = serve.reply(&call);
    assert_eq!(reply["value"], json!({"kind": "background", "taskId": "bash-1"}));
    assert_eq!(reply["is_error"], false);
    let (body, marker) = body_and_marker(&reply);
    let expected = "[moved to the background on request: still running as background task bash-1; \
                    read it with task_output, stop it with task_kill]";
    assert_eq!(marker, expected);
    let late = serve.ask(json!({"op": "abort", "call": call}));
    assert_eq!(late["error"]["code"], "unknown_call", "the call has been answered");

    // The file may be there before the output has been read.
    let mut all = if body == "(no output yet)" { String::new() } else { format!("{body}\n") };
    let read = serve.call("a", "task_output", json!({"task_id": "bash-1"}));
    assert!(text(&read).ends_with("[status: running]"), "{read}");
    all.push_str(output(&read));
    serve.make("go");
    let args = json!({"task_id": "bash-1", "wait": true, "timeout_ms": 60_000});
    let end = serve.call("a", "task_output", args);
    assert!(text(&end).ends_with("[status: completed, exit code: 4]"), "{end}");
    all.push_str(output(&end));
    numbers(&all);
    let pids: Vec<&str> = all.lines().filter(|line| line.starts_with("pid ")).collect();
    assert_eq!((pids.len(), pids[0]), (2, pids[1]), "started once: {all}");
    assert!(serve.end().success());
}

// contract: B10, B3, S7
#[test]
fn at_its_timeout_a_command_goes_on_where_that_is_wanted() {
    let mut serve = Serve::start(&["--on-timeout", "background"]);
    serve.open("a", "s");
    let command = "until [ -e go ]; do sleep 0.02; done; echo went";
    let reply = serve.call("a", "bash", json!({"command": command, "timeout_ms": 50}));
    assert_eq!(reply["value"], json!({"kind": "background", "taskId": "bash-1"}));
    let expected = "(no output yet)\n[timed out, and was not ended: still running as background \
                    task bash-1; read it with task_output, stop it with task_kill]";
    assert_eq!(text(&reply), expected);
    serve.make("go");
    assert_eq!(serve.wait_for("a", "bash-1"), "went\n[status: completed, exit code: 0]");
    assert!(serve.end().success());
}

// contract: B10, S8, S5
#[test]
fn a_command_that_is_refused_as_a_task_stays_in_the_foreground_and_can_be_moved_later() {
    let mut serve = Serve::start(&["--max-active-per-owner", "1"]);
    serve.open("a", "s");
    let other = serve.start_command("a", "sleep 600");
    let command = "echo >up; until [ -e go ]; do sleep 0.02; done; echo went; exit 1";
    let call = serve.send_call("a", "bash", json!({"command": command}));
    serve.appears("up");
    let ask = json!({"op": "background", "call": call});
    assert_eq!(serve.ask(ask.clone())["ok"], true);
    serve.call("a", "task_list", json!({}));
    serve.call("a", "task_kill", json!({"task_id": other}));
    serve.wait_for("a", &other);
    assert_eq!(serve.ask(ask)["ok"], true);
    assert_eq!(serve.reply(&call)["value"]["taskId"], "bash-2");

    let second = serve.send_call("a", "bash", json!({"command": command}));
    serve.ask(json!({"op": "background", "call": second}));
    serve.call("a", "task_list", json!({}));
    serve.make("go");
    let reply = serve.reply(&second);
    let refused = "went\n[not moved to the background: 1 background tasks are already running]\n\
                   [exit code: 1]";
    assert_eq!(text(&reply), refused);
    assert_eq!(reply["value"]["kind"], "foreground");
    assert!(serve.end().success());
}

// contract: B10, B3, S8
#[test]
fn a_command_that_cannot_go_on_at_its_timeout_is_ended_and_the_text_says_why() {
    let mut serve = Serve::start(&["--on-timeout", "background", "--max-active-per-owner", "1"]);
    serve.open("a", "s");
    serve.start_command("a", "sleep 600");
    let reply = serve.call("a", "bash", json!({"command": "sleep 700", "timeout_ms": 50}));
    let expected = "(no output)\n[timed out after 50 ms, and was ended]\n\
                    [not moved to the background: 1 background tasks are already running]\n\
                    [signal: SIGTERM]";
    assert_eq!(text(&reply), expected);
    assert_eq!(reply["value"]["timedOut"], true);
    assert_eq!(processes_in(&serve.folder()).len(), 2, "the server and the task");
    assert!(serve.end().success());
}

// contract: B10
#[test]
fn only_a_command_in_flight_can_be_moved() {
    let mut serve = Serve::start(&[]);
    serve.open("a", "s");
    let id = serve.start_command("a", "sleep 600");
    let wait = serve.send_call("a", "task_output", json!({"task_id": id, "wait": true}));
    let ended = serve.send_call("a", "bash", json!({"command": "true"}));
    serve.reply(&ended);
    for (tag, code) in
        [(wait, "no_command"), (ended, "unknown_call"), (json!("none"), "unknown_call")]
    {
        let reply = serve.ask(json!({"op": "background", "call": tag}));
        assert_eq!(reply["error"]["code"], code, "{reply}");
    }
    assert!(serve.end().success());
}

// contract: B10, O1, O4
#[test]
fn a_command_that_was_moved_ends_with_its_owner() {
    let mut serve = Serve::start(&[]);
    serve.open("a", "s");
    let call = serve.send_call("a", "bash", json!({"command": "echo >up; sleep 600"}));
    serve.appears("up");
    serve.ask(json!({"op": "background", "call": call}));
    serve.reply(&call);
    assert_eq!(serve.ask(json!({"op": "dispose", "owner": "a"}))["orphans"], json!([]));
    assert_eq!(processes_in(&serve.folder()), [serve.child.id()]);
    assert!(serve.end().success());
}
