//! Admission and ids.

use longrun_tokio::{
    NoticePolicy, Outcome, StartError, TaskSpec,
    core::StartRefusal,
    testing::{FakeProducer, HooksTaken, OnCancel},
};

use super::{World, make, refusal, soon, start};

// contract: S2, S5
#[tokio::test(start_paused = true)]
async fn everything_that_can_fail_is_checked_in_order_before_the_starter_runs() {
    let world = World::with(|builder| builder.max_active_per_owner(1));
    let old = world.open("s2");
    let running = start(&old, &FakeProducer::stream());
    let new = world.open("s2");
    start(&new, &FakeProducer::stream());
    let worst = || TaskSpec::new("", "").output_limit_bytes(0);
    let World { service, controls, .. } = world;

    drop(controls);
    assert_eq!(refusal(&old, worst()), StartRefusal::NoController);
    let _controls = service.mount_controls(NoticePolicy::default()).unwrap();
    assert_eq!(refusal(&old, worst()), StartRefusal::InvalidKind { got_bytes: 0 });
    let of_kind = || TaskSpec::new("bash", "").output_limit_bytes(0);
    assert_eq!(refusal(&old, of_kind()), StartRefusal::EmptyLabel);
    assert_eq!(refusal(&old, make().output_limit_bytes(0)), StartRefusal::ZeroOutputLimit);
    assert_eq!(refusal(&old, make()), StartRefusal::OwnerNotLive);
    assert_eq!(refusal(&new, make()), StartRefusal::LimitReached { limit: 1 });
    drop(new.dispose());
    assert_eq!(refusal(&new, make()), StartRefusal::OwnerDisposing);
    drop(service.shutdown());
    assert_eq!(refusal(&old, worst()), StartRefusal::ShuttingDown);

    let ids: Vec<_> = service.list(&old.caller()).into_iter().map(|task| task.id).collect();
    assert_eq!(ids.len(), 2, "a refused start left a record: {ids:?}");
    assert_eq!(ids[0], running);
}

// contract: S1, S5
#[tokio::test(start_paused = true)]
async fn ids_count_each_kind_from_one_and_are_never_used_again() {
    let world = World::new();
    let ids = |kind: &str| {
        let producer = FakeProducer::stream();
        world.owner.start(TaskSpec::new(kind, "work"), || producer.hooks()).unwrap()
    };
    assert_eq!(ids("bash").as_str(), "bash-1");
    assert_eq!(ids("pty").as_str(), "pty-1");
    refusal(&world.owner, TaskSpec::new("bash", ""));
    assert_eq!(ids("bash").as_str(), "bash-2");

    soon(world.owner.dispose()).await.unwrap();
    assert_eq!(world.owner.list(), []);
    let next = start(&world.open("s2"), &FakeProducer::stream());
    assert_eq!(next.as_str(), "bash-3");
}

// contract: S3
#[tokio::test(start_paused = true)]
async fn a_starter_that_fails_leaves_nothing_and_its_error_comes_back() {
    let world = World::with(|builder| builder.max_active_per_owner(1));
    let mut runs = 0;
    let failed = world.owner.start(make(), || {
        runs += 1;
        Err("no shell")
    });
    assert!(matches!(failed, Err(StartError::Starter("no shell"))), "{failed:?}");
    assert_eq!(runs, 1);
    assert_eq!(world.owner.list(), []);
    assert_eq!(world.start(&FakeProducer::stream()).as_str(), "bash-1");
}

// contract: S3
#[tokio::test(start_paused = true)]
async fn a_starter_that_panics_leaves_nothing_and_its_panic_goes_on() {
    let world = World::with(|builder| builder.max_active_per_owner(1));
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        world.owner.start(make(), || -> Result<_, HooksTaken> { panic!("the starter is wrong") })
    }));
    let panic = panicked.unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"the starter is wrong"));
    assert_eq!(world.owner.list(), []);
    assert_eq!(world.start(&FakeProducer::stream()).as_str(), "bash-1");
}

// contract: S8
#[tokio::test(start_paused = true)]
async fn a_stopping_task_keeps_its_slot_and_an_ended_one_gives_it_back() {
    let world = World::with(|builder| builder.max_active_per_owner(1));
    let producer = FakeProducer::stream().on_cancel(OnCancel::Ignore);
    let id = world.start(&producer);
    let refused = refusal(&world.owner, make());
    assert_eq!(refused, StartRefusal::LimitReached { limit: 1 });
    let text = refused.to_string();
    assert!(text.starts_with("1 background task") && text.contains("task_kill"), "{text}");

    world.service.kill(&id, &world.caller(), None).unwrap();
    assert_eq!(refusal(&world.owner, make()), StartRefusal::LimitReached { limit: 1 });
    world.complete(&id, &producer).await;
    assert_eq!(world.start(&FakeProducer::stream()).as_str(), "bash-2");
}

// contract: S8
#[tokio::test(start_paused = true)]
async fn each_exact_owner_has_its_own_limit_and_the_unowned_share_one() {
    let world = World::with(|builder| builder.max_active_per_owner(1));
    world.start(&FakeProducer::stream());
    let replacement = world.open("s1");
    start(&replacement, &FakeProducer::stream());
    start(&world.open("s2"), &FakeProducer::stream());

    world.start_unowned(&FakeProducer::stream());
    let refused = world.service.start_unowned(make(), || FakeProducer::stream().hooks());
    let limit = StartRefusal::LimitReached { limit: 1 };
    assert!(matches!(refused, Err(StartError::Refused(refusal)) if refusal == limit));
}

// contract: S8
#[test]
fn ten_tasks_at_work_is_the_default_limit() {
    assert_eq!(longrun_tokio::Config::default().max_active_per_owner, 10);
}

// contract: S11, C1
#[tokio::test(start_paused = true)]
async fn a_start_needs_a_controller_and_a_custom_one_will_do() {
    let service = longrun_tokio::Builder::new().build().unwrap();
    let owner = service.owner("s1").open().unwrap();
    assert_eq!(refusal(&owner, make()), StartRefusal::NoController);
    let first = service.attach_controller().unwrap();
    let second = service.attach_controller().unwrap();
    drop(first);
    start(&owner, &FakeProducer::stream());
    drop(second);
    assert_eq!(refusal(&owner, make()), StartRefusal::NoController);
}

// contract: L9
#[tokio::test(start_paused = true)]
async fn tasks_go_on_when_their_controller_and_their_producer_are_gone() {
    let World { service, controls, owner, .. } = World::new();
    let producer = FakeProducer::stream();
    let id = start(&owner, &producer);
    drop(controls);
    producer.write("still here");
    assert_eq!(service.read(&id, &owner.caller()).unwrap().text, "still here");
    assert!(producer.cancels().is_empty());
    producer.settle(Outcome::completed());
    let wait = service.wait(&id, &owner.caller(), super::A_MINUTE);
    assert!(wait.await.unwrap().snapshot().status.is_terminal());
}

// contract: S7
#[tokio::test(start_paused = true)]
async fn a_call_that_times_out_or_is_cancelled_after_its_start_does_not_touch_the_task() {
    let world = std::sync::Arc::new(World::new());
    let producer = FakeProducer::stream();
    let call = tokio::spawn({
        let (world, producer) = (world.clone(), producer.clone());
        async move {
            let id = world.start(&producer);
            let _ = world.wait(&id).await;
        }
    });
    super::until("the task has started", || !world.owner.list().is_empty()).await;
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    tokio::time::advance(super::A_MINUTE * 60).await;
    let task = &world.owner.list()[0];
    assert_eq!(task.status.as_str(), "running");
    assert!(producer.cancels().is_empty());
}
