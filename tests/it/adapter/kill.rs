//! Kills.

use std::sync::{Arc, OnceLock, mpsc};

use longrun_tokio::{
    Hooks, KillError, Killed, Outcome, Status, TaskId,
    testing::{FakeProducer, OnCancel},
};

use super::{World, block_until, inject, logged, threads, until, withdraw};

// contract: K1, K2, N2
#[tokio::test(start_paused = true)]
async fn a_kill_returns_at_once_and_its_reason_is_forwarded_word_for_word_and_logged() {
    let log = logged();
    let world = World::new();
    let producer = FakeProducer::stream().on_cancel(OnCancel::Ignore);
    let id = world.start(&producer);
    let killed = world.service.kill(&id, &world.caller(), Some("  too\tslow  ")).unwrap();
    let Killed::Requested(task) = killed else { panic!("{killed:?}") };
    assert_eq!((task.status, task.reported), (Status::Stopping, true));
    assert_eq!(producer.cancels(), [Some("  too\tslow  ".to_owned())]);
    assert!(log.has("a task was asked to stop") && log.has("slow"), "{:?}", log.lines());

    world.complete(&id, &producer).await;
    assert_eq!(world.get(&id).status, Status::Completed, "the producer says how it ended");
    assert_eq!(world.inbox.nudges(), []);
    assert_eq!(world.claim(), []);
}

// contract: K2
#[tokio::test(start_paused = true)]
async fn killing_a_stopping_task_asks_the_producer_again() {
    let world = World::new();
    let producer = FakeProducer::stream().on_cancel(OnCancel::Ignore);
    let id = world.start(&producer);
    for _ in 0..2 {
        let killed = world.service.kill(&id, &world.caller(), None).unwrap();
        assert!(matches!(killed, Killed::Requested(_)), "{killed:?}");
    }
    assert_eq!(producer.cancels(), [None, None]);
}

// contract: K3, N1
#[tokio::test(start_paused = true)]
async fn a_kill_whose_cancel_fails_leaves_the_task_as_it_was_and_can_be_tried_again() {
    let world = World::new();
    let producer = FakeProducer::stream().on_cancel(OnCancel::FailOnce);
    let id = world.start(&producer);
    let before = world.get(&id);
    let error = world.service.kill(&id, &world.caller(), Some("now")).unwrap_err();
    assert!(matches!(&error, KillError::Cancel(_)), "{error:?}");
    assert!(error.to_string().contains("told to fail"), "{error}");
    assert_eq!(world.get(&id), before);

    let killed = world.service.kill(&id, &world.caller(), Some("now")).unwrap();
    assert!(matches!(killed, Killed::Requested(_)));
    world.ended(&id).await;
    assert_eq!(world.get(&id).status, Status::Killed);
    assert_eq!(world.inbox.nudges(), []);
}

// contract: K3, N1
#[tokio::test(start_paused = true)]
async fn a_task_whose_kill_failed_is_announced_when_it_ends() {
    let world = World::new();
    let hooks = FakeProducer::stream().on_cancel(OnCancel::Fail);
    let id = world.start(&hooks);
    world.service.kill(&id, &world.caller(), None).unwrap_err();
    world.complete(&id, &hooks).await;
    until("it is announced", || world.inbox.nudges() == [inject(&id)]).await;
}

// contract: K3
#[tokio::test(start_paused = true)]
async fn a_second_kill_that_fails_leaves_the_task_stopping_and_reported() {
    let world = World::new();
    let mut answers = vec![Err("busy".into()), Ok(())];
    let answers = std::sync::Mutex::new(std::mem::take(&mut answers));
    let hooks = Hooks::new(std::future::pending())
        .on_cancel(move |_| answers.lock().unwrap().pop().unwrap());
    let id = world.start_hooks(hooks);
    world.service.kill(&id, &world.caller(), Some("first")).unwrap();
    let before = world.get(&id);
    assert_eq!((before.status, before.reported), (Status::Stopping, true));
    world.service.kill(&id, &world.caller(), Some("second")).unwrap_err();
    assert_eq!(world.get(&id), before);
}

// contract: K3
#[tokio::test(start_paused = true)]
async fn a_cancel_that_panics_counts_as_one_that_fails() {
    let world = World::new();
    let hooks = Hooks::new(std::future::pending()).on_cancel(|_| panic!("the cancel is wrong"));
    let id = world.start_hooks(hooks);
    let error = world.service.kill(&id, &world.caller(), None).unwrap_err();
    assert!(error.to_string().contains("the cancel is wrong"), "{error}");
    assert_eq!(world.get(&id).status, Status::Running);
}

// contract: K4, N7
#[tokio::test(start_paused = true)]
async fn killing_an_ended_task_says_so_consumes_nothing_and_reports_it() {
    let world = World::new();
    let producer = FakeProducer::stream();
    let id = world.start(&producer);
    producer.write("kept");
    world.complete(&id, &producer).await;
    until("it is announced", || world.inbox.nudges() == [inject(&id)]).await;
    let killed = world.service.kill(&id, &world.caller(), None).unwrap();
    let Killed::AlreadyFinished(task) = killed else { panic!("{killed:?}") };
    assert_eq!((task.status, task.reported), (Status::Completed, true));
    assert!(producer.cancels().is_empty());
    assert_eq!(world.inbox.nudges(), [inject(&id), withdraw(&id)]);
    assert_eq!(world.claim(), []);
    assert_eq!(world.read(&id).text, "kept");
}

/// A task whose cancel lets it end and returns only when that is on record.
fn settling_in_its_cancel(world: &World, accepts: bool) -> TaskId {
    let producer = FakeProducer::stream();
    let Ok(hooks) = producer.hooks() else { unreachable!("they are taken once") };
    let own = Arc::new(OnceLock::<TaskId>::new());
    let (service, caller, its_id) = (world.service.downgrade(), world.caller(), own.clone());
    let hooks = hooks.on_cancel(move |_| {
        producer.settle(Outcome::completed().with_detail("just then"));
        let (service, id) = (service.upgrade().unwrap(), its_id.get().unwrap());
        block_until("it has ended", || service.get(id, &caller).unwrap().status.is_terminal());
        if accepts { Ok(()) } else { Err("too late".into()) }
    });
    let id = world.start_hooks(hooks);
    own.set(id.clone()).unwrap();
    id
}

// contract: K5
#[test]
fn a_task_that_ends_inside_the_cancel_of_its_kill_had_already_finished() {
    let runtime = threads();
    let _inside = runtime.enter();
    let world = World::new();
    let id = settling_in_its_cancel(&world, true);
    let killed = world.service.kill(&id, &world.caller(), None).unwrap();
    let Killed::AlreadyFinished(task) = killed else { panic!("{killed:?}") };
    assert_eq!((task.status, task.reported), (Status::Completed, true));
    assert_eq!(task.detail.as_deref(), Some("just then"));
    assert_eq!(world.inbox.nudges(), []);
    assert_eq!(world.claim(), []);
}

// contract: K5
#[test]
fn a_task_that_ends_inside_a_cancel_that_fails_is_announced_after_all() {
    let runtime = threads();
    let _inside = runtime.enter();
    let world = World::new();
    let id = settling_in_its_cancel(&world, false);
    let error = world.service.kill(&id, &world.caller(), None).unwrap_err();
    assert!(matches!(error, KillError::Cancel(_)), "{error:?}");
    block_until("it is announced", || world.inbox.nudges() == [inject(&id)]);
    assert_eq!(world.claim(), [id]);
}

// contract: K5, K3
#[test]
fn of_two_kills_in_flight_the_one_that_is_accepted_keeps_the_notice_back() {
    let runtime = threads();
    let _inside = runtime.enter();
    let world = World::new();
    let producer = FakeProducer::stream();
    let (entered, inside) = mpsc::channel();
    let entered = std::sync::Mutex::new(entered);
    let hooks = producer.hooks().unwrap().on_cancel(move |reason| {
        let (proceed, may_proceed) = mpsc::channel();
        entered.lock().unwrap().send((reason == Some("accept"), proceed)).unwrap();
        if may_proceed.recv().unwrap() { Ok(()) } else { Err("refused".into()) }
    });
    let id = world.start_hooks(hooks);
    let kill = |reason| world.service.kill(&id, &world.caller(), Some(reason));
    std::thread::scope(|scope| {
        let fails = scope.spawn(|| kill("fail"));
        let (accepts, fail) = inside.recv().unwrap();
        assert!(!accepts);
        let succeeds = scope.spawn(|| kill("accept"));
        let (accepts, accept) = inside.recv().unwrap();
        assert!(accepts);

        producer.settle(Outcome::completed());
        block_until("it has ended", || world.get(&id).status.is_terminal());
        fail.send(false).unwrap();
        assert!(matches!(fails.join().unwrap(), Err(KillError::Cancel(_))));
        assert_eq!(world.inbox.nudges(), [], "another kill still tells");
        accept.send(true).unwrap();
        assert!(matches!(succeeds.join().unwrap(), Ok(Killed::AlreadyFinished(_))));
    });
    assert_eq!(world.inbox.nudges(), []);
    assert_eq!(world.claim(), []);
}
