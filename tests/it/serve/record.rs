//! What `longrun serve --record` leaves behind.

use std::{os::unix::fs::PermissionsExt as _, path::Path};

use longrun_sim::{Depth, Trace, explain, replay};
use longrun_tokio::core::{Command, Event, Refusal, Registry, Reply};
use serde_json::json;

use super::driver::{Serve, text};

type Step = (Result<Reply, Refusal>, Vec<Command>);

/// Holds a record against the model and every invariant, and runs it twice.
pub(super) fn check(trace: &Trace, depth: Depth) {
    let report = replay(trace, depth).unwrap();
    assert!(report.failure.is_none(), "{}\n\n{}", report.failure.unwrap(), trace.print());
    let (first, second) = (steps(trace), steps(trace));
    assert_eq!(first, second);
}

fn steps(trace: &Trace) -> Vec<Step> {
    let mut registry = Registry::new(trace.config).unwrap();
    let handle = |(now, event): &(_, Event)| {
        let mut commands = Vec::new();
        let reply = registry.handle(*now, event.clone(), &mut commands);
        (reply, commands)
    };
    trace.events.iter().map(handle).collect()
}

/// A bit of everything, up to just before the end.
fn story(serve: &mut Serve) {
    serve.open("a", "s");
    serve.open("b", "t");
    let first = serve.start_command("a", "echo one; echo two; exit 3");
    serve.wait_for("a", &first);
    let second = serve.start_command("a", "true");
    assert_eq!(serve.event("notice")["task"], second);
    serve.ask(json!({"op": "claim", "owner": "a", "source": "inbox", "or_idle": true}));
    let third = serve.start_command("a", "sleep 600 # né");
    let brief = json!({"task_id": third, "wait": true, "timeout_ms": 5});
    assert!(text(&serve.call("a", "task_output", brief)).contains("running"));
    let wait = serve.send_call("a", "task_output", json!({"task_id": third, "wait": true}));
    serve.ask(json!({"op": "abort", "call": wait}));
    assert!(text(&serve.call("b", "task_output", json!({"task_id": third}))).contains("unknown"));
    serve.call("a", "task_kill", json!({"task_id": third, "reason": "enough"}));
    serve.wait_for("a", &third);
    serve.call("b", "bash", json!({"command": "echo in front"}));
    // A second owner of the session, and work that a disposal ends.
    serve.start_command("a", "sleep 600");
    serve.open("a", "s");
    serve.start_command("a", "sleep 600");
    for name in ["a#1", "a"] {
        assert_eq!(serve.ask(json!({"op": "dispose", "owner": name}))["orphans"], json!([]));
    }
    serve.start_command("b", "sleep 600");
}

fn read(path: &Path) -> (Trace, Option<usize>) {
    Trace::recover(&std::fs::read(path).unwrap()).unwrap()
}

// contract: X2, X3
#[test]
fn a_recorded_server_replays_to_the_same_commands_and_the_simulation_finds_nothing_wrong() {
    let options = ["--record", "r.jsonl", "--max-active-per-owner", "3", "--grace-ms", "300"];
    let mut serve = Serve::start(&options);
    story(&mut serve);
    let path = serve.folder().join("r.jsonl");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert!(serve.end().success());
    let trace = Trace::parse(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(trace.config.max_active_per_owner, 3);
    check(&trace, Depth::Full);

    let steps = steps(&trace);
    let all = steps.iter().flat_map(|(_, commands)| commands);
    let ends = all.filter(|command| matches!(command, Command::ShutDown { .. })).count();
    assert_eq!(ends, 1, "the record goes on to the end of all work");
    let of = |reply: &Reply| match reply {
        Reply::Started { id, .. } => Some(id.to_string()),
        _ => None,
    };
    let started: Vec<String> = steps.iter().filter_map(|(r, _)| of(r.as_ref().ok()?)).collect();
    assert_eq!(started, ["bash-1", "bash-2", "bash-3", "bash-4", "bash-5", "bash-6"]);
    let drawn = explain::text(&explain::chart(&trace).unwrap());
    assert!(drawn.contains("bash-6") && !drawn.contains('✗'), "{drawn}");
}

// contract: X2
#[test]
fn of_a_server_that_was_killed_the_record_holds_all_that_it_had_answered() {
    let mut serve = Serve::start(&["--record", "r.jsonl"]);
    serve.open("a", "s");
    let ended = serve.start_command("a", "true");
    serve.wait_for("a", &ended);
    serve.child.kill().unwrap();
    serve.child.wait().unwrap();
    let (trace, _) = read(&serve.folder().join("r.jsonl"));
    let is_read = |(_, event): &(_, Event)| matches!(event, Event::ReadEnded { .. });
    assert!(trace.events.iter().any(is_read), "{}", trace.print());
    check(&trace, Depth::Full);
}

#[test]
fn a_record_that_cannot_be_begun_is_said_before_anything_is_served() {
    let taken = tempfile::NamedTempFile::new().unwrap();
    let taken = taken.path().to_str().unwrap();
    for path in ["no/such/folder/r.jsonl", ".", taken] {
        let (status, stderr) = Serve::start(&["--record", path]).refused();
        assert_eq!(status.code(), Some(1), "{stderr}");
        let says = format!("longrun: --record {path}: expected a path where a new file can be");
        assert!(stderr.starts_with(&says), "{stderr}");
    }
    let mut refused = Serve::start(&["--max-active-per-owner", "0", "--record", "r.jsonl"]);
    assert_eq!(refused.refused().0.code(), Some(1));
    assert!(!refused.folder().join("r.jsonl").exists(), "what is refused leaves no file");
}
