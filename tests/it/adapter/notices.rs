//! Notices: who is told of an end, and that it is exactly one.

use std::{collections::BTreeSet, future::pending};

use longrun_tokio::{
    ClaimSource, Collected, Delivery, Notice, NoticePolicy, NoticePreference, Outcome, TaskId,
    core::controls,
    testing::{FakeProducer, Nudge},
};

use super::{World, block_on, come_to_rest, inject, make, soon, threads, until, withdraw};

// contract: N1, N3
#[tokio::test(start_paused = true)]
async fn an_end_that_nobody_told_of_is_announced_once_and_can_be_claimed_once() {
    let world = World::new();
    let producer = FakeProducer::stream();
    let id = world.start(&producer);
    producer.settle(Outcome::completed().with_detail("exit code: 0"));
    until("it is announced", || world.inbox.nudges() == [inject(&id)]).await;
    let text = "background task bash-1 (bash: make) finished [status: completed, exit code: 0]. \
                Read its output with task_output.";
    assert_eq!(world.inbox.texts(), [text]);
    let claimed = world.owner.claim(ClaimSource::Inbox);
    assert_eq!(claimed.len(), 1);
    assert_eq!((claimed[0].text.as_str(), &claimed[0].task.id), (text, &id));
    assert_eq!(world.claim(), []);
    assert!(!world.get(&id).reported, "a notice is no report");
}

// contract: N2
#[tokio::test(start_paused = true)]
async fn a_kill_a_read_a_wait_and_teardown_each_suppress_the_notice() {
    let world = World::new();
    let producers = [(); 3].map(|()| FakeProducer::stream());
    let [killed, read, waited] = producers.each_ref().map(|producer| world.start(producer));
    world.service.kill(&killed, &world.caller(), None).unwrap();
    let wait = world.wait(&waited);
    world.complete(&waited, &producers[2]).await;
    wait.await.unwrap();
    world.complete(&read, &producers[1]).await;
    world.read(&read);
    world.ended(&killed).await;
    come_to_rest().await;
    let nudges = world.inbox.nudges();
    let none_or_withdrawn = [inject(&read), withdraw(&read)];
    assert!(nudges.is_empty() || nudges == none_or_withdrawn, "{nudges:?}");
    assert_eq!(world.claim(), []);
    let torn_down = world.open("s2");
    super::start(&torn_down, &FakeProducer::stream());
    soon(torn_down.dispose()).await.unwrap();
    assert_eq!(super::claimed(&torn_down), []);
}

// contract: N7
#[tokio::test(start_paused = true)]
async fn a_pending_notice_is_withdrawn_when_a_wait_takes_the_end() {
    let world = World::new();
    let producer = FakeProducer::stream();
    let id = world.start(&producer);
    world.complete(&id, &producer).await;
    until("it is announced", || world.inbox.nudges() == [inject(&id)]).await;
    world.wait(&id).await.unwrap();
    assert_eq!(world.inbox.nudges(), [inject(&id), withdraw(&id)]);
    assert_eq!(world.claim(), []);
}

// contract: N7
#[tokio::test(start_paused = true)]
async fn what_was_claimed_is_not_withdrawn() {
    let world = World::new();
    let producer = FakeProducer::stream();
    let id = world.start(&producer);
    world.complete(&id, &producer).await;
    until("it is announced", || world.inbox.nudges() == [inject(&id)]).await;
    assert_eq!(world.claim().len(), 1);
    world.read(&id);
    assert_eq!(world.inbox.nudges(), [inject(&id)]);
}

// contract: N6
#[tokio::test(start_paused = true)]
async fn a_claim_takes_what_is_pending_in_the_order_of_the_ends() {
    let world = World::new();
    let producers = [(); 3].map(|()| FakeProducer::stream());
    let ids = producers.each_ref().map(|producer| world.start(producer));
    for place in [2, 0, 1] {
        world.complete(&ids[place], &producers[place]).await;
    }
    world.read(&ids[0]);
    assert_eq!(world.claim(), [ids[2].clone(), ids[1].clone()]);
}

// contract: N1, N6
#[tokio::test(start_paused = true)]
async fn what_is_claimed_together_can_be_one_message_that_names_each_id() {
    let world = World::new();
    let producers = [(); 2].map(|()| FakeProducer::stream());
    let ids = producers.each_ref().map(|producer| world.start(producer));
    for (id, producer) in ids.iter().zip(&producers) {
        world.complete(id, producer).await;
    }
    let claimed = world.owner.claim(ClaimSource::Inbox);
    let whole = Notice::joined(&claimed, controls::NOTICES_CAP_BYTES);
    assert_eq!(whole, format!("{}\n{}", claimed[0].text, claimed[1].text));
    let short = Notice::joined(&claimed, 60);
    assert_eq!(short, "background tasks bash-1, bash-2 done. Use task_output.");
    assert_eq!(Notice::joined(&claimed[1..], 1000), claimed[1].text);
}

// contract: N6, N1
#[tokio::test(start_paused = true)]
async fn without_an_inbox_or_controls_a_notice_waits_and_is_announced_when_they_are_mounted() {
    let World { service, controls, inbox, owner } = World::new();
    drop(controls);
    let _controller = service.attach_controller().unwrap();
    let producer = FakeProducer::stream();
    let id = super::start(&owner, &producer);
    producer.settle(Outcome::completed());
    until("it ended", || owner.list()[0].status.is_terminal()).await;
    come_to_rest().await;
    assert_eq!(inbox.nudges(), []);
    let _controls = service.mount_controls(longrun_tokio::NoticePolicy::default()).unwrap();
    assert_eq!(inbox.nudges(), [inject(&id)]);
    assert_eq!(super::claimed(&owner), [id]);
}

// contract: N8
#[tokio::test(start_paused = true)]
async fn a_task_can_ask_not_to_be_announced() {
    let world = World::new();
    let producer = FakeProducer::stream();
    let spec = make().notice(NoticePreference::Never);
    let id = world.owner.start(spec, || producer.hooks()).unwrap();
    world.complete(&id, &producer).await;
    come_to_rest().await;
    assert_eq!(world.inbox.nudges(), []);
    assert_eq!(world.claim(), []);
}

// contract: N1
#[tokio::test(start_paused = true)]
async fn the_end_of_an_unowned_task_is_announced_to_nobody() {
    let world = World::new();
    let producer = FakeProducer::stream();
    let id = world.start_unowned(&producer);
    world.complete(&id, &producer).await;
    come_to_rest().await;
    assert_eq!(world.inbox.nudges(), []);
    assert_eq!(world.claim(), []);
}

/// Wakes an idle owner for every end.
const WAKING: NoticePolicy =
    NoticePolicy { delivery: Delivery::Wakeup, max_consecutive_wakes: u32::MAX };

fn wakes(world: &World) -> usize {
    world.inbox.nudges().iter().filter(|nudge| matches!(nudge, Nudge::Wake(_))).count()
}

// contract: N6
#[test]
fn no_notice_is_stranded_between_the_last_claim_and_going_idle() {
    const TASKS: usize = 400;
    let runtime = threads();
    let _inside = runtime.enter();
    let world = World::mounted(WAKING, |builder| builder.max_active_per_owner(TASKS));
    let producers: Vec<_> = (0..TASKS).map(|_| FakeProducer::stream()).collect();
    for producer in &producers {
        world.start(producer);
    }
    let wakes = || wakes(&world);
    // The agent: in a turn it claims until there is nothing; idle it waits to be woken.
    let mut claimed = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for producer in &producers {
                producer.settle(Outcome::completed());
            }
        });
        while claimed.len() < TASKS {
            let seen = wakes();
            world.owner.set_busy(true);
            while let Some(notices) = world.owner.claim_or_idle(ClaimSource::Inbox) {
                claimed.extend(notices.into_iter().map(|notice| notice.task.id.number()));
            }
            if claimed.len() < TASKS {
                super::block_until("the idle agent is woken", || wakes() > seen);
            }
        }
    });
    claimed.sort_unstable();
    assert!(claimed.into_iter().eq(1..=TASKS as u64), "each one is claimed once");
}

/// Reads what an agent does not know the end of, and is given it or not. The ends that it
/// has been told of with that.
fn read_some(world: &World, open: &[TaskId], chance: &mut usize) -> Vec<TaskId> {
    let collected = world.service.collect(open, &world.caller(), None, pending());
    let mut told = Vec::new();
    for (id, one) in block_on(collected).unwrap() {
        *chance += 1;
        match one {
            Collected::Read(held) if !chance.is_multiple_of(3) => {
                if held.commit().task.status.is_terminal() {
                    told.push(id);
                }
            }
            Collected::Read(_) | Collected::Nothing(_) => {}
            Collected::Failed(error) => panic!("{id}: {error}"),
        }
    }
    told
}

// contract: N1, N5, N6, N7, R3
#[test]
fn fifty_ends_at_the_moment_in_which_a_turn_ends_are_told_once_each_by_notice_or_read() {
    const TASKS: usize = 50;
    let (mut read, mut claimed) = (0, 0);
    for round in 0..10 {
        let runtime = threads();
        let _inside = runtime.enter();
        let world = World::mounted(WAKING, |builder| builder.max_active_per_owner(TASKS));
        let producers: Vec<_> = (0..TASKS).map(|_| FakeProducer::stream()).collect();
        let ids: Vec<TaskId> = producers.iter().map(|producer| world.start(producer)).collect();
        let (mut told, mut chance) = (BTreeSet::new(), round);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for producer in &producers {
                    producer.settle(Outcome::completed());
                }
            });
            while told.len() < TASKS {
                let seen = wakes(&world);
                world.owner.set_busy(true);
                loop {
                    let open: Vec<_> =
                        ids.iter().filter(|id| !told.contains(*id)).cloned().collect();
                    let by_read = read_some(&world, &open, &mut chance);
                    read += by_read.len();
                    told.extend(by_read);
                    let Some(notices) = world.owner.claim_or_idle(ClaimSource::Inbox) else {
                        break;
                    };
                    for notice in notices {
                        claimed += 1;
                        assert!(told.insert(notice.task.id), "{} was told twice", notice.text);
                    }
                }
                if told.len() < TASKS {
                    super::block_until("the idle agent is woken", || wakes(&world) > seen);
                }
            }
        });
        assert_eq!(world.claim(), []);
    }
    assert_eq!(read + claimed, 10 * TASKS);
    assert!(read > 0 && claimed > 0, "both were seen: {read} read, {claimed} claimed");
}
