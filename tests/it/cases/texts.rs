//! What is said of tasks that have ended, are another's, or never were.

use serde_json::json;

use super::{claimed, dispose, kill, opened, read, tasks};
use crate::serve::driver::text;

fn unknown(id: &str) -> String {
    format!("unknown task `{id}`: call task_list for the ids of your background tasks")
}

// A command that had ended was "no such process": the model could not tell it from one that
// never was, and tried again or waited.
// contract: M13, K4, M5, A5
#[test]
fn bug_13_finished_read_and_never_existed_are_told_apart() {
    let mut serve = opened(&[]);
    let id = serve.start_command("a", "echo built; exit 3");
    serve.event("notice");
    assert_eq!(read(&mut serve, &id), "built\n[status: completed, exit code: 3]");
    for _ in 0..3 {
        assert_eq!(read(&mut serve, &id), "(no new output)\n[status: completed, exit code: 3]");
        let args = json!({"task_id": id, "reason": "x"});
        let reply = serve.call("a", "task_kill", args);
        let expected = format!("task {id} already finished [status: completed, exit code: 3]");
        assert_eq!((text(&reply), &reply["is_error"]), (&*expected, &json!(false)));
    }
    for tool in ["task_output", "task_kill"] {
        let reply = serve.call("a", tool, json!({"task_id": "bash-2"}));
        assert_eq!((text(&reply), &reply["is_error"]), (&*unknown("bash-2"), &json!(true)));
    }
    // It is kept for as long as its owner, and a kill consumes nothing.
    let second = serve.start_command("a", "echo kept");
    serve.event("notice");
    assert!(kill(&mut serve, &second).starts_with("task bash-2 already finished "));
    for n in 0..40 {
        let id = serve.start_command("a", &format!("echo {n}"));
        serve.wait_for("a", &id);
    }
    assert_eq!(read(&mut serve, &second), "kept\n[status: completed, exit code: 0]");
    let list = serve.call("a", "task_list", json!({}));
    assert_eq!(text(&list).lines().count(), 42);
    assert_eq!(text(&list).lines().next(), Some("bash-1 [bash] completed — echo built; exit 3"));
    assert!(serve.end().success());
}

// Only the list was by owner: whoever learned an id could read, wait for and kill.
//
// The case wants ids that cannot be guessed. Here the contract goes another way (A1): ids
// are plain, and every access is checked; an answer does not tell a foreign id from none.
// contract: A1, A2, A5, R5
#[test]
fn bug_24_another_session_learns_nothing_and_moves_nothing() {
    let mut serve = opened(&[]);
    serve.open("b", "t");
    serve.open("c", "S");
    let live = serve.start_command("a", "echo mine; echo >up; sleep 600");
    serve.appears("up");
    let ended = serve.start_command("a", "echo secret; exit 3");
    serve.event("notice");
    for owner in [json!("b"), json!("c"), json!(null)] {
        for id in [&live, &ended] {
            let args = [
                ("task_output", json!({"task_id": id})),
                ("task_output", json!({"task_id": id, "wait": true, "timeout_ms": 600_000})),
                ("task_kill", json!({"task_id": id, "reason": "mine now"})),
            ];
            for (tool, args) in args {
                let call = json!({"op": "call", "owner": owner, "tool": tool, "args": args});
                let foreign = serve.ask(call);
                let mut args = args.clone();
                args["task_id"] = json!("bash-777");
                let call = json!({"op": "call", "owner": owner, "tool": tool, "args": args});
                let mut invented = serve.ask(call);
                assert_eq!(text(&invented), unknown("bash-777"));
                invented["content"][0]["text"] = json!(unknown(id));
                invented["tag"] = foreign["tag"].clone();
                assert_eq!(foreign, invented);
            }
        }
        let listed = serve.ask(json!({"op": "tasks", "owner": owner}));
        assert_eq!(listed["tasks"], json!([]));
    }
    assert_eq!(tasks(&mut serve, "a")[0]["status"], "running");
    assert_eq!(claimed(&mut serve, "a"), std::slice::from_ref(&ended), "its notice was not taken");
    assert_eq!(read(&mut serve, &live), "mine\n[status: running]");
    assert_eq!(read(&mut serve, &ended), "secret\n[status: completed, exit code: 3]");
    dispose(&mut serve, "b");
    assert_eq!(tasks(&mut serve, "a")[0]["status"], "running", "by another's disposal either");
    assert!(serve.end().success());
}

// An id was limited in length alone and became part of a file name, so it wrote outside.
// contract: A6, A5, M11
#[test]
fn bug_25_an_id_is_parsed_and_never_more_than_that() {
    let mut serve = opened(&[]);
    let id = serve.start_command("a", "sleep 600");
    let long = "x".repeat(10_000);
    let million = format!("bash-{}", "1".repeat(1_000_000));
    let ids = [
        "../../victim",
        "a/b",
        "..",
        ".",
        "/etc/passwd",
        "bash-1/..",
        long.as_str(),
        &million,
        "bash-1\n",
        "bash-1\nbash-2",
        "bash-1\u{0}",
        "\u{0}",
        " bash-1",
        "bash-1 ",
        "BASH-1",
        "bash-01",
        "bash-+1",
        "bash--1",
        "bash-1e0",
        "bash-１",
        "bash-",
        "-1",
        "-",
        "bash",
        "bash-18446744073709551617",
        "bash-4294967297",
        "\u{202e}1-hsab",
        "bash-1\u{200b}",
        "\u{1b}[2J",
        "`bash-1`",
        "$(touch ran)",
        "🎉",
        "pty-1",
    ];
    for bad in ids {
        for tool in ["task_output", "task_kill"] {
            let reply = serve.call("a", tool, json!({"task_id": bad}));
            let says = text(&reply);
            assert_eq!(reply["is_error"], true, "{says}");
            assert!(says.starts_with("unknown task `"), "{says}");
            assert!(
                says.ends_with("`: call task_list for the ids of your background tasks"),
                "{says}"
            );
            assert!(says.len() < 500 && !says.contains(char::is_control), "{says}");
            assert!(!says.contains(['\u{202e}', '\u{200b}']), "{says}");
        }
    }
    for wrong in [json!(""), json!(null), json!(1), json!(true), json!([id]), json!({})] {
        for tool in ["task_output", "task_kill"] {
            let reply = serve.call("a", tool, json!({"task_id": wrong}));
            let says = text(&reply);
            assert!(says.contains("`task_id`: expected a non-empty string, got "), "{says}");
        }
    }
    assert_eq!(tasks(&mut serve, "a")[0]["status"], "running");
    let files: Vec<_> = std::fs::read_dir(serve.folder()).unwrap().collect();
    assert_eq!(files.len(), 0, "{files:?}");
    assert!(serve.end().success());
}
