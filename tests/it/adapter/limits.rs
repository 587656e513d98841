//! The limits of the configuration.

use longrun_tokio::{
    BuildError, Builder, Config, KillError, Outcome, TaskId, TaskSpec,
    core::{KillRefusal, WaitRefusal},
    testing::FakeProducer,
};

use super::{World, come_to_rest};

fn limited(config: Config) -> World {
    World::with(|builder| builder.config(config))
}

// contract: S8
#[tokio::test(start_paused = true)]
async fn limits_that_nothing_can_work_within_are_refused_when_the_service_is_built() {
    let base = Config::default();
    let configs = [
        (Config { max_active_per_owner: 0, ..base }, "max_active_per_owner"),
        (Config { max_waiters_per_task: 0, ..base }, "max_waiters_per_task"),
        (Config { max_label_bytes: 15, ..base }, "max_label_bytes"),
        (Config { max_detail_bytes: 15, ..base }, "max_detail_bytes"),
        (Config { teardown_deadline: Some(std::time::Duration::ZERO), ..base }, "teardown"),
    ];
    for (config, field) in configs {
        let error = Builder::new().config(config).build().unwrap_err();
        assert!(matches!(error, BuildError::Config(_)), "{error:?}");
        assert!(error.to_string().contains(field), "{error}");
    }
}

#[test]
fn without_a_runtime_no_service_is_built() {
    assert_eq!(Builder::new().build().unwrap_err(), BuildError::NoRuntime);
}

// contract: W5
#[tokio::test(start_paused = true)]
async fn waits_and_kills_in_flight_on_one_task_have_one_limit() {
    let world = limited(Config { max_waiters_per_task: 2, ..Config::default() });
    let id = world.start(&FakeProducer::stream());
    let (first, _second) = (world.wait(&id), world.wait(&id));
    let refusal = world.wait(&id).refusal().cloned();
    assert_eq!(refusal, Some(WaitRefusal::TooMany { limit: 2 }));
    let killed = world.service.kill(&id, &world.caller(), None);
    let too_many = KillRefusal::TooMany { limit: 2 };
    assert!(matches!(killed, Err(KillError::Refused(refusal)) if refusal == too_many));
    drop(first);
    world.service.kill(&id, &world.caller(), None).unwrap();
}

// contract: M11
#[tokio::test(start_paused = true)]
async fn a_long_label_and_a_long_detail_are_cut_on_a_character_border_with_a_mark() {
    let config = Config { max_label_bytes: 16, max_detail_bytes: 16, ..Config::default() };
    let world = limited(config);
    let producer = FakeProducer::stream();
    let long = "ä".repeat(20);
    let id = world.owner.start(TaskSpec::new("bash", long.clone()), || producer.hooks()).unwrap();
    producer.settle(Outcome::completed().with_detail(&long));
    world.ended(&id).await;
    let task = world.get(&id);
    let cut = format!("{}…", "ä".repeat(6));
    assert_eq!((&*task.label, task.detail.as_deref()), (&*cut, Some(&*cut)));
}

// contract: L10, K1
#[tokio::test(start_paused = true)]
async fn a_long_reason_is_cut_on_the_record_and_forwarded_whole() {
    let world = limited(Config { max_detail_bytes: 16, ..Config::default() });
    let producer = FakeProducer::stream();
    let id = world.start(&producer);
    let long = "r".repeat(100);
    world.service.kill(&id, &world.caller(), Some(&long)).unwrap();
    let reason = world.get(&id).stop.unwrap().reason.unwrap();
    assert_eq!(&*reason, format!("{}…", "r".repeat(13)));
    assert_eq!(producer.cancels(), [Some(long)]);
}

fn ids(world: &World) -> Vec<u64> {
    world.owner.list().iter().map(|task| task.id.number()).collect()
}

async fn run(world: &World) -> TaskId {
    let producer = FakeProducer::stream();
    let id = world.start(&producer);
    world.complete(&id, &producer).await;
    come_to_rest().await;
    id
}

// contract: N1, N5
#[tokio::test(start_paused = true)]
async fn ended_tasks_past_their_limit_go_oldest_first_and_never_one_whose_end_is_untold() {
    let world = limited(Config { max_settled_per_owner: Some(1), ..Config::default() });
    let first = run(&world).await;
    let second = run(&world).await;
    run(&world).await;
    assert_eq!(ids(&world), [1, 2, 3], "an end that the owner was not told of is gone");
    world.read(&second);
    run(&world).await;
    assert_eq!(ids(&world), [1, 3, 4], "of those that are told, the oldest goes");
    assert_eq!(world.claim().len(), 3);
    run(&world).await;
    assert_eq!(ids(&world), [5]);
    assert!(world.service.get(&first, &world.caller()).is_err());
}

// contract: W6, W5
#[tokio::test(start_paused = true)]
async fn a_task_that_a_wait_has_yet_to_take_is_kept_past_the_limit() {
    let world = limited(Config { max_settled_per_owner: Some(0), ..Config::default() });
    let producer = FakeProducer::stream();
    let id = world.start(&producer);
    let wait = world.wait(&id);
    world.complete(&id, &producer).await;
    run(&world).await;
    assert_eq!(ids(&world), [1, 2]);
    assert!(wait.await.unwrap().snapshot().status.is_terminal());
    assert_eq!(world.claim().len(), 1);
    run(&world).await;
    assert_eq!(ids(&world), [3]);
}
