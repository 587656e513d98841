//! What is called when something happens, and the guards that end it.

use std::{fmt, sync::Arc};

use longrun_core::{ControllerKey, Event, ListenerKey, ObserverKey, OwnerKey, TaskSnapshot};

use crate::state::Inner;

/// A task has ended: what a completion listener is told.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TaskDone {
    /// The task as it ended.
    pub task: TaskSnapshot,
    /// Its exact owner; `None` if it has none. Compare with
    /// [`OwnerScope::key`](crate::OwnerScope::key).
    pub owner: Option<OwnerKey>,
}

/// Somebody's visible tasks have changed: what a change observer is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Changed {
    /// Whose; `None`: an unowned task changed, which everybody sees.
    pub owner: Option<OwnerKey>,
}

#[derive(Clone, Copy)]
pub(crate) enum Registration {
    Controller(ControllerKey),
    Listener(ListenerKey),
    Observer(ObserverKey),
}

/// Something that is registered for as long as this lives.
#[must_use = "the registration ends when its guard is dropped"]
pub struct Guard {
    inner: Arc<Inner>,
    registration: Registration,
}

impl Guard {
    pub(crate) fn new(inner: &Arc<Inner>, registration: Registration) -> Self {
        Self { inner: Arc::clone(inner), registration }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // A callback is dropped outside the lock: it may own anything.
        match self.registration {
            Registration::Controller(controller) => {
                self.inner.tell(Event::ControllerDetached { controller });
            }
            Registration::Listener(listener) => {
                let event = Event::ListenerRemoved { listener };
                drop(self.inner.send_and(event, |state, _| state.listeners.remove(&listener)).ok());
            }
            Registration::Observer(observer) => {
                let event = Event::ObserverRemoved { observer };
                drop(self.inner.send_and(event, |state, _| state.observers.remove(&observer)).ok());
            }
        }
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.registration {
            Registration::Controller(key) => key.fmt(f),
            Registration::Listener(key) => key.fmt(f),
            Registration::Observer(key) => key.fmt(f),
        }
    }
}
