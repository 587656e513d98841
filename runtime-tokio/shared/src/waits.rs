//! Waiting for the first or for all of several tasks, in one call.
//!
//! It is so many waits, and nothing more to the core: each is registered, promised its
//! task's end, taken or given back like any other. They have one timeout, since they begin
//! together and last equally long.

use std::{
    collections::BTreeSet,
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use longrun_core::{Caller, TaskId, TaskSnapshot, WaitRefusal};

use crate::{
    error::{Broken, WaitError},
    state::Inner,
    wait::{Wait, Waited},
};

/// What a wait for several tasks waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// The end of the first of them.
    Any,
    /// The ends of all of them.
    All,
}

/// What became of one task that was waited for along with others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitOutcome {
    /// It has ended: its terminal snapshot.
    Ended(TaskSnapshot),
    /// The timeout passed, and it goes on: its live snapshot.
    TimedOut(TaskSnapshot),
    /// It goes on, and was waited for no longer, since another has ended.
    Live(TaskSnapshot),
    /// It could not be waited for: there is no such task, say.
    Refused(WaitRefusal),
}

impl WaitOutcome {
    /// The task as the wait found it, if it was waited for.
    #[must_use]
    pub const fn snapshot(&self) -> Option<&TaskSnapshot> {
        match self {
            Self::Ended(task) | Self::TimedOut(task) | Self::Live(task) => Some(task),
            Self::Refused(_) => None,
        }
    }
}

/// A wait for several tasks, see [`TaskService::wait_any`](crate::TaskService::wait_any).
/// Its result names each task once, in the order in which they were asked for.
///
/// It is registered from the call on, not from the first poll. Each end that its result
/// tells is taken with it. Dropping it ends the waits, and gives back each end that had been
/// assigned to it by then: its notice goes out after all unless something else tells.
#[must_use = "a wait that is dropped is over"]
pub struct Waits {
    inner: Arc<Inner>,
    caller: Caller,
    until: Until,
    pub(crate) waits: Vec<(TaskId, Result<Wait, WaitError>)>,
}

impl Waits {
    pub(crate) fn begin(
        inner: &Arc<Inner>,
        ids: &[TaskId],
        caller: &Caller,
        timeout: Duration,
        until: Until,
    ) -> Self {
        let waits = once_each(ids).into_iter().map(|id| {
            let begun = Wait::begin(inner, id, caller, timeout).or_refusal();
            (id.clone(), begun)
        });
        Self { waits: waits.collect(), inner: Arc::clone(inner), caller: caller.clone(), until }
    }

    /// Waits until there is a result to take, and does not take it. Dropping it then gives
    /// back what was promised; [`abort`](Self::abort) takes it.
    ///
    /// # Errors
    ///
    /// [`Broken`] if the service met a bug of its own.
    pub async fn ready(&mut self) -> Result<(), Broken> {
        std::future::poll_fn(|context| self.poll_ready(context)).await
    }

    /// Ends the wait: the ends that it was promised it still gets, and of the others how
    /// they are.
    ///
    /// # Errors
    ///
    /// [`Broken`] if the service met a bug of its own.
    pub fn abort(mut self) -> Result<Vec<(TaskId, WaitOutcome)>, Broken> {
        self.take()
    }

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Broken>> {
        let (mut waiting, mut ready) = (0, 0);
        for (_, wait) in &mut self.waits {
            match wait {
                Ok(wait) => match wait.poll_ready(context) {
                    Poll::Ready(Ok(())) => ready += 1,
                    Poll::Ready(Err(_)) => unreachable!("it was not refused"),
                    Poll::Pending => waiting += 1,
                },
                Err(WaitError::Broken(broken)) => return Poll::Ready(Err(broken.clone())),
                Err(WaitError::Refused(_)) => {}
            }
        }
        let over = match self.until {
            Until::Any => ready > 0 || waiting == 0,
            Until::All => waiting == 0,
        };
        if over { Poll::Ready(Ok(())) } else { Poll::Pending }
    }

    fn take(&mut self) -> Result<Vec<(TaskId, WaitOutcome)>, Broken> {
        let mut outcomes = Vec::with_capacity(self.waits.len());
        for (id, wait) in std::mem::take(&mut self.waits) {
            let outcome = match wait {
                Ok(wait) => outcome(&self.inner, &id, &self.caller, wait)?,
                Err(WaitError::Refused(refusal)) => WaitOutcome::Refused(refusal),
                Err(WaitError::Broken(broken)) => return Err(broken),
            };
            outcomes.push((id, outcome));
        }
        // There is one timeout, though their timers may be an instant apart.
        if outcomes.iter().any(|(_, outcome)| matches!(outcome, WaitOutcome::TimedOut(_))) {
            for (_, outcome) in &mut outcomes {
                if let WaitOutcome::Live(task) = outcome {
                    *outcome = WaitOutcome::TimedOut(task.clone());
                }
            }
        }
        Ok(outcomes)
    }
}

/// Ends one of the waits: its task's end, if it was promised that, or how its task is.
fn outcome(
    inner: &Arc<Inner>,
    id: &TaskId,
    caller: &Caller,
    wait: Wait,
) -> Result<WaitOutcome, Broken> {
    // Looked at first: what ends after that look is promised to the wait.
    let before = inner.get(id, caller.as_ref());
    match wait.abort() {
        Ok(Some(Waited::Ended(task))) => Ok(WaitOutcome::Ended(task)),
        Ok(Some(Waited::TimedOut(task))) => Ok(WaitOutcome::TimedOut(task)),
        Ok(None) => match before {
            Ok(task) => Ok(WaitOutcome::Live(task)),
            Err(error) => unreachable!("a task that is waited for is on record: {error}"),
        },
        Err(WaitError::Broken(broken)) => Err(broken),
        Err(WaitError::Refused(refusal)) => unreachable!("it was not refused: {refusal}"),
    }
}

impl Future for Waits {
    type Output = Result<Vec<(TaskId, WaitOutcome)>, Broken>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match std::task::ready!(self.poll_ready(context)) {
            Ok(()) => Poll::Ready(self.take()),
            Err(broken) => Poll::Ready(Err(broken)),
        }
    }
}

impl fmt::Debug for Waits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waits")
            .field("until", &self.until)
            .field("waits", &self.waits)
            .finish_non_exhaustive()
    }
}

/// Each id once, in the order in which they came first.
pub(crate) fn once_each(ids: &[TaskId]) -> Vec<&TaskId> {
    let mut seen = BTreeSet::new();
    ids.iter().filter(|id| seen.insert(*id)).collect()
}

#[cfg(all(test, not(longrun_loom)))]
#[allow(clippy::unwrap_used, reason = "in a test a panic is the report")]
mod tests {
    use std::{
        convert::Infallible,
        future,
        sync::{
            Mutex,
            atomic::{AtomicU64, Ordering},
        },
    };

    use futures::FutureExt as _;
    use longrun_core::{Config, Instant, Now, Outcome};

    use super::*;
    use crate::{BoxFuture, Hooks, Report, Runtime, TaskService, TaskSpec};

    /// A clock that goes on by a step whenever it is looked at, and work that never does.
    #[derive(Default)]
    struct Ticking {
        at: AtomicU64,
        step: AtomicU64,
        work: Mutex<Vec<BoxFuture>>,
    }

    impl Runtime for Ticking {
        fn now(&self) -> Now {
            let step = self.step.load(Ordering::SeqCst);
            Now::new(Instant(self.at.fetch_add(step, Ordering::SeqCst)), 1)
        }

        fn spawn(&self, future: BoxFuture) {
            self.work.lock().unwrap().push(future);
        }

        fn rearm(&self) {}

        fn report(&self, _: &Report) {}
    }

    // contract: W8, W1
    #[test]
    fn there_is_one_timeout_though_the_timers_of_the_waits_are_an_instant_apart() {
        let runtime = Arc::new(Ticking::default());
        let service = TaskService::over(runtime.clone(), Config::default()).unwrap();
        let guard = service.attach_controller().unwrap();
        let ids = [(); 2].map(|()| {
            let starter = || Ok::<_, Infallible>(Hooks::new(future::pending::<Outcome>()));
            service.start_unowned(TaskSpec::new("bash", "make"), starter).unwrap()
        });
        let timeout = Duration::from_secs(1);
        runtime.step.store(1, Ordering::SeqCst);
        let mut any = service.wait_any(&ids, &None, timeout);
        runtime.step.store(0, Ordering::SeqCst);
        assert!((&mut any).now_or_never().is_none());
        runtime.at.store(1_000_000_000, Ordering::SeqCst);
        let next = service.downgrade().tick().unwrap();
        assert_eq!(next, Some(Instant(1_000_000_001)), "one of the timers is left");
        let outcomes = any.now_or_never().unwrap().unwrap();
        assert!(matches!(
            &outcomes[..],
            [(_, WaitOutcome::TimedOut(_)), (_, WaitOutcome::TimedOut(_))]
        ));
        assert_eq!(service.downgrade().tick().unwrap(), None, "and none after it");
        drop(guard);
    }
}
