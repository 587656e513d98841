//! Scopes, and the guards of what is registered in them.

use std::sync::Arc;

use longrun_tokio::{
    Delivery, Guard, NoticePolicy, OwnerScope, Scope, TaskId,
    core::StartRefusal,
    testing::{FakeInbox, FakeProducer, Nudge, OnCancel},
};

use super::{Log, World, come_to_rest, inject, make, refusal, soon, start};

fn listen(scope: &Scope, log: &Log, name: &'static str) -> Guard {
    let log = log.clone();
    scope.on_task_done(move |done| log.add(format!("{name} {}", done.task.id))).unwrap()
}

fn observe(scope: &Scope, log: &Log) -> Guard {
    let log = log.clone();
    scope.on_tasks_changed(move |changed| log.add(format!("{:?}", changed.owner))).unwrap()
}

/// Runs a task of that owner's to its end.
async fn run(world: &World, owner: &OwnerScope) -> TaskId {
    let producer = FakeProducer::stream();
    let id = start(owner, &producer);
    producer.settle(longrun_tokio::Outcome::completed());
    let ended = || world.service.get(&id, &owner.caller()).unwrap().status.is_terminal();
    super::until("it has ended", ended).await;
    come_to_rest().await;
    id
}

// contract: C4, C1
#[tokio::test(start_paused = true)]
async fn what_is_registered_in_a_scope_serves_exactly_the_owners_below_it() {
    let World { service, controls, .. } = World::new();
    drop(controls);
    let left = service.root().open_scope().unwrap();
    let below = left.open_scope().unwrap();
    let right = service.root().open_scope().unwrap();
    let _controller = left.attach_controller().unwrap();
    start(&left.owner("a").open().unwrap(), &FakeProducer::stream());
    start(&below.owner("b").open().unwrap(), &FakeProducer::stream());
    for outside in [right.owner("c").open().unwrap(), service.owner("d").open().unwrap()] {
        assert_eq!(refusal(&outside, make()), StartRefusal::NoController);
    }
    let unowned = service.start_unowned(make(), || FakeProducer::stream().hooks());
    assert!(unowned.unwrap_err().to_string().contains("no task controller"));
}

// contract: C4, C2
#[tokio::test(start_paused = true)]
async fn root_registrations_are_called_first_then_from_the_outermost_scope_inwards() {
    let world = World::new();
    let outer = world.service.root().open_scope().unwrap();
    let inner = outer.open_scope().unwrap();
    let sibling = world.service.root().open_scope().unwrap();
    let log = Log::default();
    let _guards = [
        listen(&inner, &log, "inner"),
        listen(&outer, &log, "outer 1"),
        listen(&sibling, &log, "sibling"),
        listen(&outer, &log, "outer 2"),
        listen(&world.service.root(), &log, "root"),
    ];
    run(&world, &inner.owner("a").open().unwrap()).await;
    assert_eq!(log.lines(), ["root bash-1", "outer 1 bash-1", "outer 2 bash-1", "inner bash-1"]);
}

// contract: C4, N5
#[tokio::test(start_paused = true)]
async fn of_controls_at_two_scopes_above_one_owner_the_innermost_deliver_and_once() {
    let world = World::new();
    let inner = world.service.root().open_scope().unwrap();
    let wakeup = NoticePolicy { delivery: Delivery::Wakeup, ..NoticePolicy::default() };
    let guard = inner.mount_controls(wakeup).unwrap();
    let inbox = Arc::new(FakeInbox::new());
    let owner = inner.owner("a").inbox(inbox.clone()).open().unwrap();
    let first = run(&world, &owner).await;
    assert_eq!(inbox.nudges(), [Nudge::Wake(first.clone())]);
    drop(guard);
    let second = run(&world, &owner).await;
    assert_eq!(inbox.nudges(), [Nudge::Wake(first), inject(&second)]);
}

// contract: C2
#[tokio::test(start_paused = true)]
async fn a_registration_ends_with_its_guard_or_with_its_scope() {
    let world = World::new();
    let log = Log::default();
    let scope = world.service.root().open_scope().unwrap();
    let by_guard = listen(&scope, &log, "guard");
    let _by_scope = listen(&scope, &log, "scope");
    let owner = scope.owner("a").open().unwrap();
    run(&world, &owner).await;
    drop(by_guard);
    run(&world, &owner).await;
    assert_eq!(log.lines(), ["guard bash-1", "scope bash-1", "scope bash-2"]);

    // An owner holds its scope, which closes with the last that does.
    drop(scope);
    run(&world, &owner).await;
    assert_eq!(log.lines().last().unwrap(), "scope bash-3");
    let below = world.service.root().open_scope().unwrap();
    let _closed = listen(&below, &log, "closed");
    drop(below);
    run(&world, &world.open("b")).await;
    assert_eq!(log.lines().len(), 4);
}

// contract: C2
#[tokio::test(start_paused = true)]
async fn a_listener_is_told_the_exact_owner() {
    let world = World::new();
    let log = Log::default();
    let _listener = {
        let log = log.clone();
        world.service.on_task_done(move |done| log.add(format!("{:?}", done.owner))).unwrap()
    };
    let replacement = world.open("s1");
    run(&world, &replacement).await;
    let producer = FakeProducer::stream();
    let id = world.start_unowned(&producer);
    world.complete(&id, &producer).await;
    come_to_rest().await;
    assert_eq!(log.lines(), [format!("{:?}", Some(replacement.key())), "None".to_owned()]);
}

// contract: C3
#[tokio::test(start_paused = true)]
async fn observers_are_told_whose_tasks_changed_each_time_and_report_nothing() {
    let world = World::new();
    let log = Log::default();
    let _observer = observe(&world.service.root(), &log);
    let owned = format!("{:?}", Some(world.owner.key()));
    let told = |times: usize| {
        let lines = log.lines_mut(std::mem::take);
        assert_eq!(lines, vec![owned.clone(); times]);
    };
    let producer = FakeProducer::stream().on_cancel(OnCancel::Ignore);
    let id = world.start(&producer);
    told(1);
    world.service.kill(&id, &world.caller(), None).unwrap();
    told(1);
    world.service.kill(&id, &world.caller(), None).unwrap();
    told(1);
    world.complete(&id, &producer).await;
    come_to_rest().await;
    told(1);

    let quiet = run(&world, &world.owner).await;
    told(2);
    assert!(!world.get(&quiet).reported, "an observer reported it");
    told(0);
    soon(world.owner.dispose()).await.unwrap();
    told(1);
    soon(world.open("empty").dispose()).await.unwrap();
    told(0);
    world.start_unowned(&FakeProducer::stream());
    assert_eq!(log.lines(), ["None"]);
}

// contract: C3, T1
#[tokio::test(start_paused = true)]
async fn observers_are_told_of_every_owner_that_a_shutdown_emptied() {
    let world = World::new();
    let other = world.open("s2");
    for owner in [&world.owner, &world.owner, &other] {
        run(&world, owner).await;
    }
    let producer = FakeProducer::stream();
    let unowned = world.start_unowned(&producer);
    world.complete(&unowned, &producer).await;
    let log = Log::default();
    let _observer = observe(&world.service.root(), &log);
    soon(world.service.shutdown()).await.unwrap();
    let mut lines = log.lines();
    lines.sort();
    let emptied = [Some(world.owner.key()), Some(other.key()), None];
    let mut emptied = emptied.map(|owner| format!("{owner:?}"));
    emptied.sort();
    assert_eq!(lines, emptied);
}
