//! Who reaches what.

use longrun_tokio::{
    AccessError, KillError, ObserveError, ReadError, WaitError,
    core::{AccessRefusal, KillRefusal, ReadRefusal, TaskId, WaitRefusal},
    testing::{FakeProducer, OnCancel},
};

use super::{A_MINUTE, World, come_to_rest, soon, start};

/// What each of the checked calls says to that caller: they must agree.
async fn refused(world: &World, id: &TaskId, caller: Option<&str>) -> AccessRefusal {
    let service = &world.service;
    let caller = caller.map(Into::into);
    let Err(AccessError::Refused(refusal)) = service.get(id, &caller) else {
        panic!("get reached it");
    };
    let read = service.read(id, &caller);
    assert!(
        matches!(&read, Err(ReadError::Refused(ReadRefusal::Access(read))) if *read == refusal),
        "{read:?}"
    );
    let observe = service.observe(id, &caller, 0);
    let denied = ObserveError::Access(refusal.clone().into());
    assert_eq!(format!("{observe:?}"), format!("{:?}", Err::<(), _>(denied)));
    let kill = service.kill(id, &caller, Some("mine"));
    assert!(
        matches!(&kill, Err(KillError::Refused(KillRefusal::Access(kill))) if *kill == refusal),
        "{kill:?}"
    );
    let wait = service.wait(id, &caller, A_MINUTE);
    assert_eq!(wait.refusal(), Some(&WaitRefusal::Access(refusal.clone())));
    let waited = wait.await;
    assert_eq!(waited, Err(WaitError::Refused(WaitRefusal::Access(refusal.clone()))));
    refusal
}

// contract: A1, A2, A5, R6
#[tokio::test(start_paused = true)]
async fn another_session_and_nobody_reach_nothing_of_a_task_and_change_nothing() {
    let world = World::new();
    let producer = FakeProducer::stream();
    let id = world.start(&producer);
    producer.write("secret");
    let foreign = AccessRefusal::Foreign { id: id.clone() };
    assert_eq!(refused(&world, &id, Some("s2")).await, foreign);
    assert_eq!(refused(&world, &id, None).await, foreign);
    let unknown = TaskId::parse("bash-2").unwrap();
    let expected = AccessRefusal::Unknown { id: unknown.clone() };
    assert_eq!(refused(&world, &unknown, Some("s1")).await, expected);

    assert!(producer.cancels().is_empty());
    assert_eq!(world.read(&id).text, "secret", "a refused read consumed output");
    assert_eq!(world.service.list(&Some("s2".into())), []);
    assert_eq!(world.service.list(&None), []);
}

// contract: A2
#[tokio::test(start_paused = true)]
async fn unowned_tasks_are_open_to_everybody_and_end_with_the_service() {
    let world = World::new();
    let producer = FakeProducer::stream();
    let id = world.start_unowned(&producer);
    producer.write("one");
    for caller in [None, Some("s1".into()), Some("s2".into())] {
        assert_eq!(world.service.get(&id, &caller).unwrap().owner_session, None);
        assert_eq!(world.service.list(&caller).len(), 1);
    }
    assert_eq!(world.service.read(&id, &Some("s2".into())).unwrap().text, "one");
    soon(world.owner.dispose()).await.unwrap();
    assert!(producer.cancels().is_empty(), "an owner's disposal reached an unowned task");
    assert_eq!(soon(world.service.shutdown()).await, Ok(vec![]));
    assert_eq!(producer.cancels(), [Some("tasks service disposed".to_owned())]);
}

// contract: A3, R5
#[tokio::test(start_paused = true)]
async fn a_list_holds_the_callers_and_the_unowned_tasks_in_order_of_registration() {
    let world = World::new();
    let other = world.open("s2");
    let mine = [world.start(&FakeProducer::stream())];
    let theirs = [start(&other, &FakeProducer::stream())];
    let open = [world.start_unowned(&FakeProducer::stream())];
    let more = [world.start(&FakeProducer::stream())];
    let ids = |caller: Option<&str>| {
        let list = world.service.list(&caller.map(Into::into));
        list.into_iter().map(|task| task.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(Some("s1")), [mine, open.clone(), more].concat());
    assert_eq!(ids(Some("s2")), [theirs, open.clone()].concat());
    assert_eq!(ids(None), open);
}

// contract: A2, A4, O8, N5
#[tokio::test(start_paused = true)]
async fn a_replacement_has_the_access_of_its_session_and_neither_its_cleanup_nor_its_notices() {
    let world = World::new();
    let (first, second) = (FakeProducer::stream(), FakeProducer::stream());
    let (id, other) = (world.start(&first), world.start(&second));
    let replacement_inbox = std::sync::Arc::new(longrun_tokio::testing::FakeInbox::new());
    let replacement = world.service.owner("s1").inbox(replacement_inbox.clone()).open().unwrap();
    assert_eq!(replacement.replaced(), Some(world.owner.key()));
    assert_ne!(replacement.key(), world.owner.key());

    first.write("old");
    assert_eq!(world.service.read(&id, &replacement.caller()).unwrap().text, "old");
    soon(replacement.dispose()).await.unwrap();
    assert!(first.cancels().is_empty(), "the replacement's disposal reached the old one's task");

    world.complete(&id, &first).await;
    come_to_rest().await;
    assert_eq!(replacement_inbox.nudges(), []);
    assert_eq!(super::claimed(&replacement), []);
    assert_eq!(world.claim(), [id]);

    world.service.kill(&other, &replacement.caller(), None).unwrap();
    world.ended(&other).await;
    assert_eq!(second.cancels(), [None]);
}

// contract: A2, O8
#[tokio::test(start_paused = true)]
async fn a_disposed_owner_still_reaches_what_its_replacement_started() {
    let world = World::new();
    soon(world.owner.dispose()).await.unwrap();
    let replacement = world.open("s1");
    let producer = FakeProducer::stream().on_cancel(OnCancel::Ignore);
    let id = start(&replacement, &producer);
    producer.write("new");
    assert_eq!(world.read(&id).text, "new");
    drop(world.owner);
    assert!(producer.cancels().is_empty(), "the old owner's cleanup reached the new one's task");
}

// contract: A6
#[test]
fn ids_from_a_model_are_parsed_and_the_refusal_repeats_nothing_of_them() {
    let long = format!("{}-1", "k".repeat(65));
    let refusal = TaskId::parse("").unwrap_err();
    assert!(!refusal.to_string().chars().any(char::is_control));
    for text in
        ["bash", "bash-", "bash-0", "bash-01", "-1", "../a-1\n", "a\u{1b}[2J-1", "a b-1", &long]
    {
        assert_eq!(TaskId::parse(text), Err(refusal), "{text:?}");
    }
    let id = TaskId::parse("pty-send-12").unwrap();
    assert_eq!((id.kind(), id.number()), ("pty-send", 12));
}
