//! One reader of a task at a time, whether it waits with its thread or as a future.

use std::{
    collections::VecDeque,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use crate::{
    panics,
    sync::{Condvar, Mutex, ThreadId, current_thread, lock, wait},
};

/// Lets one reader in at a time.
///
/// While nobody reads, the first of those that wait as futures has been woken. A thread
/// may come before it; then it is woken again.
pub(crate) struct Gate {
    state: Mutex<State>,
    free: Condvar,
}

struct State {
    reading: Option<Reader>,
    /// Who waits as a future, in order. A waker is there until it is used.
    queue: VecDeque<(u64, Option<Waker>)>,
    /// How many have ever waited as a future.
    queued: u64,
}

#[derive(Clone, Copy)]
enum Reader {
    /// It is over when that thread's call returns.
    Thread(ThreadId),
    /// It is over when somebody says so.
    Held,
}

impl Gate {
    pub(crate) fn new() -> Arc<Self> {
        let state = State { reading: None, queue: VecDeque::new(), queued: 0 };
        Arc::new(Self { state: Mutex::new(state), free: Condvar::new() })
    }

    /// Waits for one's turn with this thread. `None`: what has been read is held, or it is
    /// this very thread that is reading, and a wait might never end.
    pub(crate) fn enter(self: &Arc<Self>) -> Option<Turn> {
        let me = current_thread().id();
        let mut state = lock(&self.state);
        loop {
            match state.reading {
                None => break,
                Some(Reader::Thread(reader)) if reader != me => state = wait(&self.free, state),
                Some(Reader::Thread(_) | Reader::Held) => return None,
            }
        }
        state.reading = Some(Reader::Thread(me));
        Some(Turn { gate: Arc::clone(self) })
    }

    /// Waits for one's turn as a future. The turn may then be held for as long as one likes.
    pub(crate) fn turn(self: &Arc<Self>) -> InTurn {
        InTurn { gate: Arc::clone(self), place: None }
    }
}

impl State {
    /// Whom to wake, if nobody reads.
    fn next(&mut self) -> Option<Waker> {
        match self.reading {
            None => self.queue.front_mut().and_then(|(_, waker)| waker.take()),
            Some(_) => None,
        }
    }
}

/// A reader's turn; it ends when this is dropped.
pub(crate) struct Turn {
    gate: Arc<Gate>,
}

impl Drop for Turn {
    fn drop(&mut self) {
        let next = {
            let mut state = lock(&self.gate.state);
            state.reading = None;
            state.next()
        };
        self.gate.free.notify_one();
        wake(next);
    }
}

/// A wait for one's turn. Dropping it leaves the queue.
pub(crate) struct InTurn {
    gate: Arc<Gate>,
    /// In the queue, once it was polled in vain.
    place: Option<u64>,
}

impl Future for InTurn {
    type Output = Turn;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Turn> {
        // A waker is cloned before the lock is taken and dropped after it is released:
        // both may run anybody's code.
        let mut waker = Some(context.waker().clone());
        let gate = Arc::clone(&self.gate);
        let mut state = lock(&gate.state);
        let is_first = state.queue.front().is_none_or(|(first, _)| Some(*first) == self.place);
        if is_first && state.reading.is_none() {
            if self.place.take().is_some() {
                waker = state.queue.pop_front().and_then(|(_, waker)| waker);
            }
            state.reading = Some(Reader::Held);
            drop(state);
            drop(waker);
            return Poll::Ready(Turn { gate });
        }
        match self.place {
            Some(place) => {
                let own = state.queue.iter_mut().find(|(queued, _)| *queued == place);
                let (_, own) = own.expect("who waits is in the queue");
                std::mem::swap(own, &mut waker);
            }
            None => {
                let place = state.queued;
                state.queued += 1;
                state.queue.push_back((place, waker.take()));
                self.place = Some(place);
            }
        }
        drop(state);
        drop(waker);
        Poll::Pending
    }
}

impl Drop for InTurn {
    fn drop(&mut self) {
        let Some(place) = self.place else { return };
        let (own, next) = {
            let mut state = lock(&self.gate.state);
            let own = state.queue.iter().position(|(queued, _)| *queued == place);
            let own = own.and_then(|own| state.queue.remove(own));
            // It may have been woken and not have come.
            (own, state.next())
        };
        drop(own);
        wake(next);
    }
}

fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        // The panic has been printed; there is nowhere else to say it.
        let _ = panics::caught(|| waker.wake());
    }
}
