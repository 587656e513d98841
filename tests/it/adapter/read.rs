//! Reading.

use std::sync::{Arc, Mutex, mpsc};

use longrun_tokio::{
    BoxError, Hooks, Inbox, Notice, Outcome, ReadError, Status, TaskId, TaskService,
    WeakTaskService,
    core::ReadRefusal,
    testing::{FakeProducer, OnCancel},
};

use super::{Log, World, block_until, inject, threads, until, withdraw};

// contract: R1
#[tokio::test(start_paused = true)]
async fn reads_of_a_stream_return_what_came_since_the_read_before_in_every_state() {
    let world = World::new();
    let producer = FakeProducer::stream().on_cancel(OnCancel::Ignore);
    let id = world.start(&producer);
    let mut read = String::new();
    let mut states = Vec::new();
    let mut take = |expected: &str| {
        let found = world.read(&id);
        assert_eq!(found.text, expected);
        read.push_str(&found.text);
        states.push(found.task.status);
    };
    take("");
    producer.write("one ");
    take("one ");
    producer.write("two ");
    world.service.kill(&id, &world.caller(), None).unwrap();
    take("two ");
    producer.write("three");
    producer.settle(Outcome::killed());
    world.ended(&id).await;
    take("three");
    take("");
    assert_eq!(read, "one two three");
    use Status::{Killed, Running, Stopping};
    assert_eq!(states, [Running, Running, Stopping, Killed, Killed]);
}

// contract: R2
#[tokio::test(start_paused = true)]
async fn a_final_output_task_reads_empty_while_live_and_its_result_afterwards_for_ever() {
    let world = World::new();
    let producer = FakeProducer::final_output();
    let id = world.start(&producer);
    assert_eq!(world.read(&id).text, "");
    producer.settle(Outcome::completed().with_output("42"));
    world.ended(&id).await;
    for _ in 0..3 {
        assert_eq!(world.read(&id).text, "42");
    }
}

// contract: R3, N2, N7
#[tokio::test(start_paused = true)]
async fn a_terminal_read_reports_and_withdraws_the_notice_and_a_live_one_does_not() {
    let world = World::new();
    let producer = FakeProducer::stream();
    let id = world.start(&producer);
    assert!(!world.read(&id).task.reported);
    world.complete(&id, &producer).await;
    until("it is announced", || world.inbox.nudges() == [inject(&id)]).await;
    let read = world.read(&id);
    assert!(read.task.status.is_terminal() && read.task.reported);
    assert!(world.get(&id).reported);
    assert_eq!(world.inbox.nudges(), [inject(&id), withdraw(&id)]);
    assert_eq!(world.claim(), []);
}

// contract: R4, R3
#[tokio::test(start_paused = true)]
async fn a_reader_that_fails_gives_its_error_and_reports_nothing() {
    let world = World::new();
    let producer = FakeProducer::stream();
    let id = world.start(&producer);
    producer.write("kept");
    world.complete(&id, &producer).await;
    producer.set_reader_fails(true);
    let error = world.service.read(&id, &world.caller()).unwrap_err();
    assert!(matches!(&error, ReadError::Reader(_)), "{error:?}");
    assert!(error.to_string().contains("told to fail"), "{error}");
    assert!(!world.get(&id).reported);
    assert_eq!(world.inbox.nudges(), [inject(&id)]);

    producer.set_reader_fails(false);
    assert_eq!(world.read(&id).text, "kept");
    assert!(world.get(&id).reported);
}

// contract: R4
#[tokio::test(start_paused = true)]
async fn a_reader_that_panics_counts_as_one_that_fails() {
    let world = World::new();
    let mut first = true;
    let hooks = Hooks::new(std::future::pending()).stream(move || {
        assert!(!std::mem::take(&mut first), "the reader is wrong");
        Ok("after all".to_owned())
    });
    let id = world.start_hooks(hooks);
    let error = world.service.read(&id, &world.caller()).unwrap_err();
    assert!(error.to_string().contains("the reader is wrong"), "{error}");
    assert_eq!(world.read(&id).text, "after all");
}

// contract: R3
#[tokio::test(start_paused = true)]
async fn a_reader_that_reads_its_own_task_is_refused_and_reads_others() {
    let world = World::new();
    let other = FakeProducer::stream();
    let other_id = world.start(&other);
    other.write("other");
    let (service, caller) = (world.service.downgrade(), world.caller());
    let own = TaskId::parse("bash-2").unwrap();
    let hooks = Hooks::new(std::future::pending()).stream(move || {
        let service = service.upgrade().unwrap();
        let refused = service.read(&own, &caller);
        let in_progress = ReadRefusal::InProgress { id: own.clone() };
        assert!(matches!(refused, Err(ReadError::Refused(refusal)) if refusal == in_progress));
        let other = service.read(&other_id, &caller).map_err(|error| error.to_string())?;
        Ok(format!("own, {}", other.text))
    });
    let id = world.start_hooks(hooks);
    assert_eq!(world.read(&id).text, "own, other");
    assert_eq!(world.read(&id).text, "own, ");
}

// contract: R3
#[test]
fn a_second_reader_is_served_when_the_first_has_ended() {
    let runtime = threads();
    let _inside = runtime.enter();
    let world = World::new();
    let (entered, inside) = mpsc::channel();
    let (proceed, may_proceed) = mpsc::channel::<()>();
    let mut calls = 0;
    let hooks = Hooks::new(std::future::pending()).stream(move || {
        calls += 1;
        entered.send(calls).unwrap();
        may_proceed.recv().unwrap();
        Ok(format!("{calls}"))
    });
    let id = world.start_hooks(hooks);
    std::thread::scope(|scope| {
        let first = scope.spawn(|| world.read(&id).text);
        assert_eq!(inside.recv(), Ok(1));
        let second = scope.spawn(|| world.read(&id).text);
        proceed.send(()).unwrap();
        assert_eq!(first.join().unwrap(), "1");
        assert_eq!(inside.recv(), Ok(2));
        proceed.send(()).unwrap();
        assert_eq!(second.join().unwrap(), "2");
    });
}

// contract: R1, R3
#[test]
fn threads_that_read_one_task_get_each_byte_once_and_a_terminal_read_leaves_none() {
    const LINES: u32 = 2_000;
    let runtime = threads();
    let _inside = runtime.enter();
    let world = World::new();
    let producer = FakeProducer::stream();
    let id = world.start(&producer);
    let lines = Arc::new(Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut own = Vec::new();
                loop {
                    let read = world.read(&id);
                    own.extend(read.text.lines().map(|line| line.parse::<u32>().unwrap()));
                    if read.task.status.is_terminal() {
                        break;
                    }
                }
                assert!(own.is_sorted(), "a reader got lines out of order");
                lines.lock().unwrap().extend(own);
            });
        }
        for number in 0..LINES {
            producer.write(&format!("{number}\n"));
        }
        producer.settle(Outcome::completed());
    });
    assert_eq!(world.read(&id).text, "");
    let mut lines = std::mem::take(&mut *lines.lock().unwrap());
    lines.sort_unstable();
    assert!(lines.iter().copied().eq(0..LINES), "{} lines came", lines.len());
}

/// An inbox that, when a notice is withdrawn, waits for another thread's read.
pub(super) struct ReadingElsewhere(WeakTaskService, Log);

impl ReadingElsewhere {
    pub(super) fn new(service: &TaskService) -> Self {
        Self(service.downgrade(), Log::default())
    }

    /// How its reads went.
    pub(super) fn lines(&self) -> Vec<String> {
        self.1.lines()
    }
}

impl Inbox for ReadingElsewhere {
    fn inject(&self, _: &Notice) -> Result<(), BoxError> {
        Ok(())
    }

    fn wake(&self, _: &Notice) -> Result<(), BoxError> {
        Ok(())
    }

    fn withdraw(&self, id: &TaskId) {
        let (service, id) = (self.0.upgrade().unwrap(), id.clone());
        let (read, has_read) = mpsc::channel();
        std::thread::spawn(move || read.send(service.read(&id, &Some("s2".into())).is_ok()));
        self.1.add(format!("{:?}", has_read.recv_timeout(super::PATIENCE)));
    }
}

// contract: C5, R3
#[test]
fn a_callback_of_a_read_may_wait_for_another_threads_read_of_the_same_task() {
    let runtime = threads();
    let _inside = runtime.enter();
    let world = World::new();
    let inbox = Arc::new(ReadingElsewhere::new(&world.service));
    let owner = world.service.owner("s2").inbox(inbox.clone()).open().unwrap();
    let producer = FakeProducer::stream();
    let id = super::start(&owner, &producer);
    producer.settle(Outcome::completed());
    block_until("it has ended", || owner.list()[0].status.is_terminal());
    assert!(world.service.read(&id, &owner.caller()).unwrap().task.status.is_terminal());
    block_until("the notice was withdrawn", || !inbox.lines().is_empty());
    assert_eq!(inbox.lines(), ["Ok(true)"]);
}

// contract: R5
#[tokio::test(start_paused = true)]
async fn looking_consumes_nothing_and_reports_nothing() {
    let world = World::new();
    let producer = FakeProducer::stream();
    let id = world.start(&producer);
    producer.write("kept");
    world.complete(&id, &producer).await;
    assert!(!world.get(&id).reported);
    assert!(!world.owner.list()[0].reported);
    assert_eq!(world.get(&id), world.owner.list()[0]);
    assert_eq!(world.inbox.nudges(), [inject(&id)]);
    assert_eq!(world.read(&id).text, "kept");
}
