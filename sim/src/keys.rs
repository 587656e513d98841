//! The names inside events: which things an event is about.
//!
//! Keys and ids depend on everything that happened before. When events are taken out
//! of a trace, the rest has to be renamed: what an event was about it still is.

use std::collections::BTreeMap;

use longrun_core::{
    ControllerKey, Event, KillKey, ListenerKey, ObserverKey, OwnerKey, ReadKey, Reply,
    ReservationKey, ScopeKey, TaskId, TaskKey, WaiterKey,
};

use crate::model::Answer;

/// The name of one thing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Name {
    Scope(ScopeKey),
    Controller(ControllerKey),
    Listener(ListenerKey),
    Observer(ObserverKey),
    Owner(OwnerKey),
    Start(ReservationKey),
    Task(TaskKey),
    Id(TaskId),
    Read(ReadKey),
    Kill(KillKey),
    Wait(WaiterKey),
}

/// The names of what an answer brought into being.
pub(crate) fn created(answer: &Answer) -> Vec<Name> {
    match answer {
        Ok(Reply::Scope(key)) => vec![Name::Scope(*key)],
        Ok(Reply::Controller(key)) => vec![Name::Controller(*key)],
        Ok(Reply::Listener(key)) => vec![Name::Listener(*key)],
        Ok(Reply::Observer(key)) => vec![Name::Observer(*key)],
        Ok(Reply::Owner { owner, .. }) => vec![Name::Owner(*owner)],
        Ok(Reply::Reserved(key)) => vec![Name::Start(*key)],
        Ok(Reply::Started { task, id }) => vec![Name::Task(*task), Name::Id(id.clone())],
        Ok(Reply::Reading { read, .. }) => vec![Name::Read(*read)],
        Ok(Reply::Killing { kill, .. }) => vec![Name::Kill(*kill)],
        Ok(Reply::Waiting { waiter, .. }) => vec![Name::Wait(*waiter)],
        Ok(_) | Err(_) => Vec::new(),
    }
}

/// Which name became which, in a trace that some events were taken out of.
#[derive(Clone, Debug, Default)]
pub(crate) struct Renaming {
    now: BTreeMap<Name, Name>,
    /// What was created in the original trace.
    known: Vec<Name>,
}

macro_rules! renames {
    ($($function:ident, $variant:ident, $key:ty;)*) => {$(
        fn $function(&self, key: &mut $key) -> Option<()> {
            let name = Name::$variant(key.clone());
            match self.now.get(&name) {
                Some(Name::$variant(now)) => *key = now.clone(),
                // What never was has the same name in every trace.
                _ if self.known.contains(&name) => return None,
                _ => {}
            }
            Some(())
        }
    )*};
}

impl Renaming {
    pub(crate) fn new<'a>(answers: impl Iterator<Item = &'a Answer>) -> Self {
        Self { now: BTreeMap::new(), known: answers.flat_map(created).collect() }
    }

    /// Notes what an event created then, and what it created now.
    pub(crate) fn note(&mut self, then: &Answer, now: &Answer) {
        self.now.extend(created(then).into_iter().zip(created(now)));
    }

    renames! {
        scope, Scope, ScopeKey;
        controller, Controller, ControllerKey;
        listener, Listener, ListenerKey;
        observer, Observer, ObserverKey;
        owner, Owner, OwnerKey;
        start, Start, ReservationKey;
        task, Task, TaskKey;
        id, Id, TaskId;
        read, Read, ReadKey;
        kill, Kill, KillKey;
        wait, Wait, WaiterKey;
    }

    /// The event with the names of now, or `None` if it is about something that is no
    /// longer brought into being.
    pub(crate) fn rename(&self, event: &Event) -> Option<Event> {
        let mut event = event.clone();
        match &mut event {
            Event::OpenScope { parent: Some(scope) }
            | Event::CloseScope { scope }
            | Event::AttachController { scope: Some(scope), .. }
            | Event::AddListener { scope: Some(scope) }
            | Event::AddObserver { scope: Some(scope) }
            | Event::OpenOwner { scope: Some(scope), .. } => self.scope(scope)?,
            Event::ControllerDetached { controller } => self.controller(controller)?,
            Event::ListenerRemoved { listener } => self.listener(listener)?,
            Event::ObserverRemoved { observer } => self.observer(observer)?,
            Event::BusyChanged { owner, .. }
            | Event::Claim { owner, .. }
            | Event::DisposeOwner { owner }
            | Event::OwnerDropped { owner } => self.owner(owner)?,
            Event::Reserve(request) => {
                if let Some(owner) = &mut request.owner {
                    self.owner(owner)?;
                }
            }
            Event::Commit { reservation, .. } | Event::Release { reservation } => {
                self.start(reservation)?;
            }
            Event::Settled { task, .. }
            | Event::Broke { task, .. }
            | Event::CancelAnswered { task, .. } => self.task(task)?,
            Event::Read { id, .. } | Event::Kill { id, .. } | Event::Wait { id, .. } => {
                self.id(id)?;
            }
            Event::ReadEnded { read, .. } => self.read(read)?,
            Event::KillAnswered { kill, .. } => self.kill(kill)?,
            Event::TakeWait { waiter }
            | Event::AbortWait { waiter }
            | Event::WaitDropped { waiter } => self.wait(waiter)?,
            Event::Tick
            | Event::Shutdown
            | Event::OpenScope { parent: None }
            | Event::AttachController { scope: None, .. }
            | Event::AddListener { scope: None }
            | Event::AddObserver { scope: None }
            | Event::OpenOwner { scope: None, .. } => {}
        }
        Some(event)
    }
}
