//! What is due when.

use alloc::{collections::BTreeMap, vec::Vec};

use super::Registry;
use crate::{Command, Instant, Now, TaskKey, WaiterKey};

/// What a deadline is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Due {
    /// A wait times out.
    Wait(WaiterKey),
    /// A task that a disposal cancelled should have ended by now.
    Teardown(TaskKey),
}

/// One entry: an instant, and its place among the entries of that instant.
pub(super) type Deadline = (Instant, u64);

#[derive(Clone, Debug, Default)]
pub(super) struct Deadlines {
    entries: BTreeMap<Deadline, Due>,
    added: u64,
}

impl Deadlines {
    pub(super) fn add(&mut self, at: Instant, due: Due) -> Deadline {
        let deadline = (at, self.added);
        self.added += 1;
        self.entries.insert(deadline, due);
        deadline
    }

    pub(super) fn remove(&mut self, deadline: Deadline) {
        self.entries.remove(&deadline);
    }

    pub(super) fn next(&self) -> Option<(Instant, Due)> {
        self.entries.first_key_value().map(|(&(at, _), &due)| (at, due))
    }

    fn pop_until(&mut self, latest: Instant) -> Option<(Instant, Due)> {
        let entry = self.entries.first_entry()?;
        let at = entry.key().0;
        (at <= latest).then(|| (at, entry.remove()))
    }

    #[cfg(any(test, feature = "check"))]
    pub(super) fn iter(&self) -> impl Iterator<Item = (Deadline, Due)> {
        self.entries.iter().map(|(&deadline, &due)| (deadline, due))
    }
}

impl Registry {
    /// Carries out what is due up to and including `latest`, each at its own instant.
    pub(super) fn fire_deadlines(&mut self, now: Now, latest: Instant, out: &mut Vec<Command>) {
        while let Some((at, due)) = self.deadlines.pop_until(latest) {
            self.now = now.back_at(at.max(self.now.at));
            match due {
                Due::Wait(waiter) => self.wait_timed_out(waiter, out),
                Due::Teardown(task) => self.teardown_overdue(task, out),
            }
        }
    }
}
