//! Waking an idle owner.

use longrun_tokio::{
    ClaimSource, Delivery, NoticePolicy, NoticePreference, Outcome, TaskId, TaskSpec,
    testing::{FakeProducer, Nudge},
};

use super::{World, come_to_rest, inject, make};

fn waking() -> World {
    let policy = NoticePolicy { delivery: Delivery::Wakeup, ..NoticePolicy::default() };
    World::mounted(policy, |builder| builder)
}

/// Runs a task to its end.
async fn run(world: &World, spec: TaskSpec) -> TaskId {
    let producer = FakeProducer::stream();
    let id = world.owner.start(spec, || producer.hooks()).unwrap();
    producer.settle(Outcome::completed());
    world.ended(&id).await;
    come_to_rest().await;
    id
}

/// How many of the nudges so far were wakes.
fn wakes(world: &World) -> usize {
    world.inbox.nudges().iter().filter(|nudge| matches!(nudge, Nudge::Wake(_))).count()
}

// contract: N3
#[tokio::test(start_paused = true)]
async fn quiet_controls_never_wake() {
    let world = World::new();
    let id = run(&world, make()).await;
    assert_eq!(world.inbox.nudges(), [inject(&id)]);
}

// contract: N3
#[tokio::test(start_paused = true)]
async fn an_idle_owner_is_woken_three_times_until_it_claims_user_input() {
    let world = waking();
    for _ in 0..5 {
        run(&world, make()).await;
    }
    assert_eq!(wakes(&world), 3);
    assert_eq!(world.inbox.nudges().len(), 5, "the others are injected");
    world.owner.claim(ClaimSource::Inbox);
    run(&world, make()).await;
    assert_eq!(wakes(&world), 3, "only user input refills the budget");
    world.owner.claim(ClaimSource::User);
    run(&world, make()).await;
    assert_eq!(wakes(&world), 4);
}

// contract: N3
#[tokio::test(start_paused = true)]
async fn a_busy_owner_is_injected_and_being_woken_makes_nobody_busy() {
    let world = waking();
    world.owner.set_busy(true);
    let first = run(&world, make()).await;
    assert_eq!(world.inbox.nudges(), [inject(&first)]);
    world.owner.set_busy(false);
    run(&world, make()).await;
    run(&world, make()).await;
    assert_eq!(wakes(&world), 2);
    let busy = world.service.owner("s2").busy(true).inbox(world.inbox.clone()).open().unwrap();
    let producer = FakeProducer::stream();
    super::start(&busy, &producer);
    producer.settle(Outcome::completed());
    come_to_rest().await;
    assert_eq!(world.inbox.nudges().len(), 4);
    assert_eq!(wakes(&world), 2);
}

// contract: N6, N3
#[tokio::test(start_paused = true)]
async fn a_claim_that_finds_nothing_marks_the_owner_idle_in_the_same_step() {
    let world = waking();
    world.owner.set_busy(true);
    let id = run(&world, make()).await;
    let claimed = world.owner.claim_or_idle(ClaimSource::Inbox).unwrap();
    assert_eq!(claimed[0].task.id, id);
    run(&world, make()).await;
    assert_eq!(wakes(&world), 0, "it found something, so it is still busy");
    assert!(world.owner.claim_or_idle(ClaimSource::Inbox).is_some());
    assert_eq!(world.owner.claim_or_idle(ClaimSource::Inbox), None);
    run(&world, make()).await;
    assert_eq!(wakes(&world), 1);
}

// contract: N8
#[tokio::test(start_paused = true)]
async fn a_task_can_ask_not_to_wake() {
    let world = waking();
    let id = run(&world, make().notice(NoticePreference::NeverWake)).await;
    assert_eq!(world.inbox.nudges(), [inject(&id)]);
}
