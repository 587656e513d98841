//! An observer and the end of its task.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use futures::{
    FutureExt as _, StreamExt as _,
    task::{ArcWake, waker},
};

use crate::world::{at_once, explore, put, slot, take};

#[derive(Default)]
struct Woken(AtomicBool);

impl ArcWake for Woken {
    fn wake_by_ref(this: &Arc<Self>) {
        this.0.store(true, Ordering::SeqCst);
    }
}

// contract: R6
#[test]
fn an_observer_and_an_end() {
    explore(
        |world| {
            let id = world.start();
            let (service, caller) = (world.service.clone(), world.owner.caller());
            let (woken, result) = (Arc::new(Woken::default()), slot());
            let (waking, observing) = (Arc::clone(&woken), Arc::clone(&result));
            let look = Box::new(move || {
                let mut observer = service.observe(&id, &caller, 0).unwrap();
                let waker = waker(waking);
                let polled = observer.poll_next_unpin(&mut Context::from_waker(&waker));
                put(&observing, (observer, polled));
            });
            at_once([world.end(), look]);
            let (mut observer, polled) = take(&result);
            let outcome = match polled {
                Poll::Ready(observed) => {
                    assert!(observed.unwrap().end);
                    "told at once"
                }
                Poll::Pending => {
                    assert!(woken.0.load(Ordering::SeqCst), "the end came and woke nobody");
                    assert!(observer.next().now_or_never().unwrap().unwrap().end);
                    "woken"
                }
            };
            assert_eq!(observer.next().now_or_never(), Some(None));
            assert_eq!(world.claim(), 1, "an observer told the owner");
            world.finish();
            outcome
        },
        &["told at once", "woken"],
    );
}
