//! The state, freed of names and history.
//!
//! Two histories that come to the same canonical state can go on in the same ways.
//! Keys, ids, counters and clock readings are left out; what they decide (order,
//! identity, what is due when from now) is kept as places in lists and as distances.

use std::hash::{Hash, Hasher};

use super::Model;

impl Model {
    /// Feeds the canonical state to a hasher.
    pub(crate) fn canonical(&self, hasher: &mut impl Hasher) {
        self.stage().hash(hasher);
        for scope in &self.scopes {
            (scope.parent, scope.closed).hash(hasher);
        }
        for controller in &self.controllers {
            let notices = controller.notices.map(|n| (n.delivery as u8, n.max_consecutive_wakes));
            (controller.scope, notices, controller.gone).hash(hasher);
        }
        for registration in &self.listeners {
            (registration.scope, registration.gone, 1_u8).hash(hasher);
        }
        for registration in &self.observers {
            (registration.scope, registration.gone, 2_u8).hash(hasher);
        }
        for owner in &self.owners {
            (&owner.session, owner.scope, owner.life()).hash(hasher);
            (owner.is_busy(), owner.wakes(), owner.orphans().len()).hash(hasher);
        }
        for start in self.starts.iter().filter(|start| !start.over) {
            (start.owner, &start.request.kind, start.request.notice as u8, 3_u8).hash(hasher);
        }
        for index in 0..self.tasks.len() {
            self.canonical_task(index, hasher);
        }
        // Of what is over only the number counts: a search limits how many there are.
        (self.starts.len(), self.waits.len(), self.kills.len(), self.reads.len()).hash(hasher);
        for wait in self.waits.iter().filter(|wait| !wait.over) {
            let due = wait.is_waiting().then(|| wait.due.0.saturating_sub(self.now.at.0));
            let timed_out = wait.timed_out.as_ref().map(|snapshot| snapshot.status);
            (wait.task, due, wait.is_promised(), timed_out, 4_u8).hash(hasher);
        }
        for kill in self.kills.iter().filter(|kill| !kill.over) {
            (kill.task, kill.promised.is_some(), 5_u8).hash(hasher);
        }
        for read in self.reads.iter().filter(|read| !read.over) {
            (read.task, read.terminal, 6_u8).hash(hasher);
        }
        self.canonical_order(hasher);
    }

    fn canonical_task(&self, index: usize, hasher: &mut impl Hasher) {
        let task = &self.tasks[index];
        (task.owner, &task.kind, task.mode as u8, task.preference as u8).hash(hasher);
        (task.status(), task.is_told(), task.is_on_record(), task.notice()).hash(hasher);
        task.stop().map(|stop| stop.by as u8).hash(hasher);
        for cause in task.unanswered() {
            (cause as u8).hash(hasher);
        }
        task.teardown_due().map(|(at, _)| at.0.saturating_sub(self.now.at.0)).hash(hasher);
    }

    /// The order of what is pending and of what is due, which serial numbers decide.
    fn canonical_order(&self, hasher: &mut impl Hasher) {
        let tasks = self.tasks.iter().enumerate();
        let mut pending: Vec<_> =
            tasks.filter_map(|(index, task)| Some((task.pending_since()?, index))).collect();
        pending.sort_unstable();
        pending.iter().for_each(|(_, index)| index.hash(hasher));
        let tasks = self.tasks.iter().enumerate();
        let mut due: Vec<_> =
            tasks.filter_map(|(index, task)| Some((task.teardown_due()?, index))).collect();
        due.sort_unstable();
        due.iter().for_each(|(_, index)| index.hash(hasher));
    }
}
