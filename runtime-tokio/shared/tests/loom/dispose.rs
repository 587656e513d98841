//! Disposals and starts.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use futures::{
    FutureExt as _,
    task::{ArcWake, waker},
};
use longrun_shared::{Disposal, core::Event};

use crate::world::{World, at_once, explore, hooks, peek, put, slot, start, take};

fn dispose(world: &World, result: &Arc<Mutex<Option<Disposal>>>) -> Box<dyn FnOnce() + Send> {
    let (owner, result) = (Arc::clone(&world.owner), Arc::clone(result));
    Box::new(move || put(&result, owner.dispose()))
}

fn is_over(disposal: Disposal) -> bool {
    disposal.now_or_never() == Some(Ok(vec![]))
}

// contract: S10, O1, O4
#[test]
fn a_disposal_and_a_start() {
    explore(
        |world| {
            let (disposal, started, cancels) = (slot(), slot(), Arc::new(Mutex::new(0)));
            let (owner, result, counted) =
                (Arc::clone(&world.owner), Arc::clone(&started), Arc::clone(&cancels));
            let hooks = hooks().on_cancel(move |_| {
                *peek(&counted) += 1;
                Ok(())
            });
            at_once([
                dispose(&world, &disposal),
                Box::new(move || put(&result, start(&owner, hooks))),
            ]);
            let mut disposal = take(&disposal);
            let disposed = world.place(|event| matches!(event, Event::DisposeOwner { .. }));
            let committed = world.place(|event| matches!(event, Event::Commit { .. }));
            let outcome = match take(&started) {
                Ok(_) => {
                    assert_eq!(*peek(&cancels), 1);
                    assert!((&mut disposal).now_or_never().is_none(), "the task is at work");
                    if disposed < committed { "inside the starter" } else { "after the start" }
                }
                Err(refusal) => {
                    assert!(refusal.contains("being disposed"), "{refusal}");
                    assert_eq!((*peek(&cancels), committed), (0, None));
                    "before the start"
                }
            };
            world.finish();
            assert!(is_over(disposal));
            outcome
        },
        &["before the start", "inside the starter", "after the start"],
    );
}

// contract: L3, O5
#[test]
fn an_end_and_a_disposal_whose_cancel_fails() {
    explore(
        |world| {
            let refusing = hooks().on_cancel(|_| Err("not now".into()));
            let id = start(&world.owner, refusing).unwrap();
            let disposal = slot();
            at_once([world.end(), dispose(&world, &disposal)]);
            let orphans = take(&disposal).now_or_never().expect("nothing is at work").unwrap();
            let ends = peek(&world.told.done).clone();
            world.finish();
            assert_eq!(ends.len(), 1, "{ends:?}");
            match ends[0].as_str() {
                "bash-1 completed" => {
                    assert_eq!(orphans, []);
                    "its own outcome"
                }
                "bash-1 failed" => {
                    assert_eq!(orphans, [id]);
                    "failed for it"
                }
                other => panic!("neither: {other}"),
            }
        },
        &["its own outcome", "failed for it"],
    );
}

#[derive(Default)]
struct Woken(AtomicBool);

impl ArcWake for Woken {
    fn wake_by_ref(this: &Arc<Self>) {
        this.0.store(true, Ordering::SeqCst);
    }
}

// contract: O2
#[test]
fn the_end_of_the_work_and_a_poll_of_its_disposal_that_must_not_miss_it() {
    explore(
        |world| {
            world.start();
            let (mut disposal, woken, polled) =
                (world.owner.dispose(), Arc::new(Woken::default()), slot());
            let (waker, result) = (waker(Arc::clone(&woken)), Arc::clone(&polled));
            at_once([
                world.end(),
                Box::new(move || {
                    let poll = disposal.poll_unpin(&mut Context::from_waker(&waker));
                    put(&result, (poll, disposal));
                }),
            ]);
            let (poll, disposal) = take(&polled);
            let outcome = match poll {
                Poll::Ready(ended) => {
                    assert_eq!(ended, Ok(vec![]));
                    "ready"
                }
                Poll::Pending => {
                    assert!(woken.0.load(Ordering::SeqCst), "it would never be polled again");
                    assert!(is_over(disposal));
                    "woken"
                }
            };
            world.finish();
            outcome
        },
        &["ready", "woken"],
    );
}

// contract: S11, C1
#[test]
fn the_last_controller_leaves_and_a_start() {
    explore(
        |world| {
            let controls = take(&world.controls);
            let (owner, started) = (Arc::clone(&world.owner), slot());
            let result = Arc::clone(&started);
            at_once([
                Box::new(move || drop(controls)),
                Box::new(move || put(&result, start(&owner, hooks()))),
            ]);
            let started = take(&started);
            assert!(start(&world.owner, hooks()).is_err(), "nothing serves it any more");
            world.finish();
            match started {
                Ok(_) => "started",
                Err(refusal) => {
                    assert!(refusal.contains("no task controller"), "{refusal}");
                    "refused"
                }
            }
        },
        &["started", "refused"],
    );
}

// contract: S8
#[test]
fn two_starts_and_one_slot() {
    explore(
        |world| {
            for _ in 0..9 {
                world.start();
            }
            let results = [slot(), slot()];
            let starts = results.each_ref().map(|result| {
                let (owner, result) = (Arc::clone(&world.owner), Arc::clone(result));
                let start = move || put(&result, start(&owner, hooks()).is_ok());
                Box::new(start) as Box<dyn FnOnce() + Send>
            });
            at_once(starts);
            let started = results.map(|result| take(&result));
            world.finish();
            match started {
                [true, false] => "the first",
                [false, true] => "the second",
                other => panic!("the limit is broken: {other:?}"),
            }
        },
        &["the first", "the second"],
    );
}
