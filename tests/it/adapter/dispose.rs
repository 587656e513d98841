//! The disposal of owners.

use std::{task::Poll, time::Duration};

use longrun_tokio::{
    Outcome, Status, TaskId,
    core::{StartRefusal, StopCause},
    testing::{FakeProducer, OnCancel},
};
use tokio::time::{Instant, advance};

use super::{Log, World, come_to_rest, logged, make, refusal, soon, start, until};

fn stubborn() -> FakeProducer {
    FakeProducer::stream().on_cancel(OnCancel::Ignore)
}

// contract: O1, O2, O4, O7
#[tokio::test(start_paused = true)]
async fn a_disposal_cancels_then_awaits_then_removes_and_nothing_starts_meanwhile() {
    let world = World::new();
    let (live, ended) = (stubborn(), FakeProducer::stream());
    let (live_id, ended_id) = (world.start(&live), world.start(&ended));
    world.complete(&ended_id, &ended).await;
    let unowned = FakeProducer::stream();
    let unowned_id = world.start_unowned(&unowned);

    let mut disposal = world.owner.dispose();
    assert_eq!(live.cancels(), [Some("owner disposed".to_owned())]);
    let task = world.get(&live_id);
    assert_eq!((task.status, task.reported), (Status::Stopping, true));
    assert_eq!(task.stop.unwrap().by, StopCause::OwnerDisposal);
    assert!(ended.cancels().is_empty());
    assert_eq!(refusal(&world.owner, make()), StartRefusal::OwnerDisposing);
    advance(Duration::from_secs(3600)).await;
    assert_eq!(futures::poll!(&mut disposal), Poll::Pending, "the work has not stopped");

    live.settle(Outcome::killed());
    assert_eq!(soon(disposal).await, Ok(vec![]));
    let left: Vec<TaskId> = world.owner.list().into_iter().map(|task| task.id).collect();
    assert_eq!(left, [unowned_id]);
    assert!(unowned.cancels().is_empty());
    assert_eq!(refusal(&world.owner, make()), StartRefusal::OwnerDisposing);
}

// contract: O3
#[tokio::test(start_paused = true)]
async fn all_cancels_go_out_at_once() {
    let world = World::with(|builder| builder.max_active_per_owner(20));
    let producers = [(); 20].map(|()| stubborn());
    for producer in &producers {
        world.start(producer);
    }
    let disposal = world.owner.dispose();
    assert!(producers.iter().all(|producer| producer.cancels().len() == 1));
    let began = Instant::now();
    tokio::spawn(async move {
        let grace = producers.each_ref().map(|producer| async {
            tokio::time::sleep(Duration::from_secs(3)).await;
            producer.settle(Outcome::killed());
        });
        futures::future::join_all(grace).await;
    });
    soon(disposal).await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
}

// contract: O4
#[tokio::test(start_paused = true)]
async fn a_second_disposal_joins_the_first_and_one_that_has_ended_is_over_at_once() {
    let world = World::new();
    let producer = stubborn();
    world.start(&producer);
    let first = world.owner.dispose();
    let mut second = world.owner.dispose();
    assert_eq!(producer.cancels().len(), 1);
    assert_eq!(futures::poll!(&mut second), Poll::Pending);
    drop(first);
    producer.settle(Outcome::killed());
    assert_eq!(soon(second).await, Ok(vec![]));
    assert_eq!(futures::poll!(world.owner.dispose()), Poll::Ready(Ok(vec![])));
}

// contract: O7, N2
#[tokio::test(start_paused = true)]
async fn what_a_disposal_cancels_is_reported_before_its_producer_is_called() {
    let world = World::new();
    let log = Log::default();
    let hooks = {
        let (log, service, caller) = (log.clone(), world.service.downgrade(), world.caller());
        longrun_tokio::Hooks::new(std::future::pending()).on_cancel(move |_| {
            let tasks = service.upgrade().unwrap().list(&caller);
            log.add(format!("{} {}", tasks[0].status, tasks[0].reported));
            Err("never".into())
        })
    };
    let id = world.start_hooks(hooks);
    assert_eq!(soon(world.owner.dispose()).await.unwrap(), [id]);
    assert_eq!(log.lines(), ["running true"]);
    assert_eq!(world.inbox.nudges(), []);
}

// contract: O5
#[tokio::test(start_paused = true)]
async fn a_cancel_that_fails_is_logged_and_reported_as_an_orphan_and_teardown_goes_on() {
    let log = logged();
    let world = World::new();
    let stuck = FakeProducer::stream().on_cancel(OnCancel::Fail);
    let (slow, quick) = (stubborn(), FakeProducer::stream());
    let id = world.start(&stuck);
    world.start(&slow);
    world.start(&quick);
    let mut disposal = world.owner.dispose();
    assert_eq!(quick.cancels().len(), 1, "the failure stopped the others' cancels");
    let task = world.get(&id);
    let detail = task.detail.as_deref().unwrap();
    assert_eq!(task.status, Status::Failed);
    assert!(detail.contains("told to fail") && detail.contains("may be orphaned"), "{detail}");
    assert!(log.has("bash-1 could not be cancelled and may be orphaned"), "{:?}", log.lines());
    assert_eq!(futures::poll!(&mut disposal), Poll::Pending);
    slow.settle(Outcome::killed());
    assert_eq!(soon(disposal).await.unwrap(), [id]);
    assert_eq!(world.inbox.nudges(), []);
}

// contract: O6, T2
#[tokio::test(start_paused = true)]
async fn past_the_teardown_deadline_a_task_is_failed_and_reported_as_an_orphan() {
    let log = logged();
    let deadline = Duration::from_secs(5);
    let world = World::with(|builder| builder.teardown_deadline(deadline));
    let (never, timely) = (stubborn(), stubborn());
    let id = world.start(&never);
    world.start(&timely);
    let began = Instant::now();
    let mut disposal = world.owner.dispose();
    advance(deadline - Duration::from_millis(1)).await;
    come_to_rest().await;
    timely.settle(Outcome::killed());
    assert_eq!(futures::poll!(&mut disposal), Poll::Pending);
    assert_eq!(soon(disposal).await.unwrap(), [id]);
    assert!(began.elapsed() < deadline + Duration::from_millis(10), "{:?}", began.elapsed());
    assert!(log.has("bash-1 did not end within the teardown deadline"), "{:?}", log.lines());
    assert!(!log.has("bash-2 did not end"));
}

// contract: O6, S10
#[tokio::test(start_paused = true)]
async fn the_teardown_deadline_does_not_pass_a_starter() {
    let deadline = Duration::from_secs(5);
    let world = World::with(|builder| builder.teardown_deadline(deadline));
    let producer = stubborn();
    let mut disposal = None;
    let (service, caller) = (world.service.downgrade(), world.caller());
    let id = world.owner.start(make(), || {
        disposal = Some(world.owner.dispose());
        producer.hooks()
    });
    let disposal = disposal.unwrap();
    let id = id.unwrap();
    let status = || service.upgrade().unwrap().get(&id, &caller).unwrap().status;
    advance(deadline - Duration::from_millis(1)).await;
    come_to_rest().await;
    assert_eq!(status(), Status::Stopping, "its own deadline counts from its cancel");
    assert_eq!(soon(disposal).await.unwrap(), [id]);
}

// contract: O9, O8
#[tokio::test(start_paused = true)]
async fn dropping_an_owner_disposes_it_in_the_background() {
    let world = World::new();
    let owner = world.open("s2");
    let (caller, producer) = (owner.caller(), stubborn());
    let id = start(&owner, &producer);
    drop(owner);
    assert_eq!(producer.cancels(), [Some("owner disposed".to_owned())]);
    assert_eq!(world.service.get(&id, &caller).unwrap().status, Status::Stopping);
    producer.settle(Outcome::killed());
    until("its records are gone", || world.service.list(&caller).is_empty()).await;
    assert!(world.service.get(&id, &caller).is_err());
}

// contract: O9, O4
#[tokio::test(start_paused = true)]
async fn a_disposal_goes_on_and_can_be_awaited_when_its_owner_is_dropped() {
    let world = World::new();
    let producer = stubborn();
    world.start(&producer);
    let disposal = world.owner.dispose();
    drop(world.owner);
    assert_eq!(producer.cancels().len(), 1);
    producer.settle(Outcome::killed());
    assert_eq!(soon(disposal).await, Ok(vec![]));
}

// contract: N5, O7
#[tokio::test(start_paused = true)]
async fn a_disposal_discards_what_was_not_claimed() {
    let world = World::new();
    let (ended, slow) = (FakeProducer::stream(), stubborn());
    let id = world.start(&ended);
    world.start(&slow);
    world.complete(&id, &ended).await;
    let disposal = world.owner.dispose();
    assert_eq!(world.claim(), []);
    slow.settle(Outcome::killed());
    soon(disposal).await.unwrap();
    assert_eq!(world.inbox.nudges(), [super::inject(&id)]);
}
