use std::os::unix::process::ExitStatusExt as _;

use serde_json::json;

use super::driver::{NOBODY, Serve, processes_in, text};

/// A command that ignores SIGTERM, and says so once it does.
const STUBBORN: &str = "trap '' TERM; echo ready; while :; do sleep 0.1; done";

fn with_work() -> Serve {
    let mut serve = Serve::start(&["--grace-ms", "300"]);
    serve.open("a", "s");
    let id = serve.start_command("a", STUBBORN);
    serve.start_command("a", "sleep 600 & sleep 600");
    let unowned = json!({
        "op": "call", "owner": null, "tool": "bash",
        "args": {"command": "sleep 600", "run_in_background": true},
    });
    serve.ask(unowned);
    let reads = json!({"task_id": id});
    while !text(&serve.call("a", "task_output", reads.clone())).contains("ready") {}
    assert!(processes_in(&serve.folder()).len() > 3, "the server and its work");
    serve
}

// contract: T1, T2, B5
#[test]
fn the_end_of_input_ends_all_work_and_then_the_server() {
    let mut serve = with_work();
    let waits = serve.send_call("a", "task_output", json!({"task_id": "bash-2", "wait": true}));
    let runs = serve.send_call("a", "bash", json!({"command": "sleep 600"}));
    serve.close_input();
    assert!(text(&serve.reply(&waits)).ends_with("[status: killed, signal: SIGTERM, no output]"));
    assert_eq!(serve.reply(&runs)["value"]["aborted"], true);
    assert!(serve.end().success());
    assert_eq!(processes_in(&serve.folder()), NOBODY);
}

// contract: T1, T2
#[test]
fn a_shutdown_is_answered_when_nothing_is_left() {
    let mut serve = with_work();
    let reply = serve.ask(json!({"op": "shutdown"}));
    assert_eq!(reply, json!({"tag": reply["tag"], "ok": true, "orphans": []}));
    let left = processes_in(&serve.folder());
    assert!(left.iter().all(|&pid| pid == serve.child.id()), "{left:?} are left");
    assert!(serve.end().success());
}

// contract: T2
#[test]
fn a_signal_ends_the_server_in_good_order() {
    let mut serve = with_work();
    let pid = serve.child.id().to_string();
    assert!(std::process::Command::new("kill").arg(&pid).status().unwrap().success());
    let status = serve.child.wait().unwrap();
    assert_eq!((status.code(), status.signal()), (Some(128 + 15), None));
    assert_eq!(processes_in(&serve.folder()), NOBODY);
}

// contract: O6, L5
#[test]
fn a_log_that_nobody_reads_holds_nothing_up() {
    let mut serve = Serve::start(&["--teardown-deadline-ms", "50", "--grace-ms", "400"]);
    serve.close_log();
    serve.open("a", "s");
    let id = serve.start_command("a", STUBBORN);
    while !text(&serve.call("a", "task_output", json!({"task_id": id}))).contains("ready") {}
    let reply = serve.ask(json!({"op": "dispose", "owner": "a"}));
    assert_eq!(reply["orphans"], json!([id]), "it was given up, and a warning was written");
    assert!(serve.end().success());
}

// contract: L5
#[test]
fn a_log_whose_pipe_is_full_holds_nothing_up() {
    // As much as a pipe holds is in it before the server begins.
    let fill = "head -c 65536 /dev/zero >&2; exec \"$@\"";
    let options = ["--memory-bytes", "4", "--spill-dir", "/missing"];
    let mut serve = Serve::start_under(&["bash", "-c", fill, "bash"], &options);
    serve.open("a", "s");
    for _ in 0..3 {
        let reply = serve.call("a", "bash", json!({"command": "echo 123456"}));
        assert!(text(&reply).contains("could not be kept"), "a warning was to be written: {reply}");
    }
    assert!(serve.end().success());
}
