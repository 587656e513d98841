//! What a process starts with, and why it may not start.

use std::ffi::OsString;
use std::os::fd::AsRawFd;

use super::*;

// contract: B2
#[tokio::test]
async fn nothing_of_the_host_is_inherited() {
    let leak = fs::File::open("/dev/null").unwrap();
    rustix::io::fcntl_setfd(&leak, rustix::io::FdFlags::empty()).unwrap();
    // `exec` so that the shell's own handling of signals does not show.
    let process = start("ls /proc/self/fd; exec cat /proc/self/status");
    soon(process.done()).await;
    let text = whole(&process);
    let fds: Vec<_> = text.lines().take_while(|line| !line.starts_with("Name")).collect();
    // The fourth is the folder that `ls` reads.
    assert_eq!(fds, ["0", "1", "2", "3"]);
    assert!(leak.as_raw_fd() > 2);
    for field in ["SigBlk", "SigIgn", "SigCgt"] {
        let found = text.lines().find(|line| line.starts_with(field)).unwrap();
        assert_eq!(found.trim_end_matches('0'), format!("{field}:\t"), "{found}");
    }
}

// contract: B2
#[test]
fn signals_that_the_host_ignores_or_blocks_reach_the_process() {
    again(
        &["--ignore-signal=PIPE,HUP,INT,TERM,USR1", "--block-signal=TERM,USR2,PIPE"],
        &["nothing_of_the_host_is_inherited", "it_may_clean_up_after_sigterm"],
    );
}

// contract: B2
#[tokio::test]
async fn it_leads_its_own_session_without_a_terminal() {
    let process = start("cat /proc/$$/stat; : < /dev/tty || echo no terminal");
    soon(process.done()).await;
    let text = whole(&process);
    let pid = process.pid().to_string();
    let fields: Vec<_> = text.split_whitespace().collect();
    assert_eq!([fields[0], fields[4], fields[5], fields[6]], [&pid, &pid, &pid, "0"]);
    assert!(text.ends_with("no terminal\n"));
}

// contract: B2
#[tokio::test]
async fn its_input_is_empty_or_what_was_given() {
    let process = start("cat; echo done");
    soon(process.done()).await;
    assert_eq!(whole(&process), "done\n");

    let mut spec = spec("wc -c");
    spec.stdin = Some(vec![b'x'; 300_000]);
    let process = Process::spawn(&spec).unwrap();
    soon(process.done()).await;
    assert_eq!(whole(&process).trim(), "300000");
}

// contract: B4
#[tokio::test]
async fn what_cannot_start_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let try_in = |path: &Path| {
        let spec = ProcessSpec { cwd: path.to_owned(), ..spec("true") };
        Process::spawn(&spec).unwrap_err().to_string()
    };
    assert!(try_in(&folder.path().join("gone")).starts_with("no working directory"));
    assert!(try_in(&file).contains("is not a directory"));
    assert!(try_in(&file.join("below")).contains("is not a directory"));

    let try_program = |program: &OsString| {
        let spec = ProcessSpec { program: program.clone(), ..spec("true") };
        Process::spawn(&spec).unwrap_err().to_string()
    };
    assert!(try_program(&"no-such-shell".into()).contains("in PATH"));
    assert!(try_program(&folder.path().join("gone").into()).contains("expected an executable"));
    assert!(try_program(&file.into()).contains("may not be run"));

    let long = "x".repeat(200_000);
    assert!(Process::spawn(&spec(&long)).unwrap_err().to_string().contains("too long"));
}

// contract: B4
#[test]
fn outside_a_runtime_nothing_starts() {
    assert!(matches!(Process::spawn(&spec("true")), Err(SpawnError::NoRuntime)));
}
