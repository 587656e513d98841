//! What a producer has to say of a task while it lives.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use longrun_tokio::{
    Config, Hooks, Outcome, Status, TaskSnapshot, Waited,
    testing::{FakeProducer, OnCancel},
};

use super::{World, soon, until};

/// Hooks with a detail that counts how often it was asked for.
fn counting(producer: &FakeProducer) -> (Hooks, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let hooks = producer
        .hooks()
        .unwrap()
        .live_detail(move || Some(format!("asked {}", count.fetch_add(1, Ordering::SeqCst) + 1)));
    (hooks, asked)
}

// contract: P1, R5, L2, W1
#[tokio::test(start_paused = true)]
async fn every_live_snapshot_carries_it_fresh_and_a_terminal_one_that_of_the_outcome() {
    let world = World::new();
    let producer = FakeProducer::stream().on_cancel(OnCancel::Ignore);
    let (hooks, asked) = counting(&producer);
    let id = world.start_hooks(hooks);
    let mut number = 0;
    let mut expect = |task: &TaskSnapshot, status| {
        number += 1;
        assert_eq!(task.detail, Some(format!("asked {number}").into()));
        assert_eq!(task.status, status);
    };
    expect(&world.get(&id), Status::Running);
    expect(&world.owner.list()[0], Status::Running);
    expect(&world.service.list(&world.caller())[0], Status::Running);
    expect(&world.read(&id).task, Status::Running);
    let wait = world.service.wait(&id, &world.caller(), Duration::from_secs(1));
    let waited = soon(wait).await.unwrap();
    assert!(matches!(waited, Waited::TimedOut(_)));
    expect(waited.snapshot(), Status::Running);
    let killed = world.service.kill(&id, &world.caller(), None).unwrap();
    let longrun_tokio::Killed::Requested(task) = killed else { panic!("{killed:?}") };
    expect(&task, Status::Stopping);
    expect(&world.read(&id).task, Status::Stopping);

    let all = asked.load(Ordering::SeqCst);
    producer.settle(Outcome::completed().with_detail("the end"));
    until("it has ended", || world.get(&id).status.is_terminal()).await;
    for task in [world.get(&id), world.owner.list()[0].clone(), world.read(&id).task] {
        assert_eq!(task.detail.as_deref(), Some("the end"));
    }
    let live = asked.load(Ordering::SeqCst) - all;
    producer.settle(Outcome::completed());
    world.get(&id);
    assert_eq!(asked.load(Ordering::SeqCst), all + live, "nobody asks about what has ended");
}

// contract: P1, R1
#[tokio::test(start_paused = true)]
async fn a_read_takes_the_output_first_so_that_the_detail_knows_of_it() {
    let world = World::new();
    let order = Arc::new(Mutex::new(Vec::new()));
    let (reading, telling) = (Arc::clone(&order), Arc::clone(&order));
    let hooks = Hooks::new(std::future::pending())
        .stream(move || {
            reading.lock().unwrap().push("read");
            Ok("text".to_owned())
        })
        .live_detail(move || {
            telling.lock().unwrap().push("told");
            None
        });
    let id = world.start_hooks(hooks);
    let read = world.read(&id);
    assert_eq!((read.text.as_str(), read.task.detail), ("text", None));
    assert_eq!(*order.lock().unwrap(), ["read", "told"]);
}

// contract: P1
#[tokio::test(start_paused = true)]
async fn it_may_call_the_service_and_one_that_panics_has_nothing_to_say() {
    let world = World::new();
    let service = world.service.downgrade();
    let hooks = Hooks::new(std::future::pending()).live_detail(move || {
        let service = service.upgrade().unwrap();
        assert!(!service.is_closing());
        Some(format!("{} others can be seen", service.list(&None).len()))
    });
    let id = world.start_hooks(hooks);
    assert_eq!(world.get(&id).detail.as_deref(), Some("0 others can be seen"));

    let hooks = Hooks::new(std::future::pending()).live_detail(|| panic!("no detail"));
    let id = world.start_hooks(hooks);
    assert_eq!((world.get(&id).status, world.get(&id).detail), (Status::Running, None));
    assert_eq!(world.read(&id).task.detail, None);
    let hooks = Hooks::new(std::future::pending()).live_detail(|| Some(String::new()));
    let id = world.start_hooks(hooks);
    assert_eq!(world.get(&id).detail, None, "nothing is not a detail");
}

// contract: P1, M11
#[tokio::test(start_paused = true)]
async fn it_is_cut_where_the_detail_of_an_outcome_is() {
    let config = Config { max_detail_bytes: 16, ..Config::default() };
    let world = World::with(|builder| builder.config(config));
    let producer = FakeProducer::stream();
    let long = "é".repeat(20);
    let live = long.clone();
    let id = world.start_hooks(producer.hooks().unwrap().live_detail(move || Some(live.clone())));
    let live = world.get(&id).detail.unwrap();
    producer.settle(Outcome::completed().with_detail(&long));
    world.ended(&id).await;
    assert_eq!(Some(&live), world.get(&id).detail.as_ref());
    assert_eq!(&*live, "éééééé…");
}
