//! Owners: one live agent each, and the end of its work with it.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use longrun_core::{Caller, ClaimSource, Event, OwnerKey, Reply, SessionId, TaskId, TaskSnapshot};

use crate::{
    attach::Attachments,
    completion::{Completed, Completion},
    error::{Broken, ScopeError, StartError},
    inbox::{Inbox, Notice},
    producer::{Hooks, TaskSpec},
    scope::{Scope, scope_error},
    start,
    state::{Ended, Inner, OwnerEntry},
};

/// An owner in the making.
#[must_use = "call `open`"]
pub struct OwnerBuilder {
    scope: Scope,
    session: SessionId,
    busy: bool,
    inbox: Option<Arc<dyn Inbox>>,
}

impl OwnerBuilder {
    pub(crate) fn new(scope: Scope, session: SessionId) -> Self {
        Self { scope, session, busy: false, inbox: None }
    }

    /// Whether the agent is in a turn at the moment; by default it is idle.
    pub fn busy(self, busy: bool) -> Self {
        Self { busy, ..self }
    }

    /// How its harness is nudged when a notice is pending. Without one, notices wait
    /// to be claimed all the same.
    pub fn inbox(self, inbox: Arc<dyn Inbox>) -> Self {
        Self { inbox: Some(inbox), ..self }
    }

    /// Registers the owner under its session id. One that was live under it is
    /// replaced: it keeps its tasks and its access, and starts nothing any more.
    ///
    /// # Errors
    ///
    /// [`ScopeError::Broken`] if the service met a bug of its own.
    pub fn open(self) -> Result<OwnerScope, ScopeError> {
        let Self { scope, session, busy, inbox } = self;
        let event = Event::OpenOwner { session: session.clone(), scope: scope.node.key, busy };
        let disposed = Completion::new();
        let entry = OwnerEntry {
            inbox,
            disposed: Arc::clone(&disposed),
            attachments: Attachments::default(),
            dropped: false,
            ended: false,
        };
        let opened = scope.node.inner.send_and(event, |state, reply| {
            let Reply::Owner { owner, replaced } = reply else { unreachable!("an owner's key") };
            state.owners.insert(owner, entry);
            (owner, replaced)
        });
        let (key, replaced) = opened.map_err(scope_error)?;
        Ok(OwnerScope { scope, key, replaced, session, disposed })
    }
}

/// One live agent, and all work that is started for it.
///
/// Dropping it disposes the owner in the background: its tasks are asked to stop
/// before the drop returns.
pub struct OwnerScope {
    scope: Scope,
    key: OwnerKey,
    replaced: Option<OwnerKey>,
    session: SessionId,
    disposed: Arc<Completion<Ended>>,
}

impl OwnerScope {
    fn inner(&self) -> &Arc<Inner> {
        &self.scope.node.inner
    }

    /// The exact instance, to compare with what callbacks tell.
    #[must_use]
    pub fn key(&self) -> OwnerKey {
        self.key
    }

    /// Who was live under the session id until this owner was opened.
    #[must_use]
    pub fn replaced(&self) -> Option<OwnerKey> {
        self.replaced
    }

    /// The identity that grants access.
    #[must_use]
    pub fn session(&self) -> &SessionId {
        &self.session
    }

    /// This owner as the caller of a request. It keeps its access when it has been
    /// replaced or disposed.
    #[must_use]
    pub fn caller(&self) -> Caller {
        Some(self.session.clone())
    }

    /// Starts a task of this owner's. Everything that can fail is checked first; then
    /// `starter` runs, once, on this thread and outside every lock (it may call the
    /// service); once it has returned its hooks the task is registered, whatever
    /// happens.
    ///
    /// # Errors
    ///
    /// [`StartError`]: nothing was registered, no number was used, and unless it is
    /// [`StartError::Starter`] the starter has not run.
    pub fn start<E>(
        &self,
        spec: TaskSpec,
        starter: impl FnOnce() -> Result<Hooks, E>,
    ) -> Result<TaskId, StartError<E>> {
        start::start(self.inner(), Some(self.key), spec, starter)
    }

    /// Says whether the agent is in a turn. Only this does: being woken does not.
    pub fn set_busy(&self, busy: bool) {
        self.inner().tell(Event::BusyChanged { owner: self.key, busy });
    }

    /// Takes the pending notices, as an agent does at the start of a step. User input
    /// refills the budget of wakes.
    pub fn claim(&self, source: ClaimSource) -> Vec<Notice> {
        self.claim_with(source, false).0
    }

    /// Takes the pending notices, or, in one step, finds none and marks the owner
    /// idle. So a notice is either taken here or nudged later, and never stranded.
    #[must_use = "the notices are the agent's now"]
    pub fn claim_or_idle(&self, source: ClaimSource) -> Option<Vec<Notice>> {
        let (notices, idle) = self.claim_with(source, true);
        (!idle).then_some(notices)
    }

    fn claim_with(&self, source: ClaimSource, or_idle: bool) -> (Vec<Notice>, bool) {
        match self.inner().send(Event::Claim { owner: self.key, source, or_idle }) {
            Ok(Reply::Claimed { notices, idle }) => {
                (notices.into_iter().map(Notice::about).collect(), idle)
            }
            Ok(_) | Err(_) => (Vec::new(), or_idle),
        }
    }

    /// The owner's tasks and the unowned ones, in the order of registration.
    #[must_use]
    pub fn list(&self) -> Vec<TaskSnapshot> {
        self.inner().list(Some(&self.session))
    }

    /// Disposes the owner: no start is accepted from now on, its live tasks are asked
    /// to stop all at once, and when all have ended its records go. That begins before
    /// this returns; the future ends with it, and may be dropped. A second call joins
    /// the first.
    pub fn dispose(&self) -> Disposal {
        // A disposal that has ended has completed `disposed` already.
        let _ = self.inner().send(Event::DisposeOwner { owner: self.key });
        Disposal { ended: self.disposed.wait() }
    }
}

impl Drop for OwnerScope {
    fn drop(&mut self) {
        let owner = self.key;
        let dropped = self
            .inner()
            .send_and(Event::OwnerDropped { owner }, |state, _| state.owner_dropped(owner));
        // The entry may own an inbox, and that anything: it is dropped outside the lock.
        drop(dropped.ok());
    }
}

impl fmt::Debug for OwnerScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnerScope")
            .field("key", &self.key)
            .field("session", &self.session)
            .finish()
    }
}

/// The end of a disposal or of a shutdown, with the tasks that may still be at work:
/// those whose producers could not be asked to stop, or did not in time. Usually none.
#[must_use = "the disposal goes on without it, but only this tells when it has ended"]
pub struct Disposal {
    pub(crate) ended: Completed<Ended>,
}

impl Future for Disposal {
    type Output = Result<Vec<TaskId>, Broken>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.ended).poll(context)
    }
}

impl fmt::Debug for Disposal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Disposal").finish_non_exhaustive()
    }
}
