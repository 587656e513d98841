//! What a run has reached: which of the things that should happen sometimes did, and
//! which event met which phase.

use longrun_core::{
    AccessRefusal, Command, Delivery, Event, KillRefusal, Lane, Now, OwnerKey, ReadRefusal,
    Refusal, Reply, StartRefusal, Status, WaitRefusal, Warning,
};

use crate::{
    model::{
        Answer, Model,
        entities::{Life, Read, Stage},
    },
    property::{Property, Seen},
};

/// What an event is about, by the phase that it finds it in.
const PHASES: [&str; 16] = [
    "service open",
    "service closing",
    "service closed",
    "owner live",
    "owner replaced",
    "owner disposing",
    "owner disposed",
    "owner gone",
    "task running",
    "task stopping",
    "task completed",
    "task killed",
    "task failed",
    "task gone",
    "promise open",
    "promise over",
];

/// The events, by what they are about.
const EVENTS: [(&str, Subject); 28] = [
    ("tick", Subject::Service),
    ("open-scope", Subject::Service),
    ("close-scope", Subject::Service),
    ("attach-controller", Subject::Service),
    ("controller-detached", Subject::Service),
    ("add-listener", Subject::Service),
    ("listener-removed", Subject::Service),
    ("add-observer", Subject::Service),
    ("observer-removed", Subject::Service),
    ("open-owner", Subject::Service),
    ("busy-changed", Subject::Owner),
    ("claim", Subject::Owner),
    ("dispose-owner", Subject::Owner),
    ("owner-dropped", Subject::Owner),
    ("reserve", Subject::Owner),
    ("commit", Subject::Owner),
    ("release", Subject::Owner),
    ("settled", Subject::Task),
    ("broke", Subject::Task),
    ("cancel-answered", Subject::Task),
    ("read", Subject::Task),
    ("read-ended", Subject::Task),
    ("kill", Subject::Task),
    ("kill-answered", Subject::Task),
    ("wait", Subject::Task),
    ("take-wait", Subject::Task),
    ("abort-wait", Subject::Task),
    ("wait-dropped", Subject::Task),
];

const SHUTDOWN: usize = 28;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subject {
    Service,
    Owner,
    Task,
}

/// Which event met which phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pairs([u32; PHASES.len()]);

impl Pairs {
    fn insert(&mut self, phase: usize, event: usize) {
        self.0[phase] |= 1 << event;
    }

    /// Adds all of another set.
    pub fn extend(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(mine, theirs)| *mine |= theirs);
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.iter().map(|events| events.count_ones() as usize).sum()
    }

    /// Each phase with the events that met it, and those that could have and did not.
    pub fn rows(
        &self,
    ) -> impl Iterator<Item = (&'static str, Vec<&'static str>, Vec<&'static str>)> {
        PHASES.iter().enumerate().map(|(phase, &name)| {
            let events = (0..=SHUTDOWN).filter(|&event| is_possible(phase, event));
            let (met, missed): (Vec<usize>, Vec<usize>) =
                events.partition(|&event| self.0[phase] & (1 << event) != 0);
            let named = |events: Vec<usize>| events.into_iter().map(event_name).collect();
            (name, named(met), named(missed))
        })
    }

    /// How many there can be.
    #[must_use]
    pub fn possible() -> usize {
        let phases = 0..PHASES.len();
        phases.map(|p| (0..=SHUTDOWN).filter(|&event| is_possible(p, event)).count()).sum()
    }
}

fn event_name(event: usize) -> &'static str {
    EVENTS.get(event).map_or("shutdown", |(name, _)| name)
}

/// Whether that event is about something that has that phase.
fn is_possible(phase: usize, event: usize) -> bool {
    let subject = EVENTS.get(event).map_or(Subject::Service, |(_, subject)| *subject);
    match phase {
        0..=2 => true,
        3..=7 => subject == Subject::Owner,
        8..=13 => subject == Subject::Task,
        _ => matches!(
            event_name(event),
            "read-ended" | "kill-answered" | "take-wait" | "abort-wait" | "wait-dropped"
        ),
    }
}

pub(crate) const fn event_index(event: &Event) -> usize {
    match event {
        Event::Tick => 0,
        Event::OpenScope { .. } => 1,
        Event::CloseScope { .. } => 2,
        Event::AttachController { .. } => 3,
        Event::ControllerDetached { .. } => 4,
        Event::AddListener { .. } => 5,
        Event::ListenerRemoved { .. } => 6,
        Event::AddObserver { .. } => 7,
        Event::ObserverRemoved { .. } => 8,
        Event::OpenOwner { .. } => 9,
        Event::BusyChanged { .. } => 10,
        Event::Claim { .. } => 11,
        Event::DisposeOwner { .. } => 12,
        Event::OwnerDropped { .. } => 13,
        Event::Reserve(_) => 14,
        Event::Commit { .. } => 15,
        Event::Release { .. } => 16,
        Event::Settled { .. } => 17,
        Event::Broke { .. } => 18,
        Event::CancelAnswered { .. } => 19,
        Event::Read { .. } => 20,
        Event::ReadEnded { .. } => 21,
        Event::Kill { .. } => 22,
        Event::KillAnswered { .. } => 23,
        Event::Wait { .. } => 24,
        Event::TakeWait { .. } => 25,
        Event::AbortWait { .. } => 26,
        Event::WaitDropped { .. } => 27,
        Event::Shutdown => SHUTDOWN,
    }
}

/// What was reached.
#[derive(Clone, Copy, Debug, Default)]
pub struct Coverage {
    /// Which of the things that should happen sometimes did.
    pub seen: Seen,
    /// Which event met which phase.
    pub pairs: Pairs,
    /// A promise of a task's end is about to be given back, or a kill to fail.
    gives_back: Option<Property>,
    overtaken: bool,
}

impl Coverage {
    /// Adds all of another one.
    pub fn extend(&mut self, other: &Self) {
        self.seen.extend(other.seen);
        self.pairs.extend(other.pairs);
    }

    /// Looks at an event before it takes effect.
    pub(crate) fn before(&mut self, model: &Model, now: Now, event: &Event) {
        let index = event_index(event);
        self.pairs.insert(model.stage() as usize, index);
        self.gives_back = None;
        self.overtaken = false;
        let is_fact = !matches!(event, Event::Tick);
        if is_fact && model.next_deadline().is_some_and(|(at, _)| at == now.at) {
            self.seen.insert(Property::SawTie);
        }
        let (task, open) = self.subject(model, event);
        if let Some(open) = open {
            self.pairs.insert(if open { 14 } else { 15 }, index);
        }
        if let Some(task) = task {
            let task = &model.tasks[task];
            let phase = if task.is_on_record() { task_phase(task.status()) } else { 13 };
            self.pairs.insert(phase, index);
            self.late_outcome(event, task.is_live());
        }
        if let Some(owner) = owner_of(model, event) {
            self.pairs.insert(owner_phase(model, owner), index);
        }
        let at_work = model.tasks.iter().any(|task| task.is_live());
        if matches!(event, Event::Shutdown) && at_work && model.stage() == Stage::Open {
            self.seen.insert(Property::SawShutdownWithWork);
        }
    }

    fn late_outcome(&mut self, event: &Event, live: bool) {
        match event {
            Event::Settled { .. } if !live => self.seen.insert(Property::SawLateOutcome),
            Event::Broke { .. } => self.seen.insert(Property::SawBroken),
            _ => {}
        }
    }

    /// The task that an event is about, and whether the promise it is about is open.
    fn subject(&mut self, model: &Model, event: &Event) -> (Option<usize>, Option<bool>) {
        match event {
            Event::Settled { task, .. }
            | Event::Broke { task, .. }
            | Event::CancelAnswered { task, .. } => {
                let found = model.task_index(*task);
                if found.is_some_and(|task| {
                    model.tasks[task].is_live() && model.is_being_read(task) && is_end(event)
                }) {
                    self.seen.insert(Property::SawEndWhileRead);
                }
                self.overtaken = found.is_some_and(|task| {
                    let live = model.tasks[task].is_live();
                    live && model.kills.iter().any(|kill| kill.task == task && !kill.over)
                });
                (found, None)
            }
            Event::Read { id, .. } | Event::Kill { id, .. } | Event::Wait { id, .. } => {
                (model.tasks.iter().position(|task| task.id == *id), None)
            }
            Event::ReadEnded { read, delivered } => {
                let found = model.reads.iter().find(|r| r.key == *read);
                if let Some(open) = found.filter(|read| !read.over) {
                    self.read_ends(model, open, *delivered);
                }
                (found.map(|r| r.task), found.map(|r| !r.over))
            }
            Event::KillAnswered { kill, accepted } => {
                let found = model.kills.iter().find(|k| k.key == *kill);
                let promised = found.is_some_and(|k| !k.over && k.promised.is_some());
                if promised && !accepted {
                    self.gives_back = Some(Property::SawFailedKillOvertaken);
                }
                (found.map(|k| k.task), found.map(|k| !k.over))
            }
            Event::TakeWait { waiter }
            | Event::AbortWait { waiter }
            | Event::WaitDropped { waiter } => {
                let found = model.waits.iter().find(|w| w.key == *waiter);
                let dropped = matches!(event, Event::WaitDropped { .. });
                if dropped && found.is_some_and(|wait| wait.is_promised()) {
                    self.gives_back = Some(Property::SawPromiseReopened);
                }
                (found.map(|w| w.task), found.map(|w| !w.over))
            }
            _ => (None, None),
        }
    }

    fn read_ends(&mut self, model: &Model, read: &Read, delivered: bool) {
        if !model.tasks[read.task].is_on_record() {
            self.seen.insert(Property::SawReadOutlived);
        } else if read.terminal && !delivered && !model.is_reported(read.task) {
            self.seen.insert(Property::SawReadUndelivered);
        }
    }

    /// Looks at what came of it.
    pub(crate) fn after(
        &mut self,
        model: &Model,
        event: &Event,
        answer: &Answer,
        commands: &[Command],
    ) {
        if self.overtaken {
            self.seen.insert(Property::SawKillOvertaken);
        }
        self.refused(answer);
        match (event, answer) {
            (Event::Reserve(request), Ok(Reply::Reserved(_))) => {
                let owners = model.starts.iter().filter(|start| !start.over);
                if owners.filter(|start| start.request.owner == request.owner).count() > 1 {
                    self.seen.insert(Property::SawNestedStart);
                }
            }
            (Event::OpenOwner { .. }, Ok(Reply::Owner { replaced: Some(replaced), .. })) => {
                let replaced = model.owner_index(*replaced);
                if replaced.is_some() && model.taken_slots(replaced) > 0 {
                    self.seen.insert(Property::SawReplacement);
                }
            }
            _ => {}
        }
        for command in commands {
            self.command(model, event, command);
        }
    }

    fn refused(&mut self, answer: &Answer) {
        match answer {
            Err(Refusal::Start(StartRefusal::LimitReached { .. })) => {
                self.seen.insert(Property::SawLimit);
            }
            Err(Refusal::Read(ReadRefusal::InProgress { .. })) => {
                self.seen.insert(Property::SawReadCollision);
            }
            Err(
                Refusal::Read(ReadRefusal::Access(AccessRefusal::Foreign { .. }))
                | Refusal::Kill(KillRefusal::Access(AccessRefusal::Foreign { .. }))
                | Refusal::Wait(WaitRefusal::Access(AccessRefusal::Foreign { .. })),
            ) => self.seen.insert(Property::SawForeign),
            _ => {}
        }
    }

    fn command(&mut self, model: &Model, event: &Event, command: &Command) {
        match command {
            Command::Nudge { owner, lane, .. } => {
                match self.gives_back {
                    Some(property) => self.seen.insert(property),
                    None if matches!(event, Event::AttachController { .. }) => {
                        self.seen.insert(Property::SawLateAnnouncement);
                    }
                    None => {}
                }
                match lane {
                    Lane::Wake => self.seen.insert(Property::SawWake),
                    Lane::Inject => self.inject(model, *owner),
                }
            }
            Command::WithdrawNotice { .. } => self.seen.insert(Property::SawWithdrawal),
            Command::Warn(Warning::CancelFailed { .. }) => {
                self.seen.insert(Property::SawForceFail);
            }
            Command::Warn(Warning::TeardownOverdue { .. }) => {
                self.seen.insert(Property::SawTeardownOverdue);
            }
            Command::Forget { .. } if model.stage() == Stage::Open => {
                let disposes = matches!(event, Event::DisposeOwner { .. });
                if model.config.max_settled_per_owner.is_some() && !disposes {
                    self.seen.insert(Property::SawEviction);
                }
            }
            Command::Cancel { .. } if matches!(event, Event::Commit { .. }) => {
                self.seen.insert(Property::SawLateCommit);
            }
            Command::Wake { waiter } => {
                let wait = model.waits.iter().find(|wait| wait.key == *waiter);
                if wait.is_some_and(|wait| wait.timed_out.is_some()) {
                    self.seen.insert(Property::SawWaitTimeout);
                }
            }
            Command::Forget { .. }
            | Command::Cancel { .. }
            | Command::NotifyChanged { .. }
            | Command::NotifyDone { .. }
            | Command::OwnerDisposed { .. }
            | Command::ShutDown { .. }
            | Command::Warn(_) => {}
        }
    }

    fn inject(&mut self, model: &Model, owner: OwnerKey) {
        let Some(owner) = model.owner_index(owner) else { return };
        let wakeup = |policy: &longrun_core::NoticePolicy| {
            policy.delivery == Delivery::Wakeup && policy.max_consecutive_wakes > 0
        };
        let policy = model.notice_policy(model.owners[owner].scope);
        let owner = &model.owners[owner];
        let spent = policy.filter(wakeup).is_some_and(|p| owner.wakes() >= p.max_consecutive_wakes);
        if spent && !owner.is_busy() {
            self.seen.insert(Property::SawWakeBudgetSpent);
        }
    }
}

const fn is_end(event: &Event) -> bool {
    matches!(event, Event::Settled { .. } | Event::Broke { .. })
}

const fn task_phase(status: Status) -> usize {
    match status {
        Status::Running => 8,
        Status::Stopping => 9,
        Status::Completed => 10,
        Status::Killed => 11,
        Status::Failed => 12,
    }
}

fn owner_phase(model: &Model, owner: usize) -> usize {
    let entry = &model.owners[owner];
    match entry.life() {
        Life::Live if model.registered(&entry.session) == Some(owner) => 3,
        Life::Live => 4,
        Life::Disposing => 5,
        Life::Disposed => 6,
        Life::Gone => 7,
    }
}

fn owner_of(model: &Model, event: &Event) -> Option<usize> {
    match event {
        Event::BusyChanged { owner, .. }
        | Event::Claim { owner, .. }
        | Event::DisposeOwner { owner }
        | Event::OwnerDropped { owner } => model.owner_index(*owner),
        Event::Reserve(request) => model.owner_index(request.owner?),
        Event::Commit { reservation, .. } | Event::Release { reservation } => {
            model.starts.iter().find(|start| start.key == *reservation)?.owner
        }
        _ => None,
    }
}
