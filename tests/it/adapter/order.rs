//! Who learns of an end in which order.

use std::sync::Arc;

use futures::{
    FutureExt as _,
    task::{ArcWake, waker},
};
use longrun_tokio::{
    Guard, Inbox, Notice, Outcome, Status, TaskId, TaskService, WeakTaskService,
    testing::FakeProducer,
};

use super::{Log, World, make, until};

/// What a callback sees of a task at the moment in which it is called.
fn seen(service: &WeakTaskService, id: &TaskId) -> String {
    let service = service.upgrade().unwrap();
    let task = service.get(id, &Some("s1".into())).unwrap();
    let told = if task.reported { "reported" } else { "unreported" };
    format!("{} {told}", task.status)
}

struct LoggingInbox(Log, WeakTaskService);

impl Inbox for LoggingInbox {
    fn inject(&self, notice: &Notice) -> Result<(), longrun_tokio::BoxError> {
        self.0.add(format!("notice: {}", seen(&self.1, &notice.task.id)));
        Ok(())
    }

    fn wake(&self, _: &Notice) -> Result<(), longrun_tokio::BoxError> {
        Err("nobody is to be woken".into())
    }
}

struct LoggingWaker(Log);

impl ArcWake for LoggingWaker {
    fn wake_by_ref(this: &Arc<Self>) {
        this.0.add("waiter");
    }
}

/// A listener and an observer that log what they see of `bash-1`.
fn watch(service: &TaskService, log: &Log) -> (Guard, Guard) {
    let (weak, lines) = (service.downgrade(), log.clone());
    let listener = service.on_task_done(move |done| {
        assert_eq!(done.task.status, Status::Completed);
        lines.add(format!("listener: {}", seen(&weak, &done.task.id)));
    });
    let (weak, lines) = (service.downgrade(), log.clone());
    let observer = service.on_tasks_changed(move |_| {
        let id = TaskId::parse("bash-1").unwrap();
        lines.add(format!("observer: {}", seen(&weak, &id)));
    });
    (listener.unwrap(), observer.unwrap())
}

// contract: L4, C3
#[tokio::test(start_paused = true)]
async fn observers_then_listeners_then_the_notice_each_see_the_record() {
    let world = World::new();
    let log = Log::default();
    let inbox = Arc::new(LoggingInbox(log.clone(), world.service.downgrade()));
    let owner = world.service.owner("s1").inbox(inbox).open().unwrap();
    let _guards = watch(&world.service, &log);
    let producer = FakeProducer::stream();
    let id = owner.start(make(), || producer.hooks()).unwrap();
    world.complete(&id, &producer).await;
    until("the notice is there", || log.has("notice")).await;
    assert_eq!(
        log.lines(),
        [
            "observer: running unreported",
            "observer: completed unreported",
            "listener: completed unreported",
            "notice: completed unreported",
        ]
    );
}

// contract: L4, N2, W1
#[tokio::test(start_paused = true)]
async fn a_waiter_is_released_first_and_the_record_is_reported_for_all_after_it() {
    let world = World::new();
    let log = Log::default();
    let producer = FakeProducer::stream();
    let id = world.start(&producer);
    let _guards = watch(&world.service, &log);
    let mut wait = world.wait(&id);
    let waker = waker(Arc::new(LoggingWaker(log.clone())));
    let mut context = std::task::Context::from_waker(&waker);
    assert!(wait.poll_unpin(&mut context).is_pending());

    world.complete(&id, &producer).await;
    until("the listener was called", || log.has("listener")).await;
    assert_eq!(
        log.lines(),
        ["waiter", "observer: completed reported", "listener: completed reported"]
    );
    assert!(wait.await.unwrap().snapshot().reported);
    assert_eq!(world.inbox.nudges(), []);
    assert_eq!(world.claim(), []);
}

// contract: C5
#[tokio::test(start_paused = true)]
async fn one_listener_sees_the_ends_in_the_order_in_which_they_were_recorded() {
    let world = World::new();
    let log = Log::default();
    let _listener = {
        let (log, service) = (log.clone(), world.service.downgrade());
        world.service.on_task_done(move |done| {
            log.add(&done.task.id);
            // What this leads to comes after it.
            if done.task.id.number() == 1 {
                let service = service.upgrade().unwrap();
                let second = TaskId::parse("bash-2").unwrap();
                service.kill(&second, &Some("s1".into()), None).unwrap();
                log.add("killed bash-2");
            }
        })
    };
    let (first, second) = (FakeProducer::stream(), FakeProducer::stream());
    let (first_id, second_id) = (world.start(&first), world.start(&second));
    first.settle(Outcome::completed());
    world.ended(&first_id).await;
    world.ended(&second_id).await;
    until("both were told", || log.lines().len() == 3).await;
    assert_eq!(log.lines(), ["bash-1", "killed bash-2", "bash-2"]);
}
