//! Waits that are aborted or dropped: nothing is lost and nothing is left behind.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use futures::{
    FutureExt as _,
    task::{ArcWake, waker},
};
use longrun_tokio::{Config, Wait, WaitError, Waited, core::WaitRefusal, testing::FakeProducer};

use super::{World, come_to_rest, inject, until, withdraw};

// contract: W3
#[tokio::test(start_paused = true)]
async fn an_aborted_wait_ends_alone_and_keeps_no_notice_back() {
    let world = World::new();
    let producer = FakeProducer::stream();
    let id = world.start(&producer);
    let other = world.start(&FakeProducer::stream());
    let (aborted, other) = (world.wait(&id), world.wait(&other));
    assert_eq!(aborted.abort(), Ok(None));
    assert!(producer.cancels().is_empty());
    world.complete(&id, &producer).await;
    until("it is announced", || world.inbox.nudges() == [inject(&id)]).await;
    assert_eq!(futures::poll!(other), Poll::Pending);
}

// contract: W4
#[tokio::test(start_paused = true)]
async fn a_wait_that_is_aborted_after_the_end_still_gets_the_terminal_snapshot() {
    let world = World::new();
    let producer = FakeProducer::stream();
    let id = world.start(&producer);
    let wait = world.wait(&id);
    world.complete(&id, &producer).await;
    let Ok(Some(Waited::Ended(task))) = wait.abort() else { panic!("nothing was assigned") };
    assert!(task.status.is_terminal() && world.get(&id).reported);
    come_to_rest().await;
    assert_eq!(world.inbox.nudges(), []);
}

// contract: W3
#[tokio::test(start_paused = true)]
async fn aborting_a_refused_wait_gives_its_refusal() {
    let world = World::new();
    let id = world.start(&FakeProducer::stream());
    let wait = world.service.wait(&id, &world.caller(), Duration::ZERO);
    assert_eq!(wait.abort(), Err(WaitError::Refused(WaitRefusal::TimeoutOutOfRange)));
}

// contract: W6, W3
#[tokio::test(start_paused = true)]
async fn a_wait_dropped_while_the_task_lives_keeps_no_notice_back() {
    let world = World::new();
    let producer = FakeProducer::stream();
    let id = world.start(&producer);
    let mut wait = world.wait(&id);
    assert_eq!(futures::poll!(&mut wait), Poll::Pending);
    drop(wait);
    world.complete(&id, &producer).await;
    until("it is announced", || world.inbox.nudges() == [inject(&id)]).await;
}

// contract: W6
#[tokio::test(start_paused = true)]
async fn a_wait_dropped_before_its_result_was_taken_gives_the_delivery_back() {
    let world = World::new();
    let producer = FakeProducer::stream();
    let id = world.start(&producer);
    let (first, second) = (world.wait(&id), world.wait(&id));
    world.complete(&id, &producer).await;
    come_to_rest().await;
    drop(first);
    assert_eq!(world.inbox.nudges(), [], "the second one may still take it");
    assert!(world.get(&id).reported);
    drop(second);
    assert_eq!(world.inbox.nudges(), [inject(&id)]);
    assert!(!world.get(&id).reported);
    assert_eq!(world.claim(), [id]);
}

// contract: W6
#[tokio::test(start_paused = true)]
async fn a_dropped_wait_sends_no_notice_where_another_took_the_result_or_it_was_read() {
    let world = World::new();
    let (first, second) = (FakeProducer::stream(), FakeProducer::stream());
    let (taken, read) = (world.start(&first), world.start(&second));
    let (take, dropped) = (world.wait(&taken), world.wait(&taken));
    let overtaken = world.wait(&read);
    world.complete(&taken, &first).await;
    world.complete(&read, &second).await;
    assert!(take.await.is_ok());
    drop(dropped);
    world.read(&read);
    drop(overtaken);
    come_to_rest().await;
    assert_eq!(world.inbox.nudges(), []);
    assert_eq!(world.claim(), []);
}

// contract: W6, N5, N7
#[tokio::test(start_paused = true)]
async fn a_wait_on_an_announced_end_that_is_dropped_untaken_announces_it_again_and_once() {
    let world = World::new();
    let producer = FakeProducer::stream();
    let id = world.start(&producer);
    world.complete(&id, &producer).await;
    until("it is announced", || world.inbox.nudges() == [inject(&id)]).await;
    let wait = world.wait(&id);
    assert_eq!(world.inbox.nudges(), [inject(&id), withdraw(&id)]);
    assert_eq!(world.claim(), []);
    drop(wait);
    assert_eq!(world.inbox.nudges(), [inject(&id), withdraw(&id), inject(&id)]);
    assert_eq!(world.claim(), [id]);
    assert_eq!(world.claim(), []);
}

// contract: W6, N5
#[tokio::test(start_paused = true)]
async fn a_wait_after_the_notice_was_claimed_that_is_dropped_announces_nothing_twice() {
    let world = World::new();
    let producer = FakeProducer::stream();
    let id = world.start(&producer);
    world.complete(&id, &producer).await;
    until("it is announced", || world.inbox.nudges() == [inject(&id)]).await;
    assert_eq!(world.claim(), std::slice::from_ref(&id));
    drop(world.wait(&id));
    come_to_rest().await;
    assert_eq!(world.inbox.nudges(), [inject(&id)]);
    assert_eq!(world.claim(), []);
}

// contract: W7
#[tokio::test(start_paused = true)]
async fn a_wait_leaves_no_waiter_behind_however_it_ends() {
    let config = Config { max_waiters_per_task: 1, ..Config::default() };
    let world = World::with(|builder| builder.config(config));
    let id = world.start(&FakeProducer::stream());
    let wait = world.wait(&id);
    let refusal = world.wait(&id).refusal().cloned();
    assert_eq!(refusal, Some(WaitRefusal::TooMany { limit: 1 }));
    drop(wait);
    assert_eq!(world.wait(&id).abort(), Ok(None));
    assert!(matches!(world.wait(&id).await, Ok(Waited::TimedOut(_))));
    assert_eq!(world.wait(&id).refusal(), None);
}

#[derive(Default)]
struct Counting(AtomicUsize);

impl ArcWake for Counting {
    fn wake_by_ref(this: &Arc<Self>) {
        this.0.fetch_add(1, Ordering::SeqCst);
    }
}

// contract: W1
#[tokio::test(start_paused = true)]
async fn only_the_last_waker_of_a_wait_is_woken_and_once() {
    let world = World::new();
    let producer = FakeProducer::stream();
    let id = world.start(&producer);
    let mut wait = world.wait(&id);
    let wakes = [(); 2].map(|()| Arc::new(Counting::default()));
    for counting in &wakes {
        let waker = waker(counting.clone());
        assert!(wait.poll_unpin(&mut Context::from_waker(&waker)).is_pending());
    }
    world.complete(&id, &producer).await;
    come_to_rest().await;
    assert_eq!(wakes.map(|wakes| wakes.0.load(Ordering::SeqCst)), [0, 1]);
    assert!(wait.await.is_ok());
}

/// A waker that owns a wait, as that of an executor that owns its futures does.
struct Owning(#[expect(dead_code, reason = "held to be dropped")] Mutex<Option<Wait>>);

impl ArcWake for Owning {
    fn wake_by_ref(_: &Arc<Self>) {}
}

// contract: C5, W6
#[tokio::test(start_paused = true)]
async fn a_waker_whose_drop_drops_another_wait_blocks_nobody() {
    let world = World::new();
    let producer = FakeProducer::stream();
    let (id, other) = (world.start(&producer), world.start(&FakeProducer::stream()));
    let mut wait = world.wait(&id);
    // The first is dropped when the second replaces it, the second when it was woken.
    for _ in 0..2 {
        let waker = waker(Arc::new(Owning(Mutex::new(Some(world.wait(&other))))));
        assert!(wait.poll_unpin(&mut Context::from_waker(&waker)).is_pending());
    }
    world.complete(&id, &producer).await;
    assert!(wait.await.is_ok());
    assert_eq!(world.wait(&other).abort(), Ok(None));
}
