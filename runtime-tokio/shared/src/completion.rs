//! Something that ends once, with any number of futures waiting for it.

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use crate::sync::{Mutex, lock};

pub(crate) struct Completion<T> {
    state: Mutex<State<T>>,
}

struct State<T> {
    value: Option<T>,
    wakers: Vec<(u64, Waker)>,
    futures: u64,
}

impl<T: Clone> Completion<T> {
    pub(crate) fn new() -> Arc<Self> {
        let state = State { value: None, wakers: Vec::new(), futures: 0 };
        Arc::new(Self { state: Mutex::new(state) })
    }

    /// Says with what it will end, and wakes nobody yet; only the first value counts.
    pub(crate) fn decide(&self, value: T) {
        lock(&self.state).value.get_or_insert(value);
    }

    /// What it has ended with, or will.
    pub(crate) fn value(&self) -> Option<T> {
        lock(&self.state).value.clone()
    }

    /// Ends it; only the first value counts.
    pub(crate) fn complete(&self, value: T) {
        let wakers = {
            let mut state = lock(&self.state);
            state.value.get_or_insert(value);
            std::mem::take(&mut state.wakers)
        };
        for (_, waker) in wakers {
            waker.wake();
        }
    }

    pub(crate) fn wait(self: &Arc<Self>) -> Completed<T> {
        let mut state = lock(&self.state);
        state.futures += 1;
        Completed { number: state.futures, completion: Arc::clone(self) }
    }
}

/// A future that ends with its completion.
pub(crate) struct Completed<T> {
    completion: Arc<Completion<T>>,
    number: u64,
}

impl<T: Clone> Future for Completed<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        // A waker is cloned before the lock is taken and dropped after it is released:
        // both may run anybody's code.
        let waker = context.waker().clone();
        let mut state = lock(&self.completion.state);
        if let Some(value) = &state.value {
            return Poll::Ready(value.clone());
        }
        let own = state.wakers.iter_mut().find(|(number, _)| *number == self.number);
        let replaced = match own {
            Some((_, own)) => Some(std::mem::replace(own, waker)),
            None => {
                state.wakers.push((self.number, waker));
                None
            }
        };
        drop(state);
        drop(replaced);
        Poll::Pending
    }
}

impl<T> Drop for Completed<T> {
    fn drop(&mut self) {
        let mut state = lock(&self.completion.state);
        let own = state.wakers.iter().position(|(number, _)| *number == self.number);
        let waker = own.map(|place| state.wakers.swap_remove(place));
        drop(state);
        drop(waker);
    }
}
