//! Starts where the system has nothing left to start with.

use std::os::fd::OwnedFd;

use tokio::runtime::Builder;

use super::*;

/// Set where the limit is low.
const LOW: &str = "LONGRUN_TEST_LOW";

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Takes all that are left.
fn hoard() -> Vec<OwnedFd> {
    std::iter::from_fn(|| fs::File::open("/dev/null").ok().map(OwnedFd::from)).collect()
}

// contract: B4
// contract: S3
#[test]
fn without_descriptors_a_start_says_so_and_leaves_nothing() {
    if std::env::var_os(LOW).is_none() {
        let low = ["bash", "-c", "ulimit -n 64; exec \"$@\"", "bash", "env", "LONGRUN_TEST_LOW=1"];
        return again_in(&low, &["without_descriptors_a_start_says_so_and_leaves_nothing"]);
    }
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let before = descriptors();
        let mut hoard = hoard();
        let mut refused = 0;
        // With each descriptor more it fails at a later step, and at last succeeds.
        let process = loop {
            match Process::spawn(&spec("echo up; read x < <(sleep 1000)")) {
                Ok(process) => break process,
                Err(error) => {
                    let text = error.to_string();
                    assert!(text.contains("too many open files"), "{text}");
                    assert!(text.contains("ulimit -n"), "{text}");
                    let short = Resource::Descriptors;
                    assert!(matches!(error, SpawnError::Exhausted { short: s, .. } if s == short));
                }
            }
            refused += 1;
            // The guardian's watch puts its descriptor away in its own time.
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
            drop(hoard.pop().unwrap());
            // To look takes some too.
            if refused > 5 {
                assert_eq!(children(), Vec::<String>::new());
            }
        };
        assert!(refused > 5, "{refused}");
        // It goes on, and ends, when there are descriptors again.
        drop(hoard);
        line(&process).await;
        process.terminate();
        assert_eq!(soon(process.done()).await.left, Left::default());
        drop(process);
        until(|| descriptors() == before).await;
        assert_eq!(children(), Vec::<String>::new());
    });
}

// contract: T3
#[test]
fn a_start_that_had_no_guardian_has_one_from_the_next_start_on() {
    if std::env::var_os(LOW).is_none() {
        let low = ["bash", "-c", "ulimit -n 64; exec \"$@\"", "bash", "env", "LONGRUN_TEST_LOW=1"];
        return again_in(&low, &["a_start_that_had_no_guardian_has_one_from_the_next_start_on"]);
    }
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let hoard = hoard();
        let first = Charge::take(&Handle::current(), Duration::ZERO);
        drop(hoard);
        assert_eq!(children(), Vec::<String>::new());
        let second = Charge::take(&Handle::current(), Duration::ZERO);
        assert_eq!(children().len(), 1);
        drop((first, second));
        assert_eq!(children(), Vec::<String>::new());
    });
}

// contract: B4
#[test]
fn what_there_was_not_enough_of_is_named() {
    let cases = [
        (rustix::io::Errno::AGAIN, "too many processes", "ulimit -u"),
        (rustix::io::Errno::NFILE, "too many open files", "ulimit -n"),
        (rustix::io::Errno::NOMEM, "not enough memory", "end other tasks"),
    ];
    for (error, what, remedy) in cases {
        let text = spawn::failure(&spec("true"), error.into()).to_string();
        assert!(text.contains(what) && text.contains(remedy), "{text}");
    }
}
