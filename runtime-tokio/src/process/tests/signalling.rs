//! Who is signalled, and who never.

use std::collections::HashMap;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI32, Ordering};

use rustix::io::Errno;
use rustix::process::{Pid, Signal};

use super::ending::again_in_a_namespace;
use super::session::{Census, Family, Member};
use super::told::Told;
use super::*;

/// Notes who is signalled, and signals.
#[derive(Debug, Default)]
struct Recorder(Mutex<Vec<i32>>);

impl Recorder {
    fn note(&self, pid: i32) {
        self.0.lock().unwrap().push(pid);
    }

    fn signalled(&self) -> Vec<i32> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl Signaller for Recorder {
    fn to_process(&self, pidfd: &OwnedFd, signal: Signal) -> Result<(), Errno> {
        self.note(pid_of(pidfd));
        Kernel.to_process(pidfd, signal)
    }

    fn to_group(&self, group: Pid, signal: Signal) -> Result<(), Errno> {
        self.note(group.as_raw_nonzero().get());
        Kernel.to_group(group, signal)
    }
}

fn pid_of(pidfd: &OwnedFd) -> i32 {
    let info = fs::read_to_string(format!("/proc/self/fdinfo/{}", pidfd.as_raw_fd())).unwrap();
    let pid = info.lines().find_map(|line| line.strip_prefix("Pid:")).unwrap();
    pid.trim().parse().unwrap()
}

/// Signals all but one process, which stands for one that hangs in the kernel.
#[derive(Debug, Default)]
pub(crate) struct Sparing(AtomicI32);

impl Sparing {
    /// A process of which it spares the leader, and how to spare it no longer.
    pub(crate) fn leader_of(spec: &ProcessSpec) -> (Process, impl FnOnce() + use<>) {
        let sparing: &'static Self = Box::leak(Box::default());
        let process = Process::spawn_with(spec, Input::Given, sparing).unwrap().0;
        sparing.0.store(process.pid().cast_signed(), Ordering::SeqCst);
        (process, || sparing.0.store(0, Ordering::SeqCst))
    }

    fn spares(&self, pid: i32) -> bool {
        self.0.load(Ordering::SeqCst) == pid
    }
}

impl Signaller for Sparing {
    fn to_process(&self, pidfd: &OwnedFd, signal: Signal) -> Result<(), Errno> {
        if self.spares(pid_of(pidfd)) { Ok(()) } else { Kernel.to_process(pidfd, signal) }
    }

    fn to_group(&self, group: Pid, signal: Signal) -> Result<(), Errno> {
        if self.spares(group.as_raw_nonzero().get()) {
            Ok(())
        } else {
            Kernel.to_group(group, signal)
        }
    }
}

/// Signals nobody else before the leader has ended of the signal to its group.
#[derive(Debug)]
struct Slow;

impl Signaller for Slow {
    fn to_process(&self, pidfd: &OwnedFd, signal: Signal) -> Result<(), Errno> {
        Kernel.to_process(pidfd, signal)
    }

    fn to_group(&self, group: Pid, signal: Signal) -> Result<(), Errno> {
        Kernel.to_group(group, signal)?;
        let leader = rustix::process::pidfd_open(group, rustix::process::PidfdFlags::empty())?;
        pidfd::wait_until(&leader, Instant::now() + PATIENCE);
        Ok(())
    }
}

fn kill(pid: &str) {
    let killed = std::process::Command::new("kill").args(["-KILL", pid]).status().unwrap();
    assert!(killed.success());
}

// contract: B5
#[tokio::test]
async fn what_does_not_yield_to_sigkill_is_told_and_keeps_its_task_open() {
    let sparing: &'static Sparing = Box::leak(Box::default());
    let mut spec = spec("exec sleep 1000");
    spec.grace = Duration::ZERO;
    let process = Process::spawn_with(&spec, Input::Given, sparing).unwrap().0;
    sparing.0.store(process.pid().cast_signed(), Ordering::SeqCst);
    process.terminate();
    until(|| process.signals() == Signals::Kill && process.left().members == 1).await;
    assert_eq!((process.exited(), process.closed()), (None, None));
    kill(&process.pid().to_string());
    assert_eq!(summary(soon(process.done()).await), (KILLED, true, true));
}

// contract: B5
// contract: B6
#[tokio::test]
async fn a_stray_that_does_not_yield_is_given_up_and_counted() {
    let sparing: &'static Sparing = Box::leak(Box::default());
    let mut spec = spec("(setsid sleep 1000 > /dev/null 2>&1 & echo $!); exec sleep 1000");
    spec.grace = Duration::from_millis(10);
    let process = Process::spawn_with(&spec, Input::Given, sparing).unwrap().0;
    let (pid, leader) = (line(&process).await, process.pid().to_string());
    until(|| runs(&pid) && session_of(&pid) != leader).await;
    sparing.0.store(pid.parse().unwrap(), Ordering::SeqCst);
    process.terminate();
    let closed = soon(process.done()).await;
    assert_eq!(summary(closed), (TERMINATED, true, true));
    assert_eq!(closed.left, Left { members: 0, strays: 1 });
    assert!(runs(&pid));
    sparing.0.store(0, Ordering::SeqCst);
    drop(process);
    assert!(!runs(&pid));
}

fn recorded(script: &str) -> (Custody, i32, &'static Recorder) {
    let Spawned { kin, pidfd, kept, .. } = spawn::spawn(&spec(script), Input::Given).unwrap();
    let recorder: &'static Recorder = Box::leak(Box::default());
    let pid = kin.session.as_raw_nonzero().get();
    (Custody::new(kin, pidfd.map(Arc::new), kept, recorder), pid, recorder)
}

// contract: B5
#[tokio::test]
async fn what_is_started_to_clean_up_is_not_signalled_before_the_kill() {
    let folder = tempfile::tempdir().unwrap();
    let inner = "echo >$1; read x <gate; echo >cleaned-$1";
    fs::write(folder.path().join("inner"), inner).unwrap();
    let script = "mkfifo gate; exec 3<>gate
        trap 'sh inner near & (set -m; sh inner far & wait); wait; exit 3' TERM
        echo >up; while :; do sleep 0.01; done";
    let (cwd, seen) = (folder.path().to_owned(), |name: &str| folder.path().join(name).exists());
    let Spawned { kin, pidfd, kept, stdout: _out, stderr: _err, .. } =
        spawn::spawn(&ProcessSpec { cwd, ..spec(script) }, Input::Given).unwrap();
    let custody = Custody::new(kin, pidfd.map(Arc::new), kept, &Kernel);
    let mut told = Told::default();
    let mut tell = |signal| {
        let family = custody.find(&Census::take(Some(kin.started)).unwrap());
        custody.signal(&family, &mut told, signal).unwrap()
    };
    until(|| seen("up")).await;
    assert_ne!(tell(Signal::TERM), 0);
    until(|| seen("near") && seen("far")).await;
    assert_eq!(tell(Signal::TERM), 0);
    fs::write(folder.path().join("gate"), "x\nx\n").unwrap();
    until(|| seen("cleaned-near") && seen("cleaned-far")).await;
    custody.kill_until_gone();
    custody.release();
}

// contract: B5
#[tokio::test]
async fn what_is_stopped_may_clean_up_though_its_leader_has_ended() {
    // It has a child in another group, which is no work of its handler.
    let script = "set -m; handle() { trap 'echo cleaned; exit' TERM; }
        (set -m; handle; (handle; echo up; while :; do sleep 0.01; done) &
         kill -STOP $BASHPID; sleep 1000) & echo $!; sleep 1000; :";
    let process = Process::spawn_with(&spec(script), Input::Given, &Slow).unwrap().0;
    let up = output(&process, |text| text.contains("up") && text.lines().count() > 1).await;
    let stopped = up.lines().find(|line| *line != "up").unwrap();
    until(|| fs::read_to_string(format!("/proc/{stopped}/stat")).unwrap().contains(") T ")).await;
    process.terminate();
    assert_eq!(soon(process.done()).await.exit, TERMINATED);
    assert_eq!(whole(&process).matches("cleaned").count(), 2);
}

/// Whoever must not be signalled, whatever a look may say of their sessions.
fn strangers(session: i32) -> Family {
    let own = std::process::id().cast_signed();
    let pids = [0, 1, -1, 2, own, session];
    let members = pids.map(|pid| Member::imagine(pid, session, 0)).to_vec();
    let strays = [(0, 0), (1, 1), (-1, -1), (own, own), (own, session)];
    let strays = strays.map(|(pid, session)| Member::imagine(pid, session, 0)).to_vec();
    let stopped = members.iter().chain(&strays).copied().collect();
    Family { members, strays, ties: HashMap::new(), stopped, whole: true }
}

// contract: B5
#[test]
fn while_the_leader_is_unreaped_its_own_processes_alone_are_signalled() {
    let (custody, pid, recorder) = recorded("exec sleep 1000");
    custody.signal(&strangers(pid), &mut Told::default(), Signal::CONT).unwrap();
    assert_eq!(recorder.signalled(), Vec::<i32>::new());
    custody.signal(&strangers(pid), &mut Told::default(), Signal::TERM).unwrap();
    custody.kill_until_gone();
    let signalled = recorder.signalled();
    assert!(!signalled.is_empty() && signalled.iter().all(|found| *found == pid), "{signalled:?}");
    custody.release();
}

// contract: B5
#[test]
fn after_the_leader_has_been_reaped_nothing_is_signalled() {
    let (custody, pid, recorder) = recorded("exit 0");
    pidfd::wait_until(&custody.leader().unwrap(), Instant::now() + PATIENCE);
    assert_eq!(custody.release(), (Exit::Code(0), true));
    custody.signal_leaders_group(Signal::KILL);
    custody.kill_now();
    custody.kill_until_gone();
    for signal in [Signal::TERM, Signal::KILL] {
        custody.signal(&strangers(pid), &mut Told::default(), signal).unwrap();
    }
    assert_eq!(custody.count_members().unwrap(), 0);
    assert_eq!(recorder.signalled(), Vec::<i32>::new());
}

// contract: B5
#[test]
fn a_stranger_that_got_the_number_of_an_ended_process_lives() {
    if std::env::var_os("RENUMBERED").is_none() {
        let name = "a_stranger_that_got_the_number_of_an_ended_process_lives";
        return again_in_a_namespace(&["--mount-proc", "env", "RENUMBERED=1"], &[name]);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        // A daemon is left, so that the drop has somebody to end.
        let process = start("(setsid sleep 1000 > /dev/null 2>&1 &); exit 0");
        soon(process.done()).await;
        let mut stranger = started_as(process.pid());
        assert!(!process.terminate());
        assert_eq!(process.live_members().unwrap(), 0);
        assert_eq!(process.live_members_lately().unwrap(), 0);
        drop(process);
        // It would have been signalled by now, and a SIGKILL leaves nothing to run.
        assert!(runs(&stranger.id().to_string()));
        stranger.kill().unwrap();
        stranger.wait().unwrap();
    });
}

/// Starts a program, leading a session, with that pid.
fn started_as(pid: u32) -> std::process::Child {
    for _ in 0..100 {
        fs::write("/proc/sys/kernel/ns_last_pid", (pid - 1).to_string()).unwrap();
        let mut command = std::process::Command::new("setsid");
        let mut child = command.args(["sleep", "1000"]).arg0("setsid").spawn().unwrap();
        if child.id() == pid {
            return child;
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    panic!("the number was never given again");
}
