//! The small worlds of the exhaustive search: what there may be at most, and which
//! events can come next.

use std::time::Duration;

use longrun_core::{
    ClaimSource, Config, Delivery, Event, NoticePolicy, NoticePreference, Outcome, OutputMode,
    SessionId, StartRequest,
};

use crate::model::{
    Model,
    entities::{Life, Owner, Stage},
};

/// A small world.
#[derive(Debug)]
pub struct SmallWorld {
    /// The name to choose it by.
    pub name: &'static str,
    /// What it is for.
    pub text: &'static str,
    /// The sessions of its owners: one that comes twice is a replacement.
    pub(crate) sessions: &'static [&'static str],
    /// How many tasks, waits, kills and reads there may be in all.
    pub(crate) tasks: usize,
    pub(crate) waits: usize,
    pub(crate) kills: usize,
    pub(crate) reads: usize,
    /// Whether owners claim, change between busy and idle, and are woken.
    pub(crate) notices: bool,
    /// Whether owners are disposed and dropped.
    pub(crate) disposals: bool,
    pub(crate) shutdown: bool,
    /// Whether starters and cancels fail.
    pub(crate) faults: bool,
    /// Whether there is a listener and an observer.
    pub(crate) registrations: bool,
    pub(crate) max_active: usize,
    pub(crate) teardown_deadline: bool,
}

const NOTHING: SmallWorld = SmallWorld {
    name: "",
    text: "",
    sessions: &["ann"],
    tasks: 1,
    waits: 0,
    kills: 0,
    reads: 0,
    notices: false,
    disposals: false,
    shutdown: false,
    faults: false,
    registrations: false,
    max_active: 2,
    teardown_deadline: false,
};

/// All of them.
pub const WORLDS: &[SmallWorld] = &[
    SmallWorld {
        name: "tellers",
        text: "one task, two waits, a kill and a read: who tells of its end?",
        waits: 2,
        kills: 1,
        reads: 1,
        notices: true,
        faults: true,
        ..NOTHING
    },
    SmallWorld {
        name: "kills",
        text: "one task and three kills of it, some of which fail",
        kills: 3,
        waits: 1,
        faults: true,
        ..NOTHING
    },
    SmallWorld {
        name: "replacement",
        text: "two owners of one session and one of another, two tasks",
        sessions: &["ann", "ann", "ben"],
        tasks: 2,
        waits: 1,
        notices: true,
        disposals: true,
        ..NOTHING
    },
    SmallWorld {
        name: "teardown",
        text: "two owners, two tasks, disposals and the shutdown, cancels that fail",
        sessions: &["ann", "ben"],
        tasks: 2,
        disposals: true,
        shutdown: true,
        faults: true,
        registrations: true,
        teardown_deadline: true,
        ..NOTHING
    },
    SmallWorld {
        name: "limit",
        text: "one slot, three starts, a starter that fails, a stopping task",
        tasks: 3,
        kills: 1,
        disposals: true,
        faults: true,
        max_active: 1,
        ..NOTHING
    },
    SmallWorld {
        name: "pairs",
        text: "two owners, two tasks, two waits, a kill, a read, notices, everything that ends",
        sessions: &["ann", "ben"],
        tasks: 2,
        waits: 2,
        kills: 1,
        reads: 1,
        notices: true,
        disposals: true,
        shutdown: true,
        faults: true,
        ..NOTHING
    },
];

impl SmallWorld {
    pub(crate) fn config(&self) -> Config {
        Config {
            max_active_per_owner: self.max_active,
            teardown_deadline: self.teardown_deadline.then_some(Duration::from_millis(3)),
            ..Config::default()
        }
    }

    /// What there is before anything is tried.
    pub(crate) fn prelude(&self) -> Vec<Event> {
        let notices = NoticePolicy { delivery: Delivery::Wakeup, max_consecutive_wakes: 1 };
        let notices = Some(notices).filter(|_| self.notices);
        let mut events = vec![Event::AttachController { scope: None, notices }];
        if self.registrations {
            events.push(Event::AddListener { scope: None });
            events.push(Event::AddObserver { scope: None });
        }
        let session = SessionId::new(self.sessions[0]);
        events.push(Event::OpenOwner { session, scope: None, busy: false });
        events
    }

    /// Everything that can come next.
    pub(crate) fn choices(&self, model: &Model) -> Vec<Event> {
        let mut events = Vec::new();
        if let Some(session) = self.sessions.get(model.owners.len()) {
            let session = SessionId::new(session);
            events.push(Event::OpenOwner { session, scope: None, busy: false });
        }
        for (index, owner) in model.owners.iter().enumerate() {
            self.owner_choices(model, index, owner, &mut events);
        }
        self.start_choices(model, &mut events);
        self.task_choices(model, &mut events);
        self.answer_choices(model, &mut events);
        if self.shutdown && model.stage() == Stage::Open {
            events.push(Event::Shutdown);
        }
        if model.next_deadline().is_some() {
            events.push(Event::Tick);
        }
        events
    }

    fn owner_choices(&self, model: &Model, index: usize, owner: &Owner, events: &mut Vec<Event>) {
        let (key, life) = (owner.key, owner.life());
        let registered = model.registered(&owner.session) == Some(index);
        if model.starts.len() < self.tasks && registered && life == Life::Live {
            events.push(Event::Reserve(StartRequest {
                kind: "t".into(),
                label: "a".into(),
                output_limit_bytes: None,
                owner: Some(key),
                notice: NoticePreference::AsMounted,
            }));
        }
        if self.notices && life == Life::Live {
            let (user, inbox) = (ClaimSource::User, ClaimSource::Inbox);
            events.push(Event::Claim { owner: key, source: inbox, or_idle: true });
            events.push(Event::Claim { owner: key, source: user, or_idle: false });
            events.push(Event::BusyChanged { owner: key, busy: !owner.is_busy() });
        }
        if self.disposals && life == Life::Live {
            events.push(Event::DisposeOwner { owner: key });
        }
        if self.disposals && life != Life::Gone {
            events.push(Event::OwnerDropped { owner: key });
        }
    }

    fn start_choices(&self, model: &Model, events: &mut Vec<Event>) {
        for start in model.starts.iter().filter(|start| !start.over) {
            events.push(Event::Commit { reservation: start.key, output: OutputMode::Stream });
            if self.faults {
                events.push(Event::Release { reservation: start.key });
            }
        }
    }

    fn task_choices(&self, model: &Model, events: &mut Vec<Event>) {
        for task in model.tasks.iter().filter(|task| task.is_on_record()) {
            let (id, caller) = (&task.id, &task.session);
            if task.is_live() {
                events.push(Event::Settled { task: task.key, outcome: Outcome::completed() });
            }
            if task.unanswered().next().is_some() {
                events.push(Event::CancelAnswered { task: task.key, error: None });
                if self.faults {
                    events.push(Event::CancelAnswered { task: task.key, error: Some("e".into()) });
                }
            }
            if model.waits.len() < self.waits {
                let timeout = Duration::from_millis(2 + model.waits.len() as u64);
                events.push(Event::Wait { id: id.clone(), caller: caller.clone(), timeout });
            }
            if model.kills.len() < self.kills {
                let (id, caller) = (id.clone(), caller.clone());
                events.push(Event::Kill { id, caller, reason: None });
            }
            if model.reads.len() < self.reads {
                events.push(Event::Read { id: id.clone(), caller: caller.clone() });
            }
        }
    }

    fn answer_choices(&self, model: &Model, events: &mut Vec<Event>) {
        for wait in model.waits.iter().filter(|wait| !wait.over) {
            let waiter = wait.key;
            if !wait.is_waiting() {
                events.push(Event::TakeWait { waiter });
            }
            events.push(Event::AbortWait { waiter });
            events.push(Event::WaitDropped { waiter });
        }
        for kill in model.kills.iter().filter(|kill| !kill.over) {
            events.push(Event::KillAnswered { kill: kill.key, accepted: true });
            if self.faults {
                events.push(Event::KillAnswered { kill: kill.key, accepted: false });
            }
        }
        for read in model.reads.iter().filter(|read| !read.over) {
            events.push(Event::ReadEnded { read: read.key, delivered: true });
            if self.faults {
                events.push(Event::ReadEnded { read: read.key, delivered: false });
            }
        }
    }
}
