//! Waiting for the end of a task.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use longrun_core::{Caller, Event, Refusal, Reply, TaskId, TaskSnapshot, WaitRefusal, WaiterKey};

use crate::{
    error::{Broken, WaitError},
    state::{Inner, SendError, WaitEntry},
    sync::lock,
};

/// How a wait ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Waited {
    /// The task has ended: its terminal snapshot.
    Ended(TaskSnapshot),
    /// The timeout passed: the live snapshot of that moment. The task goes on.
    TimedOut(TaskSnapshot),
}

impl Waited {
    /// The snapshot, whichever it is.
    #[must_use]
    pub fn snapshot(&self) -> &TaskSnapshot {
        match self {
            Self::Ended(snapshot) | Self::TimedOut(snapshot) => snapshot,
        }
    }

    /// The same, by value.
    #[must_use]
    pub fn into_snapshot(self) -> TaskSnapshot {
        match self {
            Self::Ended(snapshot) | Self::TimedOut(snapshot) => snapshot,
        }
    }
}

/// A wait for the end of a task. It is registered from the call on, not from the
/// first poll. Dropping it ends the wait; if the task's end had been assigned to it
/// by then, and nothing else tells the owner, the notice goes out after all.
#[must_use = "a wait that is dropped is over"]
pub struct Wait {
    inner: Arc<Inner>,
    state: Result<WaiterKey, Option<WaitError>>,
}

impl Wait {
    pub(crate) fn begin(
        inner: &Arc<Inner>,
        id: &TaskId,
        caller: &Caller,
        timeout: Duration,
    ) -> Self {
        let event = Event::Wait { id: id.clone(), caller: caller.clone(), timeout };
        let begun = inner.send_and(event, |state, reply| {
            let Reply::Waiting { waiter, ready } = reply else { unreachable!("a wait's key") };
            state.waits.insert(waiter, WaitEntry { ready, waker: None });
            waiter
        });
        let state = begun.map_err(|error| {
            Some(match error {
                SendError::Refused(Refusal::Wait(refusal)) => WaitError::Refused(refusal),
                SendError::Refused(other) => unreachable!("not a refusal of a wait: {other}"),
                SendError::Broken(broken) => WaitError::Broken(broken),
            })
        });
        Self { inner: Arc::clone(inner), state }
    }

    /// Ends the wait, unless it is over: what it was promised it still gets.
    ///
    /// # Errors
    ///
    /// [`WaitError`] if it was refused, or the service met a bug of its own.
    pub fn abort(mut self) -> Result<Option<Waited>, WaitError> {
        match std::mem::replace(&mut self.state, Err(None)) {
            Ok(waiter) => self.end(waiter, Event::AbortWait { waiter }).map_err(Into::into),
            Err(Some(error)) => Err(error),
            Err(None) => Ok(None),
        }
    }

    /// Itself, unless it was refused.
    pub(crate) fn or_refusal(mut self) -> Result<Self, WaitError> {
        match &mut self.state {
            Ok(_) => Ok(self),
            Err(error) => Err(error.take().expect("a wait that has not been polled")),
        }
    }

    /// Whether it was refused, and why; a refused wait ends with this when polled.
    #[must_use]
    pub fn refusal(&self) -> Option<&WaitRefusal> {
        match &self.state {
            Err(Some(WaitError::Refused(refusal))) => Some(refusal),
            Ok(_) | Err(_) => None,
        }
    }

    /// Sends the event that ends the wait, and forgets its entry with it.
    fn end(&self, waiter: WaiterKey, event: Event) -> Result<Option<Waited>, Broken> {
        let ended = self.inner.send_and(event, |state, reply| {
            let entry = state.waits.remove(&waiter);
            let over = match reply {
                Reply::WaitOver { snapshot, timed_out } => {
                    Some((state.handle_of(&snapshot), snapshot, timed_out))
                }
                _ => None,
            };
            (entry, over)
        });
        match ended {
            Ok((_entry, Some((handle, task, true)))) => {
                let task = self.inner.with_live_detail(task, handle.as_deref());
                Ok(Some(Waited::TimedOut(task)))
            }
            Ok((_entry, Some((_, task, false)))) => Ok(Some(Waited::Ended(task))),
            Ok((_entry, None)) => Ok(None),
            Err(SendError::Refused(refusal)) => unreachable!("the end of a wait: {refusal}"),
            Err(SendError::Broken(broken)) => Err(broken),
        }
    }
}

impl Wait {
    /// Waits until there is a result to take, and does not take it: for one who has more
    /// to do before it is delivered. Then [`abort`](Self::abort) takes it, and dropping
    /// the wait gives it back.
    ///
    /// # Errors
    ///
    /// [`WaitError`] if it was refused, or the service met a bug of its own.
    pub async fn ready(&mut self) -> Result<(), WaitError> {
        std::future::poll_fn(|context| self.poll_ready(context)).await
    }

    pub(crate) fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), WaitError>> {
        let waiter = match &mut self.state {
            Ok(waiter) => *waiter,
            Err(error) => {
                let error = error.take().expect("a wait is not polled after its end");
                return Poll::Ready(Err(error));
            }
        };
        // A waker is cloned before the lock is taken and dropped after it is released:
        // dropping one can drop another wait.
        let mut waker = Some(context.waker().clone());
        let ready = {
            let mut state = lock(&self.inner.state);
            let entry = state.waits.get_mut(&waiter).expect("a wait has an entry until its end");
            if !entry.ready {
                std::mem::swap(&mut entry.waker, &mut waker);
            }
            entry.ready
        };
        drop(waker);
        if ready { Poll::Ready(Ok(())) } else { Poll::Pending }
    }
}

impl Future for Wait {
    type Output = Result<Waited, WaitError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Err(error) = std::task::ready!(self.poll_ready(context)) {
            return Poll::Ready(Err(error));
        }
        let waiter = match std::mem::replace(&mut self.state, Err(None)) {
            Ok(waiter) => waiter,
            Err(_) => unreachable!("a wait that is ready was not refused"),
        };
        Poll::Ready(match self.end(waiter, Event::TakeWait { waiter }) {
            Ok(Some(waited)) => Ok(waited),
            Ok(None) => unreachable!("a wait that is ready has something to take"),
            Err(broken) => Err(broken.into()),
        })
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        if let Ok(waiter) = self.state {
            drop(self.end(waiter, Event::WaitDropped { waiter }));
        }
    }
}

impl fmt::Debug for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Wait").field(&self.state).finish()
    }
}
