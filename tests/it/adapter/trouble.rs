//! Callbacks, inboxes and producers that panic or fail.

use std::{sync::Arc, task::Context};

use futures::{
    FutureExt as _,
    task::{ArcWake, waker},
};
use longrun_tokio::{
    BoxError, Hooks, Inbox, Notice, Outcome, Status, TaskId,
    testing::{FakeProducer, Nudge},
};

use super::{Log, World, inject, logged, soon, start, until};

struct PanickingInbox;

impl Inbox for PanickingInbox {
    fn inject(&self, _: &Notice) -> Result<(), BoxError> {
        panic!("the inbox is wrong")
    }

    fn wake(&self, _: &Notice) -> Result<(), BoxError> {
        panic!("the inbox is wrong")
    }

    fn withdraw(&self, _: &TaskId) {
        panic!("the withdrawal is wrong")
    }
}

// contract: L5, N6
#[tokio::test(start_paused = true)]
async fn a_callback_that_panics_is_logged_and_stops_nobody() {
    let logs = logged();
    let world = World::new();
    let owner = world.service.owner("s2").inbox(Arc::new(PanickingInbox)).open().unwrap();
    let log = Log::default();
    let (listening, observing) = (log.clone(), log.clone());
    let _guards = (
        world.service.on_task_done(|_| panic!("the listener is wrong")).unwrap(),
        world.service.on_task_done(move |_| listening.add("listener")).unwrap(),
        world.service.on_tasks_changed(|_| panic!("the observer is wrong")).unwrap(),
        world.service.on_tasks_changed(move |_| observing.add("observer")).unwrap(),
    );
    let producer = FakeProducer::stream();
    let id = start(&owner, &producer);
    let wait = world.service.wait(&id, &owner.caller(), super::A_MINUTE);
    let other_producer = FakeProducer::stream();
    let other = start(&owner, &other_producer);
    producer.settle(Outcome::completed());
    assert!(wait.await.unwrap().snapshot().status.is_terminal());
    other_producer.settle(Outcome::completed());
    until("the inbox was nudged", || logs.has("the inbox is wrong")).await;
    let both = ["observer", "observer", "observer", "listener", "observer", "listener"];
    assert_eq!(log.lines(), both);
    for text in ["completion listener panicked", "change observer panicked", "inbox panicked"] {
        assert!(logs.has(text), "{text} is not in {:?}", logs.lines());
    }
    assert!(world.service.read(&other, &owner.caller()).unwrap().task.reported);
    assert!(logs.has("the withdrawal is wrong"), "{:?}", logs.lines());
    assert_eq!(soon(owner.dispose()).await, Ok(vec![]));
}

// contract: N6
#[tokio::test(start_paused = true)]
async fn an_inbox_that_fails_is_logged_and_loses_nothing() {
    let logs = logged();
    let world = World::new();
    world.inbox.set_failing(true);
    let producer = FakeProducer::stream();
    let id = world.start(&producer);
    world.complete(&id, &producer).await;
    until("it was nudged", || world.inbox.nudges() == [inject(&id)]).await;
    assert!(logs.has("the inbox could not be told of bash-1"), "{:?}", logs.lines());
    assert!(!world.get(&id).reported);
    assert_eq!(world.claim(), [id]);
}

/// Panics when it is dropped.
struct Bomb(Log);

impl Drop for Bomb {
    fn drop(&mut self) {
        self.0.add("dropped");
        if !std::thread::panicking() {
            panic!("the drop is wrong");
        }
    }
}

/// Whether callbacks are still called, and the service still comes to its end.
async fn assert_alive(world: &World) {
    let changes = Log::default();
    let owner = world.open("s2");
    let _observer = {
        let changes = changes.clone();
        world.service.on_tasks_changed(move |_| changes.add("changed")).unwrap()
    };
    start(&owner, &FakeProducer::stream());
    until("callbacks are called", || !changes.lines().is_empty()).await;
    assert_eq!(soon(world.service.shutdown()).await, Ok(vec![]));
}

// contract: L5, O2
#[tokio::test(start_paused = true)]
async fn a_producer_whose_drop_panics_stops_nobody() {
    let logs = logged();
    let world = World::new();
    let log = Log::default();
    let bomb = Bomb(log.clone());
    let hooks = Hooks::new(std::future::ready(Outcome::completed())).on_cancel(move |_| {
        bomb.0.add("cancelled");
        Ok(())
    });
    let id = world.start_hooks(hooks);
    world.ended(&id).await;
    assert_eq!(soon(world.owner.dispose()).await, Ok(vec![]));
    until("it is let go of", || log.has("dropped")).await;
    assert!(logs.has("the drop is wrong"), "{:?}", logs.lines());
    assert_alive(&world).await;
}

// contract: L6, O2
#[tokio::test(start_paused = true)]
async fn a_done_whose_drop_panics_fails_its_task_and_stops_nobody() {
    let world = World::new();
    let bomb = Bomb(Log::default());
    let id = world.start_hooks(Hooks::new(async move {
        bomb.0.add("at work");
        Outcome::completed()
    }));
    let waited = world.wait(&id).await.unwrap();
    assert!(waited.snapshot().detail.as_deref().unwrap().contains("the drop is wrong"));
    assert_alive(&world).await;
}

struct BombInbox(#[expect(dead_code, reason = "held to be dropped")] Bomb, Log);

impl Inbox for BombInbox {
    fn inject(&self, notice: &Notice) -> Result<(), BoxError> {
        self.1.add(format!("{:?}", Nudge::Inject(notice.task.id.clone())));
        Ok(())
    }

    fn wake(&self, notice: &Notice) -> Result<(), BoxError> {
        self.inject(notice)
    }
}

// contract: L5, O9
#[tokio::test(start_paused = true)]
async fn an_inbox_whose_drop_panics_stops_nobody() {
    let world = World::new();
    let log = Log::default();
    let inbox = Arc::new(BombInbox(Bomb(log.clone()), log.clone()));
    let owner = world.service.owner("s3").inbox(inbox).open().unwrap();
    let producer = FakeProducer::stream().on_cancel(longrun_tokio::testing::OnCancel::Ignore);
    start(&owner, &producer);
    drop(owner);
    producer.settle(Outcome::killed());
    until("the inbox is dropped", || log.has("dropped")).await;
    assert_alive(&world).await;
}

struct PanickingWaker;

impl ArcWake for PanickingWaker {
    fn wake_by_ref(_: &Arc<Self>) {
        panic!("the waker is wrong")
    }
}

// contract: L5, W5
#[tokio::test(start_paused = true)]
async fn a_waker_that_panics_holds_up_no_other_wait() {
    let world = World::new();
    let producer = FakeProducer::stream();
    let id = world.start(&producer);
    let mut wrong = world.wait(&id);
    let waker = waker(Arc::new(PanickingWaker));
    assert!(wrong.poll_unpin(&mut Context::from_waker(&waker)).is_pending());
    let right = world.wait(&id);
    producer.settle(Outcome::completed());
    let waited = soon(right).await.unwrap();
    assert_eq!(waited.snapshot().status, Status::Completed);
    assert!(wrong.await.is_ok());
    assert_alive(&world).await;
}
