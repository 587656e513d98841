//! Waiting for the first or for all of several tasks, in one call.

use std::{task::Poll, time::Duration};

use futures::FutureExt as _;
use longrun_tokio::{
    Config, Status, TaskId, WaitOutcome, Waits,
    core::{AccessRefusal, WaitRefusal},
    testing::FakeProducer,
};

use super::{A_MINUTE, World, come_to_rest, inject, soon, start, until, withdraw};

impl World {
    fn wait_any(&self, ids: &[TaskId]) -> Waits {
        self.service.wait_any(ids, &self.caller(), A_MINUTE)
    }

    fn wait_all(&self, ids: &[TaskId]) -> Waits {
        self.service.wait_all(ids, &self.caller(), A_MINUTE)
    }

    /// Some tasks at work.
    fn start_some<const N: usize>(&self) -> ([FakeProducer; N], [TaskId; N]) {
        let producers = [(); N].map(|()| FakeProducer::stream());
        let ids = producers.each_ref().map(|producer| self.start(producer));
        (producers, ids)
    }
}

/// The outcomes, each in a word, with the ids.
fn told(outcomes: &[(TaskId, WaitOutcome)]) -> Vec<String> {
    let word = |outcome: &WaitOutcome| match outcome {
        WaitOutcome::Ended(task) if task.status.is_terminal() => "ended".to_owned(),
        WaitOutcome::TimedOut(task) if task.status == Status::Running => "timed out".to_owned(),
        WaitOutcome::Live(task) if task.status == Status::Running => "live".to_owned(),
        WaitOutcome::Refused(refusal) => refusal.to_string(),
        wrong => panic!("a state that does not belong to it: {wrong:?}"),
    };
    outcomes.iter().map(|(id, outcome)| format!("{id}: {}", word(outcome))).collect()
}

fn unknown(id: &str) -> TaskId {
    TaskId::parse(id).unwrap()
}

// contract: W8, N2
#[tokio::test(start_paused = true)]
async fn a_wait_for_any_ends_with_the_first_end_and_tells_of_all() {
    let world = World::new();
    let (producers, ids) = world.start_some::<3>();
    let mut waits = world.wait_any(&ids);
    assert_eq!(futures::poll!(&mut waits), Poll::Pending);
    world.complete(&ids[1], &producers[1]).await;
    let outcomes = soon(waits).await.unwrap();
    assert_eq!(told(&outcomes), ["bash-1: live", "bash-2: ended", "bash-3: live"]);
    assert!(world.get(&ids[1]).reported);
    world.complete(&ids[0], &producers[0]).await;
    until("the other end is announced", || world.inbox.nudges() == [inject(&ids[0])]).await;
}

// contract: W8, N2
#[tokio::test(start_paused = true)]
async fn a_wait_for_all_ends_with_the_last_end() {
    let world = World::new();
    let (producers, ids) = world.start_some::<3>();
    world.complete(&ids[2], &producers[2]).await;
    let mut waits = world.wait_all(&ids);
    for place in [0, 1] {
        assert_eq!(futures::poll!(&mut waits), Poll::Pending);
        world.complete(&ids[place], &producers[place]).await;
    }
    let outcomes = soon(waits).await.unwrap();
    assert_eq!(told(&outcomes), ["bash-1: ended", "bash-2: ended", "bash-3: ended"]);
    assert_eq!(world.inbox.nudges(), [inject(&ids[2]), withdraw(&ids[2])]);
    assert_eq!(world.claim(), []);
}

// contract: W8, W1
#[tokio::test(start_paused = true)]
async fn the_one_timeout_is_a_success_and_tells_what_has_ended_by_then() {
    let world = World::new();
    let (producers, ids) = world.start_some::<3>();
    let (any, all) = (world.wait_any(&ids[1..]), world.wait_all(&ids));
    world.complete(&ids[0], &producers[0]).await;
    let outcomes = soon(any).await.unwrap();
    assert_eq!(told(&outcomes), ["bash-2: timed out", "bash-3: timed out"]);
    let outcomes = soon(all).await.unwrap();
    assert_eq!(told(&outcomes), ["bash-1: ended", "bash-2: timed out", "bash-3: timed out"]);
    assert!(producers.iter().all(|producer| producer.cancels().is_empty()));
    assert!(world.get(&ids[0]).reported && !world.get(&ids[1]).reported);
}

// contract: W8, W2, A5
#[tokio::test(start_paused = true)]
async fn each_id_that_cannot_be_waited_for_is_told_and_keeps_nobody_waiting() {
    let world = World::new();
    let (producers, [id]) = world.start_some::<1>();
    let foreign = start(&world.open("s2"), &FakeProducer::stream());
    let ids = [unknown("bash-9"), id.clone(), foreign.clone(), id.clone(), unknown("bash-9")];
    let refused = |id: &TaskId, is_foreign| {
        let id = id.clone();
        let access = match is_foreign {
            true => AccessRefusal::Foreign { id },
            false => AccessRefusal::Unknown { id },
        };
        WaitOutcome::Refused(WaitRefusal::Access(access))
    };
    let mut both = [world.wait_any(&ids), world.wait_all(&ids)];
    for waits in &mut both {
        assert_eq!(futures::poll!(waits), Poll::Pending);
    }
    world.complete(&id, &producers[0]).await;
    for waits in both {
        let outcomes = soon(waits).await.unwrap();
        let [first, second, third] = &outcomes[..] else { panic!("{outcomes:?}") };
        assert_eq!(*first, (ids[0].clone(), refused(&ids[0], false)));
        assert!(matches!(second, (of, WaitOutcome::Ended(_)) if *of == id));
        assert_eq!(*third, (foreign.clone(), refused(&foreign, true)));
    }
}

// contract: W8, W2
#[tokio::test(start_paused = true)]
async fn where_nothing_can_be_waited_for_it_is_over_at_once() {
    let world = World::new();
    let (_producers, [id]) = world.start_some::<1>();
    assert_eq!(world.wait_any(&[]).now_or_never(), Some(Ok(vec![])));
    assert_eq!(world.wait_all(&[]).now_or_never(), Some(Ok(vec![])));
    let ids = [unknown("bash-9"), id];
    for timeout in [Duration::ZERO, Duration::MAX] {
        let waits = world.service.wait_all(&ids, &world.caller(), timeout);
        let outcomes = waits.now_or_never().unwrap().unwrap();
        let range = WaitRefusal::TimeoutOutOfRange;
        let expected = ["bash-9: there is no task bash-9".to_owned(), format!("bash-1: {range}")];
        assert_eq!(told(&outcomes), expected, "access comes first");
    }
}

// contract: W8, W6, W3
#[tokio::test(start_paused = true)]
async fn dropping_it_gives_back_each_end_that_was_assigned_to_it() {
    let world = World::new();
    let (producers, ids) = world.start_some::<3>();
    world.complete(&ids[0], &producers[0]).await;
    let (waits, other) = (world.wait_all(&ids), world.wait(&ids[1]));
    world.complete(&ids[1], &producers[1]).await;
    come_to_rest().await;
    assert_eq!(world.inbox.nudges(), [inject(&ids[0]), withdraw(&ids[0])]);
    drop(waits);
    assert_eq!(world.claim(), [ids[0].clone()], "the other wait may still take the second");
    drop(other);
    assert_eq!(world.claim(), [ids[1].clone()]);
    world.complete(&ids[2], &producers[2]).await;
    assert_eq!(world.claim(), [ids[2].clone()]);
}

// contract: W8, W4
#[tokio::test(start_paused = true)]
async fn aborting_it_gets_what_was_assigned_to_it_and_how_the_others_are() {
    let world = World::new();
    let (producers, ids) = world.start_some::<2>();
    let mut waits = world.wait_all(&ids);
    world.complete(&ids[0], &producers[0]).await;
    assert!(waits.ready().now_or_never().is_none());
    let outcomes = waits.abort().unwrap();
    assert_eq!(told(&outcomes), ["bash-1: ended", "bash-2: live"]);
    let mut ready = world.wait_any(&ids);
    assert_eq!(ready.ready().now_or_never(), Some(Ok(())));
    drop(ready);
    assert_eq!(world.claim(), [], "it had been taken before");
}

// contract: W8, W7
#[tokio::test(start_paused = true)]
async fn it_leaves_no_waiter_behind_however_it_ends() {
    let config = Config { max_waiters_per_task: 1, ..Config::default() };
    let world = World::with(|builder| builder.config(config));
    let (producers, ids) = world.start_some::<2>();
    let waits = world.wait_all(&ids);
    let full = WaitRefusal::TooMany { limit: 1 };
    let outcomes = world.wait_any(&ids).now_or_never().unwrap().unwrap();
    assert!(outcomes.iter().all(|(_, outcome)| *outcome == WaitOutcome::Refused(full.clone())));
    drop(waits);
    assert!(world.wait_all(&ids).abort().is_ok());
    assert!(soon(world.wait_all(&ids)).await.is_ok(), "timed out");
    let any = world.wait_any(&ids);
    world.complete(&ids[0], &producers[0]).await;
    assert!(soon(any).await.is_ok());
    assert_eq!(world.wait(&ids[1]).refusal(), None);
}

// contract: W8, O2
#[tokio::test(start_paused = true)]
async fn a_task_whose_record_goes_with_its_owner_has_ended_for_it() {
    let world = World::new();
    let (_producers, ids) = world.start_some::<2>();
    let waits = world.wait_all(&ids);
    soon(world.owner.dispose()).await.unwrap();
    let outcomes = soon(waits).await.unwrap();
    assert_eq!(told(&outcomes), ["bash-1: ended", "bash-2: ended"]);
}
