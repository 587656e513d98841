//! A host that becomes the parent of those who lost theirs.

use rustix::process::Pid;

use super::ending::again_in_a_namespace;
use super::*;

/// What a process is that runs a test again.
const HEIR: &str = "LONGRUN_TEST_HEIR";

/// Runs that test again, as the first process of a pid namespace and as a subreaper. True in
/// there.
fn is_heir(name: &str) -> bool {
    let own = rustix::process::getpid();
    match std::env::var(HEIR).as_deref() {
        Ok("first") => assert_eq!(own, Pid::INIT),
        Ok(_) => rustix::process::set_child_subreaper(Some(own)).unwrap(),
        Err(_) => {
            let first = format!("{HEIR}=first");
            again_in_a_namespace(&["--mount-proc", "env", &first], &[name]);
            again(&[&format!("{HEIR}=subreaper")], &[name]);
            return false;
        }
    }
    assert!(inherits_orphans());
    true
}

/// Our children that nobody has reaped.
fn zombies() -> Vec<u32> {
    let own = std::process::id().to_string();
    let pids = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let pid = entry.unwrap().file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let mut fields = stat.rsplit(')').next()?.split_whitespace();
        (fields.next() == Some("Z") && fields.next() == Some(&own)).then_some(pid)
    });
    pids.collect()
}

// contract: T2, B4, B5
#[tokio::test]
async fn orphans_are_reaped_when_they_end_and_a_leader_when_its_session_is_empty() {
    if !is_heir("orphans_are_reaped_when_they_end_and_a_leader") {
        return;
    }
    let _reaper = reap_orphans().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut spec = spec(
        "hold() { until [ -e $1 ]; do sleep 0.01; done; }; export -f hold
         (bash -c 'echo $$; hold first' &); (setsid -f bash -c 'echo $$; hold first')
         hold last & exit 5",
    );
    spec.cwd = folder.path().into();
    let process = Process::spawn(&spec).unwrap();
    assert_eq!(soon(process.wait_exited()).await, Exit::Code(5));
    let text = output(&process, |text| text.lines().count() == 2).await;
    let orphans: Vec<u32> = text.lines().map(|pid| pid.parse().unwrap()).collect();
    assert!(orphans.iter().all(|pid| exists(*pid)));

    fs::write(folder.path().join("first"), "").unwrap();
    until(|| !orphans.iter().any(|pid| exists(*pid))).await;
    assert_eq!(zombies(), [process.pid()], "the leader stays");
    assert!(process.closed().is_none() && process.live_members().unwrap() > 0);

    fs::write(folder.path().join("last"), "").unwrap();
    assert_eq!(summary(soon(process.done()).await), (Exit::Code(5), false, true));
    until(|| zombies().is_empty()).await;
}

// contract: T2, B4
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_status_is_lost_while_orphans_are_reaped() {
    if !is_heir("no_status_is_lost_while_orphans_are_reaped") {
        return;
    }
    let _reaper = reap_orphans().unwrap();
    let tasks = (0..100).map(|code| {
        tokio::spawn(async move {
            let script = format!("(true &); (setsid -f true); (true &); exit {code}");
            let process = start(&script);
            // A child that executes nothing is waited for by the one who forked it.
            let absent = ProcessSpec { program: "longrun-no-such-program".into(), ..spec("") };
            let error = Process::spawn(&absent).unwrap_err();
            assert!(matches!(error, SpawnError::NoProgram { .. }), "{error}");
            assert_eq!(summary(soon(process.done()).await).0, Exit::Code(code));
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    until(|| zombies().is_empty()).await;
}
