//! What may happen while a starter runs, and right after it.

use std::{cell::Cell, future, task::Poll};

use longrun_tokio::{
    Hooks, Killed, NoticePolicy, Outcome, OwnerScope, StartError, Status,
    core::{StartRefusal, StopCause},
    testing::{FakeProducer, OnCancel},
};

use super::{Log, Never, World, block_until, inject, make, refusal, soon, start, threads};

// contract: S9
#[tokio::test(start_paused = true)]
async fn a_starter_may_start_list_read_and_kill() {
    let world = World::new();
    let other = FakeProducer::stream();
    let outer = world.owner.start(make(), || {
        let inner = world.start(&other);
        other.write("inner");
        assert_eq!(world.owner.list().len(), 1, "the outer one is no task yet");
        assert_eq!(world.read(&inner).text, "inner");
        let killed = world.service.kill(&inner, &world.caller(), None).unwrap();
        assert!(matches!(killed, Killed::Requested(_)));
        FakeProducer::stream().hooks()
    });
    assert_eq!(outer.unwrap().as_str(), "bash-2", "a number is used at the commit");
}

// contract: S8, S9
#[tokio::test(start_paused = true)]
async fn starters_that_start_others_never_break_the_limit() {
    fn nest(owner: &OwnerScope, refused: &Cell<Option<StartRefusal>>) -> Result<Hooks, Never> {
        match owner.start(make(), || nest(owner, refused)) {
            Ok(_) => {}
            Err(StartError::Refused(refusal)) => refused.set(Some(refusal)),
            Err(other) => panic!("{other}"),
        }
        Ok(Hooks::new(future::pending()))
    }
    let world = World::with(|builder| builder.max_active_per_owner(4));
    let refused = Cell::new(None);
    world.owner.start(make(), || nest(&world.owner, &refused)).unwrap();
    assert_eq!(refused.take(), Some(StartRefusal::LimitReached { limit: 4 }));
    assert_eq!(world.owner.list().len(), 4);
    refusal(&world.owner, make());
}

// contract: S10, O1, O7
#[tokio::test(start_paused = true)]
async fn an_owner_disposed_inside_the_starter_cancels_and_awaits_the_new_task() {
    let world = World::new();
    let producer = FakeProducer::stream().on_cancel(OnCancel::Ignore);
    let mut disposal = None;
    let id = world.owner.start(make(), || {
        disposal = Some(world.owner.dispose());
        producer.hooks()
    });
    let id = id.expect("a commit cannot fail");
    assert_eq!(producer.cancels(), [Some("owner disposed".to_owned())]);
    let task = world.get(&id);
    assert_eq!((task.status, task.reported), (Status::Stopping, true));
    assert_eq!(task.stop.unwrap().by, StopCause::OwnerDisposal);

    let mut disposal = disposal.unwrap();
    assert_eq!(futures::poll!(&mut disposal), Poll::Pending);
    producer.settle(Outcome::killed());
    assert_eq!(soon(disposal).await, Ok(vec![]));
    assert_eq!(world.owner.list(), []);
    assert_eq!(world.inbox.nudges(), []);
}

// contract: S10, T1
#[tokio::test(start_paused = true)]
async fn a_shutdown_inside_the_starter_cancels_and_awaits_the_new_task() {
    let world = World::new();
    let producer = FakeProducer::stream().on_cancel(OnCancel::Ignore);
    let mut shutdown = None;
    let started = world.owner.start(make(), || {
        shutdown = Some(world.service.shutdown());
        producer.hooks()
    });
    assert!(started.is_ok());
    assert_eq!(producer.cancels(), [Some("tasks service disposed".to_owned())]);
    let mut shutdown = shutdown.unwrap();
    assert_eq!(futures::poll!(&mut shutdown), Poll::Pending);
    producer.settle(Outcome::killed());
    assert_eq!(soon(shutdown).await, Ok(vec![]));
}

// contract: S10, S3, O2
#[tokio::test(start_paused = true)]
async fn disposals_wait_for_a_starter_and_end_when_it_fails() {
    let world = World::new();
    let mut disposals = None;
    let failed = world.owner.start(make(), || {
        let (mut owner, mut service) = (world.owner.dispose(), world.service.shutdown());
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(future::Future::poll(std::pin::Pin::new(&mut owner), &mut context).is_pending());
        assert!(future::Future::poll(std::pin::Pin::new(&mut service), &mut context).is_pending());
        disposals = Some((owner, service));
        Err("no shell")
    });
    assert!(matches!(failed, Err(StartError::Starter("no shell"))));
    let (owner, service) = disposals.unwrap();
    assert_eq!(soon(owner).await, Ok(vec![]));
    assert_eq!(soon(service).await, Ok(vec![]));
}

// contract: S11
#[tokio::test(start_paused = true)]
async fn a_controller_that_leaves_during_the_starter_does_not_stop_the_start() {
    let World { service, controls, owner, .. } = World::new();
    let id = owner.start(make(), || {
        drop(controls);
        FakeProducer::stream().hooks()
    });
    assert_eq!(id.unwrap().as_str(), "bash-1");
    assert_eq!(refusal(&owner, make()), StartRefusal::NoController);
    let _controls = service.mount_controls(NoticePolicy::default()).unwrap();
    start(&owner, &FakeProducer::stream());
}

// contract: S12, N1
#[tokio::test(start_paused = true)]
async fn a_task_whose_done_is_ready_at_once_is_announced_like_any_other() {
    let world = World::new();
    let log = Log::default();
    let _listener = {
        let log = log.clone();
        world.service.on_task_done(move |done| log.add(&done.task.id)).unwrap()
    };
    let id = world.start_hooks(Hooks::new(future::ready(Outcome::completed().with_output("42"))));
    world.ended(&id).await;
    world.inbox.until(|nudges| nudges == [inject(&id)]).await;
    assert_eq!(log.lines(), [id.as_str()]);
    assert_eq!(world.claim(), std::slice::from_ref(&id));
    assert_eq!(world.read(&id).text, "42");
}

// contract: S12
#[test]
fn tasks_that_end_on_another_thread_before_start_returns_are_all_announced() {
    let runtime = threads();
    let _inside = runtime.enter();
    let world = World::with(|builder| builder.max_active_per_owner(1));
    for number in 1..=200 {
        let id =
            world.start_hooks(Hooks::new(async { Outcome::completed().with_detail("at once") }));
        assert_eq!(id.number(), number);
        block_until("it has ended", || world.get(&id).status == Status::Completed);
        block_until("it is announced", || world.inbox.nudges().len() == id.number() as usize);
        assert_eq!(world.claim(), [id]);
    }
}
