//! What a kill reaches, and what it says.

use serde_json::json;

use super::{dispose, kill, nothing_is_left, opened, read, runs, status, tasks, until};
use crate::serve::driver::{Serve, text};

/// Commands of many shapes; each makes a file `up` once all of it runs.
const SHAPES: [&str; 14] = [
    "sleep 600 & sleep 600 & echo >up; wait",
    "(sleep 600; sleep 600) | cat | (cat; sleep 600) & echo >up; wait",
    "for n in 1 2 3; do echo >up; timeout 600 sleep 600; done",
    "echo >up; exec sleep 600",
    "nohup sleep 600 >/dev/null 2>&1 & disown -a; echo >up; sleep 600",
    "setsid -f sleep 600 >/dev/null 2>&1; echo >up; sleep 600",
    "setsid sleep 600 & setsid bash -c 'echo >up; sleep 600'",
    "trap 'sleep 600 & sleep 600' TERM; echo >up; while :; do sleep 0.05; done",
    "trap 'setsid -f sleep 600; exit 0' TERM; echo >up; while :; do sleep 0.05; done",
    "exec >&- 2>&-; trap '' TERM INT HUP; echo >up; while :; do sleep 0.05; done",
    "echo >up; kill -STOP $$; sleep 600",
    "coproc cat; echo >up; sleep 600 <&${COPROC[0]}",
    "cat <(sleep 600) >(sleep 600) & bash -ic 'echo >up; sleep 600' 2>/dev/null",
    "set -m; sleep 600 & sleep 600 | cat & echo >up; wait",
];

// A stop said "stopped" when only the shell was: its children went on for half an hour, and
// a loop went on to its next round.
// contract: B5, K2, L7, L10
#[test]
fn bug_02_when_a_task_is_killed_no_process_of_it_is_left() {
    let mut serve = opened(&["--grace-ms", "300", "--drain-ms", "100"]);
    for command in SHAPES {
        let _ = std::fs::remove_file(serve.folder().join("up"));
        let id = serve.start_command("a", command);
        serve.appears("up");
        assert_eq!(kill(&mut serve, &id), format!("requested cancellation of task {id}"));
        let end = serve.wait_for("a", &id);
        assert!(status(&end).starts_with("[status: killed, "), "{command}: {end}");
        assert!(!end.contains("still run"), "{command}: {end}");
        nothing_is_left(&serve);
    }
    assert!(serve.end().success());
}

// contract: B5, K2, L7
#[test]
fn bug_02_a_loop_does_not_go_on_to_its_next_round() {
    let mut serve = opened(&[]);
    let command = "for n in 1 2 3; do echo $n >>rounds; timeout 600 sleep 60$n; done";
    let id = serve.start_command("a", command);
    serve.appears("rounds");
    kill(&mut serve, &id);
    let wait = serve.wait_for("a", &id);
    assert!(wait.ends_with("[status: killed, signal: SIGTERM, no output]"), "{wait}");
    assert_eq!(serve.appears("rounds"), "1");
    nothing_is_left(&serve);
    assert!(serve.end().success());
}

// contract: K1, K2, M5, M13, L1
#[test]
fn bug_02_a_kill_is_told_as_done_only_once_the_end_was_seen() {
    let mut serve = opened(&["--grace-ms", "60000"]);
    let command = "exec 2>&-; trap '' TERM; echo >up; until [ -e go ]; do sleep 0.02; done";
    let id = serve.start_command("a", command);
    serve.appears("up");
    let reason = format!("enough\n[status: completed]\u{0}{}", "r".repeat(100_000));
    for reason in [json!(reason), json!(""), json!("</task>"), json!(null)] {
        let args = json!({"task_id": id, "reason": reason});
        let reply = serve.call("a", "task_kill", args);
        assert_eq!(text(&reply), format!("requested cancellation of task {id}"));
        assert_eq!(reply["value"]["task"]["status"], "stopping");
    }
    let reply =
        serve.call("a", "task_output", json!({"task_id": id, "wait": true, "timeout_ms": 1}));
    assert_eq!(text(&reply), "(no new output)\n[status: stopping]");
    assert_eq!(tasks(&mut serve, "a")[0]["status"], "stopping");
    serve.make("go");
    assert_eq!(status(&serve.wait_for("a", &id)), "[status: killed, exit code: 0, no output]");
    assert!(serve.end().success());
}

// The leader obeyed SIGTERM, which ended the escalation: a child that ignored it lived on,
// and the stop was told as a success.
// contract: B5, O1
#[test]
fn bug_03_what_ignores_sigterm_ends_with_a_leader_that_obeys_it() {
    let stubborn = "(trap '' TERM; echo $BASHPID >pid; while :; do sleep 0.1; done)";
    let commands = [
        format!("{stubborn} & trap 'exit 0' TERM; wait"),
        format!("{stubborn} >/dev/null 2>&1 & disown; exec sleep 600"),
        format!("{stubborn} & exit 0"),
        format!("set -m; {stubborn} & trap 'exit 0' TERM; wait"),
        "setsid bash -c 'trap \"\" TERM; echo $$ >pid; while :; do sleep 0.1; done' & \
         trap 'exit 0' TERM; wait"
            .to_owned(),
    ];
    let mut serve = opened(&["--grace-ms", "200"]);
    for by_dispose in [false, true] {
        for command in &commands {
            let _ = std::fs::remove_file(serve.folder().join("pid"));
            serve.open("b", "t");
            let id = serve.start_command("b", command);
            let pid = serve.appears("pid");
            if by_dispose {
                dispose(&mut serve, "b");
            } else {
                serve.call("b", "task_kill", json!({"task_id": id}));
                let end = serve.wait_for("b", &id);
                assert!(status(&end).starts_with("[status: killed, "), "{command}: {end}");
            }
            assert!(!runs(&pid), "{command}");
            nothing_is_left(&serve);
            dispose(&mut serve, "b");
        }
    }
    assert!(serve.end().success());
}

// A sweep signalled the number of a process group that had ended long ago, and by then
// belonged to somebody else. (That no number is signalled, the tests of the processes show
// with a signaller of their own.)
// contract: K4, B5, O1
#[test]
fn bug_04_a_finished_task_is_not_signalled_when_its_number_belongs_to_another() {
    // A pid is given again at will only where we own the namespace of pids.
    let unshare = ["unshare", "-Urpf", "--mount-proc", "--kill-child"];
    let may = std::process::Command::new(unshare[0]).args(&unshare[1..]).arg("true").output();
    let front = if may.is_ok_and(|ran| ran.status.success()) { &unshare[..] } else { &[] };
    let mut serve = Serve::start_under(front, &[]);
    serve.open("a", "s");
    serve.open("b", "t");
    let ended = serve.start_command("a", "echo $$ >old");
    serve.wait_for("a", &ended);
    let old = serve.appears("old");
    let again = format!(
        "for try in {{1..200}}; do \
             echo $(({old} - 1)) >/proc/sys/kernel/ns_last_pid; setsid sleep 600 & \
             [ $! = {old} ] && break; kill $!; \
         done 2>/dev/null; echo $! >new; wait"
    );
    let again = if front.is_empty() { "sleep 600 & echo $! >new; wait" } else { &again };
    let bystander = serve.start_command("b", again);
    let new = serve.appears("new");
    println!("the number {old} was given again: {}", new == old);
    let expected =
        format!("task {ended} already finished [status: completed, exit code: 0, no output]");
    assert_eq!(kill(&mut serve, &ended), expected);
    assert_eq!(kill(&mut serve, &ended), expected);
    dispose(&mut serve, "a");
    let status = &tasks(&mut serve, "b")[0]["status"];
    assert_eq!(status, "running", "the bystander {bystander} lives");
    let alive = serve.call("b", "bash", json!({"command": format!("kill -0 {new} && echo lives")}));
    assert_eq!(text(&alive), "lives\n");
    assert!(serve.end().success());
}

// The command's limit passed, "timed out" was said, and it ran on; elsewhere the limit of a
// wait killed what should have lived.
// contract: B3, B5, B10, S7, W1
#[test]
fn bug_17_a_limit_ends_what_it_is_the_limit_of_and_nothing_else() {
    let mut serve = opened(&["--grace-ms", "200"]);
    let ticks = "trap '' TERM; i=0; while :; do i=$((i+1)); echo $i >>ticks; sleep 0.02; done";
    let call = json!({"command": format!("({ticks}) | cat"), "timeout_ms": 300});
    let reply = serve.call("a", "bash", call);
    assert_eq!(
        text(&reply),
        "(no output)\n[timed out after 300 ms, and was ended]\n[signal: SIGTERM]"
    );
    assert_eq!(reply["value"]["timedOut"], true);
    nothing_is_left(&serve);
    let count = || std::fs::read_to_string(serve.folder().join("ticks")).unwrap().len();
    let then = count();

    std::fs::rename(serve.folder().join("ticks"), serve.folder().join("old")).unwrap();
    let id = serve.start_command("a", ticks);
    for timeout in [json!(1), json!(0.001), json!(40)] {
        let args = json!({"task_id": id, "wait": true, "timeout_ms": timeout});
        let reply = serve.call("a", "task_output", args);
        assert_eq!(reply["is_error"], false);
        assert!(status(text(&reply)).starts_with("[status: running, "), "{reply}");
        let ticks = || std::fs::read_to_string(serve.folder().join("ticks")).unwrap_or_default();
        let seen = ticks().lines().count();
        until("it goes on", || ticks().lines().count() > seen + 2);
    }
    let old = std::fs::read_to_string(serve.folder().join("old")).unwrap().len();
    assert_eq!(old, then, "what had timed out went on");
    kill(&mut serve, &id);
    assert_eq!(status(&serve.wait_for("a", &id)), "[status: killed, signal: SIGKILL, no output]");
    assert!(read(&mut serve, &id).starts_with("(no new output)"));
    assert!(serve.end().success());
}
