//! Reads that count once they are committed.

use std::{
    pin::pin,
    sync::{Arc, Mutex, mpsc},
    task::{Context, Poll},
};

use futures::{
    FutureExt as _,
    task::{ArcWake, waker},
};
use longrun_tokio::{
    HeldRead, Hooks, Outcome, ReadError, Receipt, Status, TaskId,
    core::{AccessRefusal, ReadRefusal},
    testing::{FakeProducer, OnCancel},
};

use super::{
    World, block_on, come_to_rest, inject, read::ReadingElsewhere, soon, threads, until, withdraw,
};

impl World {
    /// A held read whose turn has come.
    async fn hold(&self, id: &TaskId) -> HeldRead {
        soon(self.service.read_held(id, &self.caller())).await.unwrap()
    }

    /// Why a read of a thread's is refused.
    fn refused(&self, id: &TaskId) -> ReadRefusal {
        match self.service.read(id, &self.caller()) {
            Err(ReadError::Refused(refusal)) => refusal,
            other => panic!("not refused but {other:?}"),
        }
    }
}

fn in_progress(id: &TaskId) -> ReadRefusal {
    ReadRefusal::InProgress { id: id.clone() }
}

// contract: R1
#[tokio::test(start_paused = true)]
async fn what_a_held_read_found_is_found_again_until_it_is_committed() {
    let world = World::new();
    let producer = FakeProducer::stream();
    let id = world.start(&producer);
    producer.write("one ");
    assert_eq!(world.hold(&id).await.text, "one ");
    producer.write("two ");
    let held = world.hold(&id).await;
    producer.write("three");
    assert_eq!(held.commit().text, "one two ", "what came while it was held is for the next");
    assert_eq!(world.read(&id).text, "three");
    assert_eq!(world.hold(&id).await.text, "");
}

// contract: R3, N7, N2
#[tokio::test(start_paused = true)]
async fn an_end_that_a_held_read_found_is_reported_with_the_commit_and_not_before() {
    let world = World::new();
    let producer = FakeProducer::stream();
    let id = world.start(&producer);
    world.complete(&id, &producer).await;
    until("it is announced", || world.inbox.nudges() == [inject(&id)]).await;
    let held = world.hold(&id).await;
    assert_eq!(held.task.status, Status::Completed);
    drop(held);
    assert!(!world.get(&id).reported);
    let held = world.hold(&id).await;
    assert!(!world.get(&id).reported, "it is not while it is held");
    assert_eq!(world.inbox.nudges(), [inject(&id)]);
    held.commit();
    assert!(world.get(&id).reported);
    assert_eq!(world.inbox.nudges(), [inject(&id), withdraw(&id)]);
    assert_eq!(world.claim(), []);
}

// contract: R4, N5
#[tokio::test(start_paused = true)]
async fn the_notice_of_an_end_whose_held_read_was_dropped_is_claimed_once() {
    let world = World::new();
    let producer = FakeProducer::stream();
    let id = world.start(&producer);
    world.complete(&id, &producer).await;
    drop(world.hold(&id).await);
    assert_eq!(world.claim(), std::slice::from_ref(&id));
    world.hold(&id).await.commit();
    assert_eq!(world.claim(), []);
    assert_eq!(world.inbox.nudges(), [inject(&id)], "what was claimed is not withdrawn");
}

// contract: R3, N1
#[tokio::test(start_paused = true)]
async fn a_live_read_that_is_committed_after_the_end_reports_nothing() {
    let world = World::new();
    let producer = FakeProducer::stream();
    let id = world.start(&producer);
    producer.write("before");
    let held = world.hold(&id).await;
    producer.write(" and after");
    world.complete(&id, &producer).await;
    let read = held.commit();
    assert_eq!((read.text.as_str(), read.task.status), ("before", Status::Running));
    assert_eq!(world.inbox.nudges(), [inject(&id)]);
    assert_eq!(world.claim(), std::slice::from_ref(&id));
    assert_eq!(world.read(&id).text, " and after");
}

// contract: R3
#[tokio::test(start_paused = true)]
async fn while_one_is_held_a_read_is_refused_and_held_ones_wait_their_turn() {
    let world = World::new();
    let producer = FakeProducer::stream();
    let id = world.start(&producer);
    producer.write("one ");
    let caller = world.caller();
    let first = world.hold(&id).await;
    assert_eq!(world.refused(&id), in_progress(&id));
    let mut idle = Box::pin(world.service.read_held(&id, &caller));
    let mut gives_up = Box::pin(world.service.read_held(&id, &caller));
    for waiting in [&mut idle, &mut gives_up] {
        assert!(waiting.as_mut().now_or_never().is_none());
    }
    let waiting = [(); 2].map(|()| tokio::spawn(world.service.read_held(&id, &caller)));
    come_to_rest().await;
    drop(gives_up);
    producer.write("two");
    first.commit();
    // One that is not polled again holds nobody up.
    let [second, third] = waiting;
    let second = soon(second).await.unwrap().unwrap();
    assert_eq!(second.text, "two");
    come_to_rest().await;
    assert!(!third.is_finished(), "one at a time");
    drop(second);
    let third = soon(third).await.unwrap().unwrap();
    assert!(idle.as_mut().now_or_never().is_none());
    assert_eq!(third.text, "two", "what was there when its turn came");
    third.commit();
    assert_eq!(soon(idle).await.unwrap().text, "");
    assert_eq!(world.read(&id).text, "");
}

/// A waker that can be counted.
struct Counted;

impl ArcWake for Counted {
    fn wake_by_ref(_: &Arc<Self>) {}
}

// contract: R3
#[tokio::test(start_paused = true)]
async fn one_that_gives_up_its_turn_or_has_it_leaves_no_waker_behind() {
    let world = World::new();
    let producer = FakeProducer::stream();
    let id = world.start(&producer);
    let held = world.hold(&id).await;
    let counted = Arc::new(Counted);
    let waker = waker(Arc::clone(&counted));
    let waiting = [(); 2].map(|()| {
        let mut waiting = Box::pin(world.service.read_held(&id, &world.caller()));
        assert!(waiting.poll_unpin(&mut Context::from_waker(&waker)).is_pending());
        assert!(waiting.poll_unpin(&mut Context::from_waker(&waker)).is_pending());
        waiting
    });
    assert_eq!(Arc::strong_count(&counted), 4, "one of each, ours and the waker's");
    let [gives_up, reads] = waiting;
    drop(gives_up);
    assert_eq!(Arc::strong_count(&counted), 3);
    drop(held);
    assert_eq!(Arc::strong_count(&counted), 2);
    assert_eq!(reads.await.unwrap().text, "");
}

// contract: R3
#[tokio::test(start_paused = true)]
async fn reads_of_other_tasks_and_all_else_go_on_while_one_is_held() {
    let world = World::new();
    let (producer, other) =
        (FakeProducer::stream().on_cancel(OnCancel::Ignore), FakeProducer::stream());
    let (id, other_id) = (world.start(&producer), world.start(&other));
    producer.write("text");
    let held = world.hold(&id).await;
    assert_eq!(world.read(&other_id).text, "");
    let wait = world.wait(&id);
    world.service.kill(&id, &world.caller(), None).unwrap();
    assert_eq!(world.get(&id).status, Status::Stopping);
    producer.settle(Outcome::killed());
    assert_eq!(soon(wait).await.unwrap().snapshot().status, Status::Killed);
    drop(held);
    assert_eq!(world.read(&id).text, "text");
    assert_eq!(world.inbox.nudges(), []);
}

// contract: R1, R4
#[tokio::test(start_paused = true)]
async fn a_reader_that_cannot_step_back_hands_out_at_most_once() {
    let world = World::new();
    let mut left = vec!["second", "first"];
    let hooks = Hooks::new(std::future::pending())
        .stream(move || left.pop().map(ToOwned::to_owned).ok_or_else(|| "no more".into()));
    let id = world.start_hooks(hooks);
    assert_eq!(world.hold(&id).await.text, "first");
    assert_eq!(world.hold(&id).await.commit().text, "second");
    let error = world.service.read_held(&id, &world.caller()).await.unwrap_err();
    assert!(error.to_string().contains("no more"), "{error}");
    assert!(matches!(world.service.read(&id, &world.caller()), Err(ReadError::Reader(_))));
}

// contract: R4, R3
#[tokio::test(start_paused = true)]
async fn a_held_read_whose_reader_fails_reports_nothing_and_leaves_its_turn() {
    let world = World::new();
    let producer = FakeProducer::stream();
    let id = world.start(&producer);
    producer.write("kept");
    world.complete(&id, &producer).await;
    producer.set_reader_fails(true);
    let failed = soon(world.service.read_held(&id, &world.caller())).await;
    assert!(matches!(failed, Err(ReadError::Reader(_))), "{failed:?}");
    assert!(!world.get(&id).reported);
    producer.set_reader_fails(false);
    assert_eq!(world.hold(&id).await.commit().text, "kept");
}

// contract: O2, T1, R3
#[tokio::test(start_paused = true)]
async fn a_disposal_and_a_shutdown_wait_for_no_read_and_a_late_commit_changes_nothing() {
    let world = World::new();
    let (producer, unowned) = (FakeProducer::final_output(), FakeProducer::stream());
    let (id, unowned_id) = (world.start(&producer), world.start_unowned(&unowned));
    unowned.write("text");
    producer.settle(Outcome::completed().with_output("42"));
    world.ended(&id).await;
    let (held, late) = (world.hold(&id).await, world.hold(&unowned_id).await);
    let caller = world.caller();
    let mut waiting = pin!(world.service.read_held(&id, &caller));
    assert!(waiting.as_mut().now_or_never().is_none());
    assert_eq!(soon(world.owner.dispose()).await, Ok(vec![]));
    assert_eq!(world.owner.list().len(), 1, "only the unowned task is left");
    assert_eq!(held.commit().text, "42");
    let gone = soon(waiting).await.unwrap_err();
    let unknown = ReadRefusal::Access(AccessRefusal::Unknown { id: id.clone() });
    assert!(matches!(&gone, ReadError::Refused(refusal) if *refusal == unknown), "{gone:?}");
    assert_eq!(soon(world.service.shutdown()).await, Ok(vec![]));
    assert_eq!(late.text, "text");
    drop(late);
    assert!(world.service.list(&caller).is_empty());
}

// contract: T2, O2
#[tokio::test(start_paused = true)]
async fn a_receipt_keeps_no_producer_whose_record_has_gone() {
    let world = World::new();
    let (held, released) = mpsc::channel::<()>();
    let hooks = Hooks::new(std::future::ready(Outcome::completed())).stream(move || {
        let _held = &held;
        Ok("text".to_owned())
    });
    let id = world.start_hooks(hooks);
    world.ended(&id).await;
    let receipt: Receipt = world.hold(&id).await.receipt;
    soon(world.owner.dispose()).await.unwrap();
    assert_eq!(released.try_recv(), Err(mpsc::TryRecvError::Disconnected), "it is let go");
    receipt.commit();
}

// contract: A2, A5
#[tokio::test(start_paused = true)]
async fn a_held_read_of_a_foreign_or_unknown_task_waits_for_no_turn() {
    let world = World::new();
    let producer = FakeProducer::stream();
    let id = world.start(&producer);
    let _held = world.hold(&id).await;
    let mut foreign = pin!(world.service.read_held(&id, &None));
    let Poll::Ready(Err(error)) = futures::poll!(foreign.as_mut()) else { panic!("it waits") };
    let refusal = ReadRefusal::Access(AccessRefusal::Foreign { id: id.clone() });
    assert!(matches!(error, ReadError::Refused(is) if is == refusal));
}

// contract: R1, R3
#[test]
fn held_reads_that_are_dropped_and_committed_at_random_give_each_byte_once_and_in_order() {
    const LINES: u32 = 2_000;
    let runtime = threads();
    let _inside = runtime.enter();
    let world = World::new();
    let producer = FakeProducer::stream();
    let id = world.start(&producer);
    let read = Mutex::new(String::new());
    std::thread::scope(|scope| {
        for reader in 0..3_u32 {
            let (world, id, read) = (&world, &id, &read);
            scope.spawn(move || {
                for round in 0_u32.. {
                    let held = world.service.read_held(id, &world.caller());
                    let held = block_on(held).unwrap();
                    if (round + reader) % 3 == 0 {
                        continue;
                    }
                    // In its turn, so the order is that of the reads.
                    read.lock().unwrap().push_str(&held.text);
                    if held.commit().task.status.is_terminal() {
                        break;
                    }
                }
            });
        }
        for number in 0..LINES {
            producer.write(&format!("{number}\n"));
        }
        producer.settle(Outcome::completed());
    });
    let read = read.into_inner().unwrap();
    assert!(read.lines().map(|line| line.parse::<u32>().unwrap()).eq(0..LINES));
    assert!(world.get(&id).reported);
}

// contract: C5, R3
#[tokio::test(start_paused = true)]
async fn a_callback_of_a_commit_may_read_the_task() {
    let world = World::new();
    let inbox = Arc::new(ReadingElsewhere::new(&world.service));
    let owner = world.service.owner("s2").inbox(inbox.clone()).open().unwrap();
    let producer = FakeProducer::stream();
    let id = super::start(&owner, &producer);
    producer.settle(Outcome::completed());
    until("it has ended", || owner.list()[0].status.is_terminal()).await;
    come_to_rest().await;
    soon(world.service.read_held(&id, &owner.caller())).await.unwrap().commit();
    until("the notice was withdrawn", || !inbox.lines().is_empty()).await;
    assert_eq!(inbox.lines(), ["Ok(true)"]);
}
