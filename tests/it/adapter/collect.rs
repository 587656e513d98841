//! Reading what was waited for: what it tells counts once it is committed.

use std::{
    future::{pending, ready},
    pin::pin,
    task::Poll,
    time::Duration,
};

use futures::FutureExt as _;
use longrun_tokio::{
    CollectError, Collected, Config, HeldRead, Outcome, OwnerScope, Status, TaskId, Until,
    core::WaitRefusal,
    testing::{FakeProducer, OnCancel},
};

use super::{A_MINUTE, World, come_to_rest, inject, soon, start, until, withdraw};

impl World {
    /// Waits for a task and reads it.
    async fn collect_one(&self, id: &TaskId) -> Result<HeldRead, CollectError> {
        soon(self.service.wait_and_read(id, &self.caller(), A_MINUTE, pending())).await
    }

    async fn collect(&self, ids: &[TaskId], until: Until) -> Vec<(TaskId, Collected)> {
        let wait = Some((until, A_MINUTE));
        soon(self.service.collect(ids, &self.caller(), wait, pending())).await.unwrap()
    }
}

/// What was collected, in words.
fn told(collected: &[(TaskId, Collected)]) -> Vec<String> {
    let word = |one: &Collected| match one {
        Collected::Read(HeldRead { text, task, .. }) => format!("{:?}, {}", text, task.status),
        Collected::Nothing(task) => format!("nothing, {}", task.status),
        Collected::Failed(error) => error.to_string(),
    };
    collected.iter().map(|(id, one)| format!("{id}: {}", word(one))).collect()
}

fn commit(collected: Vec<(TaskId, Collected)>) {
    for (_, one) in collected {
        if let Collected::Read(held) = one {
            held.commit();
        }
    }
}

// contract: W6, N2, R3
#[tokio::test(start_paused = true)]
async fn an_end_that_was_waited_for_is_announced_unless_what_was_read_is_committed() {
    for commits in [false, true] {
        let world = World::new();
        let producer = FakeProducer::stream();
        let id = world.start(&producer);
        let caller = world.caller();
        let collect = world.service.wait_and_read(&id, &caller, A_MINUTE, pending());
        producer.write("all of it");
        world.complete(&id, &producer).await;
        let held = soon(collect).await.unwrap();
        assert_eq!((held.text.as_str(), held.task.status), ("all of it", Status::Completed));
        come_to_rest().await;
        assert_eq!(world.inbox.nudges(), [], "its promise stands while it is held");
        if commits {
            held.commit();
            assert!(world.get(&id).reported);
            assert_eq!((world.inbox.nudges(), world.claim()), (vec![], vec![]));
        } else {
            drop(held);
            assert!(!world.get(&id).reported);
            assert_eq!(world.inbox.nudges(), [inject(&id)]);
            assert_eq!(world.read(&id).text, "all of it");
            assert_eq!(world.inbox.nudges(), [inject(&id), withdraw(&id)]);
        }
    }
}

// contract: W1, R1
#[tokio::test(start_paused = true)]
async fn a_wait_that_times_out_reads_what_is_there_and_keeps_no_notice_back() {
    let world = World::new();
    let producer = FakeProducer::stream();
    let id = world.start(&producer);
    producer.write("so far");
    let held = world.collect_one(&id).await.unwrap();
    assert_eq!((held.text.as_str(), held.task.status), ("so far", Status::Running));
    world.complete(&id, &producer).await;
    until("it is announced", || world.inbox.nudges() == [inject(&id)]).await;
    held.commit();
    assert_eq!(world.claim(), [id], "what was read told nothing of the end");
}

// contract: W3, W4, W7
#[tokio::test(start_paused = true)]
async fn what_was_promised_goes_before_the_wish_to_abort_and_an_aborted_one_leaves_nothing() {
    let config = Config { max_waiters_per_task: 1, ..Config::default() };
    let world = World::with(|builder| builder.config(config));
    let producer = FakeProducer::stream();
    let id = world.start(&producer);
    let caller = world.caller();
    let aborted = world.service.wait_and_read(&id, &caller, A_MINUTE, ready(()));
    assert!(matches!(aborted.now_or_never(), Some(Err(CollectError::Aborted))));
    let ended = world.service.wait_and_read(&id, &caller, A_MINUTE, ready(()));
    let full = world.collect_one(&id).await.unwrap_err();
    let refusal = WaitRefusal::TooMany { limit: 1 };
    assert!(matches!(&full, CollectError::Wait(error) if *error == refusal.into()), "{full:?}");
    world.complete(&id, &producer).await;
    let Some(Ok(held)) = ended.now_or_never() else { panic!("it was aborted after the end") };
    drop(held);
    assert_eq!(world.claim(), [id]);
}

// contract: W6
#[tokio::test(start_paused = true)]
async fn an_end_is_given_back_where_its_output_cannot_be_read_or_its_turn_does_not_come() {
    let world = World::new();
    let producer = FakeProducer::stream();
    let id = world.start(&producer);
    let caller = world.caller();
    producer.set_reader_fails(true);
    let fails = world.service.wait_and_read(&id, &caller, A_MINUTE, pending());
    world.complete(&id, &producer).await;
    assert!(matches!(soon(fails).await, Err(CollectError::Read(_))));
    assert_eq!(world.inbox.nudges(), [inject(&id)]);
    producer.set_reader_fails(false);
    let _held = soon(world.service.read_held(&id, &caller)).await.unwrap();
    let aborted = world.service.wait_and_read(&id, &caller, A_MINUTE, ready(()));
    assert_eq!(world.inbox.nudges(), [inject(&id), withdraw(&id)]);
    assert!(matches!(aborted.now_or_never(), Some(Err(CollectError::Aborted))));
    assert_eq!(world.claim(), [id]);
}

/// A task that writes its last words when it is asked to stop, and its owner's disposal.
async fn collected_after_disposal(world: &World, owner: &OwnerScope, id: &TaskId) -> HeldRead {
    let collect = world.service.wait_and_read(id, &owner.caller(), A_MINUTE, pending());
    soon(owner.dispose()).await.unwrap();
    assert!(world.service.get(id, &owner.caller()).is_err());
    soon(collect).await.unwrap()
}

// contract: O1, W1, R3
#[tokio::test(start_paused = true)]
async fn a_task_whose_record_goes_with_its_owner_is_read_to_its_end() {
    let world = World::new();
    let (stream, last) = (FakeProducer::stream(), FakeProducer::final_output());
    let (first, second) = (world.open("s2"), world.open("s3"));
    let id = start(&first, &stream);
    stream.write("last words");
    let held = collected_after_disposal(&world, &first, &id).await;
    assert_eq!((held.text.as_str(), held.task.status), ("last words", Status::Killed));
    held.commit();
    let last = last.on_cancel(OnCancel::Ignore);
    let id = start(&second, &last);
    last.settle(Outcome::completed().with_output("42"));
    let held = collected_after_disposal(&world, &second, &id).await;
    assert_eq!((held.text.as_str(), held.task.status), ("42", Status::Completed));
}

// contract: W8, R1, N2
#[tokio::test(start_paused = true)]
async fn several_are_read_at_once_and_each_counts_once_it_is_committed() {
    let world = World::new();
    let producers = [(); 3].map(|()| FakeProducer::stream());
    let ids = producers.each_ref().map(|producer| world.start(producer));
    let [ended, live, silent] = ids.clone();
    let asked =
        [live.clone(), ended.clone(), TaskId::parse("bash-9").unwrap(), silent, live.clone()];
    producers[0].write("done\n");
    producers[1].write("so far\n");
    let expected = [
        "bash-2: \"so far\\n\", running",
        "bash-1: \"done\\n\", completed",
        "bash-9: there is no task bash-9",
        "bash-3: nothing, running",
    ];
    let mut collect = pin!(world.collect(&asked, Until::Any));
    assert!(futures::poll!(collect.as_mut()).is_pending());
    world.complete(&ended, &producers[0]).await;
    let collected = collect.await;
    assert_eq!(told(&collected), expected);
    assert_eq!(world.inbox.nudges(), []);
    drop(collected);
    assert_eq!(world.inbox.nudges(), [inject(&ended)]);
    let collected = world.collect(&asked, Until::Any).await;
    assert_eq!(told(&collected), expected, "nothing was read");
    commit(collected);
    assert_eq!(world.claim(), []);
    producers[1].write("the rest");
    world.complete(&live, &producers[1]).await;
    assert_eq!(world.claim(), std::slice::from_ref(&live), "no wait for it was left");
    let now = soon(world.service.collect(&asked, &world.caller(), None, pending())).await.unwrap();
    let expected =
        ["bash-2: \"the rest\", completed", "bash-1: \"\", completed", expected[2], expected[3]];
    assert_eq!(told(&now), expected);
}

// contract: W8, N1
#[tokio::test(start_paused = true)]
async fn a_task_that_ends_while_what_was_read_of_it_alive_is_held_is_announced() {
    let world = World::new();
    let producers = [(); 2].map(|()| FakeProducer::stream());
    let ids = producers.each_ref().map(|producer| world.start(producer));
    producers[1].write("so far");
    world.complete(&ids[0], &producers[0]).await;
    let collected = world.collect(&ids, Until::Any).await;
    world.complete(&ids[1], &producers[1]).await;
    commit(collected);
    assert_eq!(world.claim(), [ids[1].clone()]);
}

// contract: W8, W1
#[tokio::test(start_paused = true)]
async fn all_are_waited_for_and_the_timeout_tells_what_there_is() {
    let world = World::new();
    let producers = [(); 2].map(|()| FakeProducer::stream());
    let ids = producers.each_ref().map(|producer| world.start(producer));
    world.complete(&ids[0], &producers[0]).await;
    let timed_out = world.collect(&ids, Until::All).await;
    assert_eq!(told(&timed_out), ["bash-1: \"\", completed", "bash-2: nothing, running"]);
    drop(timed_out);
    let mut all = pin!(world.collect(&ids, Until::All));
    assert!(futures::poll!(all.as_mut()).is_pending());
    world.complete(&ids[1], &producers[1]).await;
    let all = all.await;
    assert_eq!(told(&all), ["bash-1: \"\", completed", "bash-2: \"\", completed"]);
    commit(all);
    assert_eq!(world.claim(), []);
}

// contract: W8, W3, W6, W7
#[tokio::test(start_paused = true)]
async fn an_aborted_call_gives_back_all_that_it_has() {
    let config = Config { max_waiters_per_task: 1, ..Config::default() };
    let world = World::with(|builder| builder.config(config));
    let producers = [(); 2].map(|()| FakeProducer::stream());
    let ids = producers.each_ref().map(|producer| world.start(producer));
    let caller = world.caller();
    let all = Some((Until::All, A_MINUTE));
    let aborted = world.service.collect(&ids, &caller, all, ready(()));
    world.complete(&ids[0], &producers[0]).await;
    let aborted = aborted.now_or_never();
    assert!(matches!(aborted, Some(Err(CollectError::Aborted))), "{aborted:?}");
    assert_eq!(world.claim(), [ids[0].clone()]);
    assert_eq!(world.wait(&ids[1]).refusal(), None);
    let out_of_range = Some((Until::Any, Duration::ZERO));
    let refused = world.service.collect(&ids[1..], &caller, out_of_range, pending());
    let refused = soon(refused).await.unwrap();
    assert_eq!(told(&refused), [format!("bash-2: {}", WaitRefusal::TimeoutOutOfRange)]);
    assert!(matches!(&refused[0].1, Collected::Failed(error) if error.access().is_none()));
}

// contract: W8, R3
#[tokio::test(start_paused = true)]
async fn calls_that_read_the_same_tasks_do_not_wait_for_each_other_for_ever() {
    let world = World::new();
    let producers = [(); 2].map(|()| FakeProducer::stream());
    let mut ids = producers.each_ref().map(|producer| world.start(producer)).to_vec();
    let caller = world.caller();
    for producer in &producers {
        producer.write("text");
    }
    // Held, so that both have to wait for their first turn.
    let mut held = Vec::new();
    for id in &ids {
        held.push(soon(world.service.read_held(id, &caller)).await.unwrap());
    }
    let mut one = Box::pin(world.service.collect(&ids, &caller, None, pending()));
    assert!(futures::poll!(&mut one).is_pending());
    ids.reverse();
    let mut other = Box::pin(world.service.collect(&ids, &caller, None, pending()));
    assert!(futures::poll!(&mut other).is_pending());
    // Whoever asked for the second first must not take it and wait for the first.
    drop(held.pop());
    for call in [&mut one, &mut other] {
        assert!(futures::poll!(call).is_pending());
    }
    drop(held);
    let Poll::Ready(Ok(first)) = futures::poll!(&mut one) else { panic!("it has all turns") };
    assert_eq!(told(&first), ["bash-1: \"text\", running", "bash-2: \"text\", running"]);
    commit(first);
    let second = soon(other).await.unwrap();
    assert_eq!(told(&second), ["bash-2: nothing, running", "bash-1: nothing, running"]);
}
