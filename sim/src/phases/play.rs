//! A scenario in the simulated world.

use std::time::Duration;

use longrun_core::{
    Caller, Command, Config, Event, Instant, NoticePolicy, NoticePreference, Now, Output,
    OutputMode, OwnerKey, Reply, SessionId, StartRequest, TaskId, TaskKey,
};

use super::{Asker, Played, Scenario};
use crate::{
    bench::{Bench, Depth},
    property::Failure,
};

/// Plays a scenario in the simulated world, with every invariant checked after every event.
///
/// # Errors
///
/// What did not hold.
///
/// # Panics
///
/// If something is refused that no scenario asks for.
pub fn play(scenario: &Scenario) -> Result<Played, Failure> {
    let Ok(bench) = Bench::new(Config::default(), Depth::Full) else {
        unreachable!("the default limits are ones that work")
    };
    let mut stage = Stage { bench, at: Duration::ZERO, played: Played::default() };
    let (owner, task, id) = stage.set_up()?;
    let mut asked = None;
    if let Some((at, asker)) = scenario.asked {
        stage.at = at;
        stage.ask(asker, owner, &id)?;
        asked = Some(at);
    }
    let (at, outcome) = scenario.child.end(asked);
    stage.at = at;
    stage.feed(Event::Settled { task, outcome })?;
    stage.read(scenario, id)?;
    Ok(stage.played)
}

struct Stage {
    bench: Bench,
    /// Since the child's beginning.
    at: Duration,
    played: Played,
}

impl Stage {
    /// Hands an event in. No scenario asks for anything that is refused.
    fn feed(&mut self, event: Event) -> Result<Reply, Failure> {
        let now = Now::new(Instant(0).saturating_add(self.at), 1_000 + self.at_ms());
        self.bench.feed(now, &event)?;
        let reply = match self.bench.answer.clone() {
            Ok(reply) => reply,
            Err(refusal) => unreachable!("no scenario asks for that: {refusal}"),
        };
        for command in self.bench.commands.clone() {
            self.carry_out(&command)?;
        }
        Ok(reply)
    }

    fn at_ms(&self) -> u64 {
        u64::try_from(self.at.as_millis()).unwrap_or(u64::MAX)
    }

    fn carry_out(&mut self, command: &Command) -> Result<(), Failure> {
        match command {
            Command::Cancel { task, .. } => {
                self.feed(Event::CancelAnswered { task: *task, error: None })?;
            }
            Command::NotifyDone { snapshot, .. } => {
                self.played.status = Some((snapshot.status.to_string(), self.at_ms()));
                self.played.detail = snapshot.detail.as_deref().map(Into::into);
            }
            Command::Nudge { .. } => self.played.nudges += 1,
            Command::OwnerDisposed { .. } | Command::ShutDown { .. } => {
                self.played.stopped_ms = Some(self.at_ms());
            }
            Command::Wake { .. }
            | Command::NotifyChanged { .. }
            | Command::WithdrawNotice { .. }
            | Command::Forget { .. }
            | Command::Warn(_) => {}
        }
        Ok(())
    }

    /// An owner, and a task of its own that has just begun.
    fn set_up(&mut self) -> Result<(OwnerKey, TaskKey, TaskId), Failure> {
        let notices = Some(NoticePolicy::default());
        self.feed(Event::AttachController { scope: None, notices })?;
        self.feed(Event::AddListener { scope: None })?;
        let session = SessionId::new("ann");
        let opened = self.feed(Event::OpenOwner { session, scope: None, busy: true })?;
        let Reply::Owner { owner, .. } = opened else {
            unreachable!("nothing stands in the way of an owner: {opened:?}")
        };
        let request = StartRequest {
            kind: "subagent".into(),
            label: "a child".into(),
            output_limit_bytes: None,
            owner: Some(owner),
            notice: NoticePreference::AsMounted,
        };
        let reserved = self.feed(Event::Reserve(request))?;
        let Reply::Reserved(reservation) = reserved else {
            unreachable!("nothing stands in the way of a start: {reserved:?}")
        };
        let started = self.feed(Event::Commit { reservation, output: OutputMode::Final })?;
        let Reply::Started { task, id } = started else {
            unreachable!("a commit cannot fail: {started:?}")
        };
        Ok((owner, task, id))
    }

    fn ask(&mut self, asker: Asker, owner: OwnerKey, id: &TaskId) -> Result<(), Failure> {
        match asker {
            Asker::Disposal => self.feed(Event::DisposeOwner { owner })?,
            Asker::Shutdown => self.feed(Event::Shutdown)?,
            Asker::Kill => {
                let (id, caller) = (id.clone(), caller());
                let killing = self.feed(Event::Kill { id, caller, reason: None })?;
                let Reply::Killing { kill, .. } = killing else {
                    unreachable!("a task that runs can be killed: {killing:?}")
                };
                self.feed(Event::KillAnswered { kill, accepted: true })?
            }
        };
        Ok(())
    }

    /// Reads the output, where the record is still there.
    fn read(&mut self, scenario: &Scenario, id: TaskId) -> Result<(), Failure> {
        if scenario.asked.is_some_and(|(_, asker)| asker != Asker::Kill) {
            return Ok(());
        }
        let reading = self.feed(Event::Read { id, caller: caller() })?;
        let Reply::Reading { read, output: Output::Final(output), .. } = reading else {
            unreachable!("its owner may read it: {reading:?}")
        };
        self.played.output = Some(output.as_deref().unwrap_or_default().to_owned());
        self.feed(Event::ReadEnded { read, delivered: true })?;
        Ok(())
    }
}

fn caller() -> Caller {
    Some(SessionId::new("ann"))
}
