//! What came since the last read, and nothing else.

use serde_json::{Value, json};

use super::{opened, read, status, tasks, until};
use crate::serve::driver::{Serve, text};

fn output(reply: &Value) -> &str {
    reply["value"]["text"].as_str().unwrap()
}

// The reader promised "only new output since the last check" and gave the whole each time.
// contract: R1, R3, R5, M2
#[test]
fn bug_12_every_line_is_read_once_and_in_order_however_many_read() {
    let mut serve = opened(&[]);
    serve.ask(json!({"op": "open", "owner": "c", "session": "s"}));
    let command = "for i in $(seq 1 100); do echo line-$i; [ -e go ] || sleep 0.01; done; echo >up; \
                   until [ -e go ]; do sleep 0.01; done; for i in $(seq 101 300); do echo line-$i; done";
    let id = serve.start_command("c", command);
    let mut joined = String::new();
    let args = json!({"task_id": id});
    let rounds = |serve: &mut Serve, joined: &mut String| {
        // Two at once, by two owners of the session, and looks that must move nothing.
        let first = serve.send_call("a", "task_output", args.clone());
        let peek = serve.send(json!({"op": "tasks", "owner": "c"}));
        let second = serve.send_call("c", "task_output", args.clone());
        let list = serve.send_call("c", "task_list", json!({}));
        for tag in [first, second] {
            joined.push_str(output(&serve.reply(&tag)));
        }
        assert_eq!(serve.reply(&peek)["tasks"][0]["id"], id);
        assert!(text(&serve.reply(&list)).starts_with(&id));
    };
    for _ in 0..20 {
        rounds(&mut serve, &mut joined);
    }
    serve.appears("up");
    until("all of it has been read", || {
        rounds(&mut serve, &mut joined);
        joined.ends_with("line-100\n")
    });
    assert_eq!(read(&mut serve, &id), "(no new output)\n[status: running]");
    serve.make("go");
    until("it has ended", || tasks(&mut serve, "c")[0]["status"] == "completed");
    let end = serve.call("c", "task_output", args);
    assert_eq!(status(text(&end)), "[status: completed, exit code: 0]");
    joined.push_str(output(&end));
    let expected: String = (1..=300).map(|n| format!("line-{n}\n")).collect();
    assert_eq!(joined, expected);
    for _ in 0..2 {
        assert_eq!(read(&mut serve, &id), "(no new output)\n[status: completed, exit code: 0]");
    }
    assert!(serve.end().success());
}

// contract: R1, R3, W5
#[test]
fn bug_12_readers_that_wait_share_the_output_too() {
    let mut serve = opened(&[]);
    let id = serve.start_command("a", "until [ -e go ]; do sleep 0.01; done; seq 1 1000; exit 6");
    let args = json!({"task_id": id, "wait": true});
    let waits: Vec<Value> =
        (0..50).map(|_| serve.send_call("a", "task_output", args.clone())).collect();
    serve.make("go");
    let mut joined = String::new();
    for tag in &waits {
        let reply = serve.reply(tag);
        assert_eq!(status(text(&reply)), "[status: completed, exit code: 6]");
        joined.push_str(output(&reply));
    }
    let expected: String = (1..=1000).map(|n| format!("{n}\n")).collect();
    assert_eq!(joined, expected);
    assert!(serve.end().success());
}

// A read that cannot take all that came says how much was lost, and the joined reads are
// the tail of it.
// contract: R8, R1, B7
#[test]
fn bug_12_what_was_lost_before_a_read_is_counted() {
    let mut serve = opened(&["--memory-bytes", "1000", "--spill-bytes", "0"]);
    let command = "head -c 100000 /dev/zero | tr '\\0' x; echo; echo >up; \
                   until [ -e go ]; do sleep 0.01; done; echo end";
    let id = serve.start_command("a", command);
    serve.appears("up");
    let mut dropped = 0_usize;
    let mut kept = 0_usize;
    let mut take = |text: &str| {
        for line in text.lines() {
            match line
                .strip_prefix('[')
                .and_then(|rest| rest.strip_suffix(" bytes of stdout were dropped]"))
            {
                Some(count) => dropped += count.parse::<usize>().unwrap(),
                None => kept += line.matches('x').count(),
            }
        }
    };
    take(output(&serve.call("a", "task_output", json!({"task_id": id}))));
    serve.make("go");
    let end = serve.call("a", "task_output", json!({"task_id": id, "wait": true}));
    take(output(&end));
    assert!(text(&end).ends_with("end\n[status: completed, exit code: 0]"), "{end}");
    assert!((100_000..=100_001).contains(&(dropped + kept)), "{dropped} + {kept}");
    assert!(kept <= 2_000);
    assert!(serve.end().success());
}
