//! A hundred tasks in five owners under a client that does what it likes.
//!
//! `LONGRUN_STORM_SECONDS` (5 by default) is how long it goes on, `LONGRUN_STORM_SEED`
//! which client it is.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use longrun_sim::{Depth, Trace};
use serde_json::{Value, json};

use super::{
    driver::{NOBODY, Serve, processes_in},
    record,
};

const OWNERS: usize = 5;
const TASKS_PER_OWNER: usize = 20;

/// What the client has seen of one task.
#[derive(Default)]
struct Task {
    owner: usize,
    /// What it writes before it ends by itself.
    expected: String,
    read: String,
    killed: bool,
    /// A reply has told its end.
    told_by_reply: bool,
    /// A claim has told its end.
    told_by_notice: usize,
    ended: bool,
    /// A read has said that it has ended, so no byte may follow.
    read_to_end: bool,
}

/// What an observer of a task was told.
struct Observer {
    id: String,
    text: String,
    next: u64,
    ended: bool,
}

enum Asked {
    Observe { id: String },
    Start { owner: usize, expected: String },
    Output { id: String },
    Kill { id: String },
    Claim,
    Nothing,
}

struct Storm {
    serve: Serve,
    random: u64,
    tasks: BTreeMap<String, Task>,
    asked: BTreeMap<String, Asked>,
    observers: BTreeMap<u64, Observer>,
    starting: [usize; OWNERS],
    started: usize,
}

impl Storm {
    fn draw(&mut self, below: usize) -> usize {
        // splitmix64
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.random;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((bits ^ (bits >> 31)) % below as u64).unwrap()
    }

    fn ask(&mut self, request: Value, asked: Asked) -> Value {
        let tag = self.serve.send(request);
        self.asked.insert(tag.to_string(), asked);
        tag
    }

    fn call(&mut self, owner: usize, tool: &str, args: Value, asked: Asked) -> Value {
        let owner = format!("agent-{owner}");
        self.ask(json!({"op": "call", "owner": owner, "tool": tool, "args": args}), asked)
    }

    fn live(&self, owner: usize) -> usize {
        self.tasks.values().filter(|task| task.owner == owner && !task.ended).count()
    }

    fn fill_up(&mut self) {
        for owner in 0..OWNERS {
            while self.live(owner) + self.starting[owner] < TASKS_PER_OWNER {
                self.start(owner);
            }
        }
    }

    fn start(&mut self, owner: usize) {
        self.started += 1;
        let (name, lines) = (self.started, self.draw(30));
        let pause = ["0", "0.01", "0.05"][self.draw(3)];
        let command = format!(
            "for ((i = 0; i < {lines}; i++)); do echo \"{name} né $i\"; sleep {pause}; done"
        );
        let expected = (0..lines).map(|i| format!("{name} né {i}\n")).collect();
        self.starting[owner] += 1;
        let args = json!({"command": command, "run_in_background": true});
        self.call(owner, "bash", args, Asked::Start { owner, expected });
    }

    fn do_something(&mut self) {
        let owner = self.draw(OWNERS);
        let ids: Vec<String> = self.tasks.keys().cloned().collect();
        if ids.is_empty() {
            return;
        }
        let id = ids[self.draw(ids.len())].clone();
        let by = self.tasks[&id].owner;
        let output = Asked::Output { id: id.clone() };
        match self.draw(11) {
            0..=3 => drop(self.call(by, "task_output", json!({"task_id": id}), output)),
            4 | 5 => {
                let args = json!({"task_id": id, "wait": true, "timeout_ms": 1 + self.draw(500)});
                drop(self.call(by, "task_output", args, output));
            }
            6 => {
                let args = json!({"task_id": id, "wait": true});
                let tag = self.call(by, "task_output", args, output);
                drop(self.ask(json!({"op": "abort", "call": tag}), Asked::Nothing));
            }
            7 => drop(self.call(by, "task_kill", json!({"task_id": id}), Asked::Kill { id })),
            8 => {
                let owner = format!("agent-{owner}");
                let claim = json!({"op": "claim", "owner": owner, "source": "inbox"});
                drop(self.ask(claim, Asked::Claim));
            }
            9 => {
                let observe =
                    json!({"op": "observe", "owner": format!("agent-{by}"), "task_id": id});
                drop(self.ask(observe, Asked::Observe { id }));
            }
            _ => drop(self.call(owner, "task_list", json!({}), Asked::Nothing)),
        }
    }

    fn take(&mut self, value: &Value) {
        if value["event"] == "output" {
            return self.take_observed(value);
        }
        let Some(tag) = value.get("tag") else { return };
        let Some(asked) = self.asked.remove(&tag.to_string()) else {
            panic!("an answer that nobody asked for: {value}")
        };
        match asked {
            Asked::Start { owner, expected } => {
                let id = value["value"]["taskId"].as_str();
                let id = id.unwrap_or_else(|| panic!("not started: {value}")).to_owned();
                self.starting[owner] -= 1;
                let task = Task { owner, expected, ..Task::default() };
                assert!(self.tasks.insert(id, task).is_none(), "an id was used twice: {value}");
            }
            Asked::Output { id } => self.take_output(&id, value),
            Asked::Kill { id } => {
                let task = self.tasks.get_mut(&id).unwrap();
                task.killed |= value["value"]["outcome"] == "cancellation-requested";
                task.told_by_reply |= value["is_error"] == false;
                task.ended |= is_terminal(&value["value"]["task"]);
            }
            Asked::Claim => self.take_claim(value),
            Asked::Observe { id } => {
                let number = value["observer"].as_u64();
                let number = number.unwrap_or_else(|| panic!("not observed: {value}"));
                let observer = Observer { id, text: String::new(), next: 0, ended: false };
                assert!(self.observers.insert(number, observer).is_none(), "{value}");
            }
            Asked::Nothing => {}
        }
    }

    fn take_output(&mut self, id: &str, value: &Value) {
        let task = self.tasks.get_mut(id).unwrap();
        if value["is_error"] == true {
            assert!(value["content"][0]["text"].as_str().unwrap().contains("aborted"), "{value}");
            return;
        }
        let text = value["value"]["text"].as_str().unwrap();
        assert!(!task.read_to_end || text.is_empty(), "{id}: output after the last of it");
        task.read.push_str(text);
        if is_terminal(&value["value"]["task"]) {
            (task.told_by_reply, task.ended, task.read_to_end) = (true, true, true);
        }
    }

    fn take_observed(&mut self, value: &Value) {
        let observer = value["observer"].as_u64().and_then(|n| self.observers.get_mut(&n));
        let observer = observer.unwrap_or_else(|| panic!("before its reply: {value}"));
        assert!(!observer.ended, "something came after the end: {value}");
        assert_eq!((&value["offset"], &value["dropped"]), (&json!(observer.next), &json!(0)));
        observer.text.push_str(value["text"].as_str().unwrap());
        (observer.next, observer.ended) = (value["next"].as_u64().unwrap(), value["end"] == true);
    }

    fn take_claim(&mut self, value: &Value) {
        for message in value["messages"].as_array().unwrap() {
            let task = self.tasks.get_mut(message["task"].as_str().unwrap()).unwrap();
            assert!(!task.told_by_reply, "told before, and now again: {message}");
            task.told_by_notice += 1;
        }
    }

    fn take_what_comes(&mut self, patience: Duration) {
        while let Some(value) = self.serve.anything(patience) {
            self.take(&value);
        }
    }

    /// Ends all tasks, reads what is left of each, and claims what is left to be told.
    fn come_to_rest(&mut self) {
        self.take_all_answers();
        let ids: Vec<String> = self.tasks.keys().cloned().collect();
        for id in ids {
            let owner = self.tasks[&id].owner;
            let args = json!({"task_id": id, "wait": true});
            self.call(owner, "task_output", args, Asked::Output { id });
        }
        for owner in 0..OWNERS {
            let owner = format!("agent-{owner}");
            let claim = json!({"op": "claim", "owner": owner, "source": "inbox"});
            self.ask(claim, Asked::Claim);
        }
        self.take_all_answers();
        while self.observers.values().any(|observer| !observer.ended) {
            let value = self.serve.next("the ends", |value| value["event"] == "output");
            self.take(&value);
        }
    }

    fn take_all_answers(&mut self) {
        while !self.asked.is_empty() {
            let wanted = |value: &Value| value.get("tag").is_some() || value["event"] == "output";
            let value = self.serve.next("the rest", wanted);
            self.take(&value);
        }
    }

    fn check(&self) {
        for (id, task) in &self.tasks {
            assert!(task.ended, "{id} has not ended");
            if task.killed {
                assert!(task.expected.starts_with(&task.read), "{id}: {:?}", task.read);
            } else {
                assert_eq!(task.read, task.expected, "{id}");
            }
            assert!(task.told_by_reply || task.told_by_notice == 1, "{id}: nobody was told");
            assert!(task.told_by_notice <= 1, "{id}: two notices");
        }
        for Observer { id, text, .. } in self.observers.values() {
            assert_eq!(*text, self.tasks[id].read, "{id}: not what was read of it");
        }
    }
}

fn is_terminal(task: &Value) -> bool {
    ["completed", "killed", "failed"].iter().any(|status| task["status"] == *status)
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().expect("a number"))
}

// contract: R1, R6, R7, N1, N2, N5, N7, K2, W3, W5, T2, X2
#[test]
fn a_hundred_tasks_are_read_to_the_byte_and_told_once_under_a_client_that_does_what_it_likes() {
    let limit = TASKS_PER_OWNER.to_string();
    let mut serve = Serve::start(&[
        "--max-active-per-owner",
        &limit,
        "--grace-ms",
        "500",
        "--record",
        "r.jsonl",
    ]);
    for owner in 0..OWNERS {
        serve.open(&format!("agent-{owner}"), &format!("session-{owner}"));
    }
    let descriptors = serve.descriptors();
    let random = setting("LONGRUN_STORM_SEED", 1);
    let (tasks, asked, observers) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    let (starting, started) = ([0; OWNERS], 0);
    let mut storm = Storm { serve, random, tasks, asked, observers, starting, started };
    let end = Instant::now() + Duration::from_secs(setting("LONGRUN_STORM_SECONDS", 5));
    while Instant::now() < end {
        storm.fill_up();
        for _ in 0..10 {
            storm.do_something();
        }
        storm.take_what_comes(Duration::from_millis(5));
    }
    storm.come_to_rest();
    storm.check();
    assert_eq!(storm.serve.descriptors(), descriptors, "ended tasks hold descriptors");
    for owner in 0..OWNERS {
        let owner = format!("agent-{owner}");
        let reply = storm.serve.ask(json!({"op": "dispose", "owner": owner}));
        assert_eq!(reply["orphans"], json!([]));
    }
    assert_eq!(storm.serve.children(), NOBODY, "processes are left, or were not reaped");
    assert_eq!(storm.serve.descriptors(), descriptors, "descriptors are left");
    println!("{} tasks, {} observers", storm.started, storm.observers.len());
    assert!(storm.serve.end().success());
    assert_eq!(processes_in(&storm.serve.folder()), NOBODY);
    let record = std::fs::read_to_string(storm.serve.folder().join("r.jsonl")).unwrap();
    let mut trace = Trace::parse(&record).unwrap();
    // An event takes the longer to check the more tasks there have been.
    trace.events.truncate(3_000);
    record::check(&trace, Depth::Sampled);
}
