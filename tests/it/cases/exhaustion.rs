//! Where the system has no more of something, and where something is left behind.

use std::{fs, os::unix::fs::PermissionsExt, process::Command};

use serde_json::json;
use tempfile::TempDir;

use super::{kill, nothing_is_left, read, run, setting, status, tasks};
use crate::serve::driver::{NOBODY, Serve, children_of, text};

/// A server that may have so many descriptors.
fn limited(descriptors: u32, options: &[&str]) -> Serve {
    let ulimit = format!("ulimit -n {descriptors}; exec \"$0\" \"$@\"");
    let mut serve = Serve::start_under(&["bash", "-c", &ulimit], options);
    serve.open("a", "s");
    serve
}

/// A server that may have so few processes and threads that there is no room for more than
/// a few commands, and a folder that it may write to. None where that cannot be had: a
/// limit binds only one who is not root, and nobody else may run here who is.
fn crowded(number: u32, options: &[&str]) -> Option<(Serve, TempDir)> {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    // A user whom nothing else belongs to, who is counted alone.
    let user = (30_000 + (std::process::id() * 4 + number) % 30_000).to_string();
    let ids = [format!("--reuid={user}"), format!("--regid={user}")];
    let limit = "cd \"$0\" && ulimit -u 10 && exec \"$@\"";
    let shell = ["bash", "-c", limit, folder.path().to_str().unwrap()];
    let fronts = [
        [&["setpriv", &ids[0], &ids[1], "--clear-groups"], &shell[..]].concat(),
        [&["unshare", "--user"], &shell[..]].concat(),
    ];
    let exe = env!("CARGO_BIN_EXE_longrun-under-test");
    let runs = |front: &&Vec<&str>| {
        let probe = Command::new(front[0]).args(&front[1..]).args([exe, "--version"]).output();
        probe.is_ok_and(|output| output.status.success())
    };
    let Some(front) = fronts.iter().find(runs) else {
        eprintln!("not tried: nobody else can be had here, of whom there may be only a few");
        return None;
    };
    let options = [&["--max-active-per-owner", "100", "--grace-ms", "1000"], options].concat();
    let mut serve = Serve::start_under(front, &options);
    serve.open("a", "s");
    Some((serve, folder))
}

/// Starts commands until no more can be; gives their ids, or none if nothing limits them.
fn crowd(serve: &mut Serve) -> Option<Vec<String>> {
    let mut ids = Vec::new();
    while ids.len() < 20 {
        let args = json!({"command": "exec sleep 600", "run_in_background": true});
        let reply = serve.call("a", "bash", args);
        let Some(id) = reply["value"]["taskId"].as_str() else {
            let says = text(&reply);
            assert!(says.contains("too many processes"), "{says}");
            return Some(ids);
        };
        ids.push(id.to_owned());
    }
    eprintln!("not tried: a limit that limits nothing");
    None
}

// The look for what is left of a session got no thread, and none was taken ever after.
// contract: T2, O5, L7, B4
#[test]
fn bug_28_where_no_thread_is_left_ends_are_seen_then_and_later() {
    let Some((mut serve, _folder)) = crowded(0, &[]) else { return };
    let Some(ids) = crowd(&mut serve) else { return };
    for id in &ids {
        assert_eq!(kill(&mut serve, id), format!("requested cancellation of task {id}"));
        assert!(status(&serve.wait_for("a", id)).starts_with("[status: killed, signal: "));
    }
    let next = serve.start_command("a", "echo again");
    assert_eq!(serve.wait_for("a", &next), "again\n[status: completed, exit code: 0]");
    assert!(crowd(&mut serve).is_some_and(|ids| !ids.is_empty()));
    super::dispose(&mut serve, "a");
    assert!(serve.end().success());
}

// contract: B8, S3
#[test]
fn bug_28_where_no_thread_is_left_long_output_is_not_kept_and_nothing_else_suffers() {
    let options = ["--memory-bytes", "1000", "--spill-dir", "."];
    let Some((mut serve, folder)) = crowded(1, &options) else { return };
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").args(["-m", "666"]).arg(&pipe).status().unwrap().success());
    // It needs no process more than it has.
    let command = "read x <pipe; for ((n = 0; n < 20000; n++)); do echo $n; done; exit 4";
    let id = serve.start_command("a", command);
    if crowd(&mut serve).is_none() {
        return;
    }
    fs::write(&pipe, "go\n").unwrap();
    let end = serve.wait_for("a", &id);
    let why = "; the whole could not be kept: no thread could be started: Resource temporarily";
    assert!(end.contains(why), "{end}");
    assert!(end.ends_with("\n19999\n[status: completed, exit code: 4]"), "{end}");
    super::dispose(&mut serve, "a");
    assert!(serve.end().success());
}

// contract: B4
#[test]
fn bug_28_where_a_parent_ignored_the_ends_of_children_they_have_their_status() {
    let mut serve = Serve::start_under(&["env", "--ignore-signal=CHLD"], &[]);
    serve.open("a", "s");
    let id = serve.start_command("a", "exit 3");
    assert_eq!(status(&serve.wait_for("a", &id)), "[status: completed, exit code: 3, no output]");
    assert!(serve.end().success());
}

// Descriptors stayed open until the record of a finished command expired, so an agent that
// lived long met "too many open files" elsewhere.
// contract: T2, L7, R1
#[test]
fn bug_28_short_commands_without_end_leave_nothing_behind() {
    let mut serve = limited(128, &["--max-active-per-owner", "10"]);
    let warm = serve.start_command("a", "echo hi");
    serve.wait_for("a", &warm);
    let base = serve.descriptors();
    let mut last = String::new();
    for _ in 0..setting("LONGRUN_CASES_COMMANDS", 200).div_ceil(10) {
        let ids: Vec<String> = (0..10).map(|_| serve.start_command("a", "echo hi")).collect();
        for (id, is_read) in ids.iter().zip([true, false].into_iter().cycle()) {
            if is_read {
                assert!(serve.wait_for("a", id).starts_with("hi\n"));
            } else {
                serve.next("its end", |value| value["event"] == "notice" && value["task"] == **id);
            }
        }
        last.clone_from(&ids[9]);
    }
    assert_eq!(serve.descriptors(), base, "back at the base");
    assert_eq!(serve.children(), NOBODY, "no zombie");
    assert_eq!(read(&mut serve, &warm), "(no new output)\n[status: completed, exit code: 0]");
    assert_eq!(read(&mut serve, &last), "hi\n[status: completed, exit code: 0]", "kept");
    assert!(serve.end().success());
}

// contract: S3, S5, B4
#[test]
fn bug_28_at_the_limit_a_start_says_which_one_it_is_and_the_others_go_on() {
    let mut serve = limited(48, &["--max-active-per-owner", "1000"]);
    let (mut started, mut refused) = (Vec::new(), 0);
    while refused < 5 {
        let args = json!({"command": "echo up; sleep 600", "run_in_background": true});
        let reply = serve.call("a", "bash", args);
        match reply["value"]["taskId"].as_str() {
            Some(id) => started.push(id.to_owned()),
            None => {
                refused += 1;
                let says = text(&reply);
                assert!(says.contains("too many open files"), "{says}");
                assert!(says.contains("end other tasks, or raise the limit"), "{says}");
            }
        }
        assert!(started.len() < 100, "a limit that limits nothing");
    }
    assert_eq!(tasks(&mut serve, "a").len(), started.len(), "nothing was registered");
    for id in &started {
        super::until("it has spoken", || !read(&mut serve, id).starts_with("(no new"));
    }
    // With room again a start succeeds, and its number is the next.
    for id in started.iter().take(3) {
        assert_eq!(kill(&mut serve, id), format!("requested cancellation of task {id}"));
        assert!(status(&serve.wait_for("a", id)).starts_with("[status: killed, signal: "));
    }
    let next = serve.start_command("a", "echo again");
    assert_eq!(next, format!("bash-{}", started.len() + 1));
    assert_eq!(serve.wait_for("a", &next), "again\n[status: completed, exit code: 0]");
    super::dispose(&mut serve, "a");
    nothing_is_left(&serve);
    assert!(serve.end().success());
}

// contract: S8, O3, T2, L7
#[test]
fn bug_28_hundreds_at_once_end_together_and_leave_nothing_behind() {
    let at_once = setting("LONGRUN_CASES_AT_ONCE", 100);
    let owner_limit = at_once.to_string();
    let options = ["--max-active-per-owner", &owner_limit, "--grace-ms", "1000"];
    let mut serve = limited(4096, &options);
    let warm = serve.start_command("a", "true");
    serve.wait_for("a", &warm);
    let base = serve.descriptors();
    let ids: Vec<String> = (0..at_once)
        .map(|n| serve.start_command("a", &format!("echo {n}; exec sleep 600")))
        .collect();
    let refused = json!({"command": "true", "run_in_background": true});
    let says = format!("{at_once} background tasks are already running");
    assert!(text(&serve.call("a", "bash", refused)).starts_with(&says));
    assert_eq!(run(&mut serve, "echo beside them"), "beside them\n");
    for (n, id) in ids.iter().enumerate() {
        super::until("it has spoken", || read(&mut serve, id) == format!("{n}\n[status: running]"));
    }
    super::dispose(&mut serve, "a");
    nothing_is_left(&serve);
    assert_eq!(serve.children(), NOBODY, "no zombie");
    assert_eq!(serve.descriptors(), base, "back at the base");
    assert!(serve.end().success());
}

// Where it was the first process of a container every command that lost a child left a zombie,
// until the container had no room for another process.
// contract: T2, L7, B4
#[test]
fn bug_28_the_first_process_of_a_container_keeps_no_zombies() {
    let namespace = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"];
    let probe = Command::new(namespace[0]).args(&namespace[1..]).arg("true").output();
    if !probe.is_ok_and(|output| output.status.success()) {
        eprintln!("not tried: no pid namespace may be made here");
        return;
    }
    let mut serve = Serve::start_under(&[&namespace[..], &["--kill-child"]].concat(), &[]);
    serve.open("a", "s");
    let lose = "(true &); (setsid -f true); (setsid -f true)";
    let ids: Vec<String> =
        (0..10).map(|code| serve.start_command("a", &format!("{lose}; exit {code}"))).collect();
    assert_eq!(run(&mut serve, &format!("echo $PPID; {lose}")), "1\n");
    for (code, id) in ids.iter().enumerate() {
        let end = format!("[status: completed, exit code: {code}, no output]");
        assert_eq!(status(&serve.wait_for("a", id)), end);
    }
    let server = serve.children();
    assert_eq!(server.len(), 1, "below the one that made the namespace");
    super::until("no zombie is left", || children_of(server[0]).is_empty());
    super::dispose(&mut serve, "a");
    assert!(serve.end().success());
}

// contract: B2, B4
#[test]
fn bug_28_a_limit_that_a_command_sets_is_its_own() {
    let mut serve = limited(256, &[]);
    let reply = run(&mut serve, "ulimit -n 4; echo a >f; cat f");
    assert!(reply.contains("Too many open files"), "{reply}");
    let reply = run(&mut serve, "ulimit -f 1; head -c 9999 /dev/zero >f; echo rc=$?");
    assert!(reply.contains("rc="), "{reply}");
    let reply = run(&mut serve, "ulimit -t 1; while :; do :; done");
    assert!(
        reply.ends_with("[signal: SIGKILL]") || reply.ends_with("[signal: SIGXCPU]"),
        "{reply}"
    );
    assert_eq!(run(&mut serve, "ulimit -n"), "256\n");
    assert!(serve.end().success());
}
