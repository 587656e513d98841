//! How tasks end.

use std::future;

use longrun_tokio::{
    Hooks, Outcome, Status,
    core::StopCause,
    testing::{FakeClock, FakeProducer, OnCancel},
};

use super::{World, come_to_rest, logged, soon, start, threads, until};

// contract: L1, L2
#[tokio::test(start_paused = true)]
async fn each_outcome_is_recorded_as_the_producer_gave_it() {
    let world = World::new();
    let outcomes = [
        (Outcome::completed().with_detail("exit code: 3"), Status::Completed, "exit code: 3"),
        (Outcome::killed().with_detail("signal: SIGTERM"), Status::Killed, "signal: SIGTERM"),
        (Outcome::failed("no such directory"), Status::Failed, "no such directory"),
    ];
    for (outcome, status, detail) in outcomes {
        let id = world.start_hooks(Hooks::new(future::ready(outcome)));
        world.ended(&id).await;
        let task = world.get(&id);
        assert_eq!((task.status, task.detail.as_deref()), (status, Some(detail)));
        assert_eq!(task.stop, None);
    }
}

// contract: L6
#[tokio::test(start_paused = true)]
async fn a_done_that_panics_fails_the_task_and_waits_and_teardown_go_on() {
    let log = logged();
    let world = World::new();
    let id = world.start_hooks(Hooks::new(async { panic!("lost my pid") }));
    let ended = world.wait(&id).await.unwrap();
    let task = ended.snapshot();
    assert_eq!(task.status, Status::Failed);
    let detail = task.detail.as_deref().unwrap();
    assert!(detail.contains("lost my pid"), "{detail}");
    assert!(log.has("the producer of bash-1 broke its contract"), "{:?}", log.lines());
    assert_eq!(soon(world.owner.dispose()).await, Ok(vec![]));
}

// contract: L6
#[test]
fn a_done_that_the_runtime_drops_fails_the_task() {
    let runtime = threads();
    let world = {
        let _inside = runtime.enter();
        World::new()
    };
    let id = world.start(&FakeProducer::stream());
    drop(runtime);
    let task = world.get(&id);
    assert_eq!(task.status, Status::Failed);
    let detail = task.detail.unwrap();
    assert!(detail.contains("dropped before it ended"), "{detail}");
}

// contract: L6, L3, O5
#[tokio::test(start_paused = true)]
async fn a_producer_that_breaks_after_its_task_was_failed_changes_nothing_and_is_reported() {
    let log = logged();
    let world = World::new();
    let (stuck, slow) = (FakeProducer::stream(), FakeProducer::stream());
    let (stuck, slow) = (stuck.on_cancel(OnCancel::Fail), slow.on_cancel(OnCancel::Ignore));
    let id = world.start(&stuck);
    let slow_id = world.start(&slow);
    let disposal = world.owner.dispose();
    let failed = world.get(&id);
    assert_eq!(failed.status, Status::Failed);
    let detail = failed.detail.as_deref().unwrap();
    assert!(detail.contains("may be orphaned") && detail.contains("told to fail"), "{detail}");
    assert!(log.has("bash-1 could not be cancelled"), "{:?}", log.lines());

    assert!(!log.has("broke its contract"));
    stuck.break_contract();
    until("the break is reported", || log.has("the producer of bash-1 broke its contract")).await;
    assert_eq!(world.get(&id), failed);

    slow.break_contract();
    until("the slow one has ended", || world.owner.list().is_empty()).await;
    assert!(log.has(&format!("the producer of {slow_id} broke its contract")));
    assert_eq!(soon(disposal).await.unwrap(), [id]);
    assert_eq!(world.inbox.nudges(), []);
}

// contract: L6
#[tokio::test(start_paused = true)]
async fn a_producer_that_breaks_after_its_record_is_gone_is_reported() {
    let log = logged();
    let world = World::new();
    let stuck = FakeProducer::stream().on_cancel(OnCancel::Fail);
    let id = world.start(&stuck);
    assert_eq!(soon(world.owner.dispose()).await.unwrap(), [id]);
    assert_eq!(world.owner.list(), []);
    stuck.break_contract();
    until("it is reported", || log.has("the producer of a task that is gone broke")).await;
    assert_eq!(world.owner.list(), []);
}

// contract: L3, O5
#[tokio::test(start_paused = true)]
async fn an_outcome_that_comes_after_the_record_was_failed_changes_nothing_and_tells_nobody() {
    let world = World::new();
    let stuck = FakeProducer::stream().on_cancel(OnCancel::Fail);
    let slow = FakeProducer::stream().on_cancel(OnCancel::Ignore);
    let id = world.start(&stuck);
    world.start(&slow);
    let changes = super::Log::default();
    let _observer = {
        let changes = changes.clone();
        world.service.on_tasks_changed(move |_| changes.add("changed")).unwrap()
    };
    let disposal = world.owner.dispose();
    let (failed, told) = (world.get(&id), changes.lines().len());
    stuck.settle(Outcome::completed().with_detail("after all"));
    come_to_rest().await;
    assert_eq!(world.get(&id), failed);
    assert_eq!(changes.lines().len(), told);
    slow.settle(Outcome::killed());
    assert_eq!(soon(disposal).await.unwrap(), [id]);
}

// contract: L8
#[tokio::test(start_paused = true)]
async fn no_task_ends_before_it_began_even_when_the_wall_clock_steps_back() {
    let clock = FakeClock::at_ms(1_000_000);
    let world = World::with(|builder| builder.wall_clock(clock.clone()));
    let (first, second) = (FakeProducer::stream(), FakeProducer::stream());
    let (back, forth) = (world.start(&first), world.start(&second));
    clock.set_ms(400_000);
    world.complete(&back, &first).await;
    let task = world.get(&back);
    assert_eq!((task.started_at_ms, task.finished_at_ms), (1_000_000, Some(1_000_000)));
    clock.set_ms(1_000_007);
    world.complete(&forth, &second).await;
    let task = world.get(&forth);
    assert_eq!((task.started_at_ms, task.finished_at_ms), (1_000_000, Some(1_000_007)));
}

// contract: L10
#[tokio::test(start_paused = true)]
async fn a_task_says_who_asked_it_to_stop_first_and_why() {
    let world = World::new();
    let started = |session: &str| {
        let owner = world.open(session);
        let producer = FakeProducer::stream().on_cancel(OnCancel::Ignore);
        let id = start(&owner, &producer);
        (owner, id)
    };
    let (killer, by_kill) = started("s2");
    let (disposed, by_disposal) = started("s3");
    let (closed, by_shutdown) = started("s4");
    world.service.kill(&by_kill, &killer.caller(), Some("too slow")).unwrap();
    world.service.kill(&by_kill, &killer.caller(), Some("really")).unwrap();
    drop(disposed.dispose());
    drop(world.service.shutdown());

    let stop = |owner: &longrun_tokio::OwnerScope, id| {
        let stop = world.service.get(id, &owner.caller()).unwrap().stop.unwrap();
        (stop.by, stop.reason.unwrap().to_string())
    };
    assert_eq!(stop(&killer, &by_kill), (StopCause::Kill, "too slow".to_owned()));
    let by = (StopCause::OwnerDisposal, "owner disposed".to_owned());
    assert_eq!(stop(&disposed, &by_disposal), by);
    let by = (StopCause::Shutdown, "tasks service disposed".to_owned());
    assert_eq!(stop(&closed, &by_shutdown), by);
    let listed = closed.list().into_iter().find(|task| task.id == by_shutdown).unwrap();
    assert_eq!(listed.stop.unwrap().by, StopCause::Shutdown);
}
