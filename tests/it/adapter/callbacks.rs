//! Callbacks that call in, and callbacks that are many.

use std::sync::{Arc, Mutex};

use longrun_tokio::{
    Disposal, Guard, Outcome, TaskId, Wait, Waited,
    testing::{FakeProducer, OnCancel},
};

use super::{A_MINUTE, Log, World, come_to_rest, inject, make, soon, start, until};

/// A place for what a callback hands out.
type Slot<T> = Arc<Mutex<Option<T>>>;

fn put<T>(slot: &Slot<T>, value: T) {
    *slot.lock().unwrap() = Some(value);
}

fn take<T>(slot: &Slot<T>) -> Option<T> {
    slot.lock().unwrap().take()
}

async fn filled<T>(slot: &Slot<T>) -> T {
    until("the callback was called", || slot.lock().unwrap().is_some()).await;
    take(slot).unwrap()
}

// contract: C5
#[tokio::test(start_paused = true)]
async fn a_listener_may_start_list_read_and_kill() {
    let world = World::new();
    let owner = Arc::new(world.open("s2"));
    let victim = FakeProducer::stream();
    let victim_id = world.start(&victim);
    let started = Slot::<TaskId>::default();
    let listener = {
        let (service, owner) = (world.service.downgrade(), Arc::downgrade(&owner));
        let (caller, victim_id, started) = (world.caller(), victim_id.clone(), started.clone());
        move |done: &longrun_tokio::TaskDone| {
            if done.task.id == victim_id {
                return;
            }
            let (service, owner) = (service.upgrade().unwrap(), owner.upgrade().unwrap());
            let id = owner.start(make(), || FakeProducer::stream().hooks()).unwrap();
            assert_eq!(owner.list().len(), 1);
            assert_eq!(service.read(&id, &owner.caller()).unwrap().text, "");
            service.kill(&victim_id, &caller, Some("from a callback")).unwrap();
            put(&started, id);
        }
    };
    let _listener = world.service.on_task_done(listener).unwrap();
    let producer = FakeProducer::stream();
    let id = world.start(&producer);
    world.complete(&id, &producer).await;
    assert_eq!(filled(&started).await.as_str(), "bash-3");
    world.ended(&victim_id).await;
    assert_eq!(victim.cancels(), [Some("from a callback".to_owned())]);
}

// contract: C5, L4, W1
#[tokio::test(start_paused = true)]
async fn a_wait_that_a_listener_registers_on_the_ended_task_gets_its_record() {
    let world = World::new();
    let waiting = Slot::<Wait>::default();
    let listener = {
        let (service, caller) = (world.service.downgrade(), world.caller());
        let waiting = waiting.clone();
        move |done: &longrun_tokio::TaskDone| {
            put(&waiting, service.upgrade().unwrap().wait(&done.task.id, &caller, A_MINUTE));
        }
    };
    let _listener = world.service.on_task_done(listener).unwrap();
    let producer = FakeProducer::stream();
    let id = world.start(&producer);
    world.complete(&id, &producer).await;
    let wait = filled(&waiting).await;
    assert!(matches!(wait.await, Ok(Waited::Ended(task)) if task.id == id));
    assert_eq!(world.claim(), []);
}

// contract: C5, C1
#[tokio::test(start_paused = true)]
async fn a_callback_may_drop_its_own_guard_and_is_never_called_again() {
    let world = World::new();
    let log = Log::default();
    let own = Slot::<Guard>::default();
    let guard = {
        let (log, own) = (log.clone(), own.clone());
        world.service.on_tasks_changed(move |_| {
            log.add("called");
            drop(take(&own));
        })
    };
    put(&own, guard.unwrap());
    world.start(&FakeProducer::stream());
    world.start(&FakeProducer::stream());
    assert_eq!(log.lines(), ["called"]);
    assert_eq!(Arc::strong_count(&own), 1, "the callback was dropped with its guard");
}

// contract: C1, C5
#[tokio::test(start_paused = true)]
async fn no_callback_begins_after_its_guard_is_gone_though_it_was_due() {
    let world = World::new();
    let log = Log::default();
    let second = Slot::<Guard>::default();
    let _first = {
        let (log, second) = (log.clone(), second.clone());
        let first = world.service.on_tasks_changed(move |_| {
            log.add("first");
            drop(take(&second));
        });
        first.unwrap()
    };
    let guard = {
        let log = log.clone();
        world.service.on_tasks_changed(move |_| log.add("second"))
    };
    put(&second, guard.unwrap());
    world.start(&FakeProducer::stream());
    assert_eq!(log.lines(), ["first"]);
}

// contract: C5, C2, O1, T1
#[tokio::test(start_paused = true)]
async fn a_listener_may_dispose_and_shut_down_and_none_begins_after_that() {
    let world = World::new();
    let stubborn = FakeProducer::stream().on_cancel(OnCancel::Ignore);
    let other = Arc::new(world.open("s2"));
    start(&other, &stubborn);
    let ends = Slot::<(Disposal, Disposal)>::default();
    let listener = {
        let (service, other) = (world.service.downgrade(), Arc::downgrade(&other));
        let ends = ends.clone();
        move |_: &longrun_tokio::TaskDone| {
            let (service, other) = (service.upgrade().unwrap(), other.upgrade().unwrap());
            put(&ends, (other.dispose(), service.shutdown()));
        }
    };
    let _listener = world.service.on_task_done(listener).unwrap();
    let late = Log::default();
    let _late = {
        let late = late.clone();
        world.service.on_task_done(move |_| late.add("called")).unwrap()
    };
    let producer = FakeProducer::stream();
    let id = world.start(&producer);
    world.complete(&id, &producer).await;
    let (owner, service) = filled(&ends).await;
    come_to_rest().await;
    assert_eq!(stubborn.cancels().len(), 2, "once for the owner and once for the service");
    stubborn.settle(Outcome::killed());
    assert_eq!((soon(owner).await, soon(service).await), (Ok(vec![]), Ok(vec![])));
    assert!(late.lines().is_empty(), "a listener began after the shutdown had");
}

// contract: C5, C3
#[tokio::test(start_paused = true)]
async fn hundreds_of_observers_are_called_in_order_across_dispatchers() {
    const OBSERVERS: usize = 300;
    let world = World::new();
    let log = Log::default();
    let _guards: Vec<Guard> = (0..OBSERVERS)
        .map(|number| {
            let log = log.clone();
            world.service.on_tasks_changed(move |_| log.add(number)).unwrap()
        })
        .collect();
    let producer = FakeProducer::stream();
    let id = world.start(&producer);
    let at_once = log.lines().len();
    assert!(at_once < OBSERVERS, "the caller of `start` served all {at_once} of them");
    producer.settle(Outcome::completed());
    until("it is announced", || world.inbox.nudges() == [inject(&id)]).await;
    let expected = (0..OBSERVERS).chain(0..OBSERVERS).map(|number| number.to_string());
    assert!(log.lines().into_iter().eq(expected), "{:?}", log.lines());
}
