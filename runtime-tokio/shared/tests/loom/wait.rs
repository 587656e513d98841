//! An end and a wait for it: one of them tells the owner, and exactly one.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use futures::{
    FutureExt as _,
    task::{ArcWake, waker},
};
use longrun_shared::{
    Wait, Waited,
    core::{Event, Instant},
};

use crate::world::{World, at_once, explore, put, slot, take};

const A_MINUTE: Duration = Duration::from_secs(60);

fn wait(world: &World) -> Wait {
    let id = world.owner.list().pop().unwrap().id;
    world.service.wait(&id, &world.owner.caller(), A_MINUTE)
}

// contract: W3, W4, N2
#[test]
fn an_end_and_an_abort() {
    explore(
        |world| {
            world.start();
            let (wait, aborted) = (wait(&world), slot());
            let result = Arc::clone(&aborted);
            at_once([world.end(), Box::new(move || put(&result, wait.abort().unwrap()))]);
            let taken = take(&aborted);
            assert!(!matches!(taken, Some(Waited::TimedOut(_))));
            assert_eq!(world.claim(), usize::from(taken.is_none()));
            world.finish();
            if taken.is_some() { "the wait told" } else { "the notice told" }
        },
        &["the notice told", "the wait told"],
    );
}

// contract: W6
#[test]
fn an_end_and_the_drop_of_the_wait() {
    explore(
        |world| {
            world.start();
            let wait = wait(&world);
            at_once([world.end(), Box::new(move || drop(wait))]);
            assert_eq!(world.claim(), 1, "nobody else told");
            let dropped = world.place(|event| matches!(event, Event::WaitDropped { .. }));
            let outcome = if dropped < world.settled() {
                "never promised"
            } else {
                "promised and given back"
            };
            world.finish();
            outcome
        },
        &["never promised", "promised and given back"],
    );
}

#[derive(Default)]
struct Woken(AtomicBool);

impl ArcWake for Woken {
    fn wake_by_ref(this: &Arc<Self>) {
        this.0.store(true, Ordering::SeqCst);
    }
}

// contract: W1, L4
#[test]
fn an_end_and_a_poll_that_must_not_miss_it() {
    explore(
        |world| {
            world.start();
            let (mut wait, polled, woken) = (wait(&world), slot(), Arc::new(Woken::default()));
            let (result, waker) = (Arc::clone(&polled), waker(Arc::clone(&woken)));
            at_once([
                world.end(),
                Box::new(move || {
                    let poll = wait.poll_unpin(&mut Context::from_waker(&waker));
                    put(&result, (poll, wait));
                }),
            ]);
            let (poll, wait) = take(&polled);
            let outcome = match poll {
                Poll::Ready(waited) => {
                    assert!(matches!(waited, Ok(Waited::Ended(_))));
                    "ready"
                }
                Poll::Pending => {
                    assert!(woken.0.load(Ordering::SeqCst), "it would never be polled again");
                    assert!(matches!(wait.now_or_never(), Some(Ok(Waited::Ended(_)))));
                    "woken"
                }
            };
            assert_eq!(world.claim(), 0);
            world.finish();
            outcome
        },
        &["ready", "woken"],
    );
}

// contract: W5, W6
#[test]
fn an_end_with_one_wait_that_is_taken_and_one_that_is_dropped() {
    explore(
        |world| {
            world.start();
            let (dropped, taken, result) = (wait(&world), wait(&world), slot());
            let filed = Arc::clone(&result);
            at_once([
                world.end(),
                Box::new(move || drop(dropped)),
                Box::new(move || put(&filed, taken.abort().unwrap())),
            ]);
            let taken = take(&result).is_some();
            assert_eq!(world.claim(), usize::from(!taken));
            world.finish();
            if taken { "the wait told" } else { "the notice told" }
        },
        &["the notice told", "the wait told"],
    );
}

// contract: W7, W1
#[test]
fn a_wait_and_the_timer_that_must_not_oversleep() {
    explore(
        |world| {
            let id = world.start();
            let weak = world.service.downgrade();
            let (service, caller) = (world.service.clone(), world.owner.caller());
            let (ticked, waiting) = (slot(), slot());
            let (next, wait) = (Arc::clone(&ticked), Arc::clone(&waiting));
            at_once([
                Box::new(move || put(&next, weak.tick().unwrap())),
                Box::new(move || put(&wait, service.wait(&id, &caller, A_MINUTE))),
            ]);
            let told: Option<Instant> = take(&ticked);
            let rearmed = *world.stub.rearmed.lock().unwrap();
            assert!(told.is_some() || rearmed > 0, "the timer sleeps for ever");
            drop(take(&waiting));
            world.finish();
            if told.is_some() { "the tick saw it" } else { "the timer was re-armed" }
        },
        &["the tick saw it", "the timer was re-armed"],
    );
}
