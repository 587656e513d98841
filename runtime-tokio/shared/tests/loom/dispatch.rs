//! Callbacks: one at a time, in order, all of them, whoever carries them out.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};

use longrun_shared::{ClaimSource, core::Event};

use crate::world::{at_once, explore, hooks, peek, put, slot, start, take};

// contract: C5, L4
#[test]
fn two_ends_and_a_listener_that_calls_in() {
    explore(
        |world| {
            let ids = [world.start(), world.start()];
            let (inside, overlap) = (AtomicBool::new(false), Arc::new(AtomicBool::new(false)));
            let seen = Arc::new(Mutex::new(Vec::new()));
            let listener = {
                let (overlap, seen) = (Arc::clone(&overlap), Arc::clone(&seen));
                let (service, caller) = (world.service.downgrade(), world.owner.caller());
                world.service.on_task_done(move |done| {
                    if inside.swap(true, Ordering::SeqCst) {
                        overlap.store(true, Ordering::SeqCst);
                    }
                    let found = service.upgrade().unwrap().kill(&done.task.id, &caller, None);
                    peek(&seen).push((done.task.id.clone(), found.is_ok()));
                    inside.store(false, Ordering::SeqCst);
                })
            };
            at_once([world.end(), world.end()]);
            assert!(!overlap.load(Ordering::SeqCst), "two callbacks ran at once");
            drop(listener);
            let seen = std::mem::take(&mut *peek(&seen));
            let [first, second] = &seen[..] else { panic!("not each end once: {seen:?}") };
            assert!(first.1 && second.1, "{seen:?}");
            assert_eq!(world.claim(), 0, "the listener's kill told");
            world.finish();
            if [&first.0, &second.0] == ids.each_ref() {
                "in the order of their starts"
            } else {
                "the other way round"
            }
        },
        &["in the order of their starts", "the other way round"],
    );
}

// contract: C1, C2
#[test]
fn an_end_and_the_drop_of_the_listeners_guard() {
    explore(
        |world| {
            world.start();
            let guard = take(&world.listener);
            let told = Arc::clone(&world.told);
            let gone = slot();
            let after = Arc::clone(&gone);
            at_once([
                world.end(),
                Box::new(move || {
                    drop(guard);
                    put(&after, peek(&told.done).len());
                }),
            ]);
            let (at_the_drop, at_the_end) = (take(&gone), peek(&world.told.done).len());
            world.finish();
            match (at_the_drop, at_the_end) {
                (0, 0) => "never called",
                (1, 1) => "called before",
                (0, 1) => "had begun",
                other => panic!("called too often: {other:?}"),
            }
        },
        &["called before", "never called"],
    );
}

// contract: N6, N3
#[test]
fn an_end_and_the_last_claim_before_going_idle() {
    explore(
        |world| {
            world.start();
            let (owner, claimed) = (Arc::clone(&world.owner), slot());
            let result = Arc::clone(&claimed);
            at_once([
                world.end(),
                Box::new(move || put(&result, owner.claim_or_idle(ClaimSource::Inbox))),
            ]);
            let outcome = match take(&claimed) {
                Some(notices) => {
                    assert_eq!(notices.len(), 1);
                    assert_eq!(*peek(&world.told.nudges), ["inject bash-1"]);
                    assert_eq!(world.claim(), 0);
                    "claimed"
                }
                None => {
                    assert_eq!(*peek(&world.told.nudges), ["wake bash-1"], "it is stranded");
                    assert_eq!(world.claim(), 1);
                    "woken"
                }
            };
            world.finish();
            outcome
        },
        &["claimed", "woken"],
    );
}

// contract: L5, C5
#[test]
fn an_end_with_a_listener_that_panics_and_a_start() {
    explore(
        |world| {
            world.start();
            let guard = world.service.on_task_done(|_| panic!("the listener is wrong")).unwrap();
            let (owner, started) = (Arc::clone(&world.owner), slot());
            let result = Arc::clone(&started);
            at_once([world.end(), Box::new(move || put(&result, start(&owner, hooks())))]);
            assert!(take(&started).is_ok());
            assert_eq!(peek(&world.stub.reports).len(), 1);
            drop(guard);
            let committed = world.place(|event| matches!(event, Event::Commit { .. }));
            let outcome = if committed < world.settled() { "started" } else { "ended" };
            assert_eq!(world.claim(), 1);
            world.finish();
            outcome
        },
        &["started", "ended"],
    );
}

// contract: C5, C3
#[test]
fn two_ends_with_more_callbacks_than_one_dispatcher_carries_out() {
    const OBSERVERS: usize = 66;
    explore(
        |world| {
            world.start();
            world.start();
            let calls = Arc::new(Mutex::new(Vec::new()));
            let guards: Vec<_> = (0..OBSERVERS)
                .map(|number| {
                    let calls = Arc::clone(&calls);
                    world.service.on_tasks_changed(move |_| peek(&calls).push(number)).unwrap()
                })
                .collect();
            at_once([world.end(), world.end()]);
            assert_eq!(peek(&calls).len(), 64, "the rest is left to the runtime");
            world.finish();
            drop(guards);
            let expected = (0..OBSERVERS).chain(0..OBSERVERS);
            assert!(peek(&calls).iter().copied().eq(expected), "{:?}", peek(&calls));
            match peek(&world.told.done)[0].as_str() {
                "bash-1 completed" => "the first one first",
                _ => "the second one first",
            }
        },
        &["the first one first", "the second one first"],
    );
}
