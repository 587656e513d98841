//! Notices: who is told of an end, and that it is exactly one.

use longrun_tokio::{
    ClaimSource, NoticePreference,
    testing::{FakeProducer, Nudge},
};

use super::{World, come_to_rest, inject, make, soon, threads, until, withdraw};

// contract: N1, N3
#[tokio::test(start_paused = true)]
async fn an_end_that_nobody_told_of_is_announced_once_and_can_be_claimed_once() {
    let world = World::new();
    let producer = FakeProducer::stream();
    let id = world.start(&producer);
    producer.settle(longrun_tokio::Outcome::completed().with_detail("exit code: 0"));
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

// contract: N6, N1
#[tokio::test(start_paused = true)]
async fn without_an_inbox_or_controls_a_notice_waits_and_is_announced_when_they_are_mounted() {
    let World { service, controls, inbox, owner } = World::new();
    drop(controls);
    let _controller = service.attach_controller().unwrap();
    let producer = FakeProducer::stream();
    let id = super::start(&owner, &producer);
    producer.settle(longrun_tokio::Outcome::completed());
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

// contract: N6
#[test]
fn no_notice_is_stranded_between_the_last_claim_and_going_idle() {
    const TASKS: usize = 400;
    let policy = longrun_tokio::NoticePolicy {
        delivery: longrun_tokio::Delivery::Wakeup,
        max_consecutive_wakes: u32::MAX,
    };
    let runtime = threads();
    let _inside = runtime.enter();
    let world = World::mounted(policy, |builder| builder.max_active_per_owner(TASKS));
    let producers: Vec<_> = (0..TASKS).map(|_| FakeProducer::stream()).collect();
    for producer in &producers {
        world.start(producer);
    }
    let wakes =
        || world.inbox.nudges().iter().filter(|nudge| matches!(nudge, Nudge::Wake(_))).count();
    // The agent: in a turn it claims until there is nothing; idle it waits to be woken.
    let mut claimed = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for producer in &producers {
                producer.settle(longrun_tokio::Outcome::completed());
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
