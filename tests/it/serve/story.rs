use serde_json::json;

use super::driver::{Serve, text};

// contract: M1, M2, M4, M5, M6, P3, R1, B4, L10
#[test]
fn a_command_is_started_read_listed_killed_and_read_to_its_end() {
    let mut serve = Serve::start(&[]);
    serve.open("a", "s");
    let id = serve.start_command("a", "echo one; sleep 60");
    assert_eq!(id, "bash-1");
    let first = serve.next_output("a", &id, "one");
    assert_eq!(first, "one\n[status: running]");
    let again = serve.call("a", "task_output", json!({"task_id": id}));
    assert_eq!(text(&again), "(no new output)\n[status: running]");
    let list = serve.call("a", "task_list", json!({}));
    assert_eq!(text(&list), "bash-1 [bash] running — echo one; sleep 60");
    let kill = serve.call("a", "task_kill", json!({"task_id": id, "reason": "enough"}));
    assert_eq!(text(&kill), "requested cancellation of task bash-1");
    assert_eq!(kill["value"]["outcome"], "cancellation-requested");
    assert_eq!(serve.wait_for("a", &id).lines().last(), Some("[status: killed, signal: SIGTERM]"));
    let kill = serve.call("a", "task_kill", json!({"task_id": id}));
    assert_eq!(text(&kill), "task bash-1 already finished [status: killed, signal: SIGTERM]");
    let task = &kill["value"]["task"];
    assert_eq!(kill["value"]["outcome"], "already-finished");
    for field in ["startedAt", "finishedAt"] {
        assert!(task[field].is_u64(), "{task}");
    }
    assert!(task.get("reported").is_none() && task.get("owner_session").is_none(), "{task}");
    assert!(serve.end().success());
}

// contract: N1, N2, N6, N7
#[test]
fn a_completion_is_announced_claimed_once_and_withdrawn_when_it_is_read_first() {
    let mut serve = Serve::start(&[]);
    serve.open("a", "s");
    let id = serve.start_command("a", "echo done");
    let notice = serve.event("notice");
    assert_eq!(
        (&notice["owner"], &notice["task"], &notice["lane"]),
        (&json!("a"), &json!(id), &json!("inject"),)
    );
    let expected = "background task bash-1 (bash: echo done) finished \
                    [status: completed, exit code: 0]. Read its output with task_output.";
    assert_eq!(notice["text"], expected);
    let claim = json!({"op": "claim", "owner": "a", "source": "inbox", "or_idle": true});
    let claimed = serve.ask(claim.clone());
    assert_eq!(claimed["messages"], json!([{"task": id, "text": expected}]));
    assert_eq!(claimed["idle"], false);
    assert_eq!(serve.ask(claim.clone())["idle"], true);

    let second = serve.start_command("a", "true");
    assert_eq!(serve.event("notice")["task"], second);
    assert!(serve.wait_for("a", &second).ends_with("[status: completed, exit code: 0, no output]"));
    assert_eq!(serve.event("notice_withdrawn")["task"], second);
    assert_eq!(serve.ask(claim)["messages"], json!([]));
    assert!(serve.end().success());
}

// contract: N3
#[test]
fn an_idle_owner_is_woken_within_its_budget_and_a_busy_one_never() {
    let mut serve = Serve::start(&["--delivery", "wakeup", "--max-consecutive-wakes", "1"]);
    serve.open("a", "s");
    let lane = |serve: &mut Serve| {
        serve.start_command("a", "true");
        serve.event("notice")["lane"].clone()
    };
    assert_eq!(lane(&mut serve), "wake");
    assert_eq!(lane(&mut serve), "inject", "the budget is spent");
    serve.ask(json!({"op": "claim", "owner": "a", "source": "user"}));
    serve.ask(json!({"op": "state", "owner": "a", "busy": true}));
    assert_eq!(lane(&mut serve), "inject", "the owner is busy");
    serve.ask(json!({"op": "state", "owner": "a", "busy": false}));
    assert_eq!(lane(&mut serve), "wake");
    assert!(serve.end().success());
}

// contract: S8
#[test]
fn one_task_too_many_is_refused_and_the_message_says_what_to_do() {
    let mut serve = Serve::start(&["--max-active-per-owner", "2"]);
    serve.open("a", "s");
    serve.start_command("a", "sleep 60");
    let second = serve.start_command("a", "sleep 60");
    let command = json!({"command": "echo ran > ran", "run_in_background": true});
    let refused = serve.call("a", "bash", command);
    assert!(text(&refused).starts_with("2 background tasks are already running"), "{refused}");
    assert!(text(&refused).contains("task_kill"), "{refused}");
    serve.call("a", "task_kill", json!({"task_id": second}));
    serve.wait_for("a", &second);
    assert_eq!(serve.start_command("a", "true"), "bash-3", "the refused start used no number");
    assert!(!serve.folder().join("ran").exists(), "the refused command has run");
    assert!(serve.end().success());
}

// contract: S7, W3
#[test]
fn an_aborted_wait_ends_at_once_and_the_task_goes_on() {
    let mut serve = Serve::start(&[]);
    serve.open("a", "s");
    let id = serve.start_command("a", "sleep 60");
    let wait = serve.send_call("a", "task_output", json!({"task_id": id, "wait": true}));
    assert_eq!(serve.ask(json!({"op": "abort", "call": wait}))["ok"], true);
    let reply = serve.reply(&wait);
    assert_eq!(reply["is_error"], true, "{reply}");
    assert!(text(&reply).contains("goes on"), "{reply}");
    let tasks = serve.ask(json!({"op": "tasks", "owner": "a"}));
    assert_eq!(tasks["tasks"][0]["status"], "running");
    assert!(serve.end().success());
}

// contract: B3, P1
#[test]
fn a_foreground_command_answers_with_its_end_or_the_first_cause_of_it() {
    let mut serve = Serve::start(&["--grace-ms", "300", "--drain-ms", "100"]);
    serve.open("a", "s");
    let plain = serve.call("a", "bash", json!({"command": "echo out; echo err >&2; exit 3"}));
    assert_eq!(text(&plain), "out\n[stderr]\nerr\n[exit code: 3]");
    assert_eq!((&plain["value"]["exitCode"], &plain["is_error"]), (&json!(3), &json!(false)));

    let late = serve.call("a", "bash", json!({"command": "sleep 60", "timeout_ms": 50}));
    assert_eq!(late["value"]["timedOut"], true, "{late}");
    assert!(text(&late).contains("timed out after 50 ms"), "{late}");

    let aborted = serve.send_call("a", "bash", json!({"command": "sleep 60"}));
    serve.ask(json!({"op": "abort", "call": aborted}));
    let aborted = serve.reply(&aborted);
    assert_eq!((&aborted["is_error"], &aborted["value"]["aborted"]), (&json!(true), &json!(true)));
    assert!(serve.end().success());
}

// contract: C3
#[test]
fn changes_are_told_with_the_tasks_as_they_are() {
    let mut serve = Serve::start(&["--events"]);
    serve.open("a", "s");
    serve.start_command("a", "true");
    let status = |event: &serde_json::Value| event["tasks"][0]["status"].clone();
    let first = serve.event("changed");
    assert_eq!(first["owner"], "a");
    assert!(status(&first) == "running" || status(&first) == "completed", "{first}");
    assert_eq!(status(&serve.event("changed")), "completed");
    assert!(serve.end().success());
}

impl Serve {
    /// Reads a task until something has come that contains `wanted`.
    fn next_output(&mut self, owner: &str, id: &str, wanted: &str) -> String {
        loop {
            let reply = self.call(owner, "task_output", json!({"task_id": id}));
            if text(&reply).contains(wanted) {
                return text(&reply).to_owned();
            }
            assert!(text(&reply).starts_with("(no new output)"), "{reply}");
        }
    }
}
