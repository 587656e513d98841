//! Start: reserve → the starter → commit, and the watch over `done`.

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures::FutureExt as _;
use longrun_core::{
    Event, Output, OutputMode, OwnerKey, Refusal, Reply, ReservationKey, StartRequest, TaskId,
    TaskKey,
};

use crate::{
    completion::Completion,
    error::StartError,
    panics,
    producer::{Done, Handle, Hooks, TaskSpec},
    state::{Inner, SendError},
};

pub(crate) fn start<E>(
    inner: &Arc<Inner>,
    owner: Option<OwnerKey>,
    spec: TaskSpec,
    starter: impl FnOnce() -> Result<Hooks, E>,
) -> Result<TaskId, StartError<E>> {
    let request = StartRequest {
        kind: spec.kind.into(),
        label: spec.label.into(),
        output_limit_bytes: spec.output_limit_bytes,
        owner,
        notice: spec.notice,
    };
    let reservation = match inner.send(Event::Reserve(request)) {
        Ok(Reply::Reserved(reservation)) => Reserved { inner, reservation: Some(reservation) },
        Ok(other) => unreachable!("a start is answered by a reservation, not {other:?}"),
        Err(SendError::Refused(Refusal::Start(refusal))) => {
            return Err(StartError::Refused(refusal));
        }
        Err(SendError::Refused(other)) => unreachable!("not a refusal of a start: {other}"),
        Err(SendError::Broken(broken)) => return Err(StartError::Broken(broken)),
    };
    let hooks = starter().map_err(StartError::Starter)?;
    reservation.commit(hooks).map_err(StartError::Broken)
}

/// A slot that is given back unless it is committed, also when the starter panics.
struct Reserved<'a> {
    inner: &'a Arc<Inner>,
    reservation: Option<ReservationKey>,
}

impl Reserved<'_> {
    fn commit(mut self, hooks: Hooks) -> Result<TaskId, crate::error::Broken> {
        let Some(reservation) = self.reservation.take() else {
            unreachable!("a reservation is committed once")
        };
        let output = hooks.output_mode();
        let (done, handle) = hooks.split();
        let handle = Arc::new(handle);
        let filed = Arc::clone(&handle);
        let event = Event::Commit { reservation, output };
        let started = self.inner.send_and(event, |state, reply| {
            let Reply::Started { task, id } = reply else { unreachable!("a commit cannot fail") };
            state.handles.insert(task, filed);
            (task, id)
        });
        match started {
            Ok((task, id)) => {
                watch(self.inner, task, done, &handle);
                Ok(id)
            }
            Err(SendError::Refused(refusal)) => unreachable!("a commit cannot fail: {refusal}"),
            Err(SendError::Broken(broken)) => {
                // The work has begun and nothing will ever know of it: end it.
                let _ = handle.cancel(Some("the task service is broken"));
                self.inner.runtime.spawn(Box::pin(done.map(drop)));
                Err(broken)
            }
        }
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        if let Some(reservation) = self.reservation.take() {
            self.inner.tell(Event::Release { reservation });
        }
    }
}

/// Sees to it that the end of a task is told, however it comes.
fn watch(inner: &Arc<Inner>, task: TaskKey, done: Done, handle: &Handle) {
    // Not the handle itself: it goes with the record.
    let (inner, ended) = (Arc::clone(inner), Arc::clone(&handle.ended));
    let (output, told) = (handle.output, false);
    let mut watch = Watch { inner, task, output, ended, told };
    watch.inner.clone().runtime.spawn(Box::pin(async move {
        let end = AssertUnwindSafe(done).catch_unwind().await;
        watch.tell(match end {
            Ok(outcome) => Event::Settled { task, outcome },
            Err(panic) => broke(task, &panics::message(&*panic)),
        });
    }));
}

struct Watch {
    inner: Arc<Inner>,
    task: TaskKey,
    output: OutputMode,
    ended: Arc<Completion<Option<Arc<str>>>>,
    told: bool,
}

impl Watch {
    fn tell(&mut self, end: Event) {
        self.told = true;
        let output = match &end {
            Event::Settled { outcome, .. } if self.output == OutputMode::Final => {
                outcome.output.clone()
            }
            _ => None,
        };
        let (task, ended) = (self.task, Arc::clone(&self.ended));
        // Observers get the output that reads do. The record may be gone with this very end.
        let told = self.inner.send_and(end, |state, _| {
            ended.decide(match state.registry.output_of(task) {
                Some(Output::Final(output)) => output,
                Some(Output::Drain) => None,
                None => output,
            });
        });
        debug_assert!(!matches!(told, Err(SendError::Refused(_))), "facts are never refused");
        self.ended.complete(None);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if !self.told {
            self.tell(broke(self.task, "its `done` was dropped before it ended"));
        }
    }
}

fn broke(task: TaskKey, error: &str) -> Event {
    Event::Broke { task, error: error.into() }
}
