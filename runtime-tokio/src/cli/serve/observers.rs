//! Observers of tasks' output, whose events are written as fast as they are read.

use std::sync::atomic::{AtomicU64, Ordering};

use longrun_shared::{
    AccessError, ObserveError, Observed, Observer, TaskId, core::controls::unknown_task_text,
};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};
use tokio_util::task::TaskTracker;

use super::{Server, broken, lines::Output, request::Trouble};

/// The observers of all tasks.
#[derive(Default)]
pub(super) struct Observers {
    begun: AtomicU64,
    at_work: TaskTracker,
}

impl Observers {
    /// Waits until all have told the end, but not for ever for a client that does not read.
    pub(super) async fn ended(&self, deadline: Instant) {
        self.at_work.close();
        let _ = timeout_at(deadline, self.at_work.wait()).await;
    }
}

impl Server {
    /// Begins an observation; its events follow the reply.
    pub(super) fn observe(
        &self,
        tag: Option<Value>,
        owner: Option<&str>,
        task_id: &str,
        from: u64,
    ) {
        match self.observer(owner, task_id, from) {
            Ok(observer) => {
                let number = self.observers.begun.fetch_add(1, Ordering::Relaxed) + 1;
                self.reply(tag, json!({"ok": true, "observer": number}));
                self.observers.at_work.spawn(tell(self.output.clone(), number, observer));
            }
            Err(trouble) => self.reply(tag, trouble.reply()),
        }
    }

    fn observer(&self, owner: Option<&str>, task_id: &str, from: u64) -> Result<Observer, Trouble> {
        let agent = owner.map(|owner| self.agents.get(owner)).transpose()?;
        let caller = agent.and_then(|agent| agent.owner.caller());
        let unknown = || Trouble::new("unknown_task", unknown_task_text(task_id));
        let id = TaskId::parse(task_id).map_err(|_| unknown())?;
        self.service.observe(&id, &caller, from).map_err(|error| match error {
            ObserveError::Access(AccessError::Refused(_)) => unknown(),
            ObserveError::NotObservable { .. } => Trouble::new("not_observable", error.to_string()),
            other => broken(&other),
        })
    }
}

/// Writes what comes, each event when the one before it has been read: of what a slow
/// client does not read nothing piles up here, and it misses what is no longer kept.
async fn tell(output: Output, number: u64, mut observer: Observer) {
    while let Some(observed) = observer.next().await {
        let Observed { stream, offset, dropped, text, next, end } = observed;
        output.send(&json!({
            "event": "output",
            "observer": number,
            "stream": stream.map(|stream| stream.name()),
            "offset": offset,
            "dropped": dropped,
            "text": text,
            "next": next,
            "end": end,
        }));
        output.flushed().await;
        if output.gone.is_cancelled() {
            return;
        }
    }
}
