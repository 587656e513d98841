//! When a task has ended, and how that is called.

use serde_json::json;

use super::{dispose, kill, nothing_is_left, opened, read, run, runs, status, tasks, until};
use crate::serve::driver::text;

// The end of a command was the end of its pipes, so one silent child that had inherited
// standard error kept it "running" for ever, or a talking one renewed a quiet period.
//
// The case wants a fixed end of a background task as well. Here the contract goes another
// way: while a process of the session lives, the task does, and says what it waits for.
// contract: B6, M13, K2
#[test]
fn bug_01_a_pipe_held_open_ends_nothing_late_and_hides_nobody() {
    let mut serve = opened(&["--drain-ms", "100", "--grace-ms", "500", "--spill-bytes", "0"]);
    let holders = [
        "sleep 600 </dev/null >/dev/null &",
        "sleep 600 2>/dev/null &",
        "(while :; do echo tick; sleep 0.2; done) &",
        "(while :; do echo tick >&2; done) &",
        "exec 7>&1; sleep 600 >/dev/null 2>&1 & disown;",
        "nohup sleep 600 & disown -a;",
        "coproc sleep 600;",
        "sleep 600 > >(cat) &",
    ];
    let descriptors = serve.descriptors();
    for holder in holders {
        let command = format!("{holder} echo started");
        // In the foreground it answers at the exit and the drain, and hands over the rest.
        let call = json!({"command": command});
        let reply = serve.call("a", "bash", call);
        assert!(text(&reply).contains("started"), "{command}: {reply}");
        assert_eq!(reply["value"]["exitCode"], 0, "{command}: {reply}");
        let handed = reply["value"]["taskId"].as_str().unwrap_or_else(|| panic!("{reply}"));
        // In the background it is told apart from a command that hangs.
        let started = serve.start_command("a", &command);
        for id in [handed, &started] {
            until("the shell has exited", || {
                let status = status(&read(&mut serve, id)).to_owned();
                status.starts_with("[status: running, shell exited with code 0, ")
                    && status.contains(" still running")
            });
            kill(&mut serve, id);
            let end = serve.wait_for("a", id);
            assert!(status(&end).starts_with("[status: killed, exit code: 0"), "{command}: {end}");
        }
        nothing_is_left(&serve);
    }
    assert_eq!(serve.descriptors(), descriptors);
    assert!(serve.end().success());
}

// contract: B6, R3, O1
#[test]
fn bug_01_a_holder_outside_the_session_delays_the_end_by_the_drain_alone() {
    let mut serve = opened(&["--drain-ms", "100"]);
    let command = "setsid -f bash -c 'trap \"\" PIPE; exec 2>&-; echo $$ >pid; while :; do echo tick; sleep 0.02; done'; \
                   until [ -e pid ]; do sleep 0.02; done; echo started; exit 3";
    let id = serve.start_command("a", command);
    let end = serve.wait_for("a", &id);
    assert!(end.contains("started\n"), "{end}");
    let (exit, left) = status(&end).split_once(", ").unwrap().1.split_once(", ").unwrap();
    assert_eq!(exit, "exit code: 3");
    // One that writes, and perhaps the one that it sleeps by.
    assert!(left.contains(" still running, "), "{end}");
    assert!(left.ends_with(" later output is not kept]"), "{end}");
    let pid = serve.appears("pid");
    assert!(runs(&pid), "nobody has ended it");
    // After its end no byte is added to what was read.
    assert!(read(&mut serve, &id).starts_with("(no new output)\n"));
    dispose(&mut serve, "a");
    assert!(!runs(&pid));
    nothing_is_left(&serve);
    assert!(serve.end().success());
}

// A command that puts its work into the background was reported as completed at once, and
// the work went on where nobody saw it and no kill reached it.
// contract: B6, M13, N2, O1
#[test]
fn bug_14_work_that_goes_into_the_background_by_itself_is_still_the_task() {
    let commands = [
        "nohup sleep 600 >/dev/null 2>&1 & echo $! >pid; echo started",
        "sleep 600 >/dev/null 2>&1 & disown; echo $! >pid",
        "(exec >/dev/null 2>&1; trap '' HUP; sleep 600 & echo $! >pid)",
        "{ { sleep 600 & echo $! >pid; } & } >/dev/null 2>&1",
        "exec >/dev/null 2>&1; (bash -c 'echo $$ >pid; exec sleep 600' &) & exit 0",
    ];
    let mut serve = opened(&["--grace-ms", "500"]);
    for command in commands {
        let _ = std::fs::remove_file(serve.folder().join("pid"));
        let id = serve.start_command("a", command);
        let pid = serve.appears("pid");
        until("its shell has exited", || {
            status(&read(&mut serve, &id)).contains("shell exited with code 0, 1 process still")
        });
        let list = serve.call("a", "task_list", json!({}));
        assert!(text(&list).contains(&format!("{id} [bash] running — ")), "{list}");
        assert!(runs(&pid));
        assert_eq!(super::claimed(&mut serve, "a"), [""; 0], "{command}: nothing has ended");
        kill(&mut serve, &id);
        let end = serve.wait_for("a", &id);
        assert!(status(&end).starts_with("[status: killed, exit code: 0"), "{command}: {end}");
        assert!(!runs(&pid), "{command}");
    }
    serve.start_command("a", commands[0]);
    serve.start_command("a", commands[4]);
    dispose(&mut serve, "a");
    nothing_is_left(&serve);
    assert!(serve.end().success());
}

// contract: B6, T2
#[test]
fn bug_14_a_daemon_that_left_the_session_is_told_of_and_ends_with_its_owner() {
    let mut serve = opened(&[]);
    let daemon = "setsid -f bash -c 'echo $$ >pid; exec sleep 600' >/dev/null 2>&1; \
                  until [ -s pid ]; do sleep 0.02; done; echo up";
    let id = serve.start_command("a", daemon);
    let pid = serve.appears("pid");
    let end =
        "up\n[status: completed, exit code: 0, 1 process left the session and was still running]";
    assert_eq!(serve.wait_for("a", &id), end);
    let detail = tasks(&mut serve, "a")[0]["detail"].clone();
    assert_eq!(detail, "exit code: 0, 1 process left the session and was still running");
    assert!(runs(&pid));
    dispose(&mut serve, "a");
    assert!(!runs(&pid));

    // A foreground command has nobody who could end it later.
    serve.open("b", "t");
    std::fs::remove_file(serve.folder().join("pid")).unwrap();
    let reply = serve.call("b", "bash", json!({"command": daemon}));
    assert_eq!(text(&reply), "up\n[1 process left the session and was ended]");
    assert!(!runs(&serve.appears("pid")));
    assert!(serve.end().success());
}

// A death by a signal has no exit code, which became a 0, and so a success; a stop that was
// asked for was told as a failure.
// contract: B4, B3, M13, N1, L10
#[test]
fn bug_15_a_death_by_a_signal_is_never_a_success() {
    let mut serve = opened(&[]);
    let ends = [
        ("printf 'before\\n'; kill -9 $$", "killed, signal: SIGKILL"),
        ("printf 'before\\n'; kill -TERM $$", "killed, signal: SIGTERM"),
        ("printf before; exec sh -c 'kill -SEGV $$'", "killed, signal: SIGSEGV"),
        ("echo before; kill -ABRT $BASHPID", "killed, signal: SIGABRT"),
        ("echo before; ulimit -c 0; kill -34 $$", "killed, signal: 34"),
        ("echo before; (kill -9 $BASHPID)", "completed, exit code: 137"),
        ("echo before; sh -c 'kill -SEGV $$'; echo rc=$?", "completed, exit code: 0"),
        ("echo before; exit 255", "completed, exit code: 255"),
        ("echo before; exit -1", "completed, exit code: 255"),
        ("set -eo pipefail; echo before; false | cat; echo after", "completed, exit code: 1"),
    ];
    for (command, expected) in ends {
        let id = serve.start_command("a", command);
        let notice = serve.event("notice")["text"].as_str().unwrap().to_owned();
        assert!(notice.contains(&format!(") finished [status: {expected}]. ")), "{notice}");
        let end = serve.wait_for("a", &id);
        assert!(end.starts_with("before"), "{end}");
        assert_eq!(status(&end), format!("[status: {expected}]"), "{command}");
        let task = tasks(&mut serve, "a").pop().unwrap();
        let (state, detail) = expected.split_once(", ").unwrap();
        assert_eq!((&task["status"], &task["detail"]), (&json!(state), &json!(detail)));
        assert_eq!(
            kill(&mut serve, &id),
            format!("task {id} already finished [status: {expected}]")
        );
        // In the foreground the words for an exit are the same.
        let reply = serve.call("a", "bash", json!({"command": command}));
        let exit = format!("[{detail}]");
        assert!(text(&reply).ends_with(&exit) || detail == "exit code: 0", "{reply}");
        assert_eq!(reply["value"]["exitCode"].is_null(), detail.starts_with("signal"), "{reply}");
    }
    assert!(run(&mut serve, "sh -c 'kill -SEGV $$'; echo rc=$?").contains("rc=139"));
    let stopped = serve.start_command("a", "sleep 600");
    kill(&mut serve, &stopped);
    let end = serve.wait_for("a", &stopped);
    assert_eq!(status(&end), "[status: killed, signal: SIGTERM, no output]");
    assert!(serve.end().success());
}
