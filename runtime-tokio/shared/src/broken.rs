//! What becomes of a service whose core or clock has panicked: it ends its processes, fails
//! its waits, and says so to everybody. And of one whose tap has: it goes on.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the report")]

use std::{
    convert::Infallible,
    future,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    task::Context,
    time::Duration,
};

use futures::{
    FutureExt as _, StreamExt as _,
    task::{ArcWake, waker},
};
use longrun_core::{Event, Instant, Now, Registry};

use crate::{
    AccessError, BoxFuture, Broken, ClaimSource, CollectError, Config, Hooks, KillError,
    NoticePolicy, ObserveError, Outcome, OwnerScope, ReadError, Report, Runtime, ScopeError,
    StartError, Tap, TaskId, TaskService, TaskSpec, Until, WaitError, state::Inner, sync::lock,
};

const A_MINUTE: Duration = Duration::from_secs(60);

/// A runtime whose clock stands still and that runs nothing by itself.
#[derive(Default)]
struct Stub {
    clock_panics: AtomicBool,
    spawned: Mutex<Vec<BoxFuture>>,
    reports: Mutex<Vec<Report>>,
}

impl Runtime for Stub {
    fn now(&self) -> Now {
        assert!(!self.clock_panics.load(Ordering::SeqCst), "the clock fell down");
        Now::new(Instant(1), 1)
    }

    fn spawn(&self, future: BoxFuture) {
        self.spawned.lock().unwrap().push(future);
    }

    fn rearm(&self) {}

    fn report(&self, report: &Report) {
        self.reports.lock().unwrap().push(report.clone());
    }
}

/// A service with one task, and what its producer was asked.
struct World {
    inner: Arc<Inner>,
    stub: Arc<Stub>,
    service: TaskService,
    owner: OwnerScope,
    id: TaskId,
    cancels: Arc<Mutex<Vec<String>>>,
}

impl World {
    fn new() -> Self {
        Self::tapped(Vec::new())
    }

    fn tapped(taps: Vec<Tap>) -> Self {
        let stub = Arc::new(Stub::default());
        let registry = Registry::new(Config::default()).unwrap();
        let inner = Inner::new(registry, stub.clone(), taps);
        let service = TaskService::new(Arc::clone(&inner));
        // The task does not need its controller any more once it has been started.
        let _controls = service.mount_controls(NoticePolicy::default()).unwrap();
        let owner = service.owner("s1").open().unwrap();
        let cancels = Arc::default();
        let id = owner.start(spec(), || Ok::<_, Infallible>(hooks(&cancels))).unwrap();
        Self { inner, stub, service, owner, id, cancels }
    }

    /// The core panics with the next event.
    fn break_core(&self) {
        lock(&self.inner.state).has_a_bug = true;
        self.owner.set_busy(true);
    }

    fn cancels(&self) -> Vec<String> {
        self.cancels.lock().unwrap().clone()
    }
}

fn spec() -> TaskSpec {
    TaskSpec::new("bash", "make")
}

fn hooks(cancels: &Arc<Mutex<Vec<String>>>) -> Hooks {
    let cancels = Arc::clone(cancels);
    Hooks::new(future::ready(Outcome::completed())).on_cancel(move |reason| {
        cancels.lock().unwrap().push(reason.unwrap_or_default().to_owned());
        Ok(())
    })
}

fn is_bug(broken: &Broken) -> bool {
    broken.to_string().contains("broken: a bug of longrun: it panicked: a bug of the core")
}

// contract: T2
#[test]
fn it_asks_every_producer_to_stop_and_reports_once() {
    let world = World::new();
    world.break_core();
    world.owner.set_busy(false);
    assert_eq!(world.cancels(), ["the task service is broken"]);
    let reports = world.stub.reports.lock().unwrap();
    assert!(matches!(&reports[..], [Report::Broke { message }] if message.contains("a bug")));
}

fn is_bug_of_read(error: &ReadError) -> bool {
    matches!(error, ReadError::Broken(broken) if is_bug(broken))
}

#[test]
fn waits_and_disposals_end_with_what_broke_it() {
    let world = World::new();
    let (ids, caller) = (std::slice::from_ref(&world.id), world.owner.caller());
    let mut wait = world.service.wait(&world.id, &caller, A_MINUTE);
    let mut all = world.service.wait_all(ids, &caller, A_MINUTE);
    assert!((&mut all).now_or_never().is_none());
    let (mut owner, mut shutdown) = (world.owner.dispose(), world.service.shutdown());
    assert!((&mut wait).now_or_never().is_none());
    assert!((&mut owner).now_or_never().is_none() && (&mut shutdown).now_or_never().is_none());
    world.break_core();
    assert!(matches!(wait.now_or_never(), Some(Err(WaitError::Broken(b))) if is_bug(&b)));
    assert!(matches!(all.now_or_never(), Some(Err(broken)) if is_bug(&broken)));
    for disposal in [owner, shutdown, world.owner.dispose(), world.service.shutdown()] {
        assert!(matches!(disposal.now_or_never(), Some(Err(broken)) if is_bug(&broken)));
    }
}

#[derive(Default)]
struct Woken(AtomicBool);

impl ArcWake for Woken {
    fn wake_by_ref(this: &Arc<Self>) {
        this.0.store(true, Ordering::SeqCst);
    }
}

#[test]
fn a_waiter_is_woken_to_learn_of_it() {
    let world = World::new();
    let caller = world.owner.caller();
    let mut wait = world.service.wait(&world.id, &caller, A_MINUTE);
    let woken = Arc::new(Woken::default());
    let waker = waker(Arc::clone(&woken));
    assert!(wait.poll_unpin(&mut Context::from_waker(&waker)).is_pending());
    assert!(!woken.0.load(Ordering::SeqCst));
    world.break_core();
    assert!(woken.0.load(Ordering::SeqCst));
}

// contract: R6
#[test]
fn observers_are_woken_and_told_the_end() {
    let world = World::new();
    let mut observer = world.service.observe(&world.id, &world.owner.caller(), 7).unwrap();
    let woken = Arc::new(Woken::default());
    let waker = waker(Arc::clone(&woken));
    let mut context = Context::from_waker(&waker);
    assert!(observer.poll_next_unpin(&mut context).is_pending());
    world.break_core();
    assert!(woken.0.load(Ordering::SeqCst));
    let end = observer.next().now_or_never().unwrap().unwrap();
    assert_eq!((end.offset, end.end), (7, true));
    assert_eq!(observer.next().now_or_never(), Some(None));
}

#[test]
fn every_call_says_that_it_is_broken_and_none_panics() {
    let world = World::new();
    world.break_core();
    let World { service, owner, id, .. } = &world;
    let caller = owner.caller();
    let started = owner.start(spec(), || -> Result<Hooks, Infallible> { panic!("it ran") });
    assert!(matches!(started, Err(StartError::Broken(broken)) if is_bug(&broken)));
    assert!(matches!(service.get(id, &caller), Err(AccessError::Broken(_))));
    assert!(matches!(service.key_of(id, &caller), Err(AccessError::Broken(_))));
    assert!(matches!(service.read(id, &caller), Err(ReadError::Broken(_))));
    let observed = service.observe(id, &caller, 0);
    assert!(matches!(observed, Err(ObserveError::Access(AccessError::Broken(_)))));
    assert!(matches!(service.kill(id, &caller, None), Err(KillError::Broken(_))));
    let waited = service.wait(id, &caller, A_MINUTE).now_or_never();
    assert!(matches!(waited, Some(Err(WaitError::Broken(_)))));
    let held = service.read_held(id, &caller).now_or_never();
    assert!(matches!(held, Some(Err(ReadError::Broken(_)))));
    let ids = std::slice::from_ref(id);
    assert!(matches!(service.wait_any(ids, &caller, A_MINUTE).now_or_never(), Some(Err(_))));
    assert!(service.wait_all(ids, &caller, A_MINUTE).abort().is_err());
    let collected = service.wait_and_read(id, &caller, A_MINUTE, future::pending());
    assert!(matches!(collected.now_or_never(), Some(Err(CollectError::Read(error)))
        if is_bug_of_read(&error)));
    for wait in [None, Some((Until::Any, A_MINUTE))] {
        let collected = service.collect(ids, &caller, wait, future::pending()).now_or_never();
        assert!(matches!(collected, Some(Err(CollectError::Wait(WaitError::Broken(_))))));
    }
    let aborted = service.wait(id, &caller, A_MINUTE).abort();
    assert!(matches!(aborted, Err(WaitError::Broken(_))));
    assert!(matches!(service.attach_controller(), Err(ScopeError::Broken(_))));
    assert!(matches!(service.owner("s2").open(), Err(ScopeError::Broken(_))));
    assert!(matches!(service.root().open_scope(), Err(ScopeError::Broken(_))));
    assert!(service.list(&caller).is_empty() && owner.list().is_empty());
    assert!(owner.claim(ClaimSource::User).is_empty());
    assert_eq!(owner.claim_or_idle(ClaimSource::User), None);
}

// contract: S4
#[test]
fn work_that_was_being_started_is_asked_to_stop() {
    let world = World::new();
    let guard = world.service.attach_controller().unwrap();
    let cancels = Arc::default();
    let started = world.owner.start(spec(), || {
        world.break_core();
        Ok::<_, Infallible>(hooks(&cancels))
    });
    assert!(matches!(started, Err(StartError::Broken(_))));
    assert_eq!(*cancels.lock().unwrap(), ["the task service is broken"]);
    assert_eq!(world.stub.spawned.lock().unwrap().len(), 2, "its `done` is seen to its end");
    drop(guard);
}

#[test]
fn what_comes_late_and_what_is_dropped_is_absorbed() {
    let world = World::new();
    let wait = world.service.wait(&world.id, &world.owner.caller(), A_MINUTE);
    let guard = world.service.on_task_done(|_| {}).unwrap();
    let held = world.service.read_held(&world.id, &world.owner.caller());
    let dropped = held.now_or_never().unwrap().unwrap();
    let scope = world.service.root().open_scope().unwrap();
    world.break_core();
    for future in std::mem::take(&mut *world.stub.spawned.lock().unwrap()) {
        assert!(future.now_or_never().is_some());
    }
    drop((wait, guard, scope, dropped));
    let stub = Arc::clone(&world.stub);
    drop(world);
    assert_eq!(stub.reports.lock().unwrap().len(), 1);
}

#[test]
fn a_clock_that_panics_breaks_it_and_unwinds_into_no_caller() {
    let world = World::new();
    let caller = world.owner.caller();
    let wait = world.service.wait(&world.id, &caller, A_MINUTE);
    world.stub.clock_panics.store(true, Ordering::SeqCst);
    world.owner.set_busy(true);
    assert_eq!(world.cancels(), ["the task service is broken"]);
    let Some(Err(WaitError::Broken(broken))) = wait.now_or_never() else { panic!("it goes on") };
    let says = "the task service is broken: its clock: it panicked: the clock fell down";
    assert_eq!(broken.to_string(), says);
    let reports = world.stub.reports.lock().unwrap();
    assert_eq!(reports.iter().map(ToString::to_string).collect::<Vec<_>>(), [says]);
}

/// Says when it is dropped, and panics then.
struct PanicsInDrop(Arc<AtomicBool>);

impl PanicsInDrop {
    fn name(&self) -> &'static str {
        if self.0.load(Ordering::SeqCst) { "dropped" } else { "at work" }
    }
}

impl Drop for PanicsInDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
        panic!("dropped badly");
    }
}

#[test]
fn a_tap_that_fails_or_panics_is_let_go_and_reported_and_all_else_goes_on() {
    let shown = Arc::new(Mutex::new(Vec::new()));
    let dropped = Arc::new(AtomicBool::new(false));
    let (left, panics) = (Arc::clone(&shown), PanicsInDrop(Arc::clone(&dropped)));
    let taps: Vec<Tap> = vec![
        Box::new(|_, _| Err("the disk is full".into())),
        Box::new(move |_, event| match event {
            Event::BusyChanged { .. } => panic!("a bug of the tap, {}", panics.name()),
            _ => Ok(()),
        }),
        Box::new(move |_, event| {
            left.lock().unwrap().push(event.clone());
            Ok(())
        }),
    ];
    let world = World::tapped(taps);
    let before = shown.lock().unwrap().len();
    assert!(before >= 4, "the controls, the owner, the start in two steps");
    assert!(!dropped.load(Ordering::SeqCst));
    world.owner.set_busy(true);
    world.owner.set_busy(false);
    assert!(dropped.load(Ordering::SeqCst), "it is held no longer");
    assert_eq!(shown.lock().unwrap().len(), before + 2, "the last one is shown all");
    assert!(world.service.get(&world.id, &world.owner.caller()).is_ok());
    let reports = world.stub.reports.lock().unwrap();
    let reports: Vec<String> = reports.iter().map(ToString::to_string).collect();
    let expected = ["the disk is full", "it panicked: a bug of the tap, at work"]
        .map(|what| format!("a tap is shown no further events: {what}"));
    assert_eq!(reports, expected);
}
