//! Tool calls, and those in flight by their tags.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde_json::{Value, json};

use super::{Server, request::Trouble};
use crate::tools::{Call, CancellationToken, ToolReply};

const TOOLS: [&str; 4] = ["bash", "task_output", "task_list", "task_kill"];

impl Server {
    pub(super) async fn call(
        &self,
        tag: &Option<Value>,
        owner: Option<&str>,
        tool: &str,
        args: Value,
    ) -> Result<Value, Trouble> {
        let agent = owner.map(|owner| self.agents.get(owner)).transpose()?;
        if !TOOLS.contains(&tool) {
            let known = TOOLS.join("`, `");
            let message = format!("there is no tool {tool:?}, expected one of `{known}`");
            return Err(Trouble::new("unknown_tool", message));
        }
        let in_flight = self.calls.begin(tag.as_ref(), tool == "bash")?;
        let call = Call {
            owner: agent.as_ref().map(|agent| &agent.owner),
            args,
            cwd: agent.as_ref().and_then(|agent| agent.cwd.clone()),
            abort: in_flight.token.clone(),
        };
        let ToolReply { text, value, is_error } = match tool {
            "bash" => self.bash.call(&call).await,
            "task_output" => self.controls.task_output(&call).await,
            "task_list" => self.controls.task_list(&call),
            "task_kill" => self.controls.task_kill(&call),
            other => unreachable!("{other} is not among the tools"),
        };
        Ok(json!({
            "tool": tool,
            "content": [{"type": "text", "text": text}],
            "value": value,
            "is_error": is_error,
        }))
    }
}

/// The calls in flight.
#[derive(Default)]
pub(super) struct Calls(Mutex<InFlight>);

#[derive(Default)]
struct InFlight {
    begun: u64,
    by_number: BTreeMap<u64, Entry>,
}

struct Entry {
    tag: Option<Value>,
    is_command: bool,
    token: CancellationToken,
}

impl Calls {
    fn lock(&self) -> MutexGuard<'_, InFlight> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a call; it is in flight for as long as what this returns lives. Of two
    /// calls under one tag it could not be said which one an abort means.
    fn begin(&self, tag: Option<&Value>, is_command: bool) -> Result<Begun<'_>, Trouble> {
        let mut calls = self.lock();
        if tag.is_some() && calls.by_number.values().any(|entry| entry.tag.as_ref() == tag) {
            let message = "a call under this tag is still in flight, expected another tag";
            return Err(Trouble::new("tag_in_use", message));
        }
        calls.begun += 1;
        let (number, token) = (calls.begun, CancellationToken::new());
        let entry = Entry { tag: tag.cloned(), is_command, token: token.clone() };
        calls.by_number.insert(number, entry);
        Ok(Begun { calls: self, number, token })
    }

    /// Aborts the call under that tag.
    pub(super) fn abort(&self, tag: &Value) -> Result<(), Trouble> {
        let calls = self.lock();
        let found = calls.by_number.values().find(|entry| entry.tag.as_ref() == Some(tag));
        let found = found.map(|entry| entry.token.clone());
        drop(calls);
        let Some(token) = found else {
            let message = format!("no call with the tag {tag} is in flight");
            return Err(Trouble::new("unknown_call", message));
        };
        token.cancel();
        Ok(())
    }

    /// Aborts the foreground commands: at a shutdown they end like all other work.
    pub(super) fn abort_commands(&self) {
        let calls = self.lock();
        let commands = calls.by_number.values().filter(|entry| entry.is_command);
        let tokens: Vec<CancellationToken> = commands.map(|entry| entry.token.clone()).collect();
        drop(calls);
        for token in tokens {
            token.cancel();
        }
    }
}

struct Begun<'a> {
    calls: &'a Calls,
    number: u64,
    token: CancellationToken,
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        self.calls.lock().by_number.remove(&self.number);
    }
}
