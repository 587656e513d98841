//! What left the session.

use super::*;

/// A program that leaves the session behind a parent that ends at once.
const DAEMON: &str = "(setsid sleep 1000 > /dev/null 2>&1 & echo $!)";

/// The pid in the first line, once its process has left the session.
async fn stray(process: &Process) -> String {
    let pid = line(process).await;
    let leader = process.pid().to_string();
    until(|| runs(&pid) && session_of(&pid) != leader).await;
    pid
}

// contract: B5
#[tokio::test]
async fn a_request_ends_a_daemon_too() {
    let process = start(&format!("{DAEMON}; exec sleep 1000"));
    let pid = stray(&process).await;
    process.terminate();
    let closed = soon(process.done()).await;
    assert_eq!(summary(closed), (TERMINATED, true, true));
    assert_eq!((closed.left, closed.signals), (Left::default(), Signals::Term));
    assert!(!runs(&pid));
}

// contract: B5
#[tokio::test]
async fn a_daemon_that_ignores_sigterm_is_killed_after_the_grace() {
    let stubborn = "trap \"\" TERM; echo $$; while :; do sleep 0.01; done";
    let mut spec = spec(&format!("(setsid bash -c '{stubborn}' 2> /dev/null &); exec sleep 1000"));
    spec.grace = Duration::from_millis(100);
    let process = Process::spawn(&spec).unwrap();
    let pid = stray(&process).await;
    process.terminate();
    let closed = soon(process.done()).await;
    assert_eq!(summary(closed), (TERMINATED, true, true));
    assert_eq!((closed.left, closed.signals), (Left::default(), Signals::Kill));
    assert!(!runs(&pid));
}

// contract: B6
// contract: T2
#[tokio::test]
async fn a_daemon_does_not_hold_its_task_open_and_ends_with_the_handle() {
    let process = start(&format!("{DAEMON}; exit 3"));
    let pid = line(&process).await;
    let closed = soon(process.done()).await;
    assert_eq!(summary(closed), (Exit::Code(3), false, true));
    assert_eq!(closed.left, Left { members: 0, strays: 1 });
    assert_eq!(closed.signals, Signals::Nothing);
    assert_eq!(process.left(), closed.left);
    assert!(!process.terminate());
    assert!(runs(&pid));
    drop(process);
    assert!(!runs(&pid));
}

// contract: T2
#[tokio::test]
async fn dropping_a_running_handle_kills_a_daemon() {
    let process = start(&format!("{DAEMON}; exec sleep 1000"));
    let pid = stray(&process).await;
    let done = process.done();
    drop(process);
    assert_eq!(soon(done).await.left, Left::default());
    assert!(!runs(&pid));
}

// contract: B5
#[tokio::test]
async fn without_the_mark_it_is_known_by_its_parent() {
    let process = start("setsid env -i sleep 1000 > /dev/null 2>&1 & echo $!; wait");
    let pid = stray(&process).await;
    until(|| fs::read(format!("/proc/{pid}/environ")).is_ok_and(|text| text.is_empty())).await;
    process.terminate();
    assert_eq!(soon(process.done()).await.left, Left::default());
    assert!(!runs(&pid));
}

// contract: B6
#[tokio::test]
async fn one_that_held_a_pipe_and_has_ended_is_not_counted_any_more() {
    let wait = "until [ -e $0 ]; do sleep 0.01; done; echo late";
    let folder = tempfile::tempdir().unwrap();
    let go = folder.path().join("go");
    let process = start(&format!("setsid bash -c '{wait}' {} & echo $!", go.display()));
    soon(process.wait_exited()).await;
    let pid = stray(&process).await;
    until(|| process.left().strays > 0).await;
    fs::write(go, "").unwrap();
    let closed = soon(process.done()).await;
    assert_eq!(summary(closed), (Exit::Code(0), false, true));
    assert_eq!(closed.left, Left::default());
    assert_eq!(whole(&process), format!("{pid}\nlate\n"));
}

// contract: B5
#[tokio::test]
async fn one_that_holds_a_pipe_can_be_ended_while_it_is_waited_for() {
    let process = start("setsid sleep 1000 & echo $!");
    soon(process.wait_exited()).await;
    let pid = stray(&process).await;
    process.terminate();
    let closed = soon(process.done()).await;
    assert_eq!(summary(closed), (Exit::Code(0), true, true));
    assert_eq!(closed.left, Left::default());
    assert!(!runs(&pid));
}

// contract: B6
#[tokio::test]
async fn the_mark_cannot_be_set_by_the_environment_and_names_the_outer_runtime() {
    let mut spec = spec("echo $LONGRUN_TASK");
    spec.env.push(("LONGRUN_TASK".into(), "forged/1".into()));
    let process = Process::spawn(&spec).unwrap();
    soon(process.done()).await;
    let text = whole(&process);
    let own = match std::env::var("LONGRUN_TASK") {
        Ok(outer) => text.strip_prefix(&format!("{outer}:")).unwrap(),
        Err(_) => &text,
    };
    let (nonce, serial) = own.trim().split_once('/').unwrap();
    assert_eq!(nonce, super::marker::nonce());
    assert!(serial.parse::<u64>().is_ok(), "{text}");
}

// contract: B6
#[test]
fn a_runtime_inside_a_task_appends_its_mark() {
    again(
        &["LONGRUN_TASK=outer/1"],
        &[
            "the_mark_cannot_be_set_by_the_environment_and_names_the_outer_runtime",
            "a_request_ends_a_daemon_too",
        ],
    );
}

// contract: B6
// contract: B7
#[tokio::test]
async fn a_stray_may_write_after_the_end_for_as_long_as_the_handle_lives() {
    let folder = tempfile::tempdir().unwrap();
    let script = "mkfifo gate; exec 3<>gate
        setsid bash -c 'exec 2>/dev/null; echo $$; echo up >up; read x <gate; seq 100000
            echo >wrote; exec sleep 1000' &
        until [ -s up ]; do sleep 0.01; done; exit 0";
    let mut spec = spec(script);
    (spec.cwd, spec.drain) = (folder.path().to_owned(), Duration::ZERO);
    let process = Process::spawn(&spec).unwrap();
    let closed = soon(process.done()).await;
    assert_eq!((closed.drained, closed.left.strays), (false, 1));
    let read = whole(&process);
    // More than a pipe holds.
    fs::write(folder.path().join("gate"), "x\n").unwrap();
    until(|| folder.path().join("wrote").exists()).await;
    assert_eq!(whole(&process), read, "nothing comes after the end");
    drop(process);
    until(|| !runs(read.trim())).await;
}
