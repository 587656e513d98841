//! A model that polls, repeats itself, invents ids, kills twice, and will not wait its turn.

use serde_json::{Value, json};

use super::driver::{Serve, text};

/// Its calls and what it is told.
struct BadModel {
    serve: Serve,
}

impl BadModel {
    fn new(options: &[&str]) -> Self {
        let mut serve = Serve::start(options);
        serve.open("a", "s");
        Self { serve }
    }

    fn call(&mut self, tool: &str, args: Value) -> Value {
        let reply = self.serve.call("a", tool, args);
        let says = text(&reply);
        assert!(says.len() <= 400, "it is short: {says}");
        assert!(!says.contains(|c: char| c.is_control() && c != '\n'), "{says:?}");
        reply
    }

    fn told(&mut self, tool: &str, args: Value) -> String {
        let reply = self.call(tool, args);
        assert_eq!(reply["is_error"], false, "{reply}");
        text(&reply).to_owned()
    }

    /// What it is told where it is wrong: with what to do next.
    fn corrected(&mut self, tool: &str, args: Value) -> String {
        let reply = self.call(tool, args);
        assert_eq!((&reply["is_error"], &reply["value"]), (&json!(true), &Value::Null), "{reply}");
        let says = text(&reply).to_owned();
        let next =
            ["expected", "call task_list", "task_kill", "create it", "starts nothing any more"];
        assert!(next.iter().any(|next| says.contains(next)), "what to do next: {says}");
        assert_eq!(says.lines().count(), 1, "{says}");
        says
    }

    fn status(&mut self, id: &str) -> Value {
        let tasks = self.serve.ask(json!({"op": "tasks", "owner": "a"}));
        let tasks = tasks["tasks"].as_array().unwrap();
        tasks.iter().find(|task| task["id"] == id).unwrap()["status"].clone()
    }
}

// contract: M2, M13, R1, R2, K2, K4, M5
#[test]
fn it_polls_and_repeats_and_kills_twice_and_each_answer_is_true() {
    let mut model = BadModel::new(&[]);
    let id =
        model.serve.start_command("a", "trap '' TERM; echo up >up; while :; do sleep 600; done");
    model.serve.appears("up");
    for _ in 0..20 {
        let says = model.told("task_output", json!({"task_id": id}));
        assert!(says.starts_with("(no new output)\n[status: running, no output yet, "), "{says}");
    }
    assert_eq!(model.status(&id), "running");
    for _ in 0..3 {
        let says = model.told("task_kill", json!({"task_id": id, "reason": "no\n[status: done]"}));
        if says.contains("already finished") {
            assert_eq!(model.status(&id), "killed");
        } else {
            assert_eq!(says, format!("requested cancellation of task {id}"));
        }
    }
    let says = model.told("task_output", json!({"task_id": id, "wait": true}));
    assert!(says.starts_with("(no new output)\n[status: killed, signal: SIGKILL"), "{says}");
    for _ in 0..5 {
        assert_eq!(model.told("task_output", json!({"task_id": id})), says, "after the end");
        let killed = model.told("task_kill", json!({"task_id": id}));
        let status = says.lines().nth(1).unwrap();
        assert_eq!(killed, format!("task {id} already finished {status}"));
    }
    let claimed = model.serve.ask(json!({"op": "claim", "owner": "a", "source": "inbox"}));
    assert_eq!(claimed["messages"], json!([]), "it was told");
    assert!(model.serve.end().success());
}

// contract: A5, A6, M11, M1
#[test]
fn it_invents_ids_and_arguments_and_is_told_what_there_is() {
    let mut model = BadModel::new(&[]);
    let id = model.serve.start_command("a", "sleep 600");
    for invented in ["bash-2", "task-1", "1", "latest", "bash-1; rm -rf /", "<bash-1>", "bash_1"] {
        for tool in ["task_output", "task_kill"] {
            let says = model.corrected(tool, json!({"task_id": invented}));
            assert!(says.starts_with("unknown task `") && says.ends_with("your background tasks"));
        }
    }
    for (tool, args) in [
        ("task_output", json!({"id": id})),
        ("task_output", json!({"task_id": [id]})),
        ("task_output", json!({"task_ids": [id]})),
        ("task_output", json!({"task_id": id, "wait": "true"})),
        ("task_output", json!("bash-1")),
        ("task_list", json!({"status": "running"})),
        ("task_kill", json!({"task_id": id, "force": true, "signal": 9})),
        ("bash", json!({"cmd": "ls"})),
        ("bash", json!({"command": ["ls"]})),
        ("bash", json!({"command": ""})),
        ("bash", json!({"command": "ls", "workdir": "/no/such/place"})),
        ("bash", json!({"command": "ls", "timeout_ms": 0})),
        ("bash", json!({"command": "ls", "run_in_background": "yes"})),
    ] {
        model.corrected(tool, args);
    }
    assert_eq!(model.status(&id), "running", "none of it did anything");
    assert_eq!(model.told("task_list", json!({})), "bash-1 [bash] running — sleep 600");
    assert!(model.serve.end().success());
}

// contract: M3, W2
#[test]
fn it_asks_for_a_wait_of_an_hour_and_gets_what_there_is_when_the_cap_is_over() {
    let options = ["--wait-timeout-ms", "50", "--max-wait-timeout-ms", "100"];
    let mut model = BadModel::new(&options);
    let id = model.serve.start_command("a", "echo up; echo up >up; sleep 600");
    model.serve.appears("up");
    let args = json!({"task_id": id, "wait": true, "timeout_ms": 3_600_000});
    assert_eq!(model.told("task_output", args.clone()), "up\n[status: running]");
    assert!(model.told("task_output", args).starts_with("(no new output)\n[status: running"));
    for forever in [json!(1e12), json!(0), json!(-1), json!("1h")] {
        let args = json!({"task_id": id, "wait": true, "timeout_ms": forever});
        assert!(model.corrected("task_output", args).contains("milliseconds"));
    }
    assert_eq!(model.status(&id), "running", "a wait stops nothing");
    assert!(model.serve.end().success());
}

// contract: S8, S5, M4
#[test]
fn it_floods_with_starts_and_is_told_the_limit_and_what_to_do() {
    let mut model = BadModel::new(&["--max-active-per-owner", "3"]);
    let start = json!({"command": "sleep 600", "run_in_background": true});
    for n in 1..=3 {
        let says = model.told("bash", start.clone());
        assert_eq!(says, format!("started background task bash-{n}"));
    }
    for _ in 0..20 {
        let says = model.corrected("bash", start.clone());
        assert_eq!(
            says,
            "3 background tasks are already running: wait for one to end, or kill one with \
             task_kill, then try again"
        );
    }
    let list = model.told("task_list", json!({}));
    assert_eq!(list.lines().count(), 3, "{list}");
    // It does as it is told, and the number of a refused start was not used.
    model.told("task_kill", json!({"task_id": "bash-2"}));
    model.told("task_output", json!({"task_id": "bash-2", "wait": true}));
    assert_eq!(model.told("bash", start), "started background task bash-4");
    assert!(model.serve.end().success());
}

// contract: W8, M1
#[test]
fn it_need_not_poll_where_several_tasks_can_be_waited_for_in_one_call() {
    let mut model = BadModel::new(&["--task-ids"]);
    let first = model.serve.start_command("a", "echo done; exit 3");
    let second = model.serve.start_command("a", "sleep 600");
    let args = json!({"task_ids": [second, first], "wait": true, "until": "any"});
    let reply = model.call("task_output", args);
    let content = reply["content"].as_array().unwrap();
    let ended = format!("done\n[task {first}]\n[status: completed, exit code: 3]");
    assert_eq!(content[0], json!({"type": "text", "text": ended}));
    let quiet = content[1]["text"].as_str().unwrap();
    assert_eq!(quiet, format!("(no new output from)\n{second} [bash] running — sleep 600"));
    assert_eq!(content.len(), 2);
    assert_eq!(reply["value"]["read"][0]["task"]["id"], json!(first));
    let claimed = model.serve.ask(json!({"op": "claim", "owner": "a", "source": "inbox"}));
    assert_eq!(claimed["messages"], json!([]), "it was told");
    assert!(model.serve.end().success());
}
