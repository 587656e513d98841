//! Observing tasks.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use super::driver::{NOBODY, Serve, processes_in, text};

impl Serve {
    fn observe(&mut self, owner: &str, id: &str, from: u64) -> Value {
        let observe = json!({"op": "observe", "owner": owner, "task_id": id, "from": from});
        let reply = self.ask(observe);
        assert_eq!(reply["ok"], true, "{reply}");
        reply["observer"].clone()
    }

    /// The next event of that observer.
    fn output(&self, observer: &Value) -> Value {
        self.next(&format!("output for observer {observer}"), |value| {
            value["event"] == "output" && value["observer"] == *observer
        })
    }

    /// Its events up to the end.
    fn all_output(&self, observer: &Value) -> Vec<Value> {
        let mut all = Vec::new();
        while all.last().is_none_or(|last: &Value| last["end"] == false) {
            all.push(self.output(observer));
        }
        all
    }
}

fn number(event: &Value, field: &str) -> u64 {
    event[field].as_u64().unwrap_or_else(|| panic!("no number {field}: {event}"))
}

fn output_text(event: &Value) -> &str {
    event["text"].as_str().unwrap()
}

/// The texts joined. They and what is missing leave no gap, and end at `next`.
fn joined(events: &[Value], from: u64) -> (String, u64) {
    let mut next = from;
    for event in events {
        assert_eq!(number(event, "offset"), next + number(event, "dropped"), "{event}");
        next = number(event, "next");
    }
    (events.iter().map(output_text).collect(), next)
}

fn missed(events: &[Value]) -> u64 {
    events.iter().map(|event| number(event, "dropped")).sum()
}

fn of<'a>(events: &'a [Value], stream: &'a str) -> String {
    events.iter().filter(|event| event["stream"] == stream).map(output_text).collect()
}

// contract: R6, R1, R7, M12
#[test]
fn observers_from_different_offsets_and_the_reader_each_get_everything() {
    let mut serve = Serve::start(&[]);
    serve.open("a", "s");
    let command = "printf '\\033[32mone\\033[0m \\342'; echo >up; until [ -e go ]; do sleep 0.02; \
                   done; printf '\\202\\254\\n'; echo two >&2; until [ -e end ]; do sleep 0.02; \
                   done; echo three; exit 3";
    let id = serve.start_command("a", command);
    serve.appears("up");
    let first = serve.observe("a", &id, 0);
    assert_eq!(first, 1);
    let event = serve.output(&first);
    let expected = json!({
        "event": "output", "observer": 1, "stream": "stdout", "offset": 0, "dropped": 0,
        "text": "\u{1b}[32mone\u{1b}[0m ", "next": 13, "end": false,
    });
    assert_eq!(event, expected, "raw, and only whole characters");
    let mut all = vec![event];
    let read = serve.call("a", "task_output", json!({"task_id": id}));
    assert_eq!(text(&read), "one \n[status: running]");
    serve.make("go");
    while !all.iter().any(|event| event["stream"] == "stderr") {
        all.push(serve.output(&first));
    }
    let second = serve.observe("a", &id, 8);
    assert_eq!(second, 2);
    serve.make("end");
    all.extend(serve.all_output(&first));
    let (whole, end) = joined(&all, 0);
    assert_eq!(whole, "\u{1b}[32mone\u{1b}[0m \u{20ac}\ntwo\nthree\n");
    assert_eq!((end, of(&all, "stderr")), (whole.len() as u64, "two\n".to_owned()));
    let last = all.last().unwrap();
    assert_eq!((&last["stream"], &last["text"]), (&json!(null), &json!("")));
    assert_eq!(joined(&serve.all_output(&second), 8), (whole[8..].to_owned(), end));
    // Observers have read all of it, to its end, and the model has not.
    let notice = serve.event("notice");
    assert_eq!(notice["task"], *id);
    let rest = serve.wait_for("a", &id);
    assert_eq!(rest, "\u{20ac}\n[stderr]\ntwo\n[stdout]\nthree\n[status: completed, exit code: 3]");
    let late = serve.observe("a", &id, 0);
    assert_eq!(joined(&serve.all_output(&late), 0), (whole, end));
    assert!(serve.end().success());
}

// contract: R6, R8
#[test]
fn an_observer_of_a_flood_is_told_what_it_missed() {
    let mut serve = Serve::start(&["--memory-bytes", "64000"]);
    serve.open("a", "s");
    let flood = "head -c 3000000 /dev/zero | tr '\\0' x; echo end";
    let id = serve.start_command("a", &format!("until [ -e go ]; do sleep 0.02; done; {flood}"));
    let live = serve.observe("a", &id, 0);
    serve.make("go");
    let live = serve.all_output(&live);
    let (shown, end) = joined(&live, 0);
    assert_eq!((end, shown.len() as u64 + missed(&live)), (3_000_004, 3_000_004));
    assert!(shown.ends_with("xend\n"));
    let late = serve.observe("a", &id, 1000);
    let late = serve.all_output(&late);
    assert_eq!(number(&late[0], "offset"), 3_000_004 - 64_000);
    assert_eq!(missed(&late), 3_000_004 - 64_000 - 1000);
    assert_eq!(joined(&late, 1000).0.len(), 64_000);
    assert!(late.iter().all(|event| output_text(event).len() <= 16 * 1024));
    assert!(serve.end().success());
}

// contract: R6, K2, O1, T1
#[test]
fn a_kill_a_disposal_and_a_shutdown_end_it_once() {
    let mut serve = Serve::start(&["--grace-ms", "60000"]);
    let names = ["a", "b", "c"];
    let mut observers = Vec::new();
    for name in names {
        serve.open(name, name);
        let command = format!("trap 'echo bye; exit' TERM; echo >{name}; sleep 1000 & wait");
        let id = serve.start_command(name, &command);
        serve.appears(name);
        observers.push((serve.observe(name, &id, 0), id));
    }
    serve.call("a", "task_kill", json!({"task_id": observers[0].1}));
    assert_eq!(joined(&serve.all_output(&observers[0].0), 0).0, "bye\n");
    let tasks = serve.ask(json!({"op": "tasks", "owner": "a"}));
    assert_eq!(tasks["tasks"][0]["status"], "killed");
    assert_eq!(serve.ask(json!({"op": "dispose", "owner": "b"}))["orphans"], json!([]));
    assert_eq!(joined(&serve.all_output(&observers[1].0), 0).0, "bye\n");
    let tag = serve.send(json!({"op": "shutdown"}));
    let mut last = Vec::new();
    let mut reply = serve.next("the last words", |value| value["event"] != "notice");
    while reply.get("tag").is_none() {
        last.push(reply);
        reply = serve.next("the last words", |value| value["event"] != "notice");
    }
    assert_eq!((&reply["tag"], &reply["orphans"]), (&tag, &json!([])), "nothing follows it");
    assert!(last.iter().all(|event| event["observer"] == observers[2].0), "{last:?}");
    assert_eq!(joined(&last, 0).0, "bye\n");
    assert_eq!(last.last().unwrap()["end"], true);
    assert!(serve.end().success());
    assert_eq!(processes_in(&serve.folder()), NOBODY);
}

// contract: R6, A1, A2, A5, A6
#[test]
fn what_cannot_be_reached_is_unknown_whatever_it_is() {
    let mut serve = Serve::start(&[]);
    serve.open("a", "s");
    serve.open("b", "other");
    let id = serve.start_command("a", "echo secret; sleep 1000");
    let ask = |serve: &mut Serve, owner: Value, id: &str| {
        serve.ask(json!({"op": "observe", "owner": owner, "task_id": id}))["error"].clone()
    };
    let unknown = |id: &str| {
        let message =
            format!("unknown task `{id}`: call task_list for the ids of your background tasks");
        json!({"code": "unknown_task", "message": message})
    };
    assert_eq!(ask(&mut serve, json!("b"), &id), unknown(&id), "another session's");
    assert_eq!(ask(&mut serve, json!(null), &id), unknown(&id), "nobody's");
    assert_eq!(ask(&mut serve, json!("a"), "bash-2"), unknown("bash-2"));
    assert_eq!(ask(&mut serve, json!("a"), "../x\u{7}"), unknown(r"../x\u{7}"));
    assert_eq!(ask(&mut serve, json!("c"), &id)["code"], "unknown_owner");
    let froms = [json!(-1), json!(1.5), json!("0"), json!(null), json!(1e300)];
    for from in froms {
        let observe = json!({"op": "observe", "owner": "a", "task_id": id, "from": from});
        let error = &serve.ask(observe)["error"];
        assert_eq!(error["code"], "invalid_request", "{from}");
        assert!(error["message"].as_str().unwrap().contains("expected u64"), "{error}");
    }
    let reply = serve.ask(json!({"op": "observe", "owner": "a"}));
    assert!(reply["error"]["message"].as_str().unwrap().contains("`task_id`"), "{reply}");
    let reply = serve.ask(json!({"op": "observe", "task_id": id}));
    assert!(reply["error"]["message"].as_str().unwrap().contains("`owner`"), "{reply}");
    // Far beyond the end: there is nothing to tell but the end.
    let ahead = serve.observe("a", &id, u64::MAX);
    assert_eq!(ahead, 1, "a refused one has no number");
    serve.call("a", "task_kill", json!({"task_id": id}));
    let end = serve.all_output(&ahead);
    assert_eq!((end.len(), number(&end[0], "offset")), (1, u64::MAX));
    assert!(serve.end().success());
}

// contract: R6, B7
#[test]
fn a_client_that_does_not_read_costs_no_memory_and_is_told_what_it_missed() {
    const FLOOD: u64 = 300_000_000;
    const FEW: u64 = 100_000;
    let folder = tempfile::tempdir().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_longrun-under-test"))
        .arg("serve")
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let command = format!(
        "echo begin; until [ -e go ]; do sleep 0.02; done; \
         head -c {FLOOD} /dev/zero | tr '\\0' x; echo >end"
    );
    let args = json!({"command": command, "run_in_background": true});
    let call = json!({"op": "call", "owner": null, "tool": "bash", "args": args, "tag": 1});
    let observe = json!({"op": "observe", "owner": null, "task_id": "bash-1"});
    let stdin = child.stdin.as_mut().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || -> Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    writeln!(stdin, "{call}").unwrap();
    assert_eq!(next()["value"]["taskId"], "bash-1");
    writeln!(stdin, "{observe}\n{observe}").unwrap();
    for _ in 0..4 {
        next();
    }
    std::fs::write(folder.path().join("go"), "").unwrap();
    let began = std::time::Instant::now();
    while !folder.path().join("end").exists() {
        assert!(began.elapsed() < super::driver::PATIENCE, "the flood never ended");
        std::thread::yield_now();
    }
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(peak < FEW, "it took {peak} kB");
    let mut told = [Vec::new(), Vec::new()];
    let mut ended = 0;
    while ended < 2 {
        let event = next();
        ended += usize::from(event["end"] == true);
        told[usize::try_from(number(&event, "observer") - 1).unwrap()].push(event);
    }
    for events in told {
        let (shown, end) = joined(&events, 6);
        assert_eq!(end, FLOOD + 6);
        assert!(shown.len() as u64 <= FEW * 1000 && missed(&events) >= FLOOD / 2);
    }
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}
