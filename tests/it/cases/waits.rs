//! Waits, and what ends them.

use serde_json::{Value, json};

use super::{claimed, opened, read, status, tasks};
use crate::serve::driver::text;

// A wait did not hear that its turn was aborted: the stop button did nothing until the
// command had ended.
// contract: W3, W7, S7, R1
#[test]
fn bug_16_an_aborted_wait_ends_takes_nothing_and_leaves_nothing() {
    let mut serve = opened(&[]);
    let id = serve.start_command("a", "echo kept; echo >up; sleep 600");
    serve.appears("up");
    let descriptors = serve.descriptors();
    let args = json!({"task_id": id, "wait": true, "timeout_ms": 300_000});
    // Hundreds at once, then one after the other.
    let waits: Vec<Value> =
        (0..500).map(|_| serve.send_call("a", "task_output", args.clone())).collect();
    let aborts: Vec<Value> =
        waits.iter().map(|tag| serve.send(json!({"op": "abort", "call": tag}))).collect();
    for tag in &aborts {
        assert_eq!(serve.reply(tag)["ok"], true);
    }
    for tag in &waits {
        let reply = serve.reply(tag);
        let says = format!("the wait for task {id} was aborted; the task goes on");
        assert_eq!((text(&reply), &reply["is_error"]), (&*says, &json!(true)));
    }
    for _ in 0..500 {
        let wait = serve.send_call("a", "task_output", args.clone());
        serve.ask(json!({"op": "abort", "call": wait}));
        assert_eq!(serve.reply(&wait)["is_error"], true);
    }
    assert_eq!(serve.descriptors(), descriptors);
    assert_eq!(tasks(&mut serve, "a")[0]["status"], "running");
    assert_eq!(read(&mut serve, &id), "kept\n[status: running]", "no abort has read it");
    assert!(serve.end().success());
}

// contract: W1, W4, N2, N7
#[test]
fn bug_16_a_wait_is_woken_by_the_end_and_not_by_output() {
    let mut serve = opened(&[]);
    let command = "for i in 1 2 3 4 5 6 7 8 9; do echo $i; echo $i >&2; sleep 0.02; done; exit 2";
    let id = serve.start_command("a", command);
    let end = serve.wait_for("a", &id);
    assert_eq!(status(&end), "[status: completed, exit code: 2]");
    assert_eq!(end.lines().filter(|line| line.len() == 1).count(), 18, "{end}");
    // One that ends in the very moment in which the wait begins.
    for _ in 0..50 {
        let id = serve.start_command("a", "true");
        let end = serve.wait_for("a", &id);
        assert_eq!(end, "(no new output)\n[status: completed, exit code: 0, no output]");
        // At once, of one that has ended, however long it may take.
        let args = json!({"task_id": id, "wait": true, "timeout_ms": 2_147_483_647});
        assert_eq!(text(&serve.call("a", "task_output", args)), end);
    }
    assert_eq!(claimed(&mut serve, "a"), [""; 0], "all were told by the waits");
    assert!(serve.end().success());
}

// contract: W3, W4, N1, N2, L4
#[test]
fn bug_16_of_an_abort_and_an_end_at_once_exactly_one_is_told() {
    let mut serve = opened(&[]);
    let mut aborted = 0;
    for round in 0..60 {
        let id = serve.start_command("a", "until [ -e go ]; do :; done");
        let args = json!({"task_id": id, "wait": true});
        let wait = serve.send_call("a", "task_output", args);
        serve.make("go");
        if round % 3 > 0 {
            // A little later: one more request in between.
            serve.call("a", "task_list", json!({}));
        }
        serve.send(json!({"op": "abort", "call": wait}));
        let reply = serve.reply(&wait);
        let by_wait = reply["is_error"] == false;
        aborted += usize::from(!by_wait);
        let notices = if by_wait {
            claimed(&mut serve, "a")
        } else {
            // Nobody took the end, so the notice comes.
            serve.next("its notice", |value| value["event"] == "notice" && value["task"] == *id);
            claimed(&mut serve, "a")
        };
        assert_eq!(notices.len(), usize::from(!by_wait), "{reply}: {notices:?}");
        std::fs::remove_file(serve.folder().join("go")).unwrap();
    }
    println!("{aborted} of 60 were aborted");
    assert!(serve.end().success());
}

// contract: W2, M3, S7
#[test]
fn bug_17_a_timeout_that_is_no_time_is_refused_with_what_is() {
    let mut serve = opened(&["--wait-timeout-ms", "50", "--max-wait-timeout-ms", "50"]);
    let id = serve.start_command("a", "sleep 600");
    let mut ask = |timeout: Value| {
        let args = json!({"task_id": id, "wait": true, "timeout_ms": timeout});
        let reply = serve.call("a", "task_output", args);
        (reply["is_error"] == true, text(&reply).to_owned())
    };
    for timeout in [json!(0), json!(-1), json!(-0.0), json!(1e300), json!(2_147_483_648_u64)] {
        let (refused, says) = ask(timeout.clone());
        let expected = "expected above 0 and at most 2147483647 milliseconds, got ";
        assert!(refused && says.contains(expected), "{timeout}: {says}");
    }
    for timeout in [json!("5"), json!(true), json!([1])] {
        let (refused, says) = ask(timeout);
        assert!(refused && says.contains("expected a number of milliseconds"), "{says}");
    }
    // Up to what is allowed, cut to what is configured.
    for timeout in [json!(2_147_483_647), json!(600_000), json!(0.000_001), json!(5e-324)] {
        let (refused, says) = ask(timeout);
        assert!(!refused && status(&says).starts_with("[status: running, "), "{says}");
    }
    assert_eq!(tasks(&mut serve, "a")[0]["status"], "running");
    assert!(serve.end().success());
}
