//! A client of `longrun serve`.

use std::{
    cell::RefCell,
    collections::VecDeque,
    io::{self, BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tempfile::TempDir;

/// Far more than anything here takes; a test that reaches it has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// No processes.
pub(crate) const NOBODY: [u32; 0] = [];

/// A server, its owners' folder, and what it has said so far.
pub(crate) struct Serve {
    pub(crate) child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Value>,
    seen: RefCell<VecDeque<Value>>,
    tags: RefCell<u64>,
    folder: TempDir,
}

impl Serve {
    pub(crate) fn start(options: &[&str]) -> Self {
        Self::start_under(&[], options)
    }

    /// Starts a server as the last arguments of that command, such as `env NAME=value`.
    pub(crate) fn start_under(front: &[&str], options: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let server = [env!("CARGO_BIN_EXE_longrun-under-test"), "serve"];
        let words = [front, &server, options].concat();
        let mut child = Command::new(words[0])
            .args(&words[1..])
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, lines) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        thread::spawn(move || {
            for line in stdout.lines() {
                let line = line.unwrap();
                let value = serde_json::from_str(&line)
                    .unwrap_or_else(|error| panic!("not JSON: {error}: {line}"));
                if sender.send(value).is_err() {
                    return;
                }
            }
        });
        let stdin = child.stdin.take();
        let (seen, tags) = (RefCell::default(), RefCell::new(0));
        Self { child, stdin, lines, seen, tags, folder }
    }

    /// The folder that its commands run in.
    pub(crate) fn folder(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    pub(crate) fn send_line(&mut self, line: &[u8]) {
        let stdin = self.stdin.as_mut().expect("the input is still open");
        stdin.write_all(line).unwrap();
        stdin.write_all(b"\n").unwrap();
    }

    /// Sends a request under a tag of its own, which is returned.
    pub(crate) fn send(&mut self, mut request: Value) -> Value {
        *self.tags.borrow_mut() += 1;
        let tag = json!(*self.tags.borrow());
        request["tag"] = tag.clone();
        self.send_line(request.to_string().as_bytes());
        tag
    }

    /// The next thing that satisfies `wanted`, now or later; all else is kept.
    pub(crate) fn next(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let mut seen = self.seen.borrow_mut();
        if let Some(place) = seen.iter().position(&wanted) {
            return seen.remove(place).unwrap();
        }
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(value) if wanted(&value) => return value,
                Ok(value) => seen.push_back(value),
                Err(error) => panic!("waiting for {what}: {error}; it said {seen:#?}"),
            }
        }
    }

    /// Whatever comes next, if anything does within that time.
    pub(crate) fn anything(&self, patience: Duration) -> Option<Value> {
        if let Some(value) = self.seen.borrow_mut().pop_front() {
            return Some(value);
        }
        match self.lines.recv_timeout(patience) {
            Ok(value) => Some(value),
            Err(RecvTimeoutError::Timeout) => None,
            Err(error @ RecvTimeoutError::Disconnected) => panic!("the server is gone: {error}"),
        }
    }

    pub(crate) fn reply(&self, tag: &Value) -> Value {
        self.next(&format!("the reply to {tag}"), |value| value.get("tag") == Some(tag))
    }

    pub(crate) fn event(&self, name: &str) -> Value {
        self.next(&format!("an event {name}"), |value| value["event"] == name)
    }

    pub(crate) fn ask(&mut self, request: Value) -> Value {
        let tag = self.send(request);
        self.reply(&tag)
    }

    pub(crate) fn open(&mut self, owner: &str, session: &str) -> Value {
        self.ask(json!({"op": "open", "owner": owner, "session": session}))
    }

    pub(crate) fn send_call(&mut self, owner: &str, tool: &str, args: Value) -> Value {
        self.send(json!({"op": "call", "owner": owner, "tool": tool, "args": args}))
    }

    pub(crate) fn call(&mut self, owner: &str, tool: &str, args: Value) -> Value {
        let tag = self.send_call(owner, tool, args);
        self.reply(&tag)
    }

    /// Starts a command in the background and gives its id.
    pub(crate) fn start_command(&mut self, owner: &str, command: &str) -> String {
        let args = json!({"command": command, "run_in_background": true});
        let reply = self.call(owner, "bash", args);
        assert_eq!(reply["value"]["kind"], "background", "{reply}");
        reply["value"]["taskId"].as_str().unwrap().to_owned()
    }

    /// Waits for the end of a task and gives all that is still to be read.
    pub(crate) fn wait_for(&mut self, owner: &str, id: &str) -> String {
        let args = json!({"task_id": id, "wait": true, "timeout_ms": 60_000});
        text(&self.call(owner, "task_output", args)).to_owned()
    }

    /// Waits for a file that a command makes in its folder.
    pub(crate) fn appears(&self, name: &str) -> String {
        let began = Instant::now();
        loop {
            match std::fs::read_to_string(self.folder().join(name)) {
                Ok(text) if text.ends_with('\n') => return text.trim_end().to_owned(),
                Ok(_) | Err(_) => assert!(began.elapsed() < PATIENCE, "{name} never appeared"),
            }
            thread::yield_now();
        }
    }

    /// Makes a file that a command waits for.
    pub(crate) fn make(&self, name: &str) {
        std::fs::write(self.folder().join(name), "").unwrap();
    }

    /// From now on nobody reads what it logs.
    pub(crate) fn close_log(&mut self) {
        self.child.stderr = None;
    }

    pub(crate) fn close_input(&mut self) {
        self.stdin = None;
    }

    /// Waits for the server's own end.
    pub(crate) fn end(&mut self) -> ExitStatus {
        self.close_input();
        // What it still says must not fill the pipe.
        while self.lines.recv_timeout(PATIENCE).is_ok() {}
        self.child.wait().unwrap()
    }

    /// Waits for the end of a server that serves nothing: its exit code, and what it says.
    pub(crate) fn refused(&mut self) -> (ExitStatus, String) {
        let status = self.end();
        assert!(self.seen.borrow().is_empty(), "it said something on its standard output");
        let stderr = self.child.stderr.take().expect("its log is read here alone");
        (status, io::read_to_string(stderr).unwrap())
    }

    /// How many descriptors the server has open.
    pub(crate) fn descriptors(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.child.id())).unwrap().count()
    }

    /// The children of the server that nobody has reaped.
    pub(crate) fn children(&self) -> Vec<u32> {
        children_of(self.child.id())
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        self.close_input();
        // Only where a test has failed is it still there.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a model reads of a reply.
pub(crate) fn text(reply: &Value) -> &str {
    reply["content"][0]["text"].as_str().unwrap_or_else(|| panic!("not a tool's reply: {reply}"))
}

/// The processes whose directory is that folder.
pub(crate) fn processes_in(folder: &Path) -> Vec<u32> {
    processes(|pid| std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == folder))
}

/// The children of a process that nobody has reaped.
pub(crate) fn children_of(parent: u32) -> Vec<u32> {
    processes(|pid| parent_of(pid) == Some(parent))
}

fn processes(wanted: impl Fn(u32) -> bool) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|&pid| wanted(pid)).collect()
}

fn parent_of(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}
