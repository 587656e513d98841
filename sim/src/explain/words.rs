//! Events, answers and commands in plain words.

use longrun_core::{Command, Event, Lane, Output, Reply, TaskSnapshot};

use super::{Effect, Names};
use crate::model::Answer;

fn caller(caller: &longrun_core::Caller) -> String {
    caller.as_ref().map_or_else(|| "somebody".to_owned(), ToString::to_string)
}

/// Whom an event is about, and what it says.
pub(super) fn event(event: &Event, names: &Names) -> (usize, String) {
    match event {
        Event::Tick => (0, "time passes".to_owned()),
        Event::OpenScope { parent } => (0, format!("open a scope in {}", place(parent.as_ref()))),
        Event::CloseScope { scope } => (0, format!("close {scope:?}")),
        Event::AttachController { scope, notices } => {
            let notices = notices.map_or("without notices".to_owned(), |notices| {
                let (how, most) = (notices.delivery, notices.max_consecutive_wakes);
                format!("with {how:?} notices, at most {most} wakes").to_lowercase()
            });
            (0, format!("attach a controller to {} {notices}", place(scope.as_ref())))
        }
        Event::ControllerDetached { controller } => (0, format!("{controller:?} is detached")),
        Event::AddListener { scope } => (0, format!("add a listener to {}", place(scope.as_ref()))),
        Event::ListenerRemoved { listener } => (0, format!("{listener:?} is removed")),
        Event::AddObserver { scope } => {
            (0, format!("add an observer to {}", place(scope.as_ref())))
        }
        Event::ObserverRemoved { observer } => (0, format!("{observer:?} is removed")),
        Event::OpenOwner { session, scope, busy } => {
            let lane = names.owners.last().map_or(0, |(_, lane, _)| *lane);
            let turn = if *busy { "busy" } else { "idle" };
            (lane, format!("open an owner of {session} in {}, {turn}", place(scope.as_ref())))
        }
        Event::BusyChanged { owner, busy } => {
            let (lane, name) = names.owner(*owner);
            (lane, format!("{name} {}", if *busy { "begins a turn" } else { "ends its turn" }))
        }
        Event::Claim { owner, source, or_idle } => {
            let (lane, name) = names.owner(*owner);
            let idle = if *or_idle { ", or goes idle" } else { "" };
            (lane, format!("{name} claims its notices with {source:?} input{idle}"))
        }
        Event::DisposeOwner { owner } => {
            let (lane, name) = names.owner(*owner);
            (lane, format!("dispose {name}"))
        }
        Event::OwnerDropped { owner } => {
            let (lane, name) = names.owner(*owner);
            (lane, format!("{name} is dropped"))
        }
        Event::Shutdown => (0, "shut the service down".to_owned()),
        _ => task_event(event, names),
    }
}

fn task_event(event: &Event, names: &Names) -> (usize, String) {
    match event {
        Event::Reserve(request) => {
            let (lane, who) = request.owner.map_or((0, "nobody".to_owned()), |o| names.owner(o));
            let (kind, notice) = (&request.kind, request.notice);
            (lane, format!("start a {kind} for {who} (notice: {notice:?})"))
        }
        Event::Commit { reservation, output } => {
            let (_, what) = started(names, *reservation);
            let lane = names.tasks.last().map_or(0, |(.., lane)| *lane);
            (lane, format!("{what} has its hooks, {output:?} output"))
        }
        Event::Release { reservation } => {
            let (lane, what) = started(names, *reservation);
            (lane, format!("the starter of {what} failed"))
        }
        Event::Settled { task, outcome } => {
            let (lane, name) = names.task(*task);
            (lane, format!("{name} settled: {}", outcome.end.status()))
        }
        Event::Broke { task, .. } => {
            let (lane, name) = names.task(*task);
            (lane, format!("the producer of {name} broke its contract"))
        }
        Event::CancelAnswered { task, error } => {
            let (lane, name) = names.task(*task);
            let how = if error.is_none() { "accepted" } else { "failed" };
            (lane, format!("the cancel of {name} {how}"))
        }
        Event::Read { id, caller: who } => (names.id(id), format!("{} reads {id}", caller(who))),
        Event::ReadEnded { read, delivered } => {
            let task = names.reads.iter().find(|(key, _)| key == read);
            let (lane, name) = task.map_or((0, "nothing".to_owned()), |(_, t)| names.task(*t));
            let how = if *delivered { "was delivered" } else { "failed" };
            (lane, format!("the read of {name} {how}"))
        }
        Event::Kill { id, caller: who, .. } => {
            (names.id(id), format!("{} kills {id}", caller(who)))
        }
        Event::KillAnswered { kill, accepted } => {
            let task = names.kills.iter().find(|(key, _)| key == kill);
            let (lane, name) = task.map_or((0, "nothing".to_owned()), |(_, t)| names.task(*t));
            let how = if *accepted { "accepted" } else { "failed" };
            (lane, format!("the cancel for the kill of {name} {how}"))
        }
        Event::Wait { id, caller: who, timeout } => {
            let name = names.waits.last().map_or("a wait", |(_, _, name)| name.as_str());
            let lane = names.waits.last().map_or(0, |(_, lane, _)| *lane);
            (lane, format!("{name}: {} waits for {id}, {timeout:?} at most", caller(who)))
        }
        Event::TakeWait { waiter } => {
            let (lane, name) = names.wait(*waiter);
            (lane, format!("{name} takes its result"))
        }
        Event::AbortWait { waiter } => {
            let (lane, name) = names.wait(*waiter);
            (lane, format!("{name} is aborted"))
        }
        Event::WaitDropped { waiter } => {
            let (lane, name) = names.wait(*waiter);
            (lane, format!("{name} is dropped"))
        }
        _ => (0, format!("{event:?}")),
    }
}

fn place(scope: Option<&longrun_core::ScopeKey>) -> String {
    scope.map_or_else(|| "the root".to_owned(), |scope| format!("{scope:?}"))
}

fn started(names: &Names, key: longrun_core::ReservationKey) -> (usize, String) {
    let found = names.starts.iter().find(|(start, ..)| *start == key);
    found.map_or((0, format!("{key:?}")), |(_, lane, what)| (*lane, what.clone()))
}

/// What was answered, if it says more than that it is done.
pub(super) fn answer(answer: &Answer) -> String {
    let said = match answer {
        Err(refusal) => format!("refused: {refusal}"),
        Ok(Reply::Done) => return String::new(),
        Ok(Reply::Scope(key)) => format!("{key:?}"),
        Ok(Reply::Controller(key)) => format!("{key:?}"),
        Ok(Reply::Listener(key)) => format!("{key:?}"),
        Ok(Reply::Observer(key)) => format!("{key:?}"),
        Ok(Reply::Owner { replaced: None, .. }) => return String::new(),
        Ok(Reply::Owner { replaced: Some(_), .. }) => "replaces the one before".to_owned(),
        Ok(Reply::Claimed { notices, idle }) => {
            let ids: Vec<String> = notices.iter().map(|notice| notice.id.to_string()).collect();
            let idle = if *idle { ", idle now" } else { "" };
            if ids.is_empty() {
                format!("nothing{idle}")
            } else {
                format!("{}{idle}", ids.join(", "))
            }
        }
        Ok(Reply::Disposed { .. }) => "it had ended already".to_owned(),
        Ok(Reply::Reserved(_)) => "admitted".to_owned(),
        Ok(Reply::Started { id, .. }) => format!("registered as {id}"),
        Ok(Reply::Reading { snapshot, output, .. }) => {
            let what = match output {
                Output::Drain => "what came since",
                Output::Final(Some(_)) => "its result",
                Output::Final(None) => "no result",
            };
            format!("{}, {what}", snapshot.status)
        }
        Ok(Reply::Killing { .. }) => "the producer is asked".to_owned(),
        Ok(Reply::KillRequested(snapshot)) => format!("{}", snapshot.status),
        Ok(Reply::AlreadyFinished(snapshot)) => format!("already finished: {}", snapshot.status),
        Ok(Reply::Waiting { ready: false, .. }) => return String::new(),
        Ok(Reply::Waiting { ready: true, .. }) => "it has ended already".to_owned(),
        Ok(Reply::WaitOver { snapshot, timed_out }) => {
            format!("{}{}", if *timed_out { "timed out: " } else { "" }, snapshot.status)
        }
    };
    format!(" → {said}")
}

fn shown(snapshot: &TaskSnapshot) -> String {
    let reported = if snapshot.reported { ", reported" } else { "" };
    format!("{} {}{reported}", snapshot.id, snapshot.status)
}

/// What a command does, and to whom.
pub(super) fn command(command: &Command, names: &Names) -> Effect {
    let (lane, text) = match command {
        Command::Wake { waiter } => {
            let (lane, name) = names.wait(*waiter);
            (lane, format!("wake {name}"))
        }
        Command::Cancel { task, reason } => {
            let (lane, name) = names.task(*task);
            (lane, format!("cancel {name}: {reason}"))
        }
        Command::NotifyChanged { observer, owner } => {
            let (lane, whose) = owner.map_or((0, "unowned".to_owned()), |o| names.owner(o));
            (lane, format!("{observer:?} is told: the tasks of {whose} changed"))
        }
        Command::NotifyDone { listener, snapshot, .. } => {
            (names.id(&snapshot.id), format!("{listener:?} is told: {}", shown(snapshot)))
        }
        Command::Nudge { owner, lane: how, snapshot } => {
            let (lane, name) = names.owner(*owner);
            let how = match how {
                Lane::Inject => "a notice waits for",
                Lane::Wake => "a notice wakes",
            };
            (lane, format!("{how} {name}: {}", shown(snapshot)))
        }
        Command::WithdrawNotice { owner, id } => {
            let (lane, name) = names.owner(*owner);
            (lane, format!("the notice of {id} to {name} is withdrawn"))
        }
        Command::Forget { task } => {
            let (lane, name) = names.task(*task);
            (lane, format!("the record of {name} is gone"))
        }
        Command::OwnerDisposed { owner, .. } => {
            let (lane, name) = names.owner(*owner);
            (lane, format!("{name} is disposed"))
        }
        Command::ShutDown { .. } => (0, "the service is shut down".to_owned()),
        Command::Warn(warning) => (0, format!("warning: {warning}")),
    };
    Effect { lane, text }
}
