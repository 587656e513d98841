//! Real processes. Every wait is for a fact, bounded generously.

mod conversation;
mod costs;
mod ending;
mod guardian;
mod limits;
mod orphans;
mod output;
pub(crate) mod signalling;
mod starting;
mod strays;
mod teardown;

use std::fs;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tokio::time::timeout;

use super::*;

/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn spec(script: &str) -> ProcessSpec {
    let path = std::env::var_os("PATH").unwrap_or_default();
    ProcessSpec {
        program: "bash".into(),
        args: vec!["-c".into(), script.into()],
        cwd: PathBuf::from("/"),
        env: vec![("PATH".into(), path)],
        stdin: None,
        memory_bytes: 64_000,
        spill: None,
        grace: PATIENCE,
        drain: PATIENCE,
    }
}

fn start(script: &str) -> Process {
    Process::spawn(&spec(script)).unwrap()
}

async fn soon<T>(future: impl Future<Output = T>) -> T {
    timeout(PATIENCE, future).await.expect("a fact that never came")
}

/// What it has written to standard output once that satisfies `enough`.
async fn output(process: &Process, enough: impl Fn(&str) -> bool) -> String {
    soon(async {
        loop {
            let text = whole(process);
            if enough(&text) || process.closed().is_some() {
                return text;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await
}

fn whole(process: &Process) -> String {
    String::from_utf8(process.read_bytes(Stream::Stdout, 0).bytes).unwrap()
}

async fn line(process: &Process) -> String {
    output(process, |text| text.contains('\n')).await.lines().next().unwrap_or_default().to_owned()
}

/// Whether a process runs; a zombie does not.
fn runs(pid: &str) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap().trim_start().starts_with(['Z', 'X']))
}

/// Whether our child with that pid is unreaped or running.
fn exists(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

/// How it ended, whether that was asked for, whether all output was read. It was certain
/// that its session was empty, and the leader was reaped if it had a status.
fn summary(closed: Closed) -> (Exit, bool, bool) {
    assert!(closed.empty && closed.left.members == 0, "{closed:?}");
    assert_eq!(closed.reaped, closed.exit != Exit::Unavailable, "{closed:?}");
    (closed.exit, closed.terminated, closed.drained)
}

/// The session that a process is in now.
fn session_of(pid: &str) -> String {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let mut fields = stat.rsplit(')').next().unwrap().split_whitespace();
    fields.nth(3).unwrap_or_default().to_owned()
}

/// Waits for something that is to be seen from the outside.
async fn until(seen: impl Fn() -> bool) {
    soon(async {
        while !seen() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
}

/// Our children, running or not.
fn children() -> Vec<String> {
    children_of("self")
}

fn children_of(pid: &str) -> Vec<String> {
    let mut found = Vec::new();
    for task in fs::read_dir(format!("/proc/{pid}/task")).unwrap() {
        let text = fs::read_to_string(task.unwrap().path().join("children")).unwrap_or_default();
        found.extend(text.split_whitespace().map(str::to_owned));
    }
    found
}

const fn signal(signal: rustix::process::Signal) -> Exit {
    Exit::Signal(SignalNumber(signal.as_raw()))
}

const KILLED: Exit = signal(rustix::process::Signal::KILL);
const TERMINATED: Exit = signal(rustix::process::Signal::TERM);

/// Runs tests of this binary again, in a host that ignores and blocks signals, say: a
/// process does that as a whole, so it cannot be tried in this one.
fn again(options: &[&str], tests: &[&str]) {
    again_in(&[&["env"], options].concat(), tests);
}

/// The same under that command.
fn again_in(command: &[&str], tests: &[&str]) {
    let run = std::process::Command::new(command[0])
        .args(&command[1..])
        .arg(std::env::current_exe().unwrap())
        .args(tests)
        .arg("--nocapture")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&run.stdout);
    let passed = format!("{} passed", tests.len());
    assert!(run.status.success() && text.contains(&passed), "{text}");
    print!("{text}");
}
