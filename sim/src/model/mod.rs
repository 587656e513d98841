//! A naive model of the registry, with no logic of its own in common with it.
//!
//! The model keeps what happened, never what follows from it: no counter, no index,
//! no list that has to be kept in step. Whenever it needs to know something (is that
//! task told? how many starts does this owner have in flight? who serves it?) it
//! looks through the whole history again, with plain loops. That is slow, and hard
//! to get wrong in the way in which the registry could be wrong.
//!
//! For every event it says what the registry has to answer and which commands it has
//! to emit, in which order. The only thing it takes over from the registry are the
//! keys that it gives out, after making sure that they are new.
//!
//! | file | what it works out |
//! |---|---|
//! | `entities` | what a thing is like now, from what happened to it |
//! | `refusals` | whether a request has to be turned down, and why |
//! | `apply` | what an event does to scopes, owners and starts |
//! | `facts` | what it does to tasks, reads, kills and waits |
//! | `ends` | what the end of a task brings about |
//! | `lives` | owners, their disposal, the shutdown |
//! | `canonical` | the state, freed of names and history |

mod apply;
mod canonical;
mod ends;
pub(crate) mod entities;
mod facts;
mod lives;
mod refusals;

use std::sync::Arc;

pub(crate) use apply::Answer;

use longrun_core::{
    Command, Config, ControllerKey, Due, Instant, ListenerKey, NoticePolicy, Now, ObserverKey,
    OwnerKey, ScopeKey, SessionId, TaskId, TaskKey, TaskSnapshot,
};

use entities::{
    Index, Kill, Owner, Read, Registration, Scope, ServiceFact, Stage, Start, Task, TaskFact, Wait,
};

/// What happened so far, and what the registry has to make of it.
#[derive(Clone, Debug)]
pub struct Model {
    pub(crate) config: Config,
    pub(crate) now: Now,
    /// Numbers what happens, where the order matters.
    serial: u64,
    pub(crate) scopes: Vec<Scope>,
    pub(crate) controllers: Vec<Registration<ControllerKey>>,
    pub(crate) listeners: Vec<Registration<ListenerKey>>,
    pub(crate) observers: Vec<Registration<ObserverKey>>,
    pub(crate) owners: Vec<Owner>,
    pub(crate) starts: Vec<Start>,
    pub(crate) tasks: Vec<Task>,
    pub(crate) waits: Vec<Wait>,
    pub(crate) kills: Vec<Kill>,
    pub(crate) reads: Vec<Read>,
    pub(crate) service: Vec<ServiceFact>,
}

/// What is due, in the model's own terms.
#[derive(Clone, Copy, Debug)]
enum DueIndex {
    Wait(Index),
    Teardown(Index),
}

impl Model {
    pub(crate) fn new(config: Config) -> Self {
        Self {
            config,
            now: Now::default(),
            serial: 0,
            scopes: Vec::new(),
            controllers: Vec::new(),
            listeners: Vec::new(),
            observers: Vec::new(),
            owners: Vec::new(),
            starts: Vec::new(),
            tasks: Vec::new(),
            waits: Vec::new(),
            kills: Vec::new(),
            reads: Vec::new(),
            service: Vec::new(),
        }
    }

    fn next_serial(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    pub(crate) fn stage(&self) -> Stage {
        if self.service.contains(&ServiceFact::ShutdownEnded) {
            Stage::Closed
        } else if self.service.contains(&ServiceFact::ShutdownBegan) {
            Stage::Closing
        } else {
            Stage::Open
        }
    }

    pub(crate) fn scope_index(&self, key: ScopeKey) -> Option<Index> {
        self.scopes.iter().position(|scope| scope.key == key)
    }

    pub(crate) fn owner_index(&self, key: OwnerKey) -> Option<Index> {
        self.owners.iter().position(|owner| owner.key == key)
    }

    pub(crate) fn task_index(&self, key: TaskKey) -> Option<Index> {
        self.tasks.iter().rposition(|task| task.key == key)
    }

    /// The task of that id, if it is still on record.
    pub(crate) fn task_named(&self, id: &TaskId) -> Option<Index> {
        self.tasks.iter().position(|task| task.id == *id && task.is_on_record())
    }

    /// The latest owner that was opened under that session id, if it is still there.
    pub(crate) fn registered(&self, session: &SessionId) -> Option<Index> {
        let latest = self.owners.iter().rposition(|owner| owner.session == *session)?;
        (!self.owners[latest].is_gone()).then_some(latest)
    }

    pub(crate) fn is_closed(&self, scope: Option<Index>) -> bool {
        scope.is_some_and(|scope| self.scopes[scope].closed)
    }

    /// The scopes that serve what is in that one: the root, then inwards.
    fn chain(&self, scope: Option<Index>) -> Vec<Option<Index>> {
        let mut chain = Vec::new();
        let mut next = scope;
        while let Some(index) = next {
            chain.push(Some(index));
            next = self.scopes[index].parent;
        }
        chain.push(None);
        chain.reverse();
        chain
    }

    /// Whose registrations serve what is in that scope, in order.
    fn serving<'a, K>(
        &self,
        registrations: &'a [Registration<K>],
        scope: Option<Index>,
    ) -> Vec<&'a Registration<K>> {
        let mut serving = Vec::new();
        for place in self.chain(scope) {
            let here = registrations.iter().filter(|r| !r.gone && r.scope == place);
            serving.extend(here.filter(|_| !self.is_closed(place)));
        }
        serving
    }

    fn scope_of(&self, owner: Option<Index>) -> Option<Index> {
        owner.and_then(|owner| self.owners[owner].scope)
    }

    /// How ends are announced there: as the first controls of the innermost scope
    /// that has any do it.
    pub(crate) fn notice_policy(&self, scope: Option<Index>) -> Option<NoticePolicy> {
        let controllers = self.serving(&self.controllers, scope);
        let innermost =
            controllers.iter().rev().find(|controller| controller.notices.is_some())?.scope;
        controllers.iter().find(|c| c.scope == innermost && c.notices.is_some())?.notices
    }

    /// Tasks at work and starts in flight of that owner, or of nobody.
    pub(crate) fn taken_slots(&self, owner: Option<Index>) -> usize {
        let at_work = self.tasks.iter().filter(|task| task.owner == owner && task.is_live());
        let starting = self.starts.iter().filter(|start| start.owner == owner && !start.over);
        at_work.count() + starting.count()
    }

    /// Waits and kills in flight on a task that is at work.
    pub(crate) fn in_flight(&self, task: Index) -> usize {
        let waits = self.waits.iter().filter(|wait| wait.task == task && wait.is_waiting());
        let kills = self.kills.iter().filter(|kill| kill.task == task && !kill.over);
        waits.count() + kills.count()
    }

    /// Waits and kills that were promised a task's end and have not taken it.
    pub(crate) fn promises(&self, task: Index) -> usize {
        let waits = self.waits.iter().filter(|wait| wait.task == task && wait.is_promised());
        let kills = self
            .kills
            .iter()
            .filter(|kill| kill.task == task && !kill.over && kill.promised.is_some());
        waits.count() + kills.count()
    }

    pub(crate) fn is_reported(&self, task: Index) -> bool {
        self.tasks[task].is_told() || self.promises(task) > 0
    }

    pub(crate) fn is_being_read(&self, task: Index) -> bool {
        self.reads.iter().any(|read| read.task == task && !read.over)
    }

    pub(crate) fn snapshot(&self, index: Index) -> TaskSnapshot {
        let task = &self.tasks[index];
        let end = task.end();
        TaskSnapshot {
            id: task.id.clone(),
            kind: task.kind.clone(),
            label: task.label.clone(),
            output_limit_bytes: task.output_limit_bytes,
            owner_session: task.session.clone(),
            status: task.status(),
            detail: end.and_then(|end| end.detail.clone()),
            started_at_ms: task.started_at_ms,
            finished_at_ms: end.map(|end| end.finished_at_ms),
            reported: self.is_reported(index),
            stop: task.stop().cloned(),
        }
    }

    /// What a caller may see of the task of that id.
    pub(crate) fn visible(&self, id: &TaskId, caller: Option<&SessionId>) -> Option<TaskSnapshot> {
        let index = self.task_named(id)?;
        let session = self.tasks[index].session.as_ref();
        (session.is_none() || session == caller).then(|| self.snapshot(index))
    }

    /// All that a caller may see, in the order of registration.
    pub(crate) fn visible_to(&self, caller: Option<&SessionId>) -> Vec<TaskSnapshot> {
        let indexes = 0..self.tasks.len();
        let visible = indexes.filter(|&index| {
            let task = &self.tasks[index];
            let allowed = task.session.is_none() || task.session.as_ref() == caller;
            allowed && task.is_on_record()
        });
        visible.map(|index| self.snapshot(index)).collect()
    }

    fn earliest(&self) -> Option<(Instant, u64, DueIndex)> {
        let waits = self.waits.iter().enumerate().filter(|(_, wait)| wait.is_waiting());
        let waits = waits.map(|(index, wait)| (wait.due, wait.serial, DueIndex::Wait(index)));
        let tasks = self.tasks.iter().enumerate();
        let teardowns = tasks.filter_map(|(index, task)| {
            task.teardown_due().map(|(due, serial)| (due, serial, DueIndex::Teardown(index)))
        });
        waits.chain(teardowns).min_by_key(|&(due, serial, _)| (due, serial))
    }

    /// What the registry has to say is due next.
    pub(crate) fn next_deadline(&self) -> Option<(Instant, Due)> {
        self.earliest().map(|(at, _, due)| match due {
            DueIndex::Wait(index) => (at, Due::Wait(self.waits[index].key)),
            DueIndex::Teardown(index) => (at, Due::Teardown(self.tasks[index].key)),
        })
    }

    /// Carries out what is due up to `limit`, on the way to `now`.
    pub(crate) fn fire(&mut self, now: Now, limit: Instant, out: &mut Vec<Command>) {
        while let Some((at, _, due)) = self.earliest().filter(|&(at, _, _)| at <= limit) {
            let ago_ms = (now.at.0 - at.0.min(now.at.0)) / 1_000_000;
            self.now = Now::new(at, now.wall_ms.saturating_sub(ago_ms));
            match due {
                DueIndex::Wait(index) => {
                    let snapshot = self.snapshot(self.waits[index].task);
                    self.waits[index].timed_out = Some(snapshot);
                    out.push(Command::Wake { waiter: self.waits[index].key });
                }
                DueIndex::Teardown(index) => self.give_up_on(index, out),
            }
        }
        self.now = now;
    }

    fn note(&mut self, task: Index, fact: TaskFact) {
        self.tasks[task].log.push(fact);
    }
}

/// A text cut to so many bytes, the mark included, never inside a character.
fn cut(text: &Arc<str>, max_bytes: usize) -> Arc<str> {
    if text.len() <= max_bytes {
        return text.clone();
    }
    let room = max_bytes - '…'.len_utf8();
    let mut kept = String::new();
    for character in text.chars() {
        if kept.len() + character.len_utf8() > room {
            break;
        }
        kept.push(character);
    }
    kept.push('…');
    kept.into()
}
