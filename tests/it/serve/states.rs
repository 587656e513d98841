//! What can be told apart by a status line alone.

use serde_json::json;

use super::driver::{Serve, text};

impl Serve {
    fn read(&mut self, id: &str) -> String {
        text(&self.call("a", "task_output", json!({"task_id": id}))).to_owned()
    }
}

// contract: M13, M2, B4
#[test]
fn running_and_silent_finished_and_silent_already_read_and_unknown_differ() {
    let mut serve = Serve::start(&[]);
    serve.open("a", "s");
    let silent = serve.start_command("a", "until [ -e go ]; do sleep 0.02; done");
    let read = serve.read(&silent);
    let (body, status) = read.split_once('\n').unwrap();
    assert_eq!(body, "(no new output)");
    let seconds = status
        .strip_prefix("[status: running, no output yet, ")
        .and_then(|rest| rest.strip_suffix(" s; it may be buffering, do not start it again]"))
        .unwrap_or_else(|| panic!("{status}"));
    assert!(seconds.parse::<u64>().is_ok(), "{status}");
    serve.make("go");
    let ended = "(no new output)\n[status: completed, exit code: 0, no output]";
    assert_eq!(serve.wait_for("a", &silent), ended);
    assert_eq!(serve.read(&silent), ended);

    let spoken = serve.start_command("a", "echo built; exit 3");
    assert_eq!(serve.wait_for("a", &spoken), "built\n[status: completed, exit code: 3]");
    assert_eq!(serve.read(&spoken), "(no new output)\n[status: completed, exit code: 3]");
    let kill = serve.call("a", "task_kill", json!({"task_id": spoken}));
    assert_eq!(text(&kill), "task bash-2 already finished [status: completed, exit code: 3]");
    let unknown = serve.call("a", "task_output", json!({"task_id": "bash-77"}));
    assert_eq!(unknown["is_error"], true);
    assert!(text(&unknown).contains("call task_list"), "{unknown}");
    assert!(serve.end().success());
}

// contract: M13, L10, B4
#[test]
fn a_killed_command_says_that_it_is_stopping_and_then_how_its_shell_ended() {
    let mut serve = Serve::start(&["--grace-ms", "60000"]);
    serve.open("a", "s");
    let command = "exec 2>&-; trap 'until [ -e go ]; do sleep 0.02; done; exit 4' TERM; \
                   echo >up; while :; do sleep 0.02; done";
    let id = serve.start_command("a", command);
    serve.appears("up");
    let kill = serve.call("a", "task_kill", json!({"task_id": id}));
    assert_eq!(text(&kill), "requested cancellation of task bash-1");
    assert_eq!(serve.read(&id), "(no new output)\n[status: stopping]");
    let list = serve.call("a", "task_list", json!({}));
    assert!(text(&list).starts_with("bash-1 [bash] stopping — exec"), "{list}");
    serve.make("go");
    let end = "(no new output)\n[status: killed, exit code: 4, no output]";
    assert_eq!(serve.wait_for("a", &id), end);
    let itself = serve.start_command("a", "echo before; kill -9 $$");
    assert_eq!(serve.wait_for("a", &itself), "before\n[status: killed, signal: SIGKILL]");
    assert!(serve.end().success());
}

// contract: B6, M13, L7
#[test]
fn a_task_whose_shell_has_exited_says_so_and_how_many_processes_are_left() {
    let mut serve = Serve::start(&["--grace-ms", "60000"]);
    serve.open("a", "s");
    let command =
        "trap '' TERM; sleep 600 & sleep 600 & echo $(jobs -p) >pids; echo up; kill -9 $$";
    let id = serve.start_command("a", command);
    let expected = "[status: running, shell ended by signal SIGKILL, 2 processes still running]";
    while serve.read(&id).lines().last() != Some(expected) {}
    let tasks = serve.ask(json!({"op": "tasks", "owner": "a"}));
    let detail = "shell ended by signal SIGKILL, 2 processes still running";
    assert_eq!(tasks["tasks"][0]["detail"], detail);
    let wait = json!({"task_id": id, "wait": true, "timeout_ms": 1});
    assert!(text(&serve.call("a", "task_output", wait)).ends_with(expected));
    serve.call("a", "task_kill", json!({"task_id": id}));
    assert_eq!(
        serve.read(&id).lines().last(),
        Some("[status: stopping, shell ended by signal SIGKILL, 2 processes still running]")
    );
    let pids = serve.appears("pids");
    let kill = std::process::Command::new("kill").arg("-9").args(pids.split(' ')).status();
    assert!(kill.unwrap().success());
    let end = serve.wait_for("a", &id);
    assert_eq!(end, "(no new output)\n[status: killed, signal: SIGKILL]");
    assert!(serve.end().success());
}
