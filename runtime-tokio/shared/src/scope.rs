//! Scopes: where controllers, listeners, observers and owners are registered.

use std::{fmt, sync::Arc};

use longrun_core::{Event, NoticePolicy, Refusal, Reply, ScopeKey};

use crate::{
    callbacks::{Changed, Guard, Registration, TaskDone},
    error::ScopeError,
    owner::OwnerBuilder,
    state::{Inner, SendError, State},
};

/// A node of the scope tree. What is registered in it serves the owners below it;
/// what is registered at the root serves everyone. When the last clone is dropped,
/// it is closed, with all that is registered in it and below it.
#[derive(Clone)]
pub struct Scope {
    pub(crate) node: Arc<Node>,
}

pub(crate) struct Node {
    pub(crate) inner: Arc<Inner>,
    /// `None` is the root.
    pub(crate) key: Option<ScopeKey>,
    /// A scope lives no longer than those above it.
    #[expect(dead_code, reason = "held to keep the parent open")]
    parent: Option<Arc<Self>>,
}

impl Drop for Node {
    fn drop(&mut self) {
        if let Some(scope) = self.key {
            // Refused only where it is closed already.
            let _ = self.inner.send(Event::CloseScope { scope });
        }
    }
}

impl Scope {
    pub(crate) fn root(inner: &Arc<Inner>) -> Self {
        let node = Node { inner: Arc::clone(inner), key: None, parent: None };
        Self { node: Arc::new(node) }
    }

    /// Opens a scope below this one.
    ///
    /// # Errors
    ///
    /// [`ScopeError::Broken`] if the service met a bug of its own.
    pub fn open_scope(&self) -> Result<Self, ScopeError> {
        let inner = &self.node.inner;
        let key = inner.send_and(Event::OpenScope { parent: self.node.key }, |_, reply| {
            let Reply::Scope(key) = reply else { unreachable!("a scope is answered by its key") };
            key
        });
        let key = Some(key.map_err(scope_error)?);
        let parent = Some(Arc::clone(&self.node));
        Ok(Self { node: Arc::new(Node { inner: Arc::clone(inner), key, parent }) })
    }

    /// Attaches a controller: something that can read and stop tasks for the owners
    /// below. While none serves an owner, its starts are refused.
    ///
    /// # Errors
    ///
    /// [`ScopeError::Broken`] if the service met a bug of its own.
    pub fn attach_controller(&self) -> Result<Guard, ScopeError> {
        self.attach(None)
    }

    /// Attaches the model-facing controls: a controller that also announces ended
    /// tasks. Where several cover one owner, the innermost announce.
    ///
    /// # Errors
    ///
    /// [`ScopeError::Broken`] if the service met a bug of its own.
    pub fn mount_controls(&self, policy: NoticePolicy) -> Result<Guard, ScopeError> {
        self.attach(Some(policy))
    }

    fn attach(&self, notices: Option<NoticePolicy>) -> Result<Guard, ScopeError> {
        self.register(Event::AttachController { scope: self.node.key, notices }, |_, reply| {
            let Reply::Controller(key) = reply else { unreachable!("answered by its key") };
            Registration::Controller(key)
        })
    }

    /// Calls `listener` when a task has ended: outside every lock, one call at a time,
    /// never after its guard is gone or the shutdown has begun. It may call the
    /// service, and should be quick. A panic in it is reported and goes no further.
    ///
    /// # Errors
    ///
    /// [`ScopeError::Broken`] if the service met a bug of its own.
    pub fn on_task_done(
        &self,
        listener: impl Fn(&TaskDone) + Send + Sync + 'static,
    ) -> Result<Guard, ScopeError> {
        self.register(Event::AddListener { scope: self.node.key }, |state, reply| {
            let Reply::Listener(key) = reply else { unreachable!("answered by its key") };
            state.listeners.insert(key, Arc::new(listener));
            Registration::Listener(key)
        })
    }

    /// Calls `observer` when somebody's visible tasks have changed: after a
    /// registration, every request to stop, an end, and a removal. The same rules as
    /// for [`on_task_done`](Self::on_task_done), but it is told of a shutdown too.
    ///
    /// # Errors
    ///
    /// [`ScopeError::Broken`] if the service met a bug of its own.
    pub fn on_tasks_changed(
        &self,
        observer: impl Fn(&Changed) + Send + Sync + 'static,
    ) -> Result<Guard, ScopeError> {
        self.register(Event::AddObserver { scope: self.node.key }, |state, reply| {
            let Reply::Observer(key) = reply else { unreachable!("answered by its key") };
            state.observers.insert(key, Arc::new(observer));
            Registration::Observer(key)
        })
    }

    /// A new owner below this scope: one live agent, under its session id.
    pub fn owner(&self, session: impl Into<longrun_core::SessionId>) -> OwnerBuilder {
        OwnerBuilder::new(self.clone(), session.into())
    }

    fn register(
        &self,
        event: Event,
        file: impl FnOnce(&mut State, Reply) -> Registration,
    ) -> Result<Guard, ScopeError> {
        let registration = self.node.inner.send_and(event, file).map_err(scope_error)?;
        Ok(Guard::new(&self.node.inner, registration))
    }
}

pub(crate) fn scope_error(error: SendError) -> ScopeError {
    match error {
        SendError::Refused(Refusal::Gone(gone)) => gone.into(),
        SendError::Refused(other) => unreachable!("not a refusal of a registration: {other}"),
        SendError::Broken(broken) => broken.into(),
    }
}

impl fmt::Debug for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.node.key {
            None => f.write_str("root scope"),
            Some(key) => key.fmt(f),
        }
    }
}
