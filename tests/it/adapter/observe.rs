//! Observers of a task's output.

use std::{
    sync::{Arc, Mutex},
    task::Poll,
};

use futures::{FutureExt as _, StreamExt as _, stream};
use longrun_tokio::{
    Hooks, ObserveError, Observed, Observer, Outcome, Status, TaskId,
    core::output::{Capture, JointCursor, Piece, Stream},
    testing::{FakeProducer, OnCancel},
};
use tokio::sync::Notify;

use super::{World, block_on, come_to_rest, inject, soon, threads, until};

fn observe(world: &World, id: &TaskId, from: u64) -> Observer {
    world.service.observe(id, &world.caller(), from).unwrap()
}

/// Everything up to the end, which comes once, as the last.
async fn all(observer: &mut Observer) -> Vec<Observed> {
    let mut all = Vec::new();
    while let Some(observed) = soon(observer.next()).await {
        all.push(observed);
    }
    assert_eq!(soon(observer.next()).await, None, "something came after the end");
    let ends: Vec<bool> = all.iter().map(|observed| observed.end).collect();
    assert_eq!(ends.iter().filter(|end| **end).count(), 1, "{all:?}");
    assert_eq!(ends.last(), Some(&true), "{all:?}");
    all
}

/// The texts joined; they must have no gaps and no overlaps.
fn joined(all: &[Observed], from: u64) -> String {
    let mut next = from;
    for observed in all {
        assert_eq!(observed.offset, next + observed.dropped, "{all:?}");
        next = observed.next;
    }
    all.iter().map(|observed| observed.text.as_str()).collect()
}

fn now(observer: &mut Observer) -> Option<Observed> {
    observer.next().now_or_never().map(|observed| observed.expect("it has not ended"))
}

// contract: R6, P1
#[tokio::test(start_paused = true)]
async fn observers_and_the_reader_each_get_everything_and_none_moves_another() {
    let world = World::new();
    let producer = FakeProducer::stream();
    let id = world.start(&producer);
    let mut early = observe(&world, &id, 0);
    assert_eq!(now(&mut early), None);
    producer.write("one ");
    assert_eq!(now(&mut early).unwrap().text, "one ");
    assert_eq!(world.read(&id).text, "one ");
    producer.write("two ");
    let mut late = observe(&world, &id, 2);
    assert_eq!(now(&mut late).unwrap().text, "e two ");
    let mut ahead = observe(&world, &id, 10);
    assert_eq!(now(&mut ahead), None);
    producer.write("three");
    assert_eq!(world.read(&id).text, "two three", "an observer moved the model's cursor");
    assert!(!world.get(&id).reported);
    world.complete(&id, &producer).await;
    until("it is announced", || world.inbox.nudges() == [inject(&id)]).await;

    assert_eq!(joined(&all(&mut early).await, 4), "two three");
    assert_eq!(joined(&all(&mut late).await, 8), "three");
    assert_eq!(joined(&all(&mut ahead).await, 10), "ree");
    let mut after = observe(&world, &id, 0);
    assert_eq!(joined(&all(&mut after).await, 0), "one two three");
    let end = all(&mut observe(&world, &id, 99)).await;
    assert_eq!((end[0].text.as_str(), end[0].offset, end[0].dropped), ("", 99, 0));

    // The end was told to observers, and the owner still does not know of it.
    assert!(!world.get(&id).reported);
    assert_eq!(world.inbox.nudges(), [inject(&id)]);
    assert_eq!(world.claim(), [id]);
}

// contract: R6
#[tokio::test(start_paused = true)]
async fn an_observer_that_waits_is_woken_for_what_comes_and_for_the_end() {
    let world = World::new();
    let producer = FakeProducer::stream();
    let id = world.start(&producer);
    let mut observer = observe(&world, &id, 0);
    let watching = tokio::spawn(async move { all(&mut observer).await });
    come_to_rest().await;
    producer.write("a");
    come_to_rest().await;
    producer.write("b");
    come_to_rest().await;
    producer.settle(Outcome::completed());
    let all = soon(watching).await.unwrap();
    let texts: Vec<&str> = all.iter().map(|observed| observed.text.as_str()).collect();
    assert_eq!(texts, ["a", "b", ""]);
}

// contract: R6, R2
#[tokio::test(start_paused = true)]
async fn of_a_final_output_task_the_output_is_one_item_with_the_end() {
    let world = World::new();
    let producer = FakeProducer::final_output();
    let id = world.start(&producer);
    let mut live = observe(&world, &id, 0);
    assert_eq!(now(&mut live), None);
    producer.settle(Outcome::completed().with_output("né 42"));
    producer.settle(Outcome::completed().with_output("late"));
    let expected = |offset, dropped, text: &str| {
        let next = offset + text.len() as u64;
        vec![Observed { stream: None, offset, dropped, text: text.into(), next, end: true }]
    };
    assert_eq!(all(&mut live).await, expected(0, 0, "né 42"));
    assert_eq!(all(&mut observe(&world, &id, 0)).await, expected(0, 0, "né 42"));
    assert_eq!(all(&mut observe(&world, &id, 1)).await, expected(1, 0, "é 42"));
    // In the middle of a character.
    assert_eq!(all(&mut observe(&world, &id, 2)).await, expected(3, 1, " 42"));
    assert_eq!(all(&mut observe(&world, &id, 6)).await, expected(6, 0, ""));
    assert_eq!(all(&mut observe(&world, &id, 7)).await, expected(7, 0, ""));
    assert!(!world.get(&id).reported);
    assert_eq!(world.read(&id).text, "né 42");
}

// contract: R6, O1
#[tokio::test(start_paused = true)]
async fn an_observer_gets_the_last_bytes_of_a_task_whose_record_goes_with_its_owner() {
    let world = World::new();
    let stubborn = |producer: FakeProducer| producer.on_cancel(OnCancel::Ignore);
    let streaming = stubborn(FakeProducer::stream());
    let last = stubborn(FakeProducer::final_output());
    let (first_id, last_id) = (world.start(&streaming), world.start(&last));
    let mut observers = [observe(&world, &first_id, 0), observe(&world, &last_id, 0)];
    let disposal = world.owner.dispose();
    streaming.write("last words");
    streaming.settle(Outcome::killed());
    last.settle(Outcome::killed().with_output("result"));
    soon(disposal).await.unwrap();
    assert!(world.service.get(&first_id, &world.caller()).is_err(), "the record is gone");
    let refused = world.service.observe(&last_id, &world.caller(), 0);
    assert!(matches!(refused, Err(ObserveError::Access(_))), "{refused:?}");
    assert_eq!(joined(&all(&mut observers[0]).await, 0), "last words");
    assert_eq!(joined(&all(&mut observers[1]).await, 0), "result");
}

// contract: R6, K2, T1
#[tokio::test(start_paused = true)]
async fn a_kill_a_shutdown_and_a_broken_producer_end_it_once_after_the_last_byte() {
    let world = World::new();
    let [killed, broken, shut_down] = [(); 3].map(|()| FakeProducer::stream());
    let ids = [&killed, &broken, &shut_down].map(|producer| world.start(producer));
    let mut observers = ids.each_ref().map(|id| observe(&world, id, 0));
    for producer in [&killed, &broken, &shut_down] {
        producer.write("output");
    }
    world.service.kill(&ids[0], &world.caller(), None).unwrap();
    assert_eq!(joined(&all(&mut observers[0]).await, 0), "output");
    assert_eq!(world.get(&ids[0]).status, Status::Killed, "the end was told before it was one");
    broken.break_contract();
    assert_eq!(joined(&all(&mut observers[1]).await, 0), "output");
    assert_eq!(world.get(&ids[1]).status, Status::Failed);
    assert_eq!(now(&mut observers[2]).unwrap().text, "output");
    assert_eq!(now(&mut observers[2]), None);
    // Not even the service is kept up by an observer.
    let World { service, owner, controls, .. } = world;
    let weak = service.downgrade();
    drop((service, owner, controls));
    assert_eq!(joined(&all(&mut observers[2]).await, 6), "");
    assert!(weak.upgrade().is_none());
}

/// Hooks that never end and cannot be cancelled, with observers that never end either.
fn orphan(held: &Arc<()>) -> Hooks {
    let held = Arc::clone(held);
    Hooks::new(std::future::pending())
        .on_cancel(|_| Err("it does not listen".into()))
        .stream(|| Ok(String::new()))
        .observe(move |offset| {
            let held = Arc::clone(&held);
            let text = "still at work".to_owned();
            let next = offset + text.len() as u64;
            let piece = Piece { stream: None, offset, dropped: 0, text, next };
            stream::iter([piece]).chain(stream::pending().inspect(move |_| drop(Arc::clone(&held))))
        })
}

// contract: R6, O5
#[tokio::test(start_paused = true)]
async fn one_whose_task_is_given_up_ends_with_the_record_and_holds_nothing_any_more() {
    let world = World::new();
    let held = Arc::new(());
    let id = world.start_hooks(orphan(&held));
    let (mut observer, dropped) = (observe(&world, &id, 0), observe(&world, &id, 0));
    assert_eq!(Arc::strong_count(&held), 4);
    drop(dropped);
    assert_eq!(Arc::strong_count(&held), 3, "a dropped observer leaves something behind");
    assert_eq!(soon(world.owner.dispose()).await, Ok(vec![id]));
    assert_eq!(joined(&all(&mut observer).await, 0), "still at work");
    assert_eq!(Arc::strong_count(&held), 1, "an observer that has ended holds something");
}

/// The next piece of an output that never says that it has ended.
async fn next_piece((output, more): &(Mutex<Capture>, Notify), cursor: &mut JointCursor) -> Piece {
    loop {
        let more = more.notified();
        let piece = cursor.read(&output.lock().unwrap());
        if let Some(piece) = piece {
            return piece;
        }
        more.await;
    }
}

// contract: R6, R8
#[tokio::test(start_paused = true)]
async fn a_slow_observer_is_told_what_it_missed_and_holds_up_nobody() {
    let world = World::new();
    let output = Arc::new((Mutex::new(Capture::new(10)), Notify::new()));
    let observed = Arc::clone(&output);
    let (end, ended) = futures::channel::oneshot::channel();
    let hooks = Hooks::new(async { ended.await.unwrap() }).stream(|| Ok(String::new())).observe(
        move |from| {
            let start = (Arc::clone(&observed), JointCursor::new(from));
            stream::unfold(start, async |(output, mut cursor)| {
                let piece = next_piece(&output, &mut cursor).await;
                Some((piece, (output, cursor)))
            })
        },
    );
    let id = world.start_hooks(hooks);
    let write = |stream, bytes: &[u8]| {
        output.0.lock().unwrap().append(stream, bytes);
        output.1.notify_waiters();
    };
    let (mut quick, mut slow) = (observe(&world, &id, 0), observe(&world, &id, 3));
    let mut told = Vec::new();
    for number in 0..100 {
        write(Stream::Stdout, format!("{number:03}\n").as_bytes());
        told.extend(now(&mut quick));
    }
    write(Stream::Stderr, b"no\n");
    assert_eq!(told.len(), 100);
    assert!(told.iter().all(|observed| observed.dropped == 0));
    let missed = now(&mut slow).unwrap();
    assert_eq!((missed.dropped, missed.offset), (387, 390));
    assert_eq!((missed.stream, missed.text.as_str()), (Some(Stream::Stdout), "7\n098\n099\n"));
    assert_eq!(now(&mut slow).unwrap().stream, Some(Stream::Stderr));
    // It is the task that ends.
    end.send(Outcome::completed()).unwrap();
    assert_eq!(joined(&all(&mut slow).await, 403), "");
    told.extend(all(&mut quick).await);
    assert!(joined(&told, 0).ends_with("099\nno\n"));
}

// contract: R6, P1
#[tokio::test(start_paused = true)]
async fn a_producer_need_not_offer_it_and_one_that_panics_harms_nobody() {
    let world = World::new();
    let plain = Hooks::new(std::future::pending()).stream(|| Ok("text".to_owned()));
    let id = world.start_hooks(plain);
    let refused = world.service.observe(&id, &world.caller(), 0).unwrap_err();
    assert!(matches!(&refused, ObserveError::NotObservable { id: of } if *of == id));
    let said = "the output of task bash-1 cannot be observed, only read: its producer has no \
                `observe`";
    assert_eq!(refused.to_string(), said);

    let panics = Hooks::new(std::future::pending())
        .observe(|_| -> stream::Empty<Piece> { panic!("no observers") });
    let id = world.start_hooks(panics);
    let refused = world.service.observe(&id, &world.caller(), 0).unwrap_err();
    assert_eq!(refused.to_string(), "the output could not be observed: it panicked: no observers");

    let producer = FakeProducer::final_output();
    let hooks = producer.hooks().unwrap();
    let panics = || stream::poll_fn(|_| -> Poll<Option<Piece>> { panic!("nothing to say") });
    let id = world.start_hooks(hooks.observe(move |_| panics()));
    let mut observer = observe(&world, &id, 0);
    assert_eq!(now(&mut observer), None);
    producer.settle(Outcome::completed().with_output("result"));
    // What is observed is what the producer shows; its result is read.
    assert_eq!(joined(&all(&mut observer).await, 0), "");
    assert_eq!(world.read(&id).text, "result");
}

// contract: R6
#[test]
fn observers_on_other_threads_get_each_byte_once_in_order() {
    const LINES: u32 = 2_000;
    let runtime = threads();
    let _inside = runtime.enter();
    let world = World::new();
    let producer = FakeProducer::stream();
    let id = world.start(&producer);
    let expected: String = (0..LINES).map(|number| format!("{number}\n")).collect();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut observer = observe(&world, &id, 0);
                let mut all = Vec::new();
                while let Some(observed) = block_on(observer.next()) {
                    all.push(observed);
                }
                assert_eq!(joined(&all, 0), expected);
            });
        }
        scope.spawn(|| {
            for number in 0..LINES {
                producer.write(&format!("{number}\n"));
            }
            producer.settle(Outcome::completed());
        });
    });
    assert_eq!(world.read(&id).text, expected);
}
