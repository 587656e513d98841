//! The world around a registry: what it does next, and how it answers.
//!
//! The world never ticks. It does something that is due, or makes something up, or
//! lets time jump to exactly the next moment at which anything is due, its own or the
//! registry's. What comes first of several that are due is drawn.

use std::sync::Arc;

use longrun_core::{
    ClaimSource, Command, Event, Instant, Now, Outcome, OutputMode, Reply, TaskId, TaskKey,
    WaiterKey,
};

use crate::{
    r#gen,
    model::{Answer, Model},
    phases::Phased,
    queue::Queue,
    source::Source,
    swarm::{Swarm, draw_span},
};

/// Everything outside the registry.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) swarm: Swarm,
    clock: Now,
    /// How far the wall clock is off.
    skew_ms: u64,
    queue: Queue,
    /// Whose cancel will fail once more.
    fails_once: Vec<TaskKey>,
    in_phases: Vec<InPhases>,
}

/// A producer that starts in two steps, and has not been asked to stop.
#[derive(Clone, Debug)]
struct InPhases {
    task: TaskKey,
    began: Instant,
    child: Phased,
}

/// How a producer goes about its work.
#[derive(Clone, Copy, Debug)]
enum Temper {
    AtOnce,
    BeforeStartReturns,
    AfterAWhile,
    Twice,
    Breaks,
    InPhases,
    Never,
}

impl World {
    pub(crate) fn new(source: &mut Source) -> Self {
        let swarm = Swarm::draw(source);
        let mut queue = Queue::default();
        let ago = if swarm.near_the_end { 30_000_000 } else { u64::MAX - 1_000_000 };
        let clock = Now::new(Instant(u64::MAX - ago), 1_000);
        if !source.chance(24) {
            queue.push(clock.at, r#gen::attach(None, &swarm, source));
        }
        queue.push(clock.at, r#gen::open_first_owner(source.chance(96)));
        Self { swarm, clock, skew_ms: 1_000, queue, fails_once: Vec::new(), in_phases: Vec::new() }
    }

    /// What happens next, and when.
    pub(crate) fn next(
        &mut self,
        model: &Model,
        deadline: Option<Instant>,
        source: &mut Source,
    ) -> (Now, Event) {
        if let Some(event) = self.queue.take_urgent() {
            return (self.now(source), event);
        }
        let ready = self.queue.has_ready(self.clock.at);
        if ready && (source.chance(self.swarm.eager) || self.queue.len() > 24) {
            return self.take_ready(source);
        }
        let hasty = source.chance(self.swarm.hasty);
        if let Some(event) = hasty.then(|| self.advance(deadline, source)).flatten() {
            return (self.now(source), event);
        }
        for _ in 0..4 {
            let act = self.swarm.act(source);
            if let Some(event) = r#gen::make(act, model, &self.swarm, source) {
                return (self.now(source), event);
            }
        }
        if ready {
            return self.take_ready(source);
        }
        let event = self.advance(deadline, source).unwrap_or(Event::Tick);
        (self.now(source), event)
    }

    fn take_ready(&mut self, source: &mut Source) -> (Now, Event) {
        let event = self.queue.take_ready(self.clock.at, source).unwrap_or(Event::Tick);
        (self.now(source), event)
    }

    /// Jumps to the next moment at which something is due: there, either the world
    /// does what it owes, or the registry's timer comes.
    fn advance(&mut self, deadline: Option<Instant>, source: &mut Source) -> Option<Event> {
        let own = self.queue.next_due(self.clock.at);
        let at = own.into_iter().chain(deadline).min()?;
        self.clock.at = at.max(self.clock.at);
        // A timer may be late.
        let late = deadline == Some(at) && source.chance(self.swarm.clock_trouble);
        if late {
            self.clock.at = self.clock.at.saturating_add(draw_span(source));
        }
        let tie = own == Some(at) && deadline == Some(at) && source.chance(128);
        if own == Some(at) && !tie {
            return self.queue.take_ready(self.clock.at, source);
        }
        Some(Event::Tick)
    }

    /// What the clocks show: sometimes not what they should.
    fn now(&mut self, source: &mut Source) -> Now {
        let mut at = self.clock.at;
        if source.chance(self.swarm.clock_trouble) {
            match source.below(3) {
                0 => at = Instant(at.0.saturating_sub(3_000_000)),
                1 => self.skew_ms = self.skew_ms.saturating_sub(700),
                _ => self.skew_ms += 300,
            }
        }
        self.clock.wall_ms = self.skew_ms + at.0 / 1_000_000;
        Now::new(at, self.clock.wall_ms)
    }

    /// Puts something on the way: at once, later, twice, or never.
    fn owe(&mut self, event: Event, source: &mut Source) {
        if source.chance(self.swarm.lost) {
            return;
        }
        if source.chance(self.swarm.doubled) {
            let due = self.clock.at.saturating_add(draw_span(source));
            self.queue.push(due, event.clone());
        }
        let due = if source.chance(self.swarm.delayed) {
            self.clock.at.saturating_add(draw_span(source))
        } else {
            self.clock.at
        };
        self.queue.push(due, event);
    }

    /// Takes in what an event was answered and what it emitted.
    pub(crate) fn observe(
        &mut self,
        event: &Event,
        answer: &Answer,
        commands: &[Command],
        source: &mut Source,
    ) {
        match (event, answer) {
            (Event::Reserve(request), Ok(Reply::Reserved(reservation))) => {
                if source.chance(self.swarm.reentrant) {
                    self.queue.push_urgent(r#gen::start_for(request.owner, source));
                }
                let reservation = *reservation;
                let output = source.pick(&[OutputMode::Stream, OutputMode::Final]);
                let fails = source.chance(self.swarm.starter_fails);
                let release = Event::Release { reservation };
                let commit = Event::Commit { reservation, output };
                self.owe(if fails { release } else { commit }, source);
            }
            (_, Ok(Reply::Started { task, .. })) => self.start_producer(*task, source),
            (_, Ok(Reply::Killing { kill, task })) => {
                let accepted = self.call_cancel(*task, source).is_ok();
                self.owe(Event::KillAnswered { kill: *kill, accepted }, source);
            }
            (_, Ok(Reply::Reading { read, .. })) => {
                let delivered = !source.chance(self.swarm.undelivered);
                if !source.chance(self.swarm.held) {
                    self.owe(Event::ReadEnded { read: *read, delivered }, source);
                }
            }
            (_, Ok(Reply::Waiting { waiter, ready: true })) => self.end_wait(*waiter, source),
            _ => {}
        }
        for command in commands {
            self.carry_out(command, source);
        }
    }

    fn carry_out(&mut self, command: &Command, source: &mut Source) {
        match command {
            Command::Wake { waiter } => self.end_wait(*waiter, source),
            Command::Cancel { task, .. } => {
                let error = self.call_cancel(*task, source).err();
                self.owe(Event::CancelAnswered { task: *task, error }, source);
            }
            Command::Nudge { owner, .. } => {
                if source.chance(self.swarm.reentrant) {
                    let event = Event::Claim {
                        owner: *owner,
                        source: ClaimSource::Inbox,
                        or_idle: source.chance(128),
                    };
                    self.queue.push(self.clock.at, event);
                }
            }
            Command::NotifyDone { snapshot, .. } => {
                if source.chance(self.swarm.reentrant) {
                    let event =
                        self.call_back(&snapshot.id, snapshot.owner_session.clone(), source);
                    self.queue.push(self.clock.at, event);
                }
            }
            Command::OwnerDisposed { owner, .. } => {
                if source.chance(64) {
                    self.owe(Event::OwnerDropped { owner: *owner }, source);
                }
            }
            Command::NotifyChanged { .. }
            | Command::WithdrawNotice { .. }
            | Command::Forget { .. }
            | Command::ShutDown { .. }
            | Command::Warn(_) => {}
        }
    }

    /// What a listener does about a task whose end it was told of.
    fn call_back(&self, id: &TaskId, caller: longrun_core::Caller, source: &mut Source) -> Event {
        let id = id.clone();
        match source.below(3) {
            0 => Event::Read { id, caller },
            1 => Event::Kill { id, caller, reason: None },
            _ => Event::Wait { id, caller, timeout: draw_span(source) },
        }
    }

    fn start_producer(&mut self, task: TaskKey, source: &mut Source) {
        let temper = source.pick(&[
            Temper::AfterAWhile,
            Temper::AfterAWhile,
            Temper::AfterAWhile,
            Temper::AtOnce,
            Temper::BeforeStartReturns,
            Temper::Twice,
            Temper::Breaks,
            Temper::InPhases,
            Temper::Never,
            Temper::Never,
        ]);
        if source.chance(self.swarm.cancel_fails) {
            self.fails_once.push(task);
        }
        let outcome = r#gen::outcome(source);
        let settled = Event::Settled { task, outcome };
        let later = self.clock.at.saturating_add(draw_span(source));
        match temper {
            Temper::AtOnce => self.queue.push(self.clock.at, settled),
            Temper::BeforeStartReturns => self.queue.push_urgent(settled),
            Temper::AfterAWhile => self.queue.push(later, settled),
            Temper::Twice => {
                self.queue.push(later, settled);
                let outcome = r#gen::outcome(source);
                self.queue.push(later, Event::Settled { task, outcome });
            }
            Temper::Breaks => {
                self.queue.push(later, Event::Broke { task, error: "its end panicked".into() });
            }
            Temper::InPhases => {
                let (began, child) = (self.clock.at, Phased::draw(source));
                let (after, outcome) = child.end(None);
                let settled = Event::Settled { task, outcome };
                self.queue.push(began.saturating_add(after), settled);
                self.in_phases.push(InPhases { task, began, child });
            }
            Temper::Never => {}
        }
    }

    /// Calls a producer's cancel: it fails, is ignored, or makes the work end.
    fn call_cancel(&mut self, task: TaskKey, source: &mut Source) -> Result<(), Arc<str>> {
        if let Some(position) = self.fails_once.iter().position(|key| *key == task) {
            self.fails_once.swap_remove(position);
            return Err("cancel refused once".into());
        }
        if source.chance(self.swarm.cancel_fails) {
            return Err("cancel refused, übergroße Größe".into());
        }
        if let Some(place) = self.in_phases.iter().position(|child| child.task == task) {
            self.abort(place);
            return Ok(());
        }
        if !source.chance(self.swarm.cancel_ignored) {
            let outcome = Outcome::killed().with_detail("signal: SIGTERM");
            self.owe(Event::Settled { task, outcome }, source);
        }
        Ok(())
    }

    /// Asks a producer to stop for the first time: it ends sooner, unless its work was done.
    fn abort(&mut self, place: usize) {
        let InPhases { task, began, child } = self.in_phases.swap_remove(place);
        let asked = self.clock.at.saturating_since(began);
        let (after, outcome) = child.end(Some(asked));
        if after != child.end(None).0 {
            let settled = Event::Settled { task, outcome };
            self.queue.push(began.saturating_add(after), settled);
        }
    }

    fn end_wait(&mut self, waiter: WaiterKey, source: &mut Source) {
        let event = match source.below(8) {
            0 => Event::WaitDropped { waiter },
            1 => Event::AbortWait { waiter },
            _ => Event::TakeWait { waiter },
        };
        self.owe(event, source);
    }
}
