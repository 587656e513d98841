use std::sync::{Mutex, MutexGuard, PoisonError};

use longrun_shared::{BoxError, Inbox, Notice, TaskId};
use tokio::sync::Notify;

/// What an inbox was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Nudge {
    /// A notice is pending.
    Inject(TaskId),
    /// A notice is pending, and the owner was woken for it.
    Wake(TaskId),
    /// A notice is no longer pending.
    Withdraw(TaskId),
}

/// An inbox that remembers what it was told.
#[derive(Debug, Default)]
pub struct FakeInbox {
    state: Mutex<State>,
    told: Notify,
}

#[derive(Debug, Default)]
struct State {
    nudges: Vec<Nudge>,
    texts: Vec<String>,
    failing: bool,
}

impl FakeInbox {
    /// One that was told nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fails from now on, or no longer. What it is told it remembers all the same.
    pub fn set_failing(&self, failing: bool) {
        self.state().failing = failing;
    }

    /// What it was told so far.
    #[must_use]
    pub fn nudges(&self) -> Vec<Nudge> {
        self.state().nudges.clone()
    }

    /// The texts of the notices so far, in the same order.
    #[must_use]
    pub fn texts(&self) -> Vec<String> {
        self.state().texts.clone()
    }

    /// Waits until it has been told something that satisfies `wanted`.
    pub async fn until(&self, wanted: impl Fn(&[Nudge]) -> bool) {
        loop {
            let told = self.told.notified();
            if wanted(&self.state().nudges) {
                return;
            }
            told.await;
        }
    }

    fn remember(&self, nudge: Nudge, text: Option<&str>) -> Result<(), BoxError> {
        let failing = {
            let mut state = self.state();
            state.nudges.push(nudge);
            state.texts.extend(text.map(ToOwned::to_owned));
            state.failing
        };
        // One permit is kept for the one who is about to wait.
        self.told.notify_one();
        if failing { Err("the inbox was told to fail".into()) } else { Ok(()) }
    }
}

impl Inbox for FakeInbox {
    fn inject(&self, notice: &Notice) -> Result<(), BoxError> {
        self.remember(Nudge::Inject(notice.task.id.clone()), Some(&notice.text))
    }

    fn wake(&self, notice: &Notice) -> Result<(), BoxError> {
        self.remember(Nudge::Wake(notice.task.id.clone()), Some(&notice.text))
    }

    fn withdraw(&self, id: &TaskId) {
        // Whether it is told to fail is nothing to a withdrawal.
        let _ = self.remember(Nudge::Withdraw(id.clone()), None);
    }
}
