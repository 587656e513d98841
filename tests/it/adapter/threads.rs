//! A service and the threads around its runtime.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use longrun_tokio::{
    Builder, Hooks, NoticePolicy, Outcome, StartError, Status, WaitError, Waited,
    core::StartRefusal,
    testing::{FakeProducer, OnCancel},
};
use tokio::runtime;

use super::{A_MINUTE, Never, World, block_on, block_until, come_to_rest, make, start, threads};

// contract: W1
#[test]
fn a_service_is_used_from_a_thread_outside_its_runtime_and_keeps_its_paused_clock() {
    let runtime =
        runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let service = Builder::new().runtime(runtime.handle().clone()).build().unwrap();
    let _controls = service.mount_controls(NoticePolicy::default()).unwrap();
    let owner = service.owner("s1").open().unwrap();
    let producer = FakeProducer::stream();
    let id = start(&owner, &producer);
    // An hour passes of which the service hears nothing; it passes at once.
    let began = std::time::Instant::now();
    runtime.block_on(come_to_rest());
    runtime.block_on(tokio::time::advance(A_MINUTE * 60));
    let wait = service.wait(&id, &owner.caller(), A_MINUTE);
    let took = runtime.block_on(async {
        let began = tokio::time::Instant::now();
        assert!(matches!(wait.await, Ok(Waited::TimedOut(_))));
        began.elapsed()
    });
    assert!(took >= A_MINUTE && took < A_MINUTE * 2, "{took:?}");
    assert!(began.elapsed() < A_MINUTE, "{:?}", began.elapsed());

    let wait = service.wait(&id, &owner.caller(), A_MINUTE);
    std::thread::scope(|scope| {
        scope.spawn(|| service.kill(&id, &owner.caller(), Some("from outside")).unwrap());
    });
    let waited = runtime.block_on(wait).unwrap();
    assert_eq!(waited.snapshot().status, Status::Killed);
    runtime.block_on(service.shutdown()).unwrap();
}

// contract: L6, W1, T1
#[test]
fn a_runtime_that_goes_away_fails_its_tasks_and_lets_everybody_go() {
    let runtime = threads();
    let world = {
        let _inside = runtime.enter();
        World::new()
    };
    let producers = [(); 8].map(|()| FakeProducer::stream().on_cancel(OnCancel::Ignore));
    let ids = producers.each_ref().map(|producer| world.start(producer));
    let wait = world.wait(&ids[0]);
    drop(runtime);
    for id in &ids {
        assert_eq!(world.get(id).status, Status::Failed);
    }
    let waited = block_on(wait).unwrap();
    assert!(waited.snapshot().detail.as_deref().unwrap().contains("dropped"));
    assert_eq!(world.claim().len(), ids.len() - 1);

    // What starts now has nowhere to run: it fails at once, and nothing hangs.
    let late = world.owner.start(make(), || FakeProducer::stream().hooks()).unwrap();
    assert_eq!(world.get(&late).status, Status::Failed);
    assert_eq!(block_on(world.owner.dispose()), Ok(vec![]));
    assert_eq!(world.service.shutdown_blocking(), Ok(vec![]));
}

// contract: T1, C5
#[test]
fn callbacks_are_all_called_though_the_runtime_is_gone_and_nobody_can_take_over() {
    let runtime = threads();
    let world = {
        let _inside = runtime.enter();
        World::new()
    };
    let calls = Arc::new(AtomicUsize::new(0));
    let _guards: Vec<_> = (0..200)
        .map(|_| {
            let calls = calls.clone();
            let observer = move |_: &longrun_tokio::Changed| {
                calls.fetch_add(1, Ordering::SeqCst);
            };
            world.service.on_tasks_changed(observer).unwrap()
        })
        .collect();
    drop(runtime);
    world.start(&FakeProducer::stream());
    assert_eq!(calls.load(Ordering::SeqCst), 400, "a registration and an end");
}

// contract: S8, S9
#[test]
fn threads_that_start_at_once_never_get_past_the_limit() {
    const LIMIT: usize = 3;
    let runtime = threads();
    let _inside = runtime.enter();
    let world = World::with(|builder| builder.max_active_per_owner(LIMIT));
    let (running, most, started) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..200 {
                    let producer = FakeProducer::stream();
                    let begun = world.owner.start(make(), || {
                        most.fetch_max(
                            running.fetch_add(1, Ordering::SeqCst) + 1,
                            Ordering::SeqCst,
                        );
                        std::thread::yield_now();
                        producer.hooks()
                    });
                    match begun {
                        Ok(id) => {
                            started.fetch_add(1, Ordering::SeqCst);
                            running.fetch_sub(1, Ordering::SeqCst);
                            producer.settle(Outcome::completed());
                            block_until("it ended", || world.get(&id).status.is_terminal());
                        }
                        Err(StartError::Refused(StartRefusal::LimitReached { limit })) => {
                            assert_eq!(limit, LIMIT);
                        }
                        Err(other) => panic!("{other}"),
                    }
                }
            });
        }
    });
    assert!(most.load(Ordering::SeqCst) <= LIMIT);
    let listed = world.owner.list();
    assert_eq!(listed.len(), started.load(Ordering::SeqCst));
    assert_eq!(listed.last().unwrap().id.number(), listed.len() as u64, "a number was lost");
}

// contract: O1, O4, S10
#[test]
fn an_owner_disposed_while_threads_start_leaves_nothing_at_work() {
    let runtime = threads();
    let _inside = runtime.enter();
    for _ in 0..50 {
        let world = World::with(|builder| builder.max_active_per_owner(1_000));
        let begun = std::sync::Barrier::new(3);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    begun.wait();
                    for _ in 0..20 {
                        let producer = FakeProducer::stream();
                        match world.owner.start(make(), || producer.hooks()) {
                            Ok(_) => {}
                            Err(StartError::Refused(StartRefusal::OwnerDisposing)) => {
                                assert!(producer.cancels().is_empty());
                            }
                            Err(other) => panic!("{other}"),
                        }
                    }
                });
            }
            begun.wait();
            let disposed = block_on(world.owner.dispose());
            assert_eq!(disposed, Ok(vec![]));
            assert_eq!(world.owner.list(), []);
        });
        assert_eq!(world.owner.list(), []);
    }
}

// contract: W4, W6, N5
#[test]
fn of_every_end_that_races_with_a_wait_exactly_one_thing_tells() {
    let runtime = threads();
    let _inside = runtime.enter();
    let world = World::with(|builder| builder.max_active_per_owner(1));
    for round in 0..500 {
        let (end, done) = tokio::sync::oneshot::channel();
        let hooks = Hooks::new(async { done.await.unwrap() });
        let id = world.owner.start(make(), || Ok::<_, Never>(hooks)).unwrap();
        let wait = world.wait(&id);
        end.send(Outcome::completed()).unwrap();
        let told = match round % 3 {
            0 => wait.abort().unwrap().is_some(),
            1 => {
                drop(wait);
                false
            }
            _ => {
                let short = world.service.wait(&id, &world.caller(), Duration::from_nanos(1));
                drop(wait);
                let waited = block_on(short);
                matches!(waited.unwrap(), Waited::Ended(_))
            }
        };
        block_until("it ended", || world.get(&id).status.is_terminal());
        let claimed = world.claim();
        assert_eq!(claimed.len(), usize::from(!told), "round {round}: {claimed:?}");
    }
}

// contract: W2
#[test]
fn a_refused_wait_says_so_to_whoever_polls_it() {
    let runtime = threads();
    let _inside = runtime.enter();
    let world = World::new();
    let id = world.start(&FakeProducer::stream());
    let wait = world.service.wait(&id, &world.caller(), Duration::ZERO);
    let waited = block_on(wait);
    assert!(matches!(waited, Err(WaitError::Refused(_))), "{waited:?}");
}
