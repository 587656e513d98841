//! The service: what a harness holds.

use std::{
    fmt,
    sync::{Arc, Weak},
    time::Duration,
};

use longrun_core::{
    Caller, Config, Event, Instant, InvalidConfig, KillRefusal, NoticePolicy, Refusal, Registry,
    Reply, SessionId, TaskId, TaskKey, TaskSnapshot,
};

use crate::{
    callbacks::{Changed, Guard, TaskDone},
    error::{AccessError, Broken, KillError, ScopeError, StartError},
    owner::{Disposal, OwnerBuilder},
    producer::{Hooks, TaskSpec},
    runtime::{Report, Runtime},
    scope::Scope,
    start,
    state::{Inner, SendError, Tap},
    sync::lock,
    wait::Wait,
    waits::{Until, Waits},
};

/// A service of background tasks. Clones share it.
///
/// Calls are synchronous where nothing has to be waited for, and may be made from any
/// thread, from a callback, from a starter and from `Drop`. [`wait`](Self::wait),
/// [`shutdown`](Self::shutdown) and [`OwnerScope::dispose`](crate::OwnerScope::dispose)
/// are futures that any executor can poll.
///
/// Ids that come from a model are parsed first, with [`TaskId::parse`].
///
/// When the last clone is dropped, the service shuts down in the background: work does
/// not outlive it.
#[derive(Clone)]
pub struct TaskService {
    pub(crate) inner: Arc<Inner>,
    held: Arc<Held>,
}

/// Shuts the service down when nobody holds it any more.
struct Held(Arc<Inner>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.tell(Event::Shutdown);
    }
}

/// A service, for somebody who must not keep it up: its timer, or a callback.
#[derive(Clone)]
pub struct WeakTaskService {
    inner: Weak<Inner>,
    held: Weak<Held>,
}

impl WeakTaskService {
    /// The service, while somebody holds it.
    #[must_use]
    pub fn upgrade(&self) -> Option<TaskService> {
        Some(TaskService { inner: self.inner.upgrade()?, held: self.held.upgrade()? })
    }

    /// For the timer of an adapter: carries out what is due, and says when to call
    /// again. `None` when nothing is left of the service, not even work that goes on.
    #[must_use]
    pub fn tick(&self) -> Option<Option<Instant>> {
        Some(self.inner.upgrade()?.tick())
    }
}

impl fmt::Debug for WeakTaskService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WeakTaskService").finish_non_exhaustive()
    }
}

/// What a kill did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Killed {
    /// The task is stopping.
    Requested(TaskSnapshot),
    /// The task had ended by itself.
    AlreadyFinished(TaskSnapshot),
}

impl TaskService {
    /// A service over that runtime. Adapters call this; see theirs for how to make one.
    ///
    /// # Errors
    ///
    /// [`InvalidConfig`] if a limit is one that nothing can work within.
    pub fn over(runtime: Arc<dyn Runtime>, config: Config) -> Result<Self, InvalidConfig> {
        Self::tapped(runtime, config, Vec::new())
    }

    /// The same, with every event shown to each of `taps`. See [`Tap`].
    ///
    /// # Errors
    ///
    /// [`InvalidConfig`] if a limit is one that nothing can work within.
    pub fn tapped(
        runtime: Arc<dyn Runtime>,
        config: Config,
        taps: Vec<Tap>,
    ) -> Result<Self, InvalidConfig> {
        Ok(Self::new(Inner::new(Registry::new(config)?, runtime, taps)))
    }

    pub(crate) fn new(inner: Arc<Inner>) -> Self {
        Self { held: Arc::new(Held(Arc::clone(&inner))), inner }
    }

    /// The same service, without keeping it up.
    #[must_use]
    pub fn downgrade(&self) -> WeakTaskService {
        WeakTaskService { inner: Arc::downgrade(&self.inner), held: Arc::downgrade(&self.held) }
    }

    /// The root of the scope tree: what is registered there serves everyone.
    #[must_use]
    pub fn root(&self) -> Scope {
        Scope::root(&self.inner)
    }

    /// [`Scope::attach_controller`] at the root.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn attach_controller(&self) -> Result<Guard, ScopeError> {
        self.root().attach_controller()
    }

    /// [`Scope::mount_controls`] at the root.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn mount_controls(&self, policy: NoticePolicy) -> Result<Guard, ScopeError> {
        self.root().mount_controls(policy)
    }

    /// [`Scope::on_task_done`] at the root.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn on_task_done(
        &self,
        listener: impl Fn(&TaskDone) + Send + Sync + 'static,
    ) -> Result<Guard, ScopeError> {
        self.root().on_task_done(listener)
    }

    /// [`Scope::on_tasks_changed`] at the root.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn on_tasks_changed(
        &self,
        observer: impl Fn(&Changed) + Send + Sync + 'static,
    ) -> Result<Guard, ScopeError> {
        self.root().on_tasks_changed(observer)
    }

    /// [`Scope::owner`] at the root.
    pub fn owner(&self, session: impl Into<SessionId>) -> OwnerBuilder {
        self.root().owner(session)
    }

    /// Starts a task that is nobody's: everybody can reach it, and it ends with the
    /// service. Otherwise like [`OwnerScope::start`](crate::OwnerScope::start).
    ///
    /// # Errors
    ///
    /// As there.
    pub fn start_unowned<E>(
        &self,
        spec: TaskSpec,
        starter: impl FnOnce() -> Result<Hooks, E>,
    ) -> Result<TaskId, StartError<E>> {
        start::start(&self.inner, None, spec, starter)
    }

    /// One task at this moment. Consumes and reports nothing.
    ///
    /// # Errors
    ///
    /// [`AccessError`] if there is no such task, or it is another session's.
    pub fn get(&self, id: &TaskId, caller: &Caller) -> Result<TaskSnapshot, AccessError> {
        self.inner.get(id, caller.as_ref())
    }

    /// The caller's tasks and the unowned ones, in the order of registration. Consumes
    /// and reports nothing. Empty if the service is broken.
    #[must_use]
    pub fn list(&self, caller: &Caller) -> Vec<TaskSnapshot> {
        self.inner.list(caller.as_ref())
    }

    /// Asks a task to stop and returns at once. The reason is forwarded to the producer
    /// word for word.
    ///
    /// # Errors
    ///
    /// [`KillError`]: the task is as it was, and can be killed again.
    pub fn kill(
        &self,
        id: &TaskId,
        caller: &Caller,
        reason: Option<&str>,
    ) -> Result<Killed, KillError> {
        let event =
            Event::Kill { id: id.clone(), caller: caller.clone(), reason: reason.map(Into::into) };
        let begun = self.inner.send_and(event, |state, reply| match reply {
            Reply::Killing { kill, task } => Err((kill, state.handles.get(&task).cloned())),
            Reply::AlreadyFinished(snapshot) => Ok(snapshot),
            other => unreachable!("not an answer to a kill: {other:?}"),
        });
        let (kill, handle) = match begun {
            Ok(Ok(snapshot)) => return Ok(Killed::AlreadyFinished(snapshot)),
            Ok(Err(begun)) => begun,
            Err(error) => return Err(kill_error(error)),
        };
        let cancelled = handle.as_ref().map_or(Ok(()), |handle| handle.cancel(reason));
        let event = Event::KillAnswered { kill, accepted: cancelled.is_ok() };
        let answer = self.inner.send(event).map_err(kill_error)?;
        cancelled.map_err(KillError::Cancel)?;
        if let Some(reason) = reason {
            let report = Report::Killed { id: id.clone(), reason: reason.to_owned() };
            self.inner.report(&report);
        }
        match answer {
            Reply::KillRequested(task) => {
                Ok(Killed::Requested(self.inner.with_live_detail(task, handle.as_deref())))
            }
            Reply::AlreadyFinished(snapshot) => Ok(Killed::AlreadyFinished(snapshot)),
            other => unreachable!("not an answer to a kill: {other:?}"),
        }
    }

    /// Waits for the end of a task, for at most `timeout` (above zero, at most
    /// [`MAX_WAIT`](longrun_core::MAX_WAIT)). The timeout is a success and stops
    /// nothing. The wait is registered when this returns; if it was refused, the future
    /// says so.
    pub fn wait(&self, id: &TaskId, caller: &Caller, timeout: Duration) -> Wait {
        Wait::begin(&self.inner, id, caller, timeout)
    }

    /// Waits for the end of the first of several tasks, in one call and for one timeout, as
    /// [`wait`](Self::wait) does for one.
    ///
    /// An id that comes twice counts once. One that cannot be waited for is told of in the
    /// outcome and keeps nobody waiting; the call waits for the others, and is over at once
    /// where there are none.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use longrun_shared::{Broken, TaskId, TaskService, WaitOutcome, core::Caller};
    ///
    /// const A_MINUTE: Duration = Duration::from_secs(60);
    ///
    /// async fn ended(tasks: &TaskService, ids: &[TaskId], of: &Caller) -> Result<usize, Broken> {
    ///     let outcomes = tasks.wait_any(ids, of, A_MINUTE).await?;
    ///     let ended = |outcome: &WaitOutcome| matches!(outcome, WaitOutcome::Ended(_));
    ///     Ok(outcomes.iter().filter(|(_, outcome)| ended(outcome)).count())
    /// }
    /// ```
    pub fn wait_any(&self, ids: &[TaskId], caller: &Caller, timeout: Duration) -> Waits {
        Waits::begin(&self.inner, ids, caller, timeout, Until::Any)
    }

    /// Waits for the ends of all of several tasks; otherwise like
    /// [`wait_any`](Self::wait_any).
    pub fn wait_all(&self, ids: &[TaskId], caller: &Caller, timeout: Duration) -> Waits {
        Waits::begin(&self.inner, ids, caller, timeout, Until::All)
    }

    /// Disposes the service: completion listeners fall silent, every live task is asked
    /// to stop, and when all have ended the registry is emptied. That begins before this
    /// returns; the future ends with it, and may be dropped. A second call joins the
    /// first.
    pub fn shutdown(&self) -> Disposal {
        // A shutdown that has ended has completed already.
        let _ = self.inner.send(Event::Shutdown);
        Disposal { ended: self.inner.shut_down.wait() }
    }

    /// The same, and blocks this thread until the end. The runtime must run on other
    /// threads: called on the only one that drives it, or from a callback, this never
    /// returns.
    ///
    /// # Errors
    ///
    /// [`Broken`] if the service met a bug of its own.
    pub fn shutdown_blocking(&self) -> Result<Vec<TaskId>, Broken> {
        futures::executor::block_on(self.shutdown())
    }

    /// Whether the service has begun to shut down.
    #[must_use]
    pub fn is_closing(&self) -> bool {
        lock(&self.inner.state).registry.is_closing()
    }

    /// The key of a task that the caller can reach.
    ///
    /// # Errors
    ///
    /// [`AccessError`] if there is no such task, or it is another session's.
    pub fn key_of(&self, id: &TaskId, caller: &Caller) -> Result<TaskKey, AccessError> {
        let state = lock(&self.inner.state);
        match &state.broken {
            Some(broken) => Err(broken.clone().into()),
            None => Ok(state.registry.key_of(id, caller.as_ref())?),
        }
    }
}

impl Inner {
    pub(crate) fn get(
        &self,
        id: &TaskId,
        caller: Option<&SessionId>,
    ) -> Result<TaskSnapshot, AccessError> {
        let (task, handle) = {
            let state = lock(&self.state);
            if let Some(broken) = &state.broken {
                return Err(broken.clone().into());
            }
            let task = state.registry.get(id, caller)?;
            let handle = state.handle_of(&task);
            (task, handle)
        };
        Ok(self.with_live_detail(task, handle.as_deref()))
    }

    pub(crate) fn list(&self, caller: Option<&SessionId>) -> Vec<TaskSnapshot> {
        let tasks: Vec<_> = {
            let state = lock(&self.state);
            if state.broken.is_some() {
                return Vec::new();
            }
            let tasks = state.registry.list(caller).into_iter();
            tasks.map(|task| (state.handle_of(&task), task)).collect()
        };
        let tasks = tasks.into_iter();
        tasks.map(|(handle, task)| self.with_live_detail(task, handle.as_deref())).collect()
    }
}

fn kill_error(error: SendError) -> KillError {
    match error {
        SendError::Refused(Refusal::Kill(refusal)) => refusal.into(),
        SendError::Refused(other) => unreachable!("not a refusal of a kill: {other}"),
        SendError::Broken(broken) => broken.into(),
    }
}

/// A kill of a task that cannot be reached.
impl From<longrun_core::AccessRefusal> for KillError {
    fn from(refusal: longrun_core::AccessRefusal) -> Self {
        Self::Refused(KillRefusal::from(refusal))
    }
}

impl fmt::Debug for TaskService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskService").finish_non_exhaustive()
    }
}
