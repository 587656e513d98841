//! What becomes of a service whose core has panicked: it ends its processes, fails its
//! waits, and says so to everybody.
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
    FutureExt as _,
    task::{ArcWake, waker},
};
use longrun_core::{Instant, Now, Registry};

use crate::{
    AccessError, BoxFuture, Broken, ClaimSource, Config, Hooks, KillError, NoticePolicy, Outcome,
    OwnerScope, ReadError, Report, Runtime, ScopeError, StartError, TaskId, TaskService, TaskSpec,
    WaitError, state::Inner, sync::lock,
};

const A_MINUTE: Duration = Duration::from_secs(60);

/// A runtime whose clock stands still and that runs nothing by itself.
#[derive(Default)]
struct Stub {
    spawned: Mutex<Vec<BoxFuture>>,
    reports: Mutex<Vec<Report>>,
}

impl Runtime for Stub {
    fn now(&self) -> Now {
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
        let stub = Arc::new(Stub::default());
        let registry = Registry::new(Config::default()).unwrap();
        let inner = Inner::new(registry, stub.clone(), None);
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
    broken.to_string().contains("which is a bug of longrun: it panicked: a bug of the core")
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

#[test]
fn waits_and_disposals_end_with_what_broke_it() {
    let world = World::new();
    let mut wait = world.service.wait(&world.id, &world.owner.caller(), A_MINUTE);
    let (mut owner, mut shutdown) = (world.owner.dispose(), world.service.shutdown());
    assert!((&mut wait).now_or_never().is_none());
    assert!((&mut owner).now_or_never().is_none() && (&mut shutdown).now_or_never().is_none());
    world.break_core();
    assert!(matches!(wait.now_or_never(), Some(Err(WaitError::Broken(b))) if is_bug(&b)));
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
    assert!(matches!(service.kill(id, &caller, None), Err(KillError::Broken(_))));
    let waited = service.wait(id, &caller, A_MINUTE).now_or_never();
    assert!(matches!(waited, Some(Err(WaitError::Broken(_)))));
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
    let scope = world.service.root().open_scope().unwrap();
    world.break_core();
    for future in std::mem::take(&mut *world.stub.spawned.lock().unwrap()) {
        assert!(future.now_or_never().is_some());
    }
    drop((wait, guard, scope));
    let stub = Arc::clone(&world.stub);
    drop(world);
    assert_eq!(stub.reports.lock().unwrap().len(), 1);
}
