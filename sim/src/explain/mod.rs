//! Draws a trace: one lane for each owner, task and wait, time downwards, what each
//! event came to, and the offending one marked.

mod mermaid;
mod svg;
mod text;
mod words;

use longrun_core::{Command, Config, Now, OwnerKey, TaskId, TaskKey, WaiterKey};

use crate::{
    bench::{Bench, Depth},
    property::{Failure, Kind},
    run::replay,
    trace::{Trace, Unfit},
};

pub use mermaid::mermaid;
pub use svg::svg;
pub use text::text;

/// What a lane stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneKind {
    /// Everything that is neither an owner, a task nor a wait.
    Service,
    /// An owner.
    Owner,
    /// A task.
    Task,
    /// A wait.
    Wait,
}

/// One lane.
#[derive(Clone, Debug)]
pub struct Lane {
    /// What it is called.
    pub name: String,
    /// What it stands for.
    pub kind: LaneKind,
    /// In which row it begins.
    pub from: usize,
    /// In which row it ends, if it does.
    pub until: Option<usize>,
}

/// Something that an event brought about.
#[derive(Clone, Debug)]
pub struct Effect {
    /// To whom.
    pub lane: usize,
    /// What.
    pub text: String,
}

/// One event.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its number, from 1 on.
    pub step: usize,
    /// When it was sent.
    pub now: Now,
    /// Whom it is about.
    pub lane: usize,
    /// What happened, and what it was answered.
    pub text: String,
    /// What it brought about, in order.
    pub effects: Vec<Effect>,
    /// Whether something did not hold after it.
    pub offending: bool,
}

/// A trace, ready to be drawn.
#[derive(Clone, Debug)]
pub struct Chart {
    /// The limits that are not the usual ones.
    pub limits: Vec<String>,
    /// The lanes, from left to right.
    pub lanes: Vec<Lane>,
    /// The events, from top to bottom.
    pub rows: Vec<Row>,
    /// What did not hold, if anything.
    pub failure: Option<Failure>,
}

/// What the lanes are of.
#[derive(Debug, Default)]
pub(crate) struct Names {
    owners: Vec<(OwnerKey, usize, String)>,
    tasks: Vec<(TaskKey, TaskId, usize)>,
    waits: Vec<(WaiterKey, usize, String)>,
    kills: Vec<(longrun_core::KillKey, TaskKey)>,
    reads: Vec<(longrun_core::ReadKey, TaskKey)>,
    starts: Vec<(longrun_core::ReservationKey, usize, String)>,
}

impl Names {
    fn owner(&self, key: OwnerKey) -> (usize, String) {
        let found = self.owners.iter().find(|(owner, ..)| *owner == key);
        found.map_or((0, format!("{key:?}")), |(_, lane, name)| (*lane, name.clone()))
    }

    fn task(&self, key: TaskKey) -> (usize, String) {
        let found = self.tasks.iter().find(|(task, ..)| *task == key);
        found.map_or((0, format!("{key:?}")), |(_, id, lane)| (*lane, id.to_string()))
    }

    fn id(&self, id: &TaskId) -> usize {
        self.tasks.iter().rfind(|(_, known, _)| known == id).map_or(0, |(.., lane)| *lane)
    }

    /// A text with the names of the lanes instead of keys.
    fn translate(&self, text: &str) -> String {
        let owners = self.owners.iter().map(|(key, _, name)| (format!("{key:?}"), name.clone()));
        let tasks = self.tasks.iter().map(|(key, id, _)| (format!("{key:?}"), id.to_string()));
        let waits = self.waits.iter().map(|(key, _, name)| (format!("{key:?}"), name.clone()));
        let mut keys: Vec<(String, String)> = owners.chain(tasks).chain(waits).collect();
        // One key may be the beginning of another.
        keys.sort_by_key(|(key, _)| std::cmp::Reverse(key.len()));
        keys.iter().fold(text.to_owned(), |text, (key, name)| text.replace(key, name))
    }

    fn wait(&self, key: WaiterKey) -> (usize, String) {
        let found = self.waits.iter().find(|(wait, ..)| *wait == key);
        found.map_or((0, format!("{key:?}")), |(_, lane, name)| (*lane, name.clone()))
    }
}

/// Runs a trace and notes what happens to whom.
///
/// # Errors
///
/// [`Unfit`] if nothing can work within its configuration.
pub fn chart(trace: &Trace) -> Result<Chart, Unfit> {
    let report = replay(trace, Depth::Full)?;
    let mut bench = Bench::new(trace.config, Depth::Sampled).map_err(Unfit::Config)?;
    let service =
        Lane { name: "service".to_owned(), kind: LaneKind::Service, from: 0, until: None };
    let mut chart = Chart {
        limits: unusual_limits(&trace.config),
        lanes: vec![service],
        rows: Vec::new(),
        failure: report.failure,
    };
    let mut names = Names::default();
    for (now, event) in &report.trace.events {
        let fed = bench.feed(*now, event);
        let panicked = fed.is_err_and(|failure| failure.kind == Kind::Panic);
        if !panicked {
            open_lanes(&mut chart, &mut names, event, &bench);
        }
        let (lane, mut text) = words::event(event, &names);
        if panicked {
            text.push_str(" → the registry panicked");
        } else {
            text.push_str(&words::answer(&bench.answer));
        }
        let commands: &[Command] = if panicked { &[] } else { &bench.commands };
        let effects = commands.iter().map(|command| words::command(command, &names)).collect();
        let step = chart.rows.len() + 1;
        let offending = chart.failure.as_ref().is_some_and(|failure| failure.step == step);
        chart.rows.push(Row { step, now: *now, lane, text, effects, offending });
        if !panicked {
            close_lanes(&mut chart, &names, event, &bench);
        }
    }
    if let Some(failure) = &mut chart.failure {
        failure.message = names.translate(&failure.message);
    }
    Ok(chart)
}

fn unusual_limits(config: &Config) -> Vec<String> {
    let usual = Config::default();
    let mut unusual = Vec::new();
    macro_rules! compare {
        ($($field:ident),*) => {$(
            if config.$field != usual.$field {
                unusual.push(format!("{} = {:?}", stringify!($field), config.$field));
            }
        )*};
    }
    compare!(max_active_per_owner, max_waiters_per_task, max_label_bytes, max_detail_bytes);
    compare!(max_settled_per_owner, teardown_deadline);
    unusual
}

fn open_lanes(chart: &mut Chart, names: &mut Names, event: &longrun_core::Event, bench: &Bench) {
    use longrun_core::{Event, Reply};
    let (lane, from) = (chart.lanes.len(), chart.rows.len());
    let mut open = |name: &str, kind| {
        chart.lanes.push(Lane { name: name.to_owned(), kind, from, until: None });
    };
    match (event, &bench.answer) {
        (Event::OpenOwner { session, .. }, Ok(Reply::Owner { owner, .. })) => {
            let prefix = session.to_string();
            let earlier = names
                .owners
                .iter()
                .filter(|(_, _, name)| name.split('/').next() == Some(prefix.as_str()));
            let name = match earlier.count() {
                0 => prefix,
                earlier => format!("{prefix}/{}", earlier + 1),
            };
            open(&name, LaneKind::Owner);
            names.owners.push((*owner, lane, name));
        }
        (Event::Reserve(request), Ok(Reply::Reserved(key))) => {
            let owner = request.owner.map_or(0, |owner| names.owner(owner).0);
            let what = format!("start {} ({})", names.starts.len() + 1, request.kind);
            names.starts.push((*key, owner, what));
        }
        (_, Ok(Reply::Started { task, id })) => {
            open(id.as_str(), LaneKind::Task);
            names.tasks.push((*task, id.clone(), lane));
        }
        (_, Ok(Reply::Waiting { waiter, .. })) => {
            let name = format!("wait {}", names.waits.len() + 1);
            open(&name, LaneKind::Wait);
            names.waits.push((*waiter, lane, name));
        }
        (_, Ok(Reply::Killing { kill, task })) => names.kills.push((*kill, *task)),
        (_, Ok(Reply::Reading { read, task, .. })) => names.reads.push((*read, *task)),
        _ => {}
    }
}

fn close_lanes(chart: &mut Chart, names: &Names, event: &longrun_core::Event, bench: &Bench) {
    use longrun_core::{Event, Reply};
    let row = chart.rows.len() - 1;
    let mut close = |lane: usize| {
        if lane > 0 {
            chart.lanes[lane].until.get_or_insert(row);
        }
    };
    match (event, &bench.answer) {
        (Event::TakeWait { waiter }, Ok(Reply::WaitOver { .. }))
        | (Event::AbortWait { waiter } | Event::WaitDropped { waiter }, _) => {
            close(names.wait(*waiter).0);
        }
        _ => {}
    }
    for command in &bench.commands {
        match command {
            Command::Forget { task } => close(names.task(*task).0),
            Command::OwnerDisposed { owner, .. } => close(names.owner(*owner).0),
            _ => {}
        }
    }
}
