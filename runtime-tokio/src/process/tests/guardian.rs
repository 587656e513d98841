//! What becomes of the processes of a host that has died. The host is this binary again.

use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};

use tokio::runtime::{Builder, Runtime};

use super::*;

/// In a host: the folder where it says what it has started.
const HOST: &str = "LONGRUN_TEST_HOST";

/// One that obeys, one that does not, five that clean up, and one that left the session.
const SCRIPTS: [&str; 8] = [
    "echo $$; exec sleep 1000",
    "trap '' TERM; echo $$; while :; do sleep 0.01; done",
    // What it starts to clean up lives long enough for several looks. It writes before: the
    // shell also does, of the sleep that was ended.
    "trap 'echo ending; echo ending >&2; sleep 0.7 && echo cleaned > $FOLDER/cleaned; exit' TERM
     echo $$; while :; do sleep 0.01; done",
    // Here a child alone has the pipes.
    "(trap 'echo ending; echo ending >&2; echo cleaned > $FOLDER/child; exit' TERM
         echo $BASHPID; while :; do sleep 0.01; done) & exec > /dev/null 2>&1; wait",
    // What one writes to another is not taken away.
    "exec 3>&1; (trap 'seq 20000; exit' TERM; echo $BASHPID >&3; while :; do sleep 0.01; done) |
         (trap '' TERM; cat > $FOLDER/unpiped; echo ending
         [ $(wc -l < $FOLDER/unpiped) = 20000 ] && echo > $FOLDER/piped)",
    // Cleaning up in a session of its own, where what is started has children too.
    "setsid bash -c '
         trap \"echo ending; bash -c \\\"sleep 0.7; : & wait; echo cleaned > $FOLDER/far\\\"; exit\" TERM
         echo $$; while :; do sleep 0.01; done' & exec sleep 1000",
    // And stopped, in a group whose tie to the session is a process that obeys: a shell, for
    // before it executes something else it continues what is stopped.
    "set -m; (trap 'echo cleaned > $FOLDER/stopped; exit' TERM; kill -STOP $BASHPID; sleep 9) &
     until grep -q ') T ' /proc/$!/stat; do sleep 0.01; done; echo $!; sleep 1000; :",
    "(setsid bash -c 'trap \"\" TERM; echo $$; while :; do sleep 0.01; done' 2> /dev/null &)
     exec sleep 1000",
];

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

fn is_guardian(pid: &str) -> bool {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).contains("longrun-guardian")
}

/// Everybody who runs.
fn living() -> Vec<String> {
    let names = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.file_name());
    names.filter_map(|name| name.into_string().ok()).filter(|pid| runs(pid)).collect()
}

fn guardian() -> Option<String> {
    children().into_iter().find(|pid| is_guardian(pid) && runs(pid))
}

/// Starts everything, says the pids of it and of the guardian, and runs `end`.
fn be_host(folder: &Path, end: impl FnOnce(&[Process])) {
    let runtime = runtime();
    runtime.block_on(async {
        let mut pids = Vec::new();
        let mut processes = Vec::new();
        for script in SCRIPTS {
            let mut spec = spec(script);
            // Enough for a trap to run on a machine that is busy with much else.
            spec.grace = Duration::from_secs(4);
            spec.env.push(("FOLDER".into(), folder.into()));
            let process = Process::spawn(&spec).unwrap();
            pids.extend([line(&process).await, process.pid().to_string()]);
            processes.push(process);
        }
        pids.push(guardian().unwrap());
        fs::write(folder.join("unready"), pids.join("\n")).unwrap();
        fs::rename(folder.join("unready"), folder.join("ready")).unwrap();
        end(&processes);
    });
}

/// A host that runs that test, with a pipe that ends it should we die.
fn start_host(test: &str, folder: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("process::tests::guardian::{test}")])
        .env(HOST, folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// What the host has started, all of it running.
async fn ready(folder: &Path) -> Vec<String> {
    let path = folder.join("ready");
    until(|| path.exists()).await;
    fs::read_to_string(path).unwrap().lines().map(ToOwned::to_owned).collect()
}

fn wait_for_the_end_of_the_test() {
    let _ = std::io::stdin().read(&mut [0]);
}

async fn nothing_is_left(folder: &Path, pids: &[String]) {
    until(|| !pids.iter().any(|pid| runs(pid))).await;
    // SIGTERM came first, and it took neither a reader nor what was written to somebody else.
    for name in ["cleaned", "child", "piped", "far", "stopped"] {
        assert!(folder.join(name).exists(), "{name}");
    }
    // The guardian comes last of them, and with it go the readers.
    let guardian = pids.last().unwrap();
    until(|| !living().iter().any(|pid| session_of(pid) == *guardian)).await;
}

// contract: T3
#[test]
fn a_killed_host_leaves_nothing_beyond_the_grace() {
    if let Some(folder) = std::env::var_os(HOST) {
        return be_host(Path::new(&folder), |_| wait_for_the_end_of_the_test());
    }
    let folder = tempfile::tempdir().unwrap();
    let mut host = start_host("a_killed_host_leaves_nothing_beyond_the_grace", folder.path());
    runtime().block_on(async {
        let pids = ready(folder.path()).await;
        assert!(pids.iter().all(|pid| runs(pid)), "{pids:?}");
        host.kill().unwrap();
        host.wait().unwrap();
        nothing_is_left(folder.path(), &pids).await;
    });
}

// contract: T3
#[test]
fn an_aborted_host_leaves_nothing() {
    if let Some(folder) = std::env::var_os(HOST) {
        return be_host(Path::new(&folder), |_| std::process::abort());
    }
    let folder = tempfile::tempdir().unwrap();
    let mut host = start_host("an_aborted_host_leaves_nothing", folder.path());
    runtime().block_on(async {
        let pids = ready(folder.path()).await;
        assert!(!host.wait().unwrap().success());
        nothing_is_left(folder.path(), &pids).await;
    });
}

// contract: T3
#[test]
fn a_guardian_that_was_killed_is_replaced_and_knows_all() {
    if let Some(folder) = std::env::var_os(HOST) {
        return be_host(Path::new(&folder), |_| wait_for_the_end_of_the_test());
    }
    let folder = tempfile::tempdir().unwrap();
    let name = "a_guardian_that_was_killed_is_replaced_and_knows_all";
    let mut host = start_host(name, folder.path());
    runtime().block_on(async {
        let mut pids = ready(folder.path()).await;
        let first = pids.pop().unwrap();
        assert!(is_guardian(&first));
        assert!(Command::new("kill").args(["-KILL", &first]).status().unwrap().success());
        let parent = host.id().to_string();
        let next = || {
            let children = children_of(&parent);
            children.into_iter().find(|pid| *pid != first && is_guardian(pid))
        };
        until(|| next().is_some() && !Path::new(&format!("/proc/{first}")).exists()).await;
        pids.push(next().unwrap());
        host.kill().unwrap();
        host.wait().unwrap();
        nothing_is_left(folder.path(), &pids).await;
    });
}

// contract: T3
#[test]
fn a_guardian_is_not_ended_by_the_signals_of_a_terminal() {
    if let Some(folder) = std::env::var_os(HOST) {
        return be_host(Path::new(&folder), |_| wait_for_the_end_of_the_test());
    }
    let folder = tempfile::tempdir().unwrap();
    let name = "a_guardian_is_not_ended_by_the_signals_of_a_terminal";
    let mut host = start_host(name, folder.path());
    runtime().block_on(async {
        let pids = ready(folder.path()).await;
        let guardian = pids.last().unwrap();
        for signal in ["-INT", "-TERM", "-HUP", "-QUIT"] {
            assert!(Command::new("kill").args([signal, guardian]).status().unwrap().success());
        }
        assert_eq!(session_of(guardian), *guardian);
        let environment = fs::read_to_string(format!("/proc/{guardian}/environ")).unwrap();
        assert_eq!(environment, "");
        host.kill().unwrap();
        host.wait().unwrap();
        nothing_is_left(folder.path(), &pids).await;
    });
}

/// A guardian without a host.
fn script() -> Child {
    Command::new("/bin/sh")
        .args(["-c", crate::process::guardian::SCRIPT, "test", "no-such-nonce", "1"])
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// A program that leads a session, and when it started.
fn leader() -> (Child, String) {
    leader_of(&["sleep", "1000"])
}

fn leader_of(command: &[&str]) -> (Child, String) {
    let mut child = Command::new("setsid");
    let child = child.args(command).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let pid = child.id().to_string();
    runtime().block_on(until(|| session_of(&pid) == pid));
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let started = stat.rsplit(')').next().unwrap().split_whitespace().nth(19).unwrap();
    (child, started.to_owned())
}

// contract: T3
// contract: B5
#[test]
fn a_guardian_ends_whom_it_was_told_of_and_no_stranger_with_the_number() {
    let ((mut told, told_since), (mut stranger, since), (mut ended, ended_since)) =
        (leader(), leader(), leader());
    let mut guardian = script();
    let lines = format!(
        "+ {} {told_since} 1\n+ {} {ended_since} 1\n- {}\n+ {} 1{since} 1\n",
        told.id(),
        ended.id(),
        ended.id(),
        stranger.id()
    );
    guardian.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    // It waits for those whom nobody reaps.
    assert_eq!(told.wait().unwrap().signal(), Some(rustix::process::Signal::TERM.as_raw()));
    assert!(guardian.wait().unwrap().success());
    for other in [&mut stranger, &mut ended] {
        assert!(runs(&other.id().to_string()));
        other.kill().unwrap();
        other.wait().unwrap();
    }
}

/// Each process forks the next and ends, so that a look finds now one of them and now none.
/// There is an end to it, should nobody bring it.
const CHAIN: &str = "trap '' TERM; read go; n=0
    f() { sleep 0.005; n=$((n + 1)); [ $n -gt 20000 ] || f & }; f; exit 0";

// contract: T3
#[test]
fn a_guardian_ends_what_forks_and_ends_without_pause() {
    let (mut told, since) = leader_of(&["bash", "-c", CHAIN]);
    let session = rustix::process::Pid::from_child(&told);
    let mut guardian = script();
    let line = format!("+ {} {since} 1\n", told.id());
    guardian.stdin.as_ref().unwrap().write_all(line.as_bytes()).unwrap();
    told.stdin.take().unwrap().write_all(b"go\n").unwrap();
    let mut output = told.stdout.take().unwrap();
    assert!(told.wait().unwrap().success());
    drop(guardian.stdin.take());
    assert!(guardian.wait().unwrap().success());
    // The end of its output is the end of all who could write there.
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || tell.send(output.read_to_end(&mut Vec::new()).is_ok()));
    let ended = told.recv_timeout(Duration::from_secs(20));
    if ended.is_err() {
        let _ = rustix::process::kill_process_group(session, rustix::process::Signal::KILL);
    }
    assert_eq!(ended, Ok(true));
}

// contract: T3
#[test]
fn why_there_is_no_guardian_is_said() {
    let cases = [
        (rustix::io::Errno::MFILE, "too many open files", "ulimit -n"),
        (rustix::io::Errno::AGAIN, "too many processes", "ulimit -u"),
        (rustix::io::Errno::NOENT, "/bin/sh", "a shell is expected there"),
    ];
    for (error, what, remedy) in cases {
        let text = crate::process::guardian::unguarded(&error.into());
        assert!(text.contains(what) && text.contains(remedy), "{text}");
        assert_eq!(text.contains("shell"), error == rustix::io::Errno::NOENT, "{text}");
    }
}

// contract: T2
#[test]
fn the_guardian_comes_with_the_first_process_and_goes_with_the_last() {
    if std::env::var_os(HOST).is_none() {
        let name = "the_guardian_comes_with_the_first_process_and_goes_with_the_last";
        return again(&[&format!("{HOST}=/")], &[name]);
    }
    runtime().block_on(async {
        assert_eq!(children(), Vec::<String>::new());
        let first = start("exec sleep 1000");
        let seen = guardian().unwrap();
        let second = start("exit 0");
        soon(second.done()).await;
        assert_eq!(guardian().as_ref(), Some(&seen));
        first.terminate();
        soon(first.done()).await;
        // Both handles are still held; all of it has ended.
        assert_eq!(children(), Vec::<String>::new());
        // What left its session is guarded on.
        let third = start("(setsid sleep 1000 > /dev/null 2>&1 &)");
        assert_eq!(soon(third.done()).await.left.strays, 1);
        assert!(guardian().is_some());
        drop(third);
        until(|| children().is_empty()).await;
    });
}

// contract: T3
#[test]
fn a_host_can_do_without_the_guardian() {
    if std::env::var_os(HOST).is_none() {
        return again(&[&format!("{HOST}=/")], &["a_host_can_do_without_the_guardian"]);
    }
    runtime().block_on(async {
        let process = start("exec sleep 1000");
        assert!(guardian().is_some());
        disable_guardian();
        assert_eq!(guardian(), None);
        let other = start("exec sleep 1000");
        assert_eq!(guardian(), None);
        for process in [process, other] {
            process.terminate();
            soon(process.done()).await;
        }
        assert_eq!(children(), Vec::<String>::new());
    });
}
