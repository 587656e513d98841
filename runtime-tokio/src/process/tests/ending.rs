//! How a process ends, by itself and by request.

use super::*;

// contract: B3
#[tokio::test]
async fn the_exit_code_is_told() {
    let process = start("exit 7");
    let closed = soon(process.done()).await;
    assert_eq!(summary(closed), (Exit::Code(7), false, true));
    assert_eq!(process.exited(), Some(Exit::Code(7)));
    assert!(!process.terminate());
    assert!(!exists(process.pid()));
}

// contract: B4
#[tokio::test]
async fn a_signal_that_it_sends_itself_is_told() {
    let closed = soon(start("kill -USR1 $$").done()).await;
    assert_eq!(closed.exit, signal(rustix::process::Signal::USR1));
    assert!(!closed.terminated);
}

// contract: B5
#[tokio::test]
async fn a_request_ends_it_by_sigterm() {
    let process = start("echo up; sleep 1000");
    line(&process).await;
    assert!(process.terminate());
    assert!(process.terminate());
    let closed = soon(process.done()).await;
    assert_eq!(summary(closed), (TERMINATED, true, true));
}

// contract: B5
#[tokio::test]
async fn it_may_clean_up_after_sigterm() {
    let process = start("trap 'echo cleaned; exit 3' TERM; echo up; while :; do sleep 0.01; done");
    line(&process).await;
    process.terminate();
    assert_eq!(soon(process.done()).await.exit, Exit::Code(3));
    assert_eq!(whole(&process), "up\ncleaned\n");
}

// contract: B5
#[tokio::test]
async fn who_is_in_another_group_or_session_may_clean_up_too() {
    let script =
        "handle() { trap 'echo cleaned; exit 0' TERM; echo up; while :; do sleep 0.01; done; }
        export -f handle
        timeout 1000 bash -c handle &
        (set -m; bash -c handle & wait) &
        setsid bash -c handle &
        wait; wait; wait";
    let process = start(script);
    output(&process, |text| text.matches("up").count() == 3).await;
    process.terminate();
    soon(process.done()).await;
    assert_eq!(whole(&process).matches("cleaned").count(), 3, "{}", whole(&process));
}

// contract: B5
#[tokio::test]
async fn a_tree_that_ignores_sigterm_is_killed_whatever_its_process_groups() {
    let mut spec = spec(
        "set -m; trap '' TERM
         for i in 1 2 3; do (exec sleep 1000) & echo $!; done
         (set -m; sleep 1000 & echo $!; sleep 1000) &
         timeout 1000 sleep 1000 & echo $!
         wait",
    );
    spec.grace = Duration::from_millis(50);
    let process = Process::spawn(&spec).unwrap();
    let pids = output(&process, |text| text.lines().count() >= 5).await;
    assert_eq!(pids.lines().filter(|pid| runs(pid)).count(), 5);
    process.terminate();
    assert_eq!(soon(process.done()).await.exit, KILLED);
    assert_eq!(pids.lines().filter(|pid| runs(pid)).collect::<Vec<_>>(), Vec::<&str>::new());
}

// contract: B5
#[tokio::test]
async fn the_grace_is_given() {
    let mut spec = spec("trap '' TERM; echo up; while :; do sleep 0.01; done");
    spec.grace = Duration::from_millis(300);
    let process = Process::spawn(&spec).unwrap();
    line(&process).await;
    let asked = Instant::now();
    process.terminate();
    assert_eq!(soon(process.done()).await.exit, KILLED);
    assert!(asked.elapsed() >= spec.grace);
}

// contract: B5
#[tokio::test]
async fn a_stopped_process_gets_to_act_on_sigterm() {
    let process = start("trap 'exit 4' TERM; echo up; kill -STOP $$; while :; do sleep 0.01; done");
    line(&process).await;
    let pid = process.pid();
    soon(async {
        while !fs::read_to_string(format!("/proc/{pid}/stat")).unwrap().contains(") T ") {
            tokio::task::yield_now().await;
        }
    })
    .await;
    process.terminate();
    assert_eq!(soon(process.done()).await.exit, Exit::Code(4));
}

// contract: B6
#[tokio::test]
async fn it_is_not_closed_while_a_child_outlives_its_leader() {
    let folder = tempfile::tempdir().unwrap();
    let gate = folder.path().join("gate");
    assert!(std::process::Command::new("mkfifo").arg(&gate).status().unwrap().success());
    let process = start(&format!("(read x < {}; echo last) & exit 5", gate.display()));
    assert_eq!(soon(process.wait_exited()).await, Exit::Code(5));
    assert_eq!(process.live_members().unwrap(), 1);
    assert_eq!(process.live_members_lately().unwrap(), 1);
    assert_eq!(process.closed(), None);
    // The leader waits, unreaped, for its session to become empty.
    assert!(exists(process.pid()));
    tokio::task::spawn_blocking(move || fs::write(gate, "go\n")).await.unwrap().unwrap();
    let closed = soon(process.done()).await;
    assert_eq!(summary(closed), (Exit::Code(5), false, true));
    assert_eq!(whole(&process), "last\n");
    assert_eq!(process.live_members().unwrap(), 0);
    assert!(!exists(process.pid()));
}

// contract: B5
#[tokio::test]
async fn what_outlives_the_leader_is_ended_by_a_request() {
    let mut spec = spec("(trap '' TERM; echo $BASHPID; while :; do sleep 0.01; done) & exit 0");
    spec.grace = Duration::from_millis(50);
    let process = Process::spawn(&spec).unwrap();
    let pid = line(&process).await;
    soon(process.wait_exited()).await;
    assert!(runs(&pid));
    process.terminate();
    let closed = soon(process.done()).await;
    assert_eq!((closed.exit, closed.terminated), (Exit::Code(0), true));
    assert!(!runs(&pid));
}

// contract: B5
#[tokio::test]
async fn what_is_forked_during_the_grace_is_ended_too() {
    let mut spec = spec(
        "trap 'for i in 1 2 3; do (trap \"\" TERM; sleep 1000) & echo $!; done; exit 0' TERM
         echo up; while :; do sleep 0.01; done",
    );
    spec.grace = Duration::from_millis(100);
    let process = Process::spawn(&spec).unwrap();
    line(&process).await;
    process.terminate();
    soon(process.done()).await;
    let text = whole(&process);
    assert_eq!(text.lines().count(), 4);
    assert!(!text.lines().skip(1).any(runs));
}

// contract: B6
#[tokio::test]
async fn who_leaves_the_session_after_the_leader_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let gate = folder.path().join("gate");
    assert!(std::process::Command::new("mkfifo").arg(&gate).status().unwrap().success());
    let script = "(read x < $GATE; exec setsid sleep 1000) > /dev/null 2>&1 & echo $!";
    let mut spec = spec(script);
    spec.env.push(("GATE".into(), gate.clone().into()));
    let process = Process::spawn(&spec).unwrap();
    soon(process.wait_exited()).await;
    let pid = line(&process).await;
    assert_eq!(process.live_members().unwrap(), 1);
    tokio::task::spawn_blocking(move || fs::write(gate, "go\n")).await.unwrap().unwrap();
    let closed = soon(process.done()).await;
    assert_eq!((closed.exit, closed.left.strays), (Exit::Code(0), 1));
    assert!(runs(&pid));
}

// contract: B4
#[test]
fn a_host_that_ignores_sigchld_loses_the_status_and_nothing_else() {
    again(&["--ignore-signal=CHLD"], &["the_end_is_seen_whether_or_not_the_status_is"]);
}

// contract: B4
#[tokio::test]
async fn the_end_is_seen_whether_or_not_the_status_is() {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    let chld = 1 << (rustix::process::Signal::CHILD.as_raw() - 1);
    let unavailable = u64::from_str_radix(ignored.trim(), 16).unwrap() & chld != 0;
    let expected = if unavailable { Exit::Unavailable } else { Exit::Code(7) };

    let process = start("sleep 1000 & echo $!; exit 7");
    let pid = line(&process).await;
    assert_eq!(soon(process.wait_exited()).await, expected);
    assert_eq!(process.live_members().unwrap(), 1);
    process.terminate();
    assert_eq!(soon(process.done()).await.exit, expected);
    assert!(!runs(&pid));
}

// contract: B6
#[tokio::test]
async fn a_chain_of_short_lived_processes_is_not_lost() {
    let mut spec = spec("f() { (echo x; sleep 0.002; f) & }; f; exit 0");
    spec.grace = Duration::from_millis(50);
    let process = Process::spawn(&spec).unwrap();
    output(&process, |text| text.lines().count() >= 100).await;
    assert_eq!(process.closed(), None);
    assert!(process.terminate());
    assert!(soon(process.done()).await.drained);
}

// contract: B5
#[tokio::test]
async fn a_burst_of_forks_is_killed_while_it_spreads() {
    let process = start(
        "trap '' TERM; echo up
         f() { if (( $1 )); then f $(($1 - 1)) & f $(($1 - 1)) & fi; sleep 1000; }; f 6",
    );
    line(&process).await;
    let session = process.pid().to_string();
    let done = process.done();
    drop(process);
    assert_eq!(soon(done).await.exit, KILLED);
    let left = fs::read_dir("/proc").unwrap().filter(|entry| {
        let stat = fs::read_to_string(entry.as_ref().unwrap().path().join("stat"));
        stat.is_ok_and(|stat| {
            let mut fields = stat.rsplit(')').next().unwrap().split_whitespace();
            fields.next() != Some("Z") && fields.nth(2) == Some(&session)
        })
    });
    assert_eq!(left.count(), 0);
}

/// Runs tests again in a pid namespace, where the session is that of the parent and
/// therefore has no number.
pub(super) fn again_in_a_namespace(options: &[&str], tests: &[&str]) {
    let namespace =
        [&["unshare", "--user", "--map-root-user", "--pid", "--fork"], options].concat();
    let probe = std::process::Command::new(namespace[0]).args(&namespace[1..]).arg("true").status();
    if probe.is_ok_and(|status| status.success()) {
        again_in(&namespace, tests);
    } else {
        eprintln!("not tried: no pid namespace may be made here");
    }
}

// contract: B5
#[test]
fn a_request_ends_it_where_the_hosts_own_session_has_no_number() {
    let tests = ["a_request_ends_it_by_sigterm", "it_may_clean_up_after_sigterm"];
    again_in_a_namespace(&["--mount-proc"], &tests);
}

// contract: B5
#[test]
fn it_is_not_started_where_proc_shows_another_namespace() {
    if std::env::var_os("BLIND").is_none() {
        let name = "it_is_not_started_where_proc_shows_another_namespace";
        return again_in_a_namespace(&["env", "BLIND=1"], &[name]);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let error = runtime.block_on(async { Process::spawn(&spec("true")) }).unwrap_err();
    assert!(matches!(error, SpawnError::NoProc { .. }), "{error}");
}
