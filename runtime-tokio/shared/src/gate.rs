//! One reader of a task at a time, whether it waits with its thread or as a future.

use std::{
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
/// All that wait as futures are woken when a turn has ended, in the order in which they
/// came, and the first that comes is served. So one that is not polled holds nobody up.
pub(crate) struct Gate {
    state: Mutex<State>,
    free: Condvar,
}

struct State {
    reading: Option<Reader>,
    /// Who waits as a future and has not been woken, in order.
    waiting: Vec<(u64, Waker)>,
    futures: u64,
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
        let state = State { reading: None, waiting: Vec::new(), futures: 0 };
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
        let mut state = lock(&self.state);
        state.futures += 1;
        InTurn { gate: Arc::clone(self), number: state.futures }
    }
}

/// A reader's turn; it ends when this is dropped.
pub(crate) struct Turn {
    gate: Arc<Gate>,
}

impl Drop for Turn {
    fn drop(&mut self) {
        let waiting = {
            let mut state = lock(&self.gate.state);
            state.reading = None;
            std::mem::take(&mut state.waiting)
        };
        self.gate.free.notify_one();
        for (_, waker) in waiting {
            // The panic has been printed; there is nowhere else to say it.
            let _ = panics::caught(|| waker.wake());
        }
    }
}

/// A wait for one's turn.
pub(crate) struct InTurn {
    gate: Arc<Gate>,
    number: u64,
}

impl Future for InTurn {
    type Output = Turn;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Turn> {
        // A waker is cloned before the lock is taken and dropped after it is released:
        // both may run anybody's code.
        let waker = context.waker().clone();
        let mut state = lock(&self.gate.state);
        let own = state.waiting.iter().position(|(number, _)| *number == self.number);
        let replaced = match (state.reading, own) {
            (None, own) => {
                state.reading = Some(Reader::Held);
                let replaced = own.map(|own| state.waiting.remove(own).1);
                drop(state);
                drop((replaced, waker));
                return Poll::Ready(Turn { gate: Arc::clone(&self.gate) });
            }
            (Some(_), Some(own)) => Some(std::mem::replace(&mut state.waiting[own].1, waker)),
            (Some(_), None) => {
                state.waiting.push((self.number, waker));
                None
            }
        };
        drop(state);
        drop(replaced);
        Poll::Pending
    }
}

impl Drop for InTurn {
    fn drop(&mut self) {
        let mut state = lock(&self.gate.state);
        let own = state.waiting.iter().position(|(number, _)| *number == self.number);
        let own = own.map(|own| state.waiting.remove(own));
        drop(state);
        drop(own);
    }
}
