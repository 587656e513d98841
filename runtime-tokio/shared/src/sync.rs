//! The one façade over the primitives that loom replaces.

#[cfg(longrun_loom)]
pub(crate) use loom::{
    sync::{Condvar, Mutex, MutexGuard},
    thread::{ThreadId, current as current_thread},
};
use std::sync::PoisonError;
#[cfg(not(longrun_loom))]
pub(crate) use std::{
    sync::{Condvar, Mutex, MutexGuard},
    thread::{ThreadId, current as current_thread},
};

/// Locks, also after a panic of somebody who held it: what it guards is only ever
/// changed in whole steps.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits on a condition, likewise.
pub(crate) fn wait<'a, T>(condition: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    condition.wait(guard).unwrap_or_else(PoisonError::into_inner)
}
