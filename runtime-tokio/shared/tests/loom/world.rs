//! A service over a runtime that does nothing by itself.

use std::{
    collections::BTreeSet,
    convert::Infallible,
    future, mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures::FutureExt as _;
use longrun_shared::{
    BoxError, BoxFuture, ClaimSource, Config, Delivery, Guard, Hooks, Inbox, Notice, NoticePolicy,
    Outcome, OwnerScope, Report, Runtime, Tap, TaskId, TaskService, TaskSpec,
    core::{Command, Event, Instant, Lane, Now, Registry},
};

/// Not a primitive of the model: held for a moment, never across a step of a thread.
pub(crate) fn peek<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a model, and asserts which outcomes its executions had.
pub(crate) fn explore(
    model: impl Fn(World) -> &'static str + Send + Sync + 'static,
    expected: &[&'static str],
) {
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.max_branches = 10_000;
    builder.check({
        let seen = Arc::clone(&seen);
        move || {
            let outcome = model(World::new());
            peek(&seen).insert(outcome);
        }
    });
    assert_eq!(*peek(&seen), expected.iter().copied().collect::<BTreeSet<_>>());
}

/// Runs each of these on a thread of its own, to their ends.
pub(crate) fn at_once<const N: usize>(operations: [Box<dyn FnOnce() + Send>; N]) {
    let threads = operations.map(loom::thread::spawn);
    for thread in threads {
        thread.join().unwrap();
    }
}

/// A place for the result of a thread.
pub(crate) fn slot<T>() -> Arc<Mutex<Option<T>>> {
    Arc::default()
}

pub(crate) fn put<T>(slot: &Mutex<Option<T>>, value: T) {
    *peek(slot) = Some(value);
}

pub(crate) fn take<T>(slot: &Mutex<Option<T>>) -> T {
    peek(slot).take().expect("the thread has left its result")
}

/// A runtime whose clock stands still and whose futures run when the test says so.
#[derive(Default)]
pub(crate) struct Stub {
    spawned: Mutex<Vec<BoxFuture>>,
    pub(crate) rearmed: Mutex<usize>,
    pub(crate) reports: Mutex<Vec<Report>>,
}

impl Runtime for Stub {
    fn now(&self) -> Now {
        Now::new(Instant(1_000_000), 1)
    }

    fn spawn(&self, future: BoxFuture) {
        peek(&self.spawned).push(future);
    }

    fn rearm(&self) {
        *peek(&self.rearmed) += 1;
    }

    fn report(&self, report: &Report) {
        peek(&self.reports).push(report.clone());
    }
}

impl Stub {
    /// Runs the oldest future, which ends at once.
    fn run_one(&self) {
        let future = peek(&self.spawned).remove(0);
        future.now_or_never().expect("all that is spawned here ends at once");
    }

    fn run_all(&self) {
        while !peek(&self.spawned).is_empty() {
            self.run_one();
        }
    }
}

/// What the callbacks were told, in order.
#[derive(Default)]
pub(crate) struct Told {
    pub(crate) nudges: Mutex<Vec<String>>,
    pub(crate) done: Mutex<Vec<String>>,
}

impl Inbox for Told {
    fn inject(&self, notice: &Notice) -> Result<(), BoxError> {
        peek(&self.nudges).push(format!("inject {}", notice.task.id));
        Ok(())
    }

    fn wake(&self, notice: &Notice) -> Result<(), BoxError> {
        peek(&self.nudges).push(format!("wake {}", notice.task.id));
        Ok(())
    }

    fn withdraw(&self, id: &TaskId) {
        peek(&self.nudges).push(format!("withdraw {id}"));
    }
}

/// A service with one busy owner, controls that wake, and a listener.
pub(crate) struct World {
    pub(crate) service: TaskService,
    pub(crate) owner: Arc<OwnerScope>,
    pub(crate) controls: Mutex<Option<Guard>>,
    pub(crate) listener: Mutex<Option<Guard>>,
    pub(crate) stub: Arc<Stub>,
    pub(crate) told: Arc<Told>,
    recording: Arc<Mutex<Vec<(Now, Event)>>>,
    /// How the listener's key shows itself.
    listener_key: String,
}

impl World {
    fn new() -> Self {
        let (stub, told) = (Arc::new(Stub::default()), Arc::new(Told::default()));
        let recording = Arc::new(Mutex::new(Vec::new()));
        let tap = {
            let recording = Arc::clone(&recording);
            move |now, event: &Event| {
                peek(&recording).push((now, event.clone()));
                Ok(())
            }
        };
        let taps: Vec<Tap> = vec![Box::new(tap)];
        let service = TaskService::tapped(stub.clone(), Config::default(), taps).unwrap();
        let policy = NoticePolicy { delivery: Delivery::Wakeup, ..NoticePolicy::default() };
        let controls = service.mount_controls(policy).unwrap();
        let listener = {
            let told = Arc::clone(&told);
            service.on_task_done(move |done| {
                peek(&told.done).push(format!("{} {}", done.task.id, done.task.status));
            })
        };
        let listener = listener.unwrap();
        let owner = service.owner("s1").busy(true).inbox(told.clone()).open().unwrap();
        Self {
            service,
            owner: Arc::new(owner),
            controls: Mutex::new(Some(controls)),
            listener_key: format!("{listener:?}"),
            listener: Mutex::new(Some(listener)),
            stub,
            told,
            recording,
        }
    }

    /// Starts a task that completes when it is told to [`end`](Self::end).
    pub(crate) fn start(&self) -> TaskId {
        start(&self.owner, hooks()).unwrap()
    }

    /// Lets the oldest task end.
    pub(crate) fn end(&self) -> Box<dyn FnOnce() + Send> {
        let stub = Arc::clone(&self.stub);
        Box::new(move || stub.run_one())
    }

    /// The pending notices are claimed: how many there were.
    pub(crate) fn claim(&self) -> usize {
        self.owner.claim(ClaimSource::Inbox).len()
    }

    /// The place of the last such event in the order in which the core took them.
    pub(crate) fn place(&self, wanted: fn(&Event) -> bool) -> Option<usize> {
        peek(&self.recording).iter().rposition(|(_, event)| wanted(event))
    }

    pub(crate) fn settled(&self) -> Option<usize> {
        self.place(|event| matches!(event, Event::Settled { .. }))
    }

    /// All that is left runs; then what the threads did must have kept every invariant
    /// of the core, and every callback must have been called, in order.
    pub(crate) fn finish(&self) {
        self.stub.run_all();
        let mut registry = Registry::new(Config::default()).unwrap();
        let mut commands = Vec::new();
        for (now, event) in mem::take(&mut *peek(&self.recording)) {
            let _ = registry.handle(now, event, &mut commands);
            registry.check();
        }
        let nudges = commands.iter().filter_map(|command| match command {
            Command::Nudge { lane: Lane::Inject, snapshot, .. } => {
                Some(format!("inject {}", snapshot.id))
            }
            Command::Nudge { lane: Lane::Wake, snapshot, .. } => {
                Some(format!("wake {}", snapshot.id))
            }
            Command::WithdrawNotice { id, .. } => Some(format!("withdraw {id}")),
            _ => None,
        });
        assert_eq!(*peek(&self.told.nudges), nudges.collect::<Vec<_>>(), "stranded or reordered");
        let done = commands.iter().filter_map(|command| match command {
            Command::NotifyDone { listener, snapshot, .. }
                if format!("{listener:?}") == self.listener_key =>
            {
                Some(format!("{} {}", snapshot.id, snapshot.status))
            }
            _ => None,
        });
        let done: Vec<_> = done.collect();
        let called = peek(&self.told.done);
        assert!(done.starts_with(&called), "{called:?} of {done:?}");
        let may_be_silent = registry.is_closing() || peek(&self.listener).is_none();
        assert!(called.len() == done.len() || may_be_silent, "{called:?} of {done:?}");
    }
}

/// The hooks of a task that completes as soon as its future is run.
pub(crate) fn hooks() -> Hooks {
    Hooks::new(future::ready(Outcome::completed()))
}

/// Starts a task, or says why it was refused.
pub(crate) fn start(owner: &OwnerScope, hooks: Hooks) -> Result<TaskId, String> {
    let started = owner.start(TaskSpec::new("bash", "make"), || Ok::<_, Infallible>(hooks));
    started.map_err(|refused| refused.to_string())
}
