//! An observer and the end of its task.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use futures::{
    FutureExt as _, StreamExt as _, stream,
    task::{ArcWake, waker},
};
use longrun_shared::{Hooks, Outcome, core::output::Piece};

use crate::world::{at_once, explore, put, slot, start, take};

#[derive(Default)]
struct Woken(AtomicBool);

impl ArcWake for Woken {
    fn wake_by_ref(this: &Arc<Self>) {
        this.0.store(true, Ordering::SeqCst);
    }
}

/// A task that writes as its last deed, and is observed without being woken for that.
fn last_words() -> Hooks {
    let written = Arc::new(AtomicBool::new(false));
    let write = Arc::clone(&written);
    let done = async move {
        write.store(true, Ordering::SeqCst);
        Outcome::completed()
    };
    Hooks::new(done).stream(|| Ok(String::new())).observe(move |offset| {
        let written = Arc::clone(&written);
        let mut piece = Some(Piece {
            stream: None,
            offset,
            dropped: 0,
            text: "last words".to_owned(),
            next: offset + 10,
        });
        stream::poll_fn(move |_| match written.load(Ordering::SeqCst) {
            true => Poll::Ready(piece.take()),
            false => Poll::Pending,
        })
    })
}

// contract: R6
#[test]
fn an_observer_and_an_end() {
    explore(
        |world| {
            let id = start(&world.owner, last_words()).unwrap();
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
            let mut next = || observer.next().now_or_never().expect("the end has come");
            let (outcome, observed) = match polled {
                Poll::Ready(observed) => ("told at once", observed),
                Poll::Pending => {
                    assert!(woken.0.load(Ordering::SeqCst), "the end came and woke nobody");
                    ("woken", next())
                }
            };
            let observed = observed.unwrap();
            assert_eq!((observed.text.as_str(), observed.end), ("last words", false));
            assert!(next().unwrap().end);
            assert_eq!(next(), None);
            assert_eq!(world.claim(), 1, "an observer told the owner");
            world.finish();
            outcome
        },
        &["told at once", "woken"],
    );
}
