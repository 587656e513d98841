//! What the world still owes the registry: answers, facts on the way, requests that
//! somebody is about to make. Each is due at a moment; which of those that are due
//! comes next is drawn, so that every order is tried.

use longrun_core::{Event, Instant};

use crate::source::Source;

#[derive(Clone, Debug, Default)]
pub(crate) struct Queue {
    items: Vec<(Instant, Event)>,
    /// What comes next whatever else is due: nothing fits in between.
    urgent: Option<Event>,
}

impl Queue {
    pub(crate) fn push(&mut self, due: Instant, event: Event) {
        self.items.push((due, event));
    }

    pub(crate) fn push_urgent(&mut self, event: Event) {
        self.urgent = Some(event);
    }

    pub(crate) const fn take_urgent(&mut self) -> Option<Event> {
        self.urgent.take()
    }

    pub(crate) fn has_ready(&self, now: Instant) -> bool {
        self.items.iter().any(|(due, _)| *due <= now)
    }

    /// When something is due after `now`.
    pub(crate) fn next_due(&self, now: Instant) -> Option<Instant> {
        self.items.iter().map(|(due, _)| *due).filter(|due| *due > now).min()
    }

    /// One of those that are due.
    pub(crate) fn take_ready(&mut self, now: Instant, source: &mut Source) -> Option<Event> {
        let ready = self.items.iter().filter(|(due, _)| *due <= now).count();
        let drawn = source.below(ready);
        let mut due = self.items.iter().enumerate().filter(|(_, (due, _))| *due <= now);
        let (position, _) = due.nth(drawn)?;
        Some(self.items.swap_remove(position).1)
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }
}
