//! Standard input and output that are not as usual.

use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader, Write},
    os::{fd::OwnedFd, unix::net::UnixStream},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::Instant,
};

use serde_json::{Value, json};

use super::driver::PATIENCE;

/// Starts a server on these.
fn start(stdin: impl Into<Stdio>, stdout: impl Into<Stdio>) -> Child {
    Command::new(env!("CARGO_BIN_EXE_longrun-under-test"))
        .arg("serve")
        .stdin(stdin)
        .stdout(stdout)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn ended(child: Child) -> (ExitStatus, String) {
    let output = child.wait_with_output().unwrap();
    (output.status, String::from_utf8(output.stderr).unwrap())
}

fn say(to: &mut impl Write, request: &Value) {
    writeln!(to, "{request}").unwrap();
}

fn hear(from: &mut impl BufRead) -> Value {
    let mut line = String::new();
    from.read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
}

fn call(tag: u32, command: &str) -> Value {
    json!({"op": "call", "owner": null, "tool": "bash", "args": {"command": command}, "tag": tag})
}

// contract: T1
#[test]
fn a_socket_that_does_not_block_is_waited_for() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let control = theirs.try_clone().unwrap();
    let mut child = start(OwnedFd::from(theirs.try_clone().unwrap()), OwnedFd::from(theirs));
    let mut reader = BufReader::new(ours.try_clone().unwrap());
    for (tag, blocks_not) in [(1, false), (2, true), (3, true), (4, false)] {
        // It is set for all who share it, at any time.
        control.set_nonblocking(blocks_not).unwrap();
        say(&mut &ours, &call(tag, "echo here"));
        let reply = hear(&mut reader);
        assert_eq!((&reply["tag"], &reply["content"][0]["text"]), (&json!(tag), &json!("here\n")));
        assert!(child.try_wait().unwrap().is_none());
    }
    control.set_nonblocking(true).unwrap();
    ours.shutdown(std::net::Shutdown::Write).unwrap();
    let (status, stderr) = ended(child);
    assert!(status.success() && stderr.is_empty(), "{status}: {stderr}");
}

// contract: T1
#[test]
fn a_slow_reader_of_what_does_not_block_gets_whole_lines() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    theirs.set_nonblocking(true).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let done = folder.path().join("done");
    let mut child = start(Stdio::piped(), OwnedFd::from(theirs));
    let mut stdin = child.stdin.take().unwrap();
    // Several times what a socket holds, all of it to be written before anything is read.
    let asked = 20;
    for tag in 1..=asked {
        say(&mut stdin, &call(tag, &format!("seq 1 8000; echo {tag} >>{}", done.display())));
    }
    let began = Instant::now();
    while fs::read_to_string(&done).unwrap_or_default().lines().count() < 20 {
        assert!(began.elapsed() < PATIENCE, "they never ran");
        thread::yield_now();
    }
    let mut reader = BufReader::new(ours);
    let mut tags: Vec<Value> = (1..=asked).map(|_| hear(&mut reader)["tag"].clone()).collect();
    tags.sort_unstable_by_key(Value::as_u64);
    assert_eq!(tags, (1..=asked).map(Value::from).collect::<Vec<_>>());
    drop(stdin);
    let (status, stderr) = ended(child);
    assert!(status.success() && stderr.is_empty(), "{status}: {stderr}");
}

// contract: T1
#[test]
fn an_input_that_cannot_be_read_is_named_and_no_success() {
    let child = start(File::open("/").unwrap(), Stdio::piped());
    let (status, stderr) = ended(child);
    assert_eq!(status.code(), Some(1), "{stderr}");
    let says = "standard input cannot be read: Is a directory";
    assert!(stderr.contains(says) && stderr.lines().count() == 1, "{stderr}");
}

// contract: T1
#[test]
fn an_output_that_cannot_be_written_is_named_and_one_that_nobody_reads_is_not() {
    let full = File::options().write(true).open("/dev/full").unwrap();
    let (reader, unread) = io::pipe().unwrap();
    drop(reader);
    let says = "standard output cannot be written: No space left on device";
    for (stdout, lines, says) in [(Stdio::from(full), 1, says), (unread.into(), 0, "")] {
        let mut child = start(Stdio::piped(), stdout);
        let mut stdin = child.stdin.take().unwrap();
        say(&mut stdin, &call(1, "true"));
        let (status, stderr) = ended(child);
        assert_eq!(status.code(), Some(1), "{stderr}");
        assert!(stderr.contains(says) && stderr.lines().count() == lines, "{stderr}");
        drop(stdin);
    }
}
