//! What is left when all is over: nothing.

use std::collections::HashSet;

use tokio::runtime::Builder;

use super::*;

/// Set where a test runs in a process of its own.
const ALONE: &str = "LONGRUN_TEST_ALONE";

fn open_fds() -> HashSet<PathBuf> {
    fs::read_dir("/proc/self/fd")
        .unwrap()
        .filter_map(|entry| fs::read_link(entry.unwrap().path()).ok())
        .filter(|target| {
            let target = target.to_string_lossy();
            target.starts_with("pipe:") || target.contains("pidfd")
        })
        .collect()
}

// contract: T2
#[test]
fn two_hundred_fast_processes_leave_nothing() {
    // Counting needs a process to itself.
    if std::env::var_os(ALONE).is_none() {
        return again(&[&format!("{ALONE}=1")], &["two_hundred_fast_processes_leave_nothing"]);
    }
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let before = open_fds();
        let running: Vec<_> =
            (0..200).map(|i| (i % 64, start(&format!("echo {i}; exit {}", i % 64)))).collect();
        for (code, process) in &running {
            assert_eq!(soon(process.done()).await.exit, Exit::Code(*code));
            assert!(whole(process).ends_with('\n'));
        }
        drop(running);
        // The last tasks may still be putting their descriptors away.
        soon(async {
            while open_fds() != before {
                tokio::task::yield_now().await;
            }
        })
        .await;
        assert_eq!(children(), Vec::<String>::new());
    });
}

// contract: T2
#[test]
fn dropping_the_handle_kills_the_session() {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let process = start("trap '' TERM; (set -m; sleep 1000 & echo $!; wait); wait");
        let pid = line(&process).await;
        let done = process.done();
        let leader = process.pid();
        drop(process);
        assert_eq!(soon(done).await.exit, KILLED);
        assert!(!runs(&pid) && !exists(leader));
    });
}

// contract: T2
#[test]
fn shutting_the_runtime_down_kills_and_reaps() {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (process, pid) = runtime.block_on(async {
        let process = start("trap '' TERM; (set -m; sleep 1000 & echo $!; wait); wait");
        let pid = line(&process).await;
        (process, pid)
    });
    let done = process.done();
    drop(runtime);
    assert!(!runs(&pid) && !exists(process.pid()));
    assert_eq!(process.closed().map(|closed| closed.exit), Some(KILLED));
    let other = Builder::new_current_thread().build().unwrap();
    assert_eq!(other.block_on(done).exit, KILLED);
}

// contract: T2
#[test]
fn a_runtime_that_ends_before_its_task_ran_leaves_nothing() {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let process = {
        let _context = runtime.enter();
        start("sleep 1000")
    };
    drop(runtime);
    assert!(!exists(process.pid()));
}
