//! Waiting.

use std::{task::Poll, time::Duration};

use futures::future::{join_all, select_all};
use longrun_tokio::{
    Outcome, Status, WaitError, Waited,
    core::{AccessRefusal, MAX_WAIT, WaitRefusal},
    testing::FakeProducer,
};
use tokio::time::{Instant, advance};

use super::{World, come_to_rest};

// contract: W1, R5
#[tokio::test(start_paused = true)]
async fn a_wait_ends_with_the_terminal_snapshot_when_the_task_does() {
    let world = World::new();
    let producer = FakeProducer::stream();
    let id = world.start(&producer);
    producer.write("kept");
    let began = Instant::now();
    let wait = world.wait(&id);
    producer.settle(Outcome::completed().with_detail("exit code: 0"));
    let Waited::Ended(task) = wait.await.unwrap() else { panic!("it timed out") };
    assert_eq!((task.status, task.reported), (Status::Completed, true));
    assert_eq!(task.detail.as_deref(), Some("exit code: 0"));
    assert_eq!(began.elapsed(), Duration::ZERO);
    assert_eq!(world.get(&id), task);
    assert_eq!(world.read(&id).text, "kept");
}

// contract: W1
#[tokio::test(start_paused = true)]
async fn a_wait_that_times_out_is_a_success_and_stops_nothing() {
    let world = World::new();
    let producer = FakeProducer::stream();
    let id = world.start(&producer);
    let began = Instant::now();
    let waited = world.service.wait(&id, &world.caller(), Duration::from_millis(1500)).await;
    let Ok(Waited::TimedOut(task)) = waited else { panic!("{waited:?}") };
    let took = began.elapsed();
    assert!(took >= Duration::from_millis(1500) && took < Duration::from_millis(1510), "{took:?}");
    assert_eq!((task.status, task.reported), (Status::Running, false));
    assert!(producer.cancels().is_empty());
}

// contract: W1
#[tokio::test(start_paused = true)]
async fn each_of_several_waits_times_out_at_its_own_time_whatever_their_order() {
    let world = World::new();
    let id = world.start(&FakeProducer::stream());
    let began = Instant::now();
    let waits = [300, 100, 200].map(|ms| {
        let wait = world.service.wait(&id, &world.caller(), Duration::from_millis(ms));
        async move { (wait.await.is_ok(), began.elapsed().as_millis() / 10 * 10) }
    });
    assert_eq!(join_all(waits).await, [(true, 300), (true, 100), (true, 200)]);
}

// contract: W1
#[tokio::test(start_paused = true)]
async fn a_shorter_wait_that_comes_later_is_not_held_up_by_a_longer_one() {
    let world = World::new();
    let id = world.start(&FakeProducer::stream());
    let mut long = world.wait(&id);
    come_to_rest().await;
    let began = Instant::now();
    let short = world.service.wait(&id, &world.caller(), Duration::from_millis(50));
    assert!(matches!(short.await, Ok(Waited::TimedOut(_))));
    assert!(began.elapsed() < Duration::from_millis(60), "{:?}", began.elapsed());
    assert_eq!(futures::poll!(&mut long), Poll::Pending);
    assert!(matches!(long.await, Ok(Waited::TimedOut(_))));
}

// contract: W2
#[tokio::test(start_paused = true)]
async fn a_timeout_must_be_above_zero_and_at_most_the_longest_wait_and_access_comes_first() {
    let world = World::new();
    let id = world.start(&FakeProducer::stream());
    let refused = |timeout| {
        let wait = world.service.wait(&id, &world.caller(), timeout);
        wait.refusal().cloned()
    };
    for timeout in [Duration::ZERO, MAX_WAIT + Duration::from_nanos(1), Duration::MAX] {
        let refusal = refused(timeout).unwrap();
        assert_eq!(refusal, WaitRefusal::TimeoutOutOfRange);
        assert!(refusal.to_string().contains("2147483647 ms"), "{refusal}");
        let foreign = world.service.wait(&id, &None, timeout).await;
        let refusal = WaitRefusal::Access(AccessRefusal::Foreign { id: id.clone() });
        assert_eq!(foreign, Err(WaitError::Refused(refusal)));
    }
    for timeout in [Duration::from_nanos(1), MAX_WAIT] {
        assert_eq!(refused(timeout), None);
    }
}

// contract: W2, W1
#[tokio::test(start_paused = true)]
async fn the_longest_wait_lasts_as_long_as_it_says() {
    let world = World::new();
    let id = world.start(&FakeProducer::stream());
    let mut wait = world.service.wait(&id, &world.caller(), MAX_WAIT);
    advance(MAX_WAIT - Duration::from_secs(1)).await;
    come_to_rest().await;
    assert_eq!(futures::poll!(&mut wait), Poll::Pending);
    assert!(matches!(wait.await, Ok(Waited::TimedOut(_))));
}

// contract: W5
#[tokio::test(start_paused = true)]
async fn each_of_many_waiters_gets_the_terminal_snapshot() {
    let world = World::new();
    let producer = FakeProducer::stream();
    let id = world.start(&producer);
    let waits = join_all((0..500).map(|_| world.wait(&id)));
    producer.settle(Outcome::failed("all of them"));
    let waited = waits.await;
    assert_eq!(waited.len(), 500);
    let same = Waited::Ended(world.get(&id));
    assert!(waited.into_iter().all(|waited| waited.as_ref() == Ok(&same)));
    assert_eq!(world.inbox.nudges(), []);
}

// contract: W1
#[tokio::test(start_paused = true)]
async fn a_wait_counts_from_the_call_and_needs_no_poll_to_be_there_when_the_task_ends() {
    let world = World::new();
    let producer = FakeProducer::stream();
    let id = world.start(&producer);
    let wait = world.wait(&id);
    world.complete(&id, &producer).await;
    come_to_rest().await;
    assert!(world.get(&id).reported);
    assert!(matches!(wait.await, Ok(Waited::Ended(_))));
    assert_eq!(world.inbox.nudges(), []);
}

// contract: W1
#[tokio::test(start_paused = true)]
async fn a_wait_for_an_ended_task_is_over_at_once() {
    let world = World::new();
    let producer = FakeProducer::stream();
    let id = world.start(&producer);
    world.complete(&id, &producer).await;
    let waited = futures::poll!(world.wait(&id));
    assert!(matches!(waited, Poll::Ready(Ok(Waited::Ended(_)))), "{waited:?}");
    assert!(world.get(&id).reported);
}

// contract: W1, N2
#[tokio::test(start_paused = true)]
async fn where_the_end_and_the_timeout_fall_together_the_wait_or_the_notice_tells() {
    let world = World::new();
    let producer = FakeProducer::stream();
    let id = world.start(&producer);
    let wait = world.service.wait(&id, &world.caller(), Duration::from_millis(10));
    producer.settle(Outcome::completed());
    advance(Duration::from_millis(10)).await;
    let waited = wait.await.unwrap();
    world.ended(&id).await;
    let told_by_notice = usize::from(matches!(waited, Waited::TimedOut(_)));
    assert_eq!(world.claim().len(), told_by_notice, "{waited:?}");
}

// contract: W5
#[tokio::test(start_paused = true)]
async fn waits_go_with_the_combinators_for_the_first_or_all_of_several() {
    let world = World::new();
    let producers = [(); 3].map(|()| FakeProducer::stream());
    let ids = producers.each_ref().map(|producer| world.start(producer));
    producers[1].settle(Outcome::completed());
    let (first, place, rest) = select_all(ids.iter().map(|id| world.wait(id))).await;
    assert_eq!((place, &first.unwrap().snapshot().id), (1, &ids[1]));
    drop(rest);

    world.complete(&ids[0], &producers[0]).await;
    assert_eq!(world.claim(), [ids[0].clone()], "a wait that lost the race kept a notice back");

    producers[2].settle(Outcome::completed());
    let all = join_all(ids.iter().map(|id| world.wait(id))).await;
    assert!(all.iter().all(|waited| matches!(waited, Ok(Waited::Ended(_)))), "{all:?}");
}
