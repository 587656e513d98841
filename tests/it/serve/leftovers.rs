//! What a foreground command leaves behind.

use serde_json::{Value, json};

use super::driver::{NOBODY, PATIENCE, Serve, processes_in, text};

/// The numbers among the lines, which must be those from 1 on, each once and in order.
pub(super) fn numbers(output: &str) -> Vec<u32> {
    let numbers: Vec<u32> = output.lines().filter_map(|line| line.parse().ok()).collect();
    let expected: Vec<u32> = (1..).take(numbers.len()).collect();
    assert_eq!(numbers, expected, "every line once and in order: {output}");
    numbers
}

/// Counts until it may go, and says goodbye.
pub(super) const COUNT: &str = "i=0; until [ -e go ]; do i=$((i+1)); echo $i; sleep 0.02; done";

// contract: B6, R1, P3, L7
#[test]
fn what_outlives_the_shell_goes_on_as_a_task_and_each_byte_comes_once() {
    let mut serve = Serve::start(&["--drain-ms", "200"]);
    serve.open("a", "s");
    // It never falls silent, so it is the exit that counts and not the last byte.
    let command = format!("({COUNT}; echo bye) & echo started; exit 3");
    let reply = serve.call("a", "bash", json!({"command": command}));
    let value = &reply["value"];
    assert_eq!(
        (&value["kind"], &value["exitCode"], &value["taskId"], &value["leftoversEnded"]),
        (&json!("foreground"), &json!(3), &json!("bash-1"), &json!(0)),
        "{reply}"
    );
    let mut last = text(&reply).lines().rev();
    assert_eq!(last.next(), Some("[exit code: 3]"));
    let marker = last.next().unwrap();
    assert!(marker.contains("outlived the shell and go"), "{marker}");
    let goes_on = "on as background task bash-1: read it with task_output, stop it with task_kill]";
    assert!(marker.ends_with(goes_on), "{marker}");
    let mut output = value["stdout"]["text"].as_str().unwrap().to_owned();
    assert!(output.contains("started\n"), "{output}");

    let tasks = serve.ask(json!({"op": "tasks", "owner": "a"}));
    assert_eq!(tasks["tasks"][0]["label"], command);
    let detail = tasks["tasks"][0]["detail"].as_str().unwrap();
    assert!(detail.starts_with("shell exited with code 3, "), "{detail}");
    let mut read = |reply: &Value| output.push_str(reply["value"]["text"].as_str().unwrap());
    read(&serve.call("a", "task_output", json!({"task_id": "bash-1"})));
    serve.make("go");
    let end = json!({"task_id": "bash-1", "wait": true, "timeout_ms": 60_000});
    let end = serve.call("a", "task_output", end);
    read(&end);
    assert!(text(&end).ends_with("bye\n[status: completed, exit code: 3]"), "{end}");
    assert!(!numbers(&output).is_empty());
    assert_eq!(output.matches("started").count(), 1);
    assert!(serve.end().success());
}

// contract: B6, K2, O1
#[test]
fn a_silent_leftover_is_a_task_like_any_other() {
    let mut serve = Serve::start(&["--drain-ms", "50"]);
    serve.open("a", "s");
    let hand_over = |serve: &mut Serve, id: &str| {
        let reply = serve.call("a", "bash", json!({"command": "sleep 600 & echo hi"}));
        let expected = format!(
            "hi\n[1 process outlived the shell and goes on as background task {id}: read it with \
             task_output, stop it with task_kill]"
        );
        assert_eq!((text(&reply), &reply["is_error"]), (&*expected, &json!(false)));
        let expected = "(no new output)\n\
                        [status: running, shell exited with code 0, 1 process still running]";
        // Until it was looked for, what is left is not counted.
        while text(&serve.call("a", "task_output", json!({"task_id": id}))) != expected {}
    };
    hand_over(&mut serve, "bash-1");
    hand_over(&mut serve, "bash-2");
    serve.call("a", "task_kill", json!({"task_id": "bash-1"}));
    let end = serve.wait_for("a", "bash-1");
    assert_eq!(end, "(no new output)\n[status: killed, exit code: 0]");
    assert_eq!(processes_in(&serve.folder()).len(), 2, "the server and the other one");
    assert_eq!(serve.ask(json!({"op": "dispose", "owner": "a"}))["orphans"], json!([]));
    assert_eq!(processes_in(&serve.folder()), [serve.child.id()]);
    assert!(serve.end().success());
}

// contract: B6, S8, S5
#[test]
fn leftovers_that_are_refused_as_a_task_are_ended_and_the_text_says_why() {
    let mut serve = Serve::start(&["--drain-ms", "50", "--max-active-per-owner", "1"]);
    serve.open("a", "s");
    serve.start_command("a", "sleep 600");
    let reply = serve.call("a", "bash", json!({"command": "sleep 600 & echo $!; exit 2"}));
    let expected = "[1 process outlived the shell and was ended]\n\
                    [not moved to the background: 1 background tasks are already running]\n\
                    [exit code: 2]";
    assert_eq!(text(&reply).split_once('\n').unwrap().1, expected);
    let value = &reply["value"];
    assert_eq!((&value["leftoversEnded"], value.get("taskId")), (&json!(1), None));
    let pid = value["stdout"]["text"].as_str().unwrap().trim();
    assert!(!processes_in(&serve.folder()).contains(&pid.parse().unwrap()));
    assert!(serve.end().success());
}

// contract: B6, P3, A2
#[test]
fn leftovers_of_a_call_by_nobody_are_an_unowned_task() {
    let mut serve = Serve::start(&["--drain-ms", "50"]);
    let call = json!({
        "op": "call", "owner": null, "tool": "bash", "args": {"command": "sleep 600 &"},
    });
    let reply = serve.ask(call);
    assert_eq!(reply["value"]["taskId"], "bash-1", "{reply}");
    assert!(text(&reply).starts_with("(no output)\n[1 process outlived"), "{reply}");
    let tasks = serve.ask(json!({"op": "tasks", "owner": null}));
    assert_eq!(tasks["tasks"][0]["id"], "bash-1");
    assert!(serve.end().success());
    assert_eq!(processes_in(&serve.folder()), NOBODY);
}

/// Waits until a shell has exited: it is kept unreaped as long as its session lives.
fn exited(pid: &str) {
    let began = std::time::Instant::now();
    let stat = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    while !stat().rsplit(')').next().unwrap().starts_with(" Z") {
        assert!(began.elapsed() < PATIENCE, "the shell never exited");
    }
}

// contract: P1, B6, B3
#[test]
fn a_caller_that_gives_up_during_the_drain_ends_the_leftovers() {
    let mut serve = Serve::start(&["--drain-ms", "60000"]);
    serve.open("a", "s");
    let command = "sleep 600 & echo $$ >shell; exit 5";
    let call = serve.send_call("a", "bash", json!({"command": command}));
    exited(&serve.appears("shell"));
    serve.ask(json!({"op": "abort", "call": call}));
    let reply = serve.reply(&call);
    let value = &reply["value"];
    assert_eq!(value["exitCode"], 5, "{reply}");
    assert!(value.get("taskId").is_none(), "{reply}");
    assert_eq!(processes_in(&serve.folder()), [serve.child.id()]);
    assert_eq!(serve.ask(json!({"op": "tasks", "owner": "a"}))["tasks"], json!([]));
    assert!(serve.end().success());
}

// contract: B10, B6
#[test]
fn leftovers_can_be_moved_before_the_drain_is_over() {
    let mut serve = Serve::start(&["--drain-ms", "60000"]);
    serve.open("a", "s");
    let command = "sleep 600 & echo $$ >shell; exit 5";
    let call = serve.send_call("a", "bash", json!({"command": command}));
    exited(&serve.appears("shell"));
    serve.ask(json!({"op": "background", "call": call}));
    let reply = serve.reply(&call);
    assert_eq!(reply["value"]["taskId"], "bash-1", "{reply}");
    let status = "[status: running, shell exited with code 5, 1 process still running, no output";
    let args = json!({"task_id": "bash-1"});
    // The server may see the exit a moment later than we do.
    while !text(&serve.call("a", "task_output", args.clone())).contains(status) {}
    assert!(serve.end().success());
}
