//! The shutdown of the service.

use std::{sync::mpsc, task::Poll, time::Duration};

use longrun_tokio::{
    Outcome, StartError, Status,
    core::{StartRefusal, StopCause},
    testing::{FakeProducer, OnCancel},
};
use tokio::{runtime::Handle, time::advance};

use super::{Log, World, make, refusal, soon, threads, until};

fn stubborn() -> FakeProducer {
    FakeProducer::stream().on_cancel(OnCancel::Ignore)
}

// contract: T1, L10, O7
#[tokio::test(start_paused = true)]
async fn a_shutdown_silences_listeners_cancels_awaits_and_empties() {
    let world = World::new();
    let log = Log::default();
    let (listening, observing) = (log.clone(), log.clone());
    let _guards = (
        world.service.on_task_done(move |_| listening.add("listener")).unwrap(),
        world.service.on_tasks_changed(move |_| observing.add("observer")).unwrap(),
    );
    let (owned, unowned) = (stubborn(), stubborn());
    let id = world.start(&owned);
    world.start_unowned(&unowned);
    log.lines_mut(Vec::clear);

    let mut shutdown = world.service.shutdown();
    assert!(world.service.is_closing());
    for producer in [&owned, &unowned] {
        assert_eq!(producer.cancels(), [Some("tasks service disposed".to_owned())]);
    }
    let task = world.get(&id);
    assert_eq!((task.status, task.reported), (Status::Stopping, true));
    assert_eq!(task.stop.unwrap().by, StopCause::Shutdown);
    assert_eq!(refusal(&world.owner, make()), StartRefusal::ShuttingDown);
    let unowned_start = world.service.start_unowned(make(), || FakeProducer::stream().hooks());
    assert!(matches!(unowned_start, Err(StartError::Refused(StartRefusal::ShuttingDown))));

    owned.settle(Outcome::killed());
    world.ended(&id).await;
    assert_eq!(futures::poll!(&mut shutdown), Poll::Pending);
    unowned.settle(Outcome::completed());
    assert_eq!(soon(shutdown).await, Ok(vec![]));
    assert_eq!(world.owner.list(), []);
    assert!(!log.has("listener"), "{:?}", log.lines());
    assert_eq!(log.lines().len(), 6, "two stops, two ends, two owners emptied");
    assert_eq!(world.inbox.nudges(), []);
}

// contract: T1, O4
#[tokio::test(start_paused = true)]
async fn a_second_shutdown_joins_the_first_and_owners_that_live_on_are_detached() {
    let world = World::new();
    let producer = stubborn();
    world.start(&producer);
    let first = world.service.shutdown();
    let mut second = world.service.clone().shutdown();
    assert_eq!(producer.cancels().len(), 1);
    drop(first);
    assert_eq!(futures::poll!(&mut second), Poll::Pending);
    producer.settle(Outcome::killed());
    assert_eq!(soon(second).await, Ok(vec![]));
    assert_eq!(futures::poll!(world.service.shutdown()), Poll::Ready(Ok(vec![])));
    assert_eq!(soon(world.owner.dispose()).await, Ok(vec![]));
    assert_eq!(refusal(&world.open("s2"), make()), StartRefusal::ShuttingDown);
}

// contract: T2, O5, O6
#[tokio::test(start_paused = true)]
async fn a_shutdown_reports_those_that_may_be_orphans() {
    let deadline = Duration::from_secs(5);
    let world = World::with(|builder| builder.teardown_deadline(deadline));
    let failing = FakeProducer::stream().on_cancel(OnCancel::Fail);
    let ids = [world.start(&failing), world.start(&stubborn())];
    world.start(&FakeProducer::stream());
    let mut shutdown = world.service.shutdown();
    advance(deadline - Duration::from_millis(1)).await;
    assert_eq!(futures::poll!(&mut shutdown), Poll::Pending);
    assert_eq!(soon(shutdown).await.unwrap(), ids);
}

// contract: T1, W1
#[tokio::test(start_paused = true)]
async fn a_wait_across_a_shutdown_gets_the_terminal_snapshot() {
    let world = World::new();
    let id = world.start(&FakeProducer::stream());
    let wait = world.wait(&id);
    soon(world.service.shutdown()).await.unwrap();
    let waited = wait.await.unwrap();
    assert_eq!(waited.snapshot().status, Status::Killed);
}

// contract: T2, W7
#[tokio::test(start_paused = true)]
async fn no_task_of_the_runtime_is_left_when_a_service_is_gone() {
    let alive = || Handle::current().metrics().num_alive_tasks();
    let before = alive();
    let world = World::new();
    for _ in 0..5 {
        world.start(&FakeProducer::stream());
    }
    let id = world.start(&FakeProducer::stream());
    let wait = world.wait(&id);
    assert!(alive() > before);
    drop(wait);
    soon(world.service.shutdown()).await.unwrap();
    drop(world);
    until("all of its tasks are gone", || alive() == before).await;
}

// contract: T2
#[tokio::test(start_paused = true)]
async fn dropping_the_last_handle_of_a_service_shuts_it_down_in_the_background() {
    let alive = || Handle::current().metrics().num_alive_tasks();
    let before = alive();
    let World { service, controls, inbox, owner } = World::new();
    let producer = stubborn();
    super::start(&owner, &producer);
    let (clone, weak) = (service.clone(), service.downgrade());
    drop(service);
    assert!(producer.cancels().is_empty(), "a clone still holds it");
    assert!(weak.upgrade().is_some());
    drop(clone);
    assert_eq!(producer.cancels(), [Some("tasks service disposed".to_owned())]);
    assert!(weak.upgrade().is_none());
    assert_eq!(refusal(&owner, make()), StartRefusal::ShuttingDown);
    producer.settle(Outcome::killed());
    until("its records are gone", || owner.list().is_empty()).await;
    assert_eq!(inbox.nudges(), []);
    drop((owner, controls));
    until("all of its tasks are gone", || alive() == before).await;
}

// contract: T1
#[test]
fn a_shutdown_can_be_awaited_from_a_thread_outside_the_runtime() {
    let runtime = threads();
    let world = {
        let _inside = runtime.enter();
        World::new()
    };
    let producer = stubborn();
    let id = world.start(&producer);
    let (ended, has_ended) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| ended.send(world.service.shutdown_blocking()).unwrap());
        super::block_until("it was cancelled", || !producer.cancels().is_empty());
        assert_eq!(has_ended.try_recv(), Err(mpsc::TryRecvError::Empty));
        assert!(!world.get(&id).status.is_terminal());
        producer.settle(Outcome::killed());
        assert_eq!(has_ended.recv_timeout(super::PATIENCE), Ok(Ok(vec![])));
    });
}
