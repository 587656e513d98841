//! The owners by name.

use std::{
    collections::{BTreeMap, VecDeque},
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use longrun_shared::{
    BoxError, Disposal, Inbox, Notice, OwnerScope, ScopeError, TaskId, TaskService,
    core::{OwnerKey, controls::one_line},
};
use serde_json::json;

use super::{lines::Output, request::Trouble};

/// How many owners whose disposals have ended are still known by their names: whoever asks
/// for one a moment later is told what became of it.
const REMEMBERED: usize = 100;

/// One owner.
pub(super) struct Agent {
    name: Arc<Mutex<String>>,
    pub(super) owner: OwnerScope,
    pub(super) cwd: Option<PathBuf>,
    disposed: AtomicBool,
    ended: AtomicBool,
}

impl Agent {
    pub(super) fn name(&self) -> String {
        lock(&self.name).clone()
    }

    pub(super) fn is_disposed(&self) -> bool {
        self.disposed.load(Ordering::SeqCst)
    }

    /// Its disposal has begun: it runs no command any more.
    pub(super) fn dispose(&self) -> Disposal {
        self.disposed.store(true, Ordering::SeqCst);
        self.owner.dispose()
    }
}

/// All owners.
pub(super) struct Agents {
    service: TaskService,
    output: Output,
    names: Mutex<Names>,
}

#[derive(Default)]
struct Names {
    agents: BTreeMap<String, Arc<Agent>>,
    /// Those whose disposals have ended, the oldest first.
    ended: VecDeque<Arc<Agent>>,
}

impl Agents {
    pub(super) fn new(service: TaskService, output: Output) -> Self {
        Self { service, output, names: Mutex::default() }
    }

    pub(super) fn get(&self, name: &str) -> Result<Arc<Agent>, Trouble> {
        lock(&self.names).agents.get(name).cloned().ok_or_else(|| {
            let name = one_line(name);
            Trouble::new("unknown_owner", format!("no owner is open under the name `{name}`"))
        })
    }

    /// None if it is forgotten.
    pub(super) fn by_key(&self, key: OwnerKey) -> Option<Arc<Agent>> {
        lock(&self.names).agents.values().find(|agent| agent.owner.key() == key).cloned()
    }

    /// Opens an owner. What it replaces, by its name or by its session, goes on under
    /// names of their own, which are returned. Nothing goes on of what has ended.
    ///
    /// Nothing is opened or dropped while the names are locked: both call back.
    pub(super) fn open(
        &self,
        name: &str,
        session: &str,
        cwd: Option<PathBuf>,
    ) -> Result<Vec<String>, ScopeError> {
        let cell = Arc::new(Mutex::new(name.to_owned()));
        let inbox = LineInbox { owner: Arc::clone(&cell), output: self.output.clone() };
        let owner = self.service.owner(session).inbox(Arc::new(inbox)).open()?;
        let same_session = owner.replaced();
        let (disposed, ended) = (AtomicBool::new(false), AtomicBool::new(false));
        let opened = Arc::new(Agent { name: cell, owner, cwd, disposed, ended });

        let mut names = lock(&self.names);
        let agents = &mut names.agents;
        let same_session = agents
            .values()
            .find(|agent| Some(agent.owner.key()) == same_session && !agent.is_disposed())
            .cloned();
        // One that has ended is not dropped here: it is among those that are remembered.
        let same_name = agents
            .insert(name.to_owned(), opened)
            .filter(|agent| !agent.ended.load(Ordering::SeqCst));
        let mut replaced = Vec::new();
        for agent in [same_name, same_session].into_iter().flatten() {
            if !replaced.contains(&agent.name()) {
                replaced.push(rename(agents, agent));
            }
        }
        Ok(replaced)
    }

    /// The disposal of an owner has ended: it is forgotten, but not at once.
    pub(super) fn ended(&self, agent: &Arc<Agent>) {
        if agent.ended.swap(true, Ordering::SeqCst) {
            return;
        }
        let mut names = lock(&self.names);
        names.ended.push_back(Arc::clone(agent));
        let forgotten = if names.ended.len() > REMEMBERED { names.ended.pop_front() } else { None };
        if let Some(forgotten) = &forgotten {
            names.agents.retain(|_, agent| !Arc::ptr_eq(agent, forgotten));
        }
        drop(names);
        drop(forgotten);
    }
}

/// Files an agent under a free name of the form `name#1`. Its old name, if nobody else took
/// that, still leads to it.
fn rename(agents: &mut BTreeMap<String, Arc<Agent>>, agent: Arc<Agent>) -> String {
    let old = agent.name();
    let base = old.split('#').next().unwrap_or(&old).to_owned();
    let numbered = |number: u64| format!("{base}#{number}");
    let new = numbered(free_number(|number| agents.contains_key(&numbered(number))));
    lock(&agent.name).clone_from(&new);
    agents.insert(new.clone(), agent);
    new
}

/// A free number whose predecessor is taken, or 1. Asks seldom, however many are taken.
fn free_number(mut is_taken: impl FnMut(u64) -> bool) -> u64 {
    let (mut taken, mut free) = (0, 1);
    while is_taken(free) {
        (taken, free) = (free, free * 2);
    }
    while free - taken > 1 {
        let middle = taken + (free - taken) / 2;
        if is_taken(middle) {
            taken = middle;
        } else {
            free = middle;
        }
    }
    free
}

/// An inbox that writes its nudges to standard output.
struct LineInbox {
    owner: Arc<Mutex<String>>,
    output: Output,
}

impl LineInbox {
    fn write(&self, notice: &Notice, lane: &str) {
        self.output.send(&json!({
            "event": "notice",
            "owner": &*lock(&self.owner),
            "task": notice.task.id,
            "lane": lane,
            "text": notice.text,
        }));
    }
}

impl Inbox for LineInbox {
    fn inject(&self, notice: &Notice) -> Result<(), BoxError> {
        self.write(notice, "inject");
        Ok(())
    }

    fn wake(&self, notice: &Notice) -> Result<(), BoxError> {
        self.write(notice, "wake");
        Ok(())
    }

    fn withdraw(&self, id: &TaskId) {
        let owner = lock(&self.owner).clone();
        self.output.send(&json!({"event": "notice_withdrawn", "owner": owner, "task": id}));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_free_number_is_found_soon() {
        for taken in [0, 1, 2, 3, 4, 999, 1024, 1_000_000] {
            let mut asked = 0;
            let found = free_number(|number| {
                asked += 1;
                number <= taken
            });
            assert_eq!(found, taken + 1);
            assert!(asked <= 42, "asked {asked} times");
        }
        let holes = [1, 2, 4, 5, 8];
        let found = free_number(|number| holes.contains(&number));
        assert!(!holes.contains(&found), "{found}");
    }
}
