//! Commands are carried out outside the lock, one at a time, in event order.
//!
//! Whoever finds nobody dispatching becomes the dispatcher; everybody else has
//! enqueued and goes. A callback may therefore call in: what follows from that is
//! carried out after it has returned. After [`TURN`] commands the dispatcher hands
//! over to a future of the runtime, so that no caller serves others for ever.

use std::sync::Arc;

use longrun_core::{Command, Event, Lane, OwnerKey, TaskId, TaskKey, TaskSnapshot};

use crate::{
    attach::Attachments,
    callbacks::{Changed, TaskDone},
    completion::Completion,
    error::BoxError,
    inbox::{Inbox, Notice},
    panics,
    producer::Handle,
    runtime::Report,
    state::{Ended, Inner, Listener, Observer, OwnerEntry, State},
    sync::lock,
};

/// How many commands a dispatcher carries out before it hands over.
const TURN: usize = 64;

/// A command with all that it needs, looked up under the lock.
enum Action {
    Cancel(TaskKey, Arc<Handle>, Arc<str>),
    Changed(Observer, Changed),
    Done(Listener, TaskDone),
    Nudge(Arc<dyn Inbox>, Lane, TaskSnapshot),
    Withdraw(Arc<dyn Inbox>, TaskId),
    /// Dropped outside the lock: a producer may own anything.
    LetGo(Arc<Handle>),
    Complete(Completing, Vec<TaskId>),
    Report(Report),
    /// Whom it was for is gone.
    Nothing,
}

/// A disposal that has ended, and with it perhaps the last that was known of an owner.
struct Completing {
    disposed: Arc<Completion<Ended>>,
    /// To be let go before that is told.
    attachments: Attachments,
    /// To be dropped outside the lock.
    entry: Option<OwnerEntry>,
}

impl Inner {
    /// Carries out what is queued, unless somebody is at it.
    pub(crate) fn dispatch(self: &Arc<Self>) {
        {
            let mut state = lock(&self.state);
            if state.dispatching || state.queue.is_empty() {
                return;
            }
            state.dispatching = true;
        }
        self.dispatch_up_to(TURN);
    }

    fn dispatch_up_to(self: &Arc<Self>, turn: usize) {
        for _ in 0..turn {
            let action = {
                let mut state = lock(&self.state);
                match state.queue.pop_front() {
                    Some(command) => state.look_up(command, self),
                    None => {
                        state.dispatching = false;
                        return;
                    }
                }
            };
            // What an action holds may be the last of a producer or an inbox.
            self.contain("destructor", || self.perform(action));
        }
        let mut rest = Rest(Some(Arc::clone(self)));
        self.runtime.spawn(Box::pin(async move { rest.run() }));
    }

    fn perform(self: &Arc<Self>, action: Action) {
        match action {
            Action::Cancel(task, handle, reason) => {
                let error = handle.cancel(Some(&reason)).err();
                let error = error.map(|error| error.to_string().into());
                self.tell(Event::CancelAnswered { task, error });
            }
            Action::Changed(observer, changed) => {
                self.contain("change observer", || observer(&changed));
            }
            Action::Done(listener, done) => {
                self.contain("completion listener", || listener(&done));
            }
            Action::Nudge(inbox, lane, snapshot) => self.nudge(&*inbox, lane, snapshot),
            Action::Withdraw(inbox, id) => self.contain("inbox", || inbox.withdraw(&id)),
            Action::Complete(Completing { disposed, attachments, entry }, orphans) => {
                self.contain("destructor", || drop(attachments));
                disposed.complete(Ok(orphans));
                drop(entry);
            }
            Action::Report(report) => self.report(&report),
            // Where the work may go on without its record, observers are told the end all the same.
            Action::LetGo(handle) => handle.ended.complete(None),
            Action::Nothing => {}
        }
    }

    fn nudge(&self, inbox: &dyn Inbox, lane: Lane, snapshot: TaskSnapshot) {
        let notice = Notice::about(snapshot);
        let mut result: Result<(), BoxError> = Ok(());
        self.contain("inbox", || {
            result = match lane {
                Lane::Inject => inbox.inject(&notice),
                Lane::Wake => inbox.wake(&notice),
            };
        });
        if let Err(error) = result {
            let id = notice.task.id;
            self.report(&Report::InboxFailed { id, message: error.to_string() });
        }
    }

    /// Calls somebody's code; its panic is reported and goes no further.
    fn contain(&self, callback: &'static str, call: impl FnOnce()) {
        if let Err(message) = panics::caught(call) {
            self.report(&Report::CallbackPanicked { callback, message });
        }
    }
}

/// The rest of the queue, on its way to another dispatcher.
struct Rest(Option<Arc<Inner>>);

impl Rest {
    fn run(&mut self) {
        if let Some(inner) = self.0.take() {
            inner.dispatch_up_to(TURN);
        }
    }
}

impl Drop for Rest {
    /// The runtime goes away and has not run it: there is nobody left to hand over to.
    fn drop(&mut self) {
        if let Some(inner) = self.0.take() {
            inner.dispatch_up_to(usize::MAX);
        }
    }
}

impl State {
    /// Looks up whom a command is for. Who is gone by now is not called, and once
    /// the shutdown has begun no completion listener is.
    fn look_up(&mut self, command: Command, inner: &Inner) -> Action {
        let found = match command {
            Command::Wake { .. } => None,
            Command::Cancel { task, reason } => self
                .handles
                .get(&task)
                .map(|handle| Action::Cancel(task, Arc::clone(handle), reason)),
            Command::NotifyChanged { observer, owner } => self
                .observers
                .get(&observer)
                .filter(|_| self.registry.has_observer(observer))
                .map(|observer| Action::Changed(Arc::clone(observer), Changed { owner })),
            Command::NotifyDone { listener, owner, snapshot } => {
                self.listeners.get(&listener).filter(|_| !self.registry.is_closing()).map(
                    |listener| {
                        Action::Done(Arc::clone(listener), TaskDone { task: snapshot, owner })
                    },
                )
            }
            Command::Nudge { owner, lane, snapshot } => {
                self.inbox(owner).map(|inbox| Action::Nudge(inbox, lane, snapshot))
            }
            Command::WithdrawNotice { owner, id } => {
                self.inbox(owner).map(|inbox| Action::Withdraw(inbox, id))
            }
            Command::Forget { task } => self.handles.remove(&task).map(Action::LetGo),
            Command::OwnerDisposed { owner, orphans } => {
                self.owner_disposed(owner).map(|entry| Action::Complete(entry, orphans))
            }
            Command::ShutDown { orphans } => {
                let disposed = Arc::clone(&inner.shut_down);
                let attachments = std::mem::take(&mut self.attachments);
                Some(Action::Complete(Completing { disposed, attachments, entry: None }, orphans))
            }
            Command::Warn(warning) => Some(Action::Report(warning.into())),
        };
        found.unwrap_or(Action::Nothing)
    }

    fn inbox(&self, owner: OwnerKey) -> Option<Arc<dyn Inbox>> {
        self.owners.get(&owner)?.inbox.clone()
    }

    fn owner_disposed(&mut self, key: OwnerKey) -> Option<Completing> {
        let owner = self.owners.get_mut(&key)?;
        owner.ended = true;
        let disposed = Arc::clone(&owner.disposed);
        let attachments = std::mem::take(&mut owner.attachments);
        let entry = if owner.dropped { self.owners.remove(&key) } else { None };
        Some(Completing { disposed, attachments, entry })
    }

    /// An owner's handle is gone. What is to be dropped outside the lock.
    pub(crate) fn owner_dropped(&mut self, key: OwnerKey) -> Option<OwnerEntry> {
        let owner = self.owners.get_mut(&key)?;
        owner.dropped = true;
        if owner.ended { self.owners.remove(&key) } else { None }
    }
}
