//! The owners by name.

use std::{
    collections::BTreeMap,
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

/// One owner.
pub(super) struct Agent {
    name: Arc<Mutex<String>>,
    pub(super) owner: OwnerScope,
    pub(super) cwd: Option<PathBuf>,
    disposed: AtomicBool,
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
    by_name: Mutex<BTreeMap<String, Arc<Agent>>>,
}

impl Agents {
    pub(super) fn new(service: TaskService, output: Output) -> Self {
        Self { service, output, by_name: Mutex::default() }
    }

    pub(super) fn get(&self, name: &str) -> Result<Arc<Agent>, Trouble> {
        lock(&self.by_name).get(name).cloned().ok_or_else(|| {
            let name = one_line(name);
            Trouble::new("unknown_owner", format!("no owner is open under the name `{name}`"))
        })
    }

    pub(super) fn by_key(&self, key: OwnerKey) -> Option<Arc<Agent>> {
        lock(&self.by_name).values().find(|agent| agent.owner.key() == key).cloned()
    }

    /// Opens an owner. What it replaces, by its name or by its session, goes on under
    /// names of their own, which are returned.
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
        let opened = Arc::new(Agent { name: cell, owner, cwd, disposed: AtomicBool::new(false) });

        let mut by_name = lock(&self.by_name);
        let same_session = by_name
            .values()
            .find(|agent| Some(agent.owner.key()) == same_session && !agent.is_disposed())
            .cloned();
        let same_name = by_name.insert(name.to_owned(), opened);
        let mut replaced = Vec::new();
        for agent in [same_name, same_session].into_iter().flatten() {
            if !replaced.contains(&agent.name()) {
                replaced.push(rename(&mut by_name, agent));
            }
        }
        Ok(replaced)
    }
}

/// Files an agent under the first free name of the form `name#1`. Its old name, if nobody
/// else took that, still leads to it.
fn rename(by_name: &mut BTreeMap<String, Arc<Agent>>, agent: Arc<Agent>) -> String {
    let old = agent.name();
    let base = old.split('#').next().unwrap_or(&old).to_owned();
    let mut number = 1;
    let mut new = format!("{base}#{number}");
    while by_name.contains_key(&new) {
        number += 1;
        new = format!("{base}#{number}");
    }
    lock(&agent.name).clone_from(&new);
    by_name.insert(new.clone(), agent);
    new
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
