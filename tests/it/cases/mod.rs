//! What has gone wrong in other systems of this kind, each as a test of its own: its name
//! begins with the number that the collection of such cases gives it.
//!
//! All of it goes through `longrun serve`, as a harness in another language would, but for
//! what only a caller in the same process can do.

mod ends;
mod exhaustion;
mod kills;
mod notices;
mod output;
mod reads;
mod start;
mod teardown;
mod texts;
mod volume;
mod waits;

use std::{thread, time::Instant};

use serde_json::{Value, json};

use crate::serve::driver::{PATIENCE, Serve, processes_in, text};

/// A server with one owner, `a`.
fn opened(options: &[&str]) -> Serve {
    let mut serve = Serve::start(options);
    serve.open("a", "s");
    serve
}

/// What a read says now.
fn read(serve: &mut Serve, id: &str) -> String {
    text(&serve.call("a", "task_output", json!({"task_id": id}))).to_owned()
}

/// What a kill says.
fn kill(serve: &mut Serve, id: &str) -> String {
    text(&serve.call("a", "task_kill", json!({"task_id": id}))).to_owned()
}

/// What a foreground command says.
fn run(serve: &mut Serve, command: &str) -> String {
    text(&serve.call("a", "bash", json!({"command": command}))).to_owned()
}

/// The tasks that an owner sees, as a harness reads them.
fn tasks(serve: &mut Serve, owner: &str) -> Vec<Value> {
    let reply = serve.ask(json!({"op": "tasks", "owner": owner}));
    reply["tasks"].as_array().unwrap().clone()
}

/// The notices that are pending, by the ids of their tasks. They are claimed by this.
fn claimed(serve: &mut Serve, owner: &str) -> Vec<String> {
    let reply = serve.ask(json!({"op": "claim", "owner": owner, "source": "inbox"}));
    let messages = reply["messages"].as_array().unwrap();
    messages.iter().map(|message| message["task"].as_str().unwrap().to_owned()).collect()
}

/// The status line that a text ends with.
fn status(text: &str) -> &str {
    text.lines().last().unwrap_or_default()
}

fn dispose(serve: &mut Serve, owner: &str) {
    assert_eq!(serve.ask(json!({"op": "dispose", "owner": owner}))["orphans"], json!([]));
}

/// Waits for a fact that nothing tells.
fn until(what: &str, mut fact: impl FnMut() -> bool) {
    let began = Instant::now();
    while !fact() {
        assert!(began.elapsed() < PATIENCE, "it never happened that {what}");
        thread::yield_now();
    }
}

/// Whether a process runs; a zombie does not.
fn runs(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap().trim_start().starts_with(['Z', 'X']))
}

/// No process is left that was started by a command, and none is unreaped.
fn nothing_is_left(serve: &Serve) {
    assert_eq!(processes_in(&serve.folder()), [serve.child.id()], "only the server itself");
}

/// How many; the script `tests/cases-under-load` asks for more.
fn setting(name: &str, default: usize) -> usize {
    std::env::var(name).map_or(default, |number| number.parse().expect("a number"))
}
