//! Tool calls, and those in flight by their tags.

use std::{
    collections::BTreeMap,
    pin::pin,
    sync::{Mutex, MutexGuard, PoisonError},
};

use longrun_shared::core::{OwnerKey, StartRefusal, controls::one_line};
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::{Server, request::Trouble};
use crate::tools::{Call, CancellationToken, ToBackground, ToolReply, Undelivered};

impl Server {
    /// Calls a tool and writes the reply.
    pub(super) async fn call(
        &self,
        tag: &Option<Value>,
        owner: Option<&str>,
        tool: &str,
        args: Value,
    ) -> Result<(), Trouble> {
        let agent = owner.map(|owner| self.agents.get(owner)).transpose()?;
        let known: Vec<&str> = self.tools.descriptions().map(|tool| tool.name).collect();
        if !known.contains(&tool) {
            let (known, tool) = (known.join("`, `"), one_line(tool));
            let message = format!("there is no tool `{tool}`, expected one of `{known}`");
            return Err(Trouble::new("unknown_tool", message));
        }
        let works = WORKERS.contains(&tool);
        if works && agent.as_ref().is_some_and(|agent| agent.is_disposed()) {
            let refused = ToolReply::error(StartRefusal::OwnerDisposing);
            self.deliver(tag, tool, refused.into());
            return Ok(());
        }
        let work = works.then(|| Work {
            of: agent.as_ref().map(|agent| agent.owner.key()),
            is_command: tool == "bash",
        });
        let in_flight = self.calls.begin(tag.as_ref(), work)?;
        let call = Call {
            owner: agent.as_ref().map(|agent| &agent.owner),
            args,
            cwd: agent.as_ref().and_then(|agent| agent.cwd.clone()),
            abort: in_flight.token.clone(),
            background: in_flight.background.clone(),
        };
        let undelivered = self.tools.run(tool, &call).await;
        // Whoever reads the reply may use its tag again.
        drop(in_flight);
        self.deliver(tag, tool, undelivered);
        Ok(())
    }

    /// What was read counts as read when its reply is on its way: not later, or it might be
    /// told twice, and in the order of the replies, since the next read of the same task may
    /// begin from here on.
    fn deliver(&self, tag: &Option<Value>, tool: &str, undelivered: Undelivered) {
        let _one_at_a_time = self.delivering.lock().unwrap_or_else(PoisonError::into_inner);
        let ToolReply { content, value, is_error } = undelivered.deliver();
        let reply = json!({"tool": tool, "content": content, "value": value, "is_error": is_error});
        self.reply(tag.clone(), reply);
    }
}

/// The tools whose calls run something that a disposal has to end.
const WORKERS: [&str; 2] = ["bash", "subagent"];

/// The calls in flight.
#[derive(Default)]
pub(super) struct Calls {
    in_flight: Mutex<InFlight>,
    /// Told when one has ended.
    ended: Notify,
}

#[derive(Default)]
struct InFlight {
    begun: u64,
    by_number: BTreeMap<u64, Entry>,
}

struct Entry {
    tag: Option<Value>,
    /// For a command or a subagent.
    work: Option<Work>,
    token: CancellationToken,
    background: ToBackground,
}

/// What runs in the foreground for a call.
#[derive(Clone, Copy)]
struct Work {
    of: Option<OwnerKey>,
    /// A command, which can go on in the background.
    is_command: bool,
}

impl Calls {
    fn lock(&self) -> MutexGuard<'_, InFlight> {
        self.in_flight.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a call; it is in flight for as long as what this returns lives. Of two
    /// calls under one tag it could not be said which one an abort means.
    fn begin(&self, tag: Option<&Value>, work: Option<Work>) -> Result<Begun<'_>, Trouble> {
        let mut calls = self.lock();
        if tag.is_some() && calls.by_number.values().any(|entry| entry.tag.as_ref() == tag) {
            let message = "a call under this tag is still in flight, expected another tag";
            return Err(Trouble::new("tag_in_use", message));
        }
        calls.begun += 1;
        let (number, token) = (calls.begun, CancellationToken::new());
        let background = ToBackground::default();
        let entry =
            Entry { tag: tag.cloned(), work, token: token.clone(), background: background.clone() };
        calls.by_number.insert(number, entry);
        Ok(Begun { calls: self, number, token, background })
    }

    /// Aborts the call under that tag.
    pub(super) fn abort(&self, tag: &Value) -> Result<(), Trouble> {
        let token = self.find(tag, |entry| entry.token.clone())?;
        token.cancel();
        Ok(())
    }

    /// Asks for the command of the call under that tag to go on in the background.
    pub(super) fn to_background(&self, tag: &Value) -> Result<(), Trouble> {
        let command = |entry: &Entry| {
            entry.work.filter(|work| work.is_command).map(|_| entry.background.clone())
        };
        let Some(background) = self.find(tag, command)? else {
            let tag = one_line(&tag.to_string());
            let message =
                format!("the call with the tag {tag} runs no command, expected a call of `bash`");
            return Err(Trouble::new("no_command", message));
        };
        background.ask();
        Ok(())
    }

    /// Finds the call under that tag.
    fn find<T>(&self, tag: &Value, take: impl FnOnce(&Entry) -> T) -> Result<T, Trouble> {
        let calls = self.lock();
        let found = calls.by_number.values().find(|entry| entry.tag.as_ref() == Some(tag));
        found.map(take).ok_or_else(|| {
            let tag = one_line(&tag.to_string());
            Trouble::new("unknown_call", format!("no call with the tag {tag} is in flight"))
        })
    }

    /// Aborts the commands and subagents in flight: at a shutdown they end like all other
    /// work.
    pub(super) fn abort_work(&self) {
        self.abort_where(|_| true);
    }

    /// Aborts an owner's commands and subagents in flight, and waits for their ends.
    pub(super) async fn end_work_of(&self, owner: OwnerKey) {
        loop {
            // Made before the look, so that no end is missed between the two.
            let mut ended = pin!(self.ended.notified());
            ended.as_mut().enable();
            if self.abort_where(|by| by == Some(owner)) == 0 {
                return;
            }
            ended.await;
        }
    }

    /// How many there are.
    fn abort_where(&self, wanted: impl Fn(Option<OwnerKey>) -> bool) -> usize {
        let calls = self.lock();
        let work =
            calls.by_number.values().filter(|entry| entry.work.is_some_and(|work| wanted(work.of)));
        let tokens: Vec<CancellationToken> = work.map(|entry| entry.token.clone()).collect();
        drop(calls);
        for token in &tokens {
            token.cancel();
        }
        tokens.len()
    }
}

struct Begun<'a> {
    calls: &'a Calls,
    number: u64,
    token: CancellationToken,
    background: ToBackground,
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        self.calls.lock().by_number.remove(&self.number);
        self.calls.ended.notify_waiters();
    }
}
