//! Every invariant, in one place.
//!
//! `check` walks the whole state and panics with what is wrong. It runs after every
//! event in tests, in the simulation and under the fuzzer.

use super::{
    Registry,
    deadlines::Due,
    owners::{Bucket, Life, Stage},
    tasks::{Notice, Task},
    waiters::Waiting,
};
use crate::{NoticePreference, OwnerKey, TaskKey};

impl Registry {
    /// Panics if the state breaks any of its invariants.
    ///
    /// # Panics
    ///
    /// With the invariant and the task or owner that breaks it: a bug of the core.
    pub fn check(&self) {
        self.check_tasks();
        self.check_buckets();
        self.check_waits_and_kills();
        self.check_deadlines();
        self.check_lives();
    }

    fn check_tasks(&self) {
        for (key, task) in self.tasks.iter() {
            let id = &task.id;
            // contract: S1
            assert!(id.kind() == &*task.kind && id.number() >= 1, "{id} is not of its kind");
            let found = self.tasks.reach(id, task.session.as_ref()).map(|(key, _)| key);
            assert_eq!(found, Ok(key), "{id} is not found by its own session");
            // contract: L1, L8
            assert_eq!(task.finished_at_ms.is_some(), !task.is_live(), "{id}: end and finish");
            assert!(task.finished_at_ms.is_none_or(|end| end >= task.started_at_ms), "{id}: clock");
            assert!(task.session.is_some() == task.owner.is_some(), "{id}: owner and session");
            assert!(!task.label.is_empty() && task.output_limit_bytes != Some(0), "{id}: S2");
            if task.is_live() {
                assert_eq!(task.promises, 0, "{id} lives, and was promised as ended");
                assert_eq!(task.notice, Notice::None, "{id} lives, and its end was announced");
            } else {
                assert!(task.waiters.is_empty(), "{id} has ended, and something waits for it");
                self.check_told(key, task);
            }
        }
    }

    /// Exactly one first teller, and never none.
    // contract: N1, N2, W6, K5
    fn check_told(&self, key: TaskKey, task: &Task) {
        let pending = matches!(task.notice, Notice::Pending { .. });
        let id = &task.id;
        assert!(!(task.reported() && pending), "{id} was told, and its notice is still pending");
        let owner = task.owner.and_then(|owner| self.owners.get(owner));
        let listed = owner.is_some_and(|owner| owner.pending.contains(&key));
        assert_eq!(pending, listed, "{id}: pending and listed as pending");
        let owed = owner.is_some_and(|owner| owner.life == Life::Live)
            && self.service.stage == Stage::Open
            && task.preference != NoticePreference::Never;
        assert!(
            !owed || task.reported() || task.notice != Notice::None,
            "{id} has ended, and nothing tells its owner"
        );
    }

    fn check_buckets(&self) {
        self.check_bucket(None, self.owners.unowned());
        for (key, owner) in self.owners.iter() {
            self.check_bucket(Some(key), &owner.bucket);
        }
        let in_buckets: usize = self.owners.iter().map(|(_, owner)| owner.bucket.tasks.len()).sum();
        let in_buckets = in_buckets + self.owners.unowned().tasks.len();
        assert_eq!(self.tasks.iter().count(), in_buckets, "each task is in one bucket");
        let live = self.tasks.iter().filter(|(_, task)| task.is_live()).count();
        assert_eq!(self.tasks.live(), live, "the count of live tasks");
    }

    fn check_bucket(&self, owner: Option<OwnerKey>, bucket: &Bucket) {
        let tasks = || bucket.tasks.iter().map(|&key| self.tasks.get(key).expect("a listed task"));
        assert!(tasks().all(|task| task.owner == owner), "{owner:?} lists a task of another");
        // contract: S8
        assert_eq!(tasks().filter(|task| task.is_live()).count(), bucket.active, "{owner:?}");
        let reserved = self.reservations.iter().filter(|(_, r)| r.request.owner == owner).count();
        assert_eq!(reserved, bucket.reserved, "{owner:?}: starts in flight");
        let limit = self.config.max_active_per_owner;
        assert!(bucket.active + bucket.reserved <= limit, "{owner:?} is over its limit");
    }

    fn check_waits_and_kills(&self) {
        for (key, waiter) in self.waiters.waiters.iter() {
            if let Waiting::ForEnd { place, .. } = waiter.state {
                let task = self.tasks.get(waiter.task).expect("a wait is on a task on record");
                assert_eq!(task.waiters.get(&place), Some(&key), "{} forgot a wait", task.id);
            }
        }
        self.check_reads();
        for (key, task) in self.tasks.iter() {
            // contract: W6, K5
            let waits = self.waiters.waiters.iter().filter(|(_, waiter)| {
                waiter.task == key && matches!(waiter.state, Waiting::Promised(_))
            });
            let kills = self.kills.iter();
            let kills = kills.filter(|(_, kill)| kill.task == key && kill.promised.is_some());
            assert_eq!(task.promises, waits.count() + kills.count(), "{}: promises", task.id);
            for waiter in task.waiters.values() {
                assert!(self.waiters.waiters.get(*waiter).is_some(), "{}: a dead wait", task.id);
            }
            for kill in &task.kills {
                assert!(self.kills.get(*kill).is_some(), "{}: a dead kill", task.id);
            }
        }
    }

    /// A read is on its task from beginning to end, alone, and outlives its record at most.
    // contract: R3
    fn check_reads(&self) {
        for (key, reading) in self.reads.iter() {
            let Some(task) = self.tasks.get(reading.task) else { continue };
            assert_eq!(task.reading, Some(key), "{}: a read beside another", task.id);
            assert!(
                !reading.terminal || !task.is_live(),
                "{} lives, and was read to its end",
                task.id
            );
        }
        for (key, task) in self.tasks.iter() {
            let reading = task.reading.map(|read| self.reads.get(read));
            let of = reading.map(|reading| reading.map(|reading| reading.task));
            assert!(of.is_none_or(|of| of == Some(key)), "{}: its read has ended", task.id);
        }
    }

    fn check_deadlines(&self) {
        // contract: W7
        for (deadline, due) in self.deadlines.iter() {
            assert!(deadline.0 > self.now.at, "{due:?} is due and was not carried out");
            match due {
                Due::Wait(waiter) => {
                    let waiter = self.waiters.waiters.get(waiter).expect("a timer of a live wait");
                    let Waiting::ForEnd { deadline: own, .. } = waiter.state else {
                        panic!("a wait that is over still has a timer")
                    };
                    assert_eq!(own, deadline, "a wait has a timer that it does not know");
                }
                Due::Teardown(task) => {
                    let task = self.tasks.get(task).expect("a timer of a task on record");
                    assert!(task.is_live(), "{} has ended and still has a timer", task.id);
                    assert_eq!(task.teardown.deadline, Some(deadline), "{}: timer", task.id);
                }
            }
        }
    }

    /// A disposal ends exactly when its work has.
    // contract: O2, O4, T1
    fn check_lives(&self) {
        for (key, owner) in self.owners.iter() {
            match owner.life {
                Life::Live => {}
                Life::Disposing => {
                    assert!(!owner.bucket.is_at_rest(), "{key:?}: its disposal should have ended");
                }
                Life::Disposed => {
                    assert!(owner.bucket.tasks.is_empty(), "{key:?} is disposed and has tasks");
                }
            }
            assert!(owner.life == Life::Live || owner.pending.is_empty(), "{key:?}: a late notice");
        }
        match self.service.stage {
            Stage::Open => {}
            Stage::Closing => {
                let at_work = self.tasks.iter().any(|(_, task)| task.is_live());
                assert!(at_work || self.reservations.len() > 0, "the shutdown should have ended");
            }
            Stage::Closed => assert_eq!(self.tasks.iter().count(), 0, "shut down and not empty"),
        }
    }
}
