//! The generator: from what there is, events that somebody might send next, legal
//! ones most of the time.

use std::time::Duration;

use longrun_core::{
    Caller, ClaimSource, Delivery, End, Event, MAX_WAIT, NoticePolicy, NoticePreference, Outcome,
    OwnerKey, ScopeKey, SessionId, StartRequest, TaskId,
};

use crate::{
    model::{Model, entities::Life},
    source::Source,
    swarm::{Act, Swarm, draw_span},
};

const SESSIONS: [&str; 3] = ["ann", "ben", "cleo"];
/// One kind reads like the id of another.
const KINDS: [&str; 4] = ["bash", "pty", "bash-1", "sub.agent"];
const LABELS: [&str; 3] = ["build", "run the tests", "übergroße Größe, très long"];

/// One of the places of a list that fit, going around from a drawn one.
pub(crate) fn any<T>(
    list: &[T],
    source: &mut Source,
    fits: impl Fn(usize, &T) -> bool,
) -> Option<usize> {
    let from = source.below(list.len());
    let places = (from..list.len()).chain(0..from);
    places.into_iter().find(|&place| fits(place, &list[place]))
}

/// An event of that kind, or `None` if there is nothing to do it to.
pub(crate) fn make(act: Act, model: &Model, swarm: &Swarm, source: &mut Source) -> Option<Event> {
    match act {
        Act::Start => start(model, source),
        Act::Wait => wait(model, source),
        Act::Read => {
            let (id, caller) = reachable(model, source)?;
            Some(Event::Read { id, caller })
        }
        Act::Kill => {
            let (id, caller) = reachable(model, source)?;
            let reason = source.pick(&[None, Some("no longer needed"), Some("übergroße Größe")]);
            Some(Event::Kill { id, caller, reason: reason.map(Into::into) })
        }
        Act::Claim => {
            let owner = owner(model, source, |life| life != Life::Gone)?;
            let claim = source.pick(&[ClaimSource::Inbox, ClaimSource::User]);
            Some(Event::Claim { owner, source: claim, or_idle: source.chance(128) })
        }
        Act::Busy => {
            let owner = owner(model, source, |life| life != Life::Gone)?;
            Some(Event::BusyChanged { owner, busy: source.chance(128) })
        }
        Act::OpenOwner => {
            let session = SessionId::new(source.pick(&SESSIONS));
            let (scope, busy) = (scope(model, source), source.chance(96));
            (model.owners.len() < 10).then_some(Event::OpenOwner { session, scope, busy })
        }
        Act::Dispose => {
            Some(Event::DisposeOwner { owner: owner(model, source, |life| life != Life::Gone)? })
        }
        Act::DropOwner => {
            Some(Event::OwnerDropped { owner: owner(model, source, |life| life != Life::Gone)? })
        }
        Act::Settle => settle(model, source),
        Act::Break => {
            let task = any(&model.tasks, source, |_, task| task.is_live())?;
            Some(Event::Broke { task: model.tasks[task].key, error: "its end panicked".into() })
        }
        Act::EndWait => {
            let wait = any(&model.waits, source, |_, wait| !wait.over)?;
            let waiter = model.waits[wait].key;
            Some(match source.below(3) {
                0 => Event::WaitDropped { waiter },
                1 => Event::AbortWait { waiter },
                _ => Event::TakeWait { waiter },
            })
        }
        Act::EndRead => {
            let read = any(&model.reads, source, |_, read| !read.over)?;
            Some(Event::ReadEnded { read: model.reads[read].key, delivered: source.chance(128) })
        }
        Act::Late => late(model, source),
        Act::Illegal => illegal(model, source),
        Act::Foreign => foreign(model, source),
        Act::Shutdown => (model.tasks.len() > 2).then_some(Event::Shutdown),
        Act::OpenScope
        | Act::CloseScope
        | Act::Attach
        | Act::Detach
        | Act::AddListener
        | Act::RemoveListener
        | Act::AddObserver
        | Act::RemoveObserver => registration(act, model, swarm, source),
    }
}

fn registration(act: Act, model: &Model, swarm: &Swarm, source: &mut Source) -> Option<Event> {
    match act {
        Act::OpenScope => {
            let parent = scope(model, source);
            (model.scopes.len() < 6).then_some(Event::OpenScope { parent })
        }
        Act::CloseScope => {
            let open = any(&model.scopes, source, |_, scope| !scope.closed)?;
            Some(Event::CloseScope { scope: model.scopes[open].key })
        }
        Act::Attach => {
            let event = attach(scope(model, source), swarm, source);
            (model.controllers.len() < 8).then_some(event)
        }
        Act::Detach => {
            let found = any(&model.controllers, source, |_, c| !c.gone)?;
            Some(Event::ControllerDetached { controller: model.controllers[found].key })
        }
        Act::AddListener => {
            let scope = scope(model, source);
            (model.listeners.len() < 4).then_some(Event::AddListener { scope })
        }
        Act::RemoveListener => {
            let found = any(&model.listeners, source, |_, l| !l.gone)?;
            Some(Event::ListenerRemoved { listener: model.listeners[found].key })
        }
        Act::AddObserver => {
            let scope = scope(model, source);
            (model.observers.len() < 4).then_some(Event::AddObserver { scope })
        }
        _ => {
            let found = any(&model.observers, source, |_, o| !o.gone)?;
            Some(Event::ObserverRemoved { observer: model.observers[found].key })
        }
    }
}

/// A controller with any way of announcing ends.
pub(crate) fn attach(scope: Option<ScopeKey>, swarm: &Swarm, source: &mut Source) -> Event {
    let delivery = if swarm.wakeup { Delivery::Wakeup } else { Delivery::Quiet };
    let policy = NoticePolicy { delivery, max_consecutive_wakes: source.pick(&[3, 1, 2, 0]) };
    let notices = source.pick(&[Some(policy), Some(policy), Some(policy), None]);
    Event::AttachController { scope, notices }
}

pub(crate) fn open_first_owner(busy: bool) -> Event {
    Event::OpenOwner { session: SessionId::new(SESSIONS[0]), scope: None, busy }
}

fn scope(model: &Model, source: &mut Source) -> Option<ScopeKey> {
    if source.chance(96) {
        return None;
    }
    any(&model.scopes, source, |_, scope| !scope.closed).map(|index| model.scopes[index].key)
}

fn owner(model: &Model, source: &mut Source, fits: impl Fn(Life) -> bool) -> Option<OwnerKey> {
    any(&model.owners, source, |_, o| fits(o.life())).map(|index| model.owners[index].key)
}

fn start(model: &Model, source: &mut Source) -> Option<Event> {
    let unowned = source.chance(40);
    let owner = if unowned { None } else { Some(live_owner(model, source)?) };
    Some(start_for(owner, source))
}

fn live_owner(model: &Model, source: &mut Source) -> Option<OwnerKey> {
    let live = |index: usize, owner: &crate::model::entities::Owner| {
        owner.life() == Life::Live && model.registered(&owner.session) == Some(index)
    };
    any(&model.owners, source, live).map(|index| model.owners[index].key)
}

pub(crate) fn start_for(owner: Option<OwnerKey>, source: &mut Source) -> Event {
    let preferences = [
        NoticePreference::AsMounted,
        NoticePreference::AsMounted,
        NoticePreference::AsMounted,
        NoticePreference::AsMounted,
        NoticePreference::NeverWake,
        NoticePreference::Never,
    ];
    Event::Reserve(StartRequest {
        kind: source.pick(&KINDS).into(),
        label: source.pick(&LABELS).into(),
        output_limit_bytes: source.pick(&[None, Some(64)]),
        owner,
        notice: source.pick(&preferences),
    })
}

/// A task on record, and somebody who may reach it.
fn reachable(model: &Model, source: &mut Source) -> Option<(TaskId, Caller)> {
    let recent = model.tasks.len().saturating_sub(6);
    let task = any(&model.tasks[recent..], source, |_, task| task.is_on_record())?;
    let task = &model.tasks[recent + task];
    Some((task.id.clone(), task.session.clone()))
}

fn wait(model: &Model, source: &mut Source) -> Option<Event> {
    let (id, caller) = reachable(model, source)?;
    Some(Event::Wait { id, caller, timeout: draw_span(source) })
}

pub(crate) fn outcome(source: &mut Source) -> Outcome {
    let end = source.pick(&[End::Completed, End::Killed, End::Failed]);
    let detail =
        source.pick(&[None, Some("exit code: 0"), Some("signal: SIGKILL, übergroße Größe")]);
    let output = source.pick(&[None, Some("the result")]);
    Outcome { end, detail: detail.map(Into::into), output: output.map(Into::into) }
}

fn settle(model: &Model, source: &mut Source) -> Option<Event> {
    let task = any(&model.tasks, source, |_, task| task.is_live())?;
    Some(Event::Settled { task: model.tasks[task].key, outcome: outcome(source) })
}

/// A fact that comes too late, or once too often.
fn late(model: &Model, source: &mut Source) -> Option<Event> {
    match source.below(8) {
        0 => {
            let task = any(&model.tasks, source, |_, task| !task.is_live())?;
            Some(Event::Settled { task: model.tasks[task].key, outcome: outcome(source) })
        }
        1 => {
            let task = any(&model.tasks, source, |_, task| !task.is_live())?;
            Some(Event::Broke { task: model.tasks[task].key, error: "too late".into() })
        }
        2 => {
            let task = any(&model.tasks, source, |_, _| true)?;
            let error = source.pick(&[None, Some("no such process")]).map(Into::into);
            Some(Event::CancelAnswered { task: model.tasks[task].key, error })
        }
        3 => {
            let kill = any(&model.kills, source, |_, kill| kill.over)?;
            let accepted = source.chance(128);
            Some(Event::KillAnswered { kill: model.kills[kill].key, accepted })
        }
        4 => {
            let wait = any(&model.waits, source, |_, wait| wait.over)?;
            let waiter = model.waits[wait].key;
            let events = [
                Event::TakeWait { waiter },
                Event::AbortWait { waiter },
                Event::WaitDropped { waiter },
            ];
            Some(events[source.below(3)].clone())
        }
        5 => {
            let read = any(&model.reads, source, |_, read| read.over)?;
            Some(Event::ReadEnded { read: model.reads[read].key, delivered: true })
        }
        6 => {
            let start = any(&model.starts, source, |_, start| start.over)?;
            Some(Event::Release { reservation: model.starts[start].key })
        }
        _ => {
            let owner = owner(model, source, |life| life == Life::Gone)?;
            Some(match source.below(3) {
                0 => Event::BusyChanged { owner, busy: true },
                1 => Event::OwnerDropped { owner },
                _ => Event::ControllerDetached {
                    controller: model.controllers.iter().find(|c| c.gone)?.key,
                },
            })
        }
    }
}

/// A request that is to be refused.
fn illegal(model: &Model, source: &mut Source) -> Option<Event> {
    match source.below(7) {
        0 => {
            let Event::Reserve(mut request) = start(model, source)? else { return None };
            match source.below(4) {
                0 => request.kind = source.pick(&["", "two words", "a[b]", LONG_KIND]).into(),
                1 => request.label = "".into(),
                2 => request.output_limit_bytes = Some(0),
                _ => {
                    request.owner = Some(owner(model, source, |_| true)?);
                }
            }
            Some(Event::Reserve(request))
        }
        1 => {
            let (id, caller) = reachable(model, source)?;
            let timeout = source.pick(&[Duration::ZERO, MAX_WAIT + Duration::from_nanos(1)]);
            Some(Event::Wait { id, caller, timeout })
        }
        2 => {
            let closed = any(&model.scopes, source, |_, scope| scope.closed)?;
            let scope = model.scopes[closed].key;
            Some(match source.below(3) {
                0 => Event::CloseScope { scope },
                1 => Event::AddListener { scope: Some(scope) },
                _ => Event::OpenOwner { session: "ann".into(), scope: Some(scope), busy: false },
            })
        }
        3 => {
            let owner = owner(model, source, |life| life == Life::Gone)?;
            Some(match source.below(3) {
                0 => Event::DisposeOwner { owner },
                1 => Event::Claim { owner, source: ClaimSource::User, or_idle: true },
                _ => start_for(Some(owner), source),
            })
        }
        4 => {
            let start = any(&model.starts, source, |_, start| start.over)?;
            let output = longrun_core::OutputMode::Stream;
            Some(Event::Commit { reservation: model.starts[start].key, output })
        }
        5 => {
            let gone = any(&model.tasks, source, |_, task| !task.is_on_record())?;
            let (id, caller) = (model.tasks[gone].id.clone(), model.tasks[gone].session.clone());
            Some(Event::Read { id, caller })
        }
        _ => {
            let reading = any(&model.reads, source, |_, read| !read.over)?;
            let task = &model.tasks[model.reads[reading].task];
            Some(Event::Read { id: task.id.clone(), caller: task.session.clone() })
        }
    }
}

const LONG_KIND: &str = "a-kind-of-more-than-sixty-four-bytes-which-is-more-than-an-id-can-hold";

/// A request for another session's task.
// contract: A2
fn foreign(model: &Model, source: &mut Source) -> Option<Event> {
    let task = any(&model.tasks, source, |_, t| t.session.is_some() && t.is_on_record())?;
    let task = &model.tasks[task];
    let other = SESSIONS[source.below(3)];
    let is_own = task.session.as_ref().is_some_and(|session| session.as_str() == other);
    let caller = if is_own { None } else { Some(SessionId::new(other)) };
    let id = task.id.clone();
    Some(match source.below(3) {
        0 => Event::Read { id, caller },
        1 => Event::Kill { id, caller, reason: None },
        _ => Event::Wait { id, caller, timeout: draw_span(source) },
    })
}
