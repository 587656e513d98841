//! The format of a scenario, and how two results are compared.

use serde::Deserialize;
use serde_json::Value;

use super::known;

#[derive(Deserialize)]
pub(super) struct Scenario {
    pub(super) name: String,
    #[serde(default)]
    pub(super) about: Vec<String>,
    pub(super) config: Config,
    pub(super) steps: Vec<Step>,
}

#[derive(Deserialize)]
pub(super) struct Config {
    pub(super) max_active_per_owner: Option<usize>,
    #[serde(default)]
    pub(super) notices: Vec<Mount>,
}

#[derive(Clone, Deserialize)]
pub(super) struct Mount {
    pub(super) scope: Option<String>,
    pub(super) delivery: longrun_core::Delivery,
    pub(super) max_wakes: u32,
}

#[derive(Deserialize)]
pub(super) struct Step {
    #[serde(flatten)]
    pub(super) operation: Operation,
    pub(super) result: Value,
    #[serde(default)]
    pub(super) events: Vec<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub(super) enum Operation {
    Scope {
        name: String,
        parent: Option<String>,
    },
    Attach {
        name: String,
        scope: Option<String>,
    },
    Detach {
        name: String,
    },
    Owner {
        name: String,
        session: String,
        scope: Option<String>,
        #[serde(default)]
        busy: bool,
    },
    Start(Start),
    Emit {
        task: String,
        text: String,
    },
    Settle {
        task: String,
        status: longrun_core::End,
        detail: Option<String>,
        output: Option<String>,
    },
    Reject {
        task: String,
        error: String,
    },
    Get {
        id: String,
        caller: Option<String>,
    },
    List {
        caller: Option<String>,
    },
    Read {
        id: String,
        caller: Option<String>,
    },
    Kill {
        id: String,
        caller: Option<String>,
        reason: Option<String>,
    },
    Wait {
        #[serde(rename = "as")]
        name: String,
        id: String,
        caller: Option<String>,
        timeout_ms: f64,
    },
    Abort {
        wait: String,
    },
    Advance {
        ms: u64,
    },
    Tick,
    OnDone {
        name: String,
        scope: Option<String>,
        #[serde(default)]
        throws: bool,
    },
    OnChanged {
        name: String,
        scope: Option<String>,
    },
    Off {
        name: String,
    },
    Dispose {
        owner: String,
    },
    Shutdown,
    Busy {
        owner: String,
        value: bool,
    },
    Claim {
        owner: String,
        source: Source,
    },
}

#[derive(Debug, Deserialize)]
pub(super) struct Start {
    #[serde(rename = "as")]
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) label: String,
    pub(super) owner: Option<String>,
    pub(super) limit: Option<f64>,
    pub(super) stream: bool,
    pub(super) on_cancel: OnCancel,
    pub(super) run: Run,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum OnCancel {
    Settle,
    Ignore,
    Throw,
    ThrowOnce,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
pub(super) enum Run {
    Ok,
    Throw,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Source {
    User,
    Plugin,
}

impl Step {
    /// The record itself skips a step that names something that does not exist.
    pub(super) fn is_skipped(&self) -> bool {
        self.result == "skipped"
    }

    pub(super) fn summary(&self) -> String {
        format!("{:?} => {}", self.operation, self.result)
    }

    /// What differs between the recorded result and this one, if anything.
    pub(super) fn compare(&self, scenario: &str, number: usize, got: &Value) -> Option<String> {
        let same = covers(&self.result, got) || known::is_overridden(scenario, number);
        (!same).then(|| format!("  expected result {}\n  got             {got}", self.result))
    }
}

/// Whether `got` is `expected`, give or take more fields in its objects.
fn covers(expected: &Value, got: &Value) -> bool {
    match (expected, got) {
        (Value::Object(expected), Value::Object(got)) => expected
            .iter()
            .all(|(name, value)| got.get(name).is_some_and(|other| covers(value, other))),
        (Value::Array(expected), Value::Array(got)) => {
            expected.len() == got.len() && expected.iter().zip(got).all(|(a, b)| covers(a, b))
        }
        (Value::String(expected), Value::String(got)) => {
            expected == got || both_orphan(expected, got)
        }
        (expected, got) => expected == got,
    }
}

/// The detail of a task that could not be stopped: it says so, in words of ours.
fn both_orphan(expected: &str, got: &str) -> bool {
    [expected, got].into_iter().all(|detail| detail.contains("may be orphaned"))
}

/// The events of a step, in the three groups in which they are compared.
pub(super) struct Seen {
    calls: Vec<Value>,
    notices: Vec<Value>,
    ends: Vec<Value>,
}

impl From<Vec<Value>> for Seen {
    fn from(events: Vec<Value>) -> Self {
        let mut seen = Self { calls: Vec::new(), notices: Vec::new(), ends: Vec::new() };
        for event in events {
            let has = |name| event.get(name).is_some();
            if has("notice") {
                seen.notices.push(event);
            } else if has("wait") || has("disposed") || has("shutdown") {
                seen.ends.push(event);
            } else {
                seen.calls.push(event);
            }
        }
        seen.ends.sort_by_key(ToString::to_string);
        seen
    }
}

impl Seen {
    /// What differs from this expectation, if anything.
    pub(super) fn compare(&self, got: &Self, scenario: &str, number: usize) -> Option<String> {
        let difference = differing("calls", &self.calls, &got.calls)
            .or_else(|| differing("notices", &self.notices, &got.notices))
            .or_else(|| differing_ends(&self.ends, &got.ends));
        difference.filter(|_| !known::is_overridden(scenario, number))
    }
}

fn differing(what: &str, expected: &[Value], got: &[Value]) -> Option<String> {
    let same = expected.len() == got.len()
        && expected.iter().zip(got).all(|(a, b)| covers(a, b) || is_cut_notice(a, b));
    (!same).then(|| {
        let lines = |events: &[Value]| {
            events.iter().map(|event| format!("      {event}\n")).collect::<String>()
        };
        format!("  expected {what}:\n{}  got {what}:\n{}", lines(expected), lines(got))
    })
}

fn differing_ends(expected: &[Value], got: &[Value]) -> Option<String> {
    let mut left: Vec<&Value> = got.iter().collect();
    for event in expected {
        match left.iter().position(|other| covers(event, other)) {
            Some(place) => {
                left.remove(place);
            }
            None => return differing("ends", expected, got),
        }
    }
    if left.is_empty() { None } else { differing("ends", expected, got) }
}

/// A notice whose text the task's own limit cut: its wording is ours, within that
/// limit, which the world has checked.
fn is_cut_notice(expected: &Value, got: &Value) -> bool {
    let same = |name| expected.get(name) == got.get(name);
    expected.get("text").is_some_and(Value::is_null)
        && ["notice", "mode", "task"].into_iter().all(same)
        && got.get("cut").is_some_and(|cut| cut == true)
}
