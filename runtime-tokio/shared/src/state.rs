//! What is under the one lock, and the one way through it.

use std::{
    collections::{BTreeMap, VecDeque},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    task::Waker,
};

use longrun_core::{
    Command, Config, Event, Instant, ListenerKey, Now, ObserverKey, OwnerKey, Refusal, Registry,
    Reply, TaskId, TaskKey, TaskSnapshot, WaiterKey,
};

use crate::{
    attach::Attachments,
    callbacks::{Changed, TaskDone},
    completion::Completion,
    error::{BoxError, Broken},
    inbox::Inbox,
    panics,
    producer::Handle,
    runtime::{Report, Runtime},
    sync::{Mutex, lock},
};

pub(crate) type Listener = Arc<dyn Fn(&TaskDone) + Send + Sync>;
pub(crate) type Observer = Arc<dyn Fn(&Changed) + Send + Sync>;
/// Who is shown every event with its time, in order, before the core takes it in.
///
/// Called under the lock: it must be quick and must not call the service. One that fails
/// or panics is reported, dropped, and not called again; the service goes on.
pub type Tap = Box<dyn FnMut(Now, &Event) -> Result<(), BoxError> + Send>;
/// Tasks that may still be at work after a disposal, or what broke the service.
pub(crate) type Ended = Result<Vec<TaskId>, Broken>;

/// The service, as everybody who holds it shares it.
pub(crate) struct Inner {
    pub(crate) runtime: Arc<dyn Runtime>,
    pub(crate) state: Mutex<State>,
    pub(crate) shut_down: Arc<Completion<Ended>>,
    config: Config,
}

pub(crate) struct State {
    pub(crate) registry: Registry,
    pub(crate) broken: Option<Broken>,
    /// Commands in event order, to be carried out outside the lock.
    pub(crate) queue: VecDeque<Command>,
    /// Somebody is carrying them out.
    pub(crate) dispatching: bool,
    pub(crate) handles: BTreeMap<TaskKey, Arc<Handle>>,
    pub(crate) listeners: BTreeMap<ListenerKey, Listener>,
    pub(crate) observers: BTreeMap<ObserverKey, Observer>,
    pub(crate) owners: BTreeMap<OwnerKey, OwnerEntry>,
    /// What is kept for callers without an owner, until the shutdown.
    pub(crate) attachments: Attachments,
    pub(crate) waits: BTreeMap<WaiterKey, WaitEntry>,
    /// The deadline that the timer knows of.
    armed: Option<Instant>,
    taps: Vec<Tap>,
    /// Lets the core panic with the next event.
    #[cfg(test)]
    pub(crate) has_a_bug: bool,
}

pub(crate) struct OwnerEntry {
    pub(crate) inbox: Option<Arc<dyn Inbox>>,
    pub(crate) disposed: Arc<Completion<Ended>>,
    pub(crate) attachments: Attachments,
    /// Its handle is gone: forget it once its disposal has ended.
    pub(crate) dropped: bool,
    /// Its disposal has ended: forget it once its handle is gone.
    pub(crate) ended: bool,
}

#[derive(Default)]
pub(crate) struct WaitEntry {
    /// There is something to take.
    pub(crate) ready: bool,
    pub(crate) waker: Option<Waker>,
}

/// What a pass through the lock left to be done outside it.
#[derive(Default)]
pub(crate) struct Outside {
    wakers: Vec<Waker>,
    rearm: bool,
    /// Those that failed, to be dropped, and what they said.
    taps: Vec<(Tap, String)>,
    broke: Option<Broke>,
}

/// What is to be ended because the service broke.
struct Broke {
    broken: Broken,
    handles: Vec<Arc<Handle>>,
    owners: Vec<Arc<Completion<Ended>>>,
}

/// Why an event got no reply.
pub(crate) enum SendError {
    Refused(Refusal),
    Broken(Broken),
}

impl Inner {
    pub(crate) fn new(registry: Registry, runtime: Arc<dyn Runtime>, taps: Vec<Tap>) -> Arc<Self> {
        let config = *registry.config();
        let state = State {
            registry,
            broken: None,
            queue: VecDeque::new(),
            dispatching: false,
            handles: BTreeMap::new(),
            listeners: BTreeMap::new(),
            observers: BTreeMap::new(),
            owners: BTreeMap::new(),
            attachments: Attachments::default(),
            waits: BTreeMap::new(),
            armed: None,
            taps,
            #[cfg(test)]
            has_a_bug: false,
        };
        let (state, shut_down) = (Mutex::new(state), Completion::new());
        Arc::new(Self { runtime, state, shut_down, config })
    }

    /// Sends an event to the core. `file` runs under the same lock, before anything
    /// that follows from the event can: it files what belongs to the reply.
    pub(crate) fn send_and<T>(
        self: &Arc<Self>,
        event: Event,
        file: impl FnOnce(&mut State, Reply) -> T,
    ) -> Result<T, SendError> {
        let mut outside = Outside::default();
        let result = self.transact(event, file, &mut outside);
        self.finish(outside);
        result
    }

    /// One pass through the lock. What it leaves to be done outside is added to
    /// `outside`, for [`finish`](Self::finish).
    pub(crate) fn transact<T>(
        &self,
        event: Event,
        file: impl FnOnce(&mut State, Reply) -> T,
        outside: &mut Outside,
    ) -> Result<T, SendError> {
        let mut state = lock(&self.state);
        let reply = state.handle(&*self.runtime, event, outside);
        reply.map(|reply| file(&mut state, reply))
    }

    pub(crate) fn send(self: &Arc<Self>, event: Event) -> Result<Reply, SendError> {
        self.send_and(event, |_, reply| reply)
    }

    /// Sends a fact, which cannot be refused.
    pub(crate) fn tell(self: &Arc<Self>, fact: Event) {
        let told = self.send(fact);
        debug_assert!(!matches!(told, Err(SendError::Refused(_))), "facts are never refused");
    }

    /// Lets the core catch up with the time; what the timer calls. The next deadline.
    pub(crate) fn tick(self: &Arc<Self>) -> Option<Instant> {
        let next = self.send_and(Event::Tick, |state, _| {
            state.armed = state.registry.next_deadline().map(|(at, _)| at);
            state.armed
        });
        next.unwrap_or(None)
    }

    /// Does what passes through the lock have left to be done, and carries out what is
    /// queued. Whoever called in has had its effect by now: nothing of this may unwind.
    pub(crate) fn finish(self: &Arc<Self>, outside: Outside) {
        for waker in outside.wakers {
            contained(|| waker.wake());
        }
        if outside.rearm {
            contained(|| self.runtime.rearm());
        }
        for (tap, message) in outside.taps {
            contained(|| drop(tap));
            self.report(&Report::TapEnded { message });
        }
        if let Some(broke) = outside.broke {
            self.report(&Report::Broke { message: broke.broken.message.clone() });
            for handle in broke.handles {
                // Whether it worked there is nobody left to tell.
                let _ = handle.cancel(Some("the task service is broken"));
                handle.ended.complete(None);
            }
            for owner in broke.owners {
                owner.complete(Err(broke.broken.clone()));
            }
            self.shut_down.complete(Err(broke.broken));
        }
        self.dispatch();
    }

    /// A snapshot as it leaves the service: of a live task, with what its producer has to
    /// say. Not under the lock, since the producer is asked.
    pub(crate) fn with_live_detail(
        &self,
        mut task: TaskSnapshot,
        handle: Option<&Handle>,
    ) -> TaskSnapshot {
        if !task.status.is_terminal() {
            let detail = handle.and_then(Handle::live_detail);
            task.detail = detail.map(|detail| self.config.bounded_detail(detail.into()));
        }
        task
    }

    /// Tells the runtime something that a person should know.
    pub(crate) fn report(&self, report: &Report) {
        contained(|| self.runtime.report(report));
    }
}

/// Calls what nothing depends on: a panic in it ends there.
fn contained(call: impl FnOnce()) {
    // The panic has been printed; there is nowhere else to say it.
    let _ = catch_unwind(AssertUnwindSafe(call));
}

impl State {
    /// The handle of a task on record.
    pub(crate) fn handle_on_record(&self, task: TaskKey) -> Arc<Handle> {
        let handle = self.handles.get(&task).cloned();
        handle.expect("a handle is filed with its record and let go after it")
    }

    /// The handle of a live task.
    pub(crate) fn handle_of(&self, task: &TaskSnapshot) -> Option<Arc<Handle>> {
        if task.status.is_terminal() {
            return None;
        }
        let key = self.registry.key_of(&task.id, task.owner_session.as_ref()).ok()?;
        self.handles.get(&key).cloned()
    }

    fn handle(
        &mut self,
        runtime: &dyn Runtime,
        event: Event,
        outside: &mut Outside,
    ) -> Result<Reply, SendError> {
        if let Some(broken) = &self.broken {
            return Err(SendError::Broken(broken.clone()));
        }
        let now = match panics::caught(|| runtime.now()) {
            Ok(now) => now,
            Err(message) => return Err(self.break_down(format!("its clock: {message}"), outside)),
        };
        self.show(now, &event, outside);
        let mut commands = Vec::new();
        let handled = panics::caught(|| {
            #[cfg(test)]
            assert!(!self.has_a_bug, "a bug of the core");
            self.registry.handle(now, event, &mut commands)
        });
        let reply = match handled {
            Ok(reply) => reply.map_err(SendError::Refused),
            Err(message) => {
                let message = format!("a bug of longrun: {message}");
                return Err(self.break_down(message, outside));
            }
        };
        for command in commands {
            match command {
                Command::Wake { waiter } => self.wake(waiter, outside),
                other => self.queue.push_back(other),
            }
        }
        self.note_deadline(outside);
        reply
    }

    /// Shows an event to the taps. One that fails is let go, outside the lock.
    fn show(&mut self, now: Now, event: &Event, outside: &mut Outside) {
        let mut index = 0;
        while let Some(tap) = self.taps.get_mut(index) {
            let shown = panics::caught(|| tap(now, event).map_err(|error| error.to_string()));
            match shown.and_then(|shown| shown) {
                Ok(()) => index += 1,
                Err(message) => outside.taps.push((self.taps.remove(index), message)),
            }
        }
    }

    fn wake(&mut self, waiter: WaiterKey, outside: &mut Outside) {
        if let Some(entry) = self.waits.get_mut(&waiter) {
            entry.ready = true;
            outside.wakers.extend(entry.waker.take());
        }
    }

    fn note_deadline(&mut self, outside: &mut Outside) {
        let next = self.registry.next_deadline().map(|(at, _)| at);
        if next.is_some_and(|next| self.armed.is_none_or(|armed| next < armed)) {
            self.armed = next;
            outside.rearm = true;
        }
    }

    /// The core or its clock panicked: nothing can be relied on any more.
    fn break_down(&mut self, message: String, outside: &mut Outside) -> SendError {
        let broken = Broken { message };
        self.broken = Some(broken.clone());
        self.queue.clear();
        for entry in self.waits.values_mut() {
            entry.ready = true;
            outside.wakers.extend(entry.waker.take());
        }
        outside.broke = Some(Broke {
            broken: broken.clone(),
            handles: std::mem::take(&mut self.handles).into_values().collect(),
            owners: self.owners.values().map(|owner| Arc::clone(&owner.disposed)).collect(),
        });
        SendError::Broken(broken)
    }
}
