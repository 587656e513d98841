//! The outside world of a scenario: producers, listeners and a clock, all of it in
//! names, around one registry.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use longrun_core::{
    Caller, ClaimSource, Command, Config, ControllerKey, Event, Instant, Lane, ListenerKey,
    NoticePolicy, NoticePreference, Now, ObserverKey, Outcome, Output, OutputMode, OwnerKey,
    Refusal, Registry, Reply, ScopeKey, SessionId, StartRequest, TaskId, TaskKey, TaskSnapshot,
    WaiterKey, controls,
};
use serde_json::{Value, json};

use super::format::{self, Mount, OnCancel, Operation, Run, Source};

/// A producer that does as it is told.
struct Producer {
    name: String,
    on_cancel: OnCancel,
    written: String,
    /// Its `done` has been used: what it would say later nobody hears.
    done: bool,
}

/// What comes from outside at the next tick.
enum Queued {
    Settle(TaskKey, Outcome),
    Break(TaskKey, String),
    Dispose(OwnerKey),
    Shutdown,
}

pub(super) struct World {
    registry: Registry,
    clock_ms: u64,
    mounts: Vec<Mount>,
    scopes: BTreeMap<String, ScopeKey>,
    controllers: BTreeMap<String, ControllerKey>,
    owners: BTreeMap<String, (OwnerKey, SessionId)>,
    listeners: BTreeMap<String, (ListenerKey, bool)>,
    observers: BTreeMap<String, ObserverKey>,
    tasks: BTreeMap<String, TaskKey>,
    producers: BTreeMap<TaskKey, Producer>,
    waits: BTreeMap<String, WaiterKey>,
    /// The waits that have ended.
    over: BTreeSet<String>,
    aborted_before: Vec<String>,
    queue: VecDeque<Queued>,
    events: Vec<Value>,
    wait_events: Vec<Value>,
}

impl World {
    pub(super) fn new(config: &format::Config) -> Self {
        let defaults = Config::default();
        let max_active_per_owner =
            config.max_active_per_owner.unwrap_or(defaults.max_active_per_owner);
        let mut world = Self {
            registry: Registry::new(Config { max_active_per_owner, ..defaults }).unwrap(),
            clock_ms: 0,
            mounts: config.notices.clone(),
            scopes: BTreeMap::new(),
            controllers: BTreeMap::new(),
            owners: BTreeMap::new(),
            listeners: BTreeMap::new(),
            observers: BTreeMap::new(),
            tasks: BTreeMap::new(),
            producers: BTreeMap::new(),
            waits: BTreeMap::new(),
            over: BTreeSet::new(),
            aborted_before: Vec::new(),
            queue: VecDeque::new(),
            events: Vec::new(),
            wait_events: Vec::new(),
        };
        world.mount_at(None);
        world
    }

    pub(super) fn take_events(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.events)
    }

    fn mount_at(&mut self, scope: Option<&str>) {
        let here: Vec<Mount> =
            self.mounts.iter().filter(|mount| mount.scope.as_deref() == scope).cloned().collect();
        for mount in here {
            let scope = scope.map(|name| self.scopes[name]);
            let notices = Some(NoticePolicy {
                delivery: mount.delivery,
                max_consecutive_wakes: mount.max_wakes,
            });
            self.send(Event::AttachController { scope, notices }).unwrap();
        }
    }

    fn scope(&self, name: &Option<String>) -> Option<ScopeKey> {
        name.as_ref().map(|name| self.scopes[name])
    }

    fn caller(&self, name: &Option<String>) -> Caller {
        name.as_ref().map(|name| self.owners[name].1.clone())
    }

    fn owner_name(&self, key: Option<OwnerKey>) -> Value {
        let name = self.owners.iter().find(|(_, (owner, _))| Some(*owner) == key);
        name.map_or(Value::Null, |(name, _)| json!(name))
    }

    /// Sends an event and carries out everything that follows from it, the answer to
    /// a cancel before the next command.
    fn send(&mut self, event: Event) -> Result<Reply, Refusal> {
        let now = Now::new(Instant(self.clock_ms * 1_000_000), self.clock_ms);
        let mut commands = Vec::new();
        let reply = self.registry.handle(now, event, &mut commands);
        self.registry.check();
        for command in commands {
            self.carry_out(command);
        }
        reply
    }

    fn carry_out(&mut self, command: Command) {
        match command {
            Command::Wake { waiter } => {
                let reply = self.send(Event::TakeWait { waiter });
                let Ok(Reply::WaitOver { snapshot, .. }) = reply else { return };
                let found = self.waits.iter().find(|(_, key)| **key == waiter);
                let name = found.expect("a wait of this scenario").0.clone();
                self.over.insert(name.clone());
                self.wait_events.push(json!({"wait": name, "snapshot": shown(&snapshot)}));
            }
            Command::Cancel { task, reason } => {
                let error = self.call_cancel(task, Some(&reason)).err().map(Into::into);
                self.send(Event::CancelAnswered { task, error }).unwrap();
            }
            Command::NotifyChanged { observer, owner } => {
                let found = self.observers.iter().find(|(_, key)| **key == observer);
                let name = found.expect("an observer of this scenario").0.clone();
                let owner = self.owner_name(owner);
                self.events.push(json!({"changed": name, "owner": owner}));
            }
            Command::NotifyDone { listener, owner, snapshot } => {
                let found = self.listeners.iter().find(|(_, (key, _))| *key == listener);
                let (name, (_, throws)) = found.expect("a listener of this scenario");
                let throws = *throws;
                self.events.push(json!({
                    "done": name,
                    "id": snapshot.id,
                    "status": snapshot.status,
                    "reported": snapshot.reported,
                    "owner": self.owner_name(owner),
                }));
                if throws {
                    self.events.push(json!({"warn": true}));
                }
            }
            Command::Nudge { owner, lane, snapshot } => self.nudge(owner, lane, &snapshot),
            Command::OwnerDisposed { owner, .. } => {
                let owner = self.owner_name(Some(owner));
                self.events.push(json!({"disposed": owner}));
            }
            Command::ShutDown { .. } => self.events.push(json!({"shutdown": true})),
            Command::Warn(_) => self.events.push(json!({"warn": true})),
            Command::WithdrawNotice { .. } | Command::Forget { .. } => {}
        }
    }

    fn nudge(&mut self, owner: OwnerKey, lane: Lane, snapshot: &TaskSnapshot) {
        let text = controls::notice_text(snapshot);
        let limit = snapshot.output_limit_bytes.map(|limit| usize::try_from(limit).unwrap());
        assert!(limit.is_none_or(|limit| text.len() <= limit), "a notice over its limit: {text}");
        let whole =
            controls::notice_text(&TaskSnapshot { output_limit_bytes: None, ..snapshot.clone() });
        let mode = match lane {
            Lane::Inject => "inject",
            Lane::Wake => "wake",
        };
        let (owner, cut) = (self.owner_name(Some(owner)), text != whole);
        self.events.push(json!({
            "notice": owner, "mode": mode, "task": snapshot.id, "text": text, "cut": cut,
        }));
    }

    fn call_cancel(&mut self, task: TaskKey, reason: Option<&str>) -> Result<(), String> {
        let producer = self.producers.get_mut(&task).expect("a producer of this scenario");
        self.events.push(json!({"cancelled": producer.name, "reason": reason}));
        match producer.on_cancel {
            OnCancel::Settle => self.end(task, Queued::Settle(task, Outcome::killed())),
            OnCancel::Ignore => {}
            OnCancel::Throw => return Err("cancel refused".to_owned()),
            OnCancel::ThrowOnce => {
                producer.on_cancel = OnCancel::Settle;
                return Err("cancel refused once".to_owned());
            }
        }
        Ok(())
    }

    /// Uses a producer's `done`, which it can once.
    fn end(&mut self, task: TaskKey, end: Queued) {
        let producer = self.producers.get_mut(&task).expect("a producer of this scenario");
        if !std::mem::replace(&mut producer.done, true) {
            self.queue.push_back(end);
        }
    }

    /// Performs one step and gives its result as the record writes it.
    pub(super) fn step(&mut self, operation: &Operation) -> Value {
        match operation {
            Operation::Scope { name, parent } => {
                let parent = self.scope(parent);
                let Ok(Reply::Scope(key)) = self.send(Event::OpenScope { parent }) else {
                    panic!()
                };
                self.scopes.insert(name.clone(), key);
                self.mount_at(Some(name));
            }
            Operation::Attach { name, scope } => {
                let event = Event::AttachController { scope: self.scope(scope), notices: None };
                let Ok(Reply::Controller(key)) = self.send(event) else { panic!() };
                self.controllers.insert(name.clone(), key);
            }
            Operation::Detach { name } => {
                let controller = self.controllers[name];
                self.send(Event::ControllerDetached { controller }).unwrap();
            }
            Operation::Owner { name, session, scope, busy } => {
                return self.open_owner(name, session, scope, *busy);
            }
            Operation::OnDone { name, scope, throws } => {
                let event = Event::AddListener { scope: self.scope(scope) };
                let Ok(Reply::Listener(key)) = self.send(event) else { panic!() };
                self.listeners.insert(name.clone(), (key, *throws));
            }
            Operation::OnChanged { name, scope } => {
                let event = Event::AddObserver { scope: self.scope(scope) };
                let Ok(Reply::Observer(key)) = self.send(event) else { panic!() };
                self.observers.insert(name.clone(), key);
            }
            Operation::Off { name } => self.off(name),
            Operation::Busy { owner, value } => {
                let owner = self.owners[owner].0;
                self.send(Event::BusyChanged { owner, busy: *value }).unwrap();
            }
            Operation::Claim { owner, source } => {
                let owner = self.owners[owner].0;
                let source = match source {
                    Source::User => ClaimSource::User,
                    Source::Plugin => ClaimSource::Inbox,
                };
                self.send(Event::Claim { owner, source, or_idle: false }).unwrap();
            }
            Operation::Start(start) => return self.start(start),
            Operation::Get { id, caller } => {
                let Some(id) = parse(id) else { return unknown() };
                let snapshot = self.registry.get(&id, self.caller(caller).as_ref());
                return snapshot.map_or_else(|error| refused(&error.into()), |s| shown(&s));
            }
            Operation::List { caller } => {
                let snapshots = self.registry.list(self.caller(caller).as_ref());
                return snapshots.iter().map(shown).collect();
            }
            Operation::Read { id, caller } => return self.read(id, caller),
            Operation::Kill { id, caller, reason } => return self.kill(id, caller, reason),
            Operation::Wait { name, id, caller, timeout_ms } => {
                self.wait(name, id, caller, *timeout_ms);
            }
            Operation::Abort { wait } => return self.abort(wait),
            Operation::Emit { task, text } => {
                let task = self.tasks[task];
                self.producers.get_mut(&task).expect("a producer").written.push_str(text);
            }
            Operation::Settle { task, status, detail, output } => {
                let outcome = Outcome {
                    end: *status,
                    detail: detail.as_deref().map(Into::into),
                    output: output.as_deref().map(Into::into),
                };
                let task = self.tasks[task];
                self.end(task, Queued::Settle(task, outcome));
            }
            Operation::Reject { task, error } => {
                let task = self.tasks[task];
                self.end(task, Queued::Break(task, error.clone()));
            }
            Operation::Dispose { owner } => {
                self.queue.push_back(Queued::Dispose(self.owners[owner].0));
            }
            Operation::Shutdown => self.queue.push_back(Queued::Shutdown),
            Operation::Advance { ms } => {
                self.clock_ms += ms;
                self.send(Event::Tick).unwrap();
            }
            Operation::Tick => self.tick(),
        }
        Value::Null
    }

    fn tick(&mut self) {
        while let Some(queued) = self.queue.pop_front() {
            let event = match queued {
                Queued::Settle(task, outcome) => Event::Settled { task, outcome },
                Queued::Break(task, error) => Event::Broke { task, error: error.into() },
                Queued::Dispose(owner) => Event::DisposeOwner { owner },
                Queued::Shutdown => Event::Shutdown,
            };
            self.send(event).unwrap();
        }
        self.events.append(&mut self.wait_events);
    }

    fn open_owner(
        &mut self,
        name: &str,
        session: &str,
        scope: &Option<String>,
        busy: bool,
    ) -> Value {
        let session = SessionId::new(session);
        let event = Event::OpenOwner { session: session.clone(), scope: self.scope(scope), busy };
        let Ok(Reply::Owner { owner, replaced }) = self.send(event) else { panic!() };
        let replaced = replaced.map(|key| self.owner_name(Some(key)));
        self.owners.insert(name.to_owned(), (owner, session));
        replaced.map_or(Value::Null, |name| json!({"replaced": name}))
    }

    fn off(&mut self, name: &str) {
        if let Some((listener, _)) = self.listeners.remove(name) {
            self.send(Event::ListenerRemoved { listener }).unwrap();
        }
        if let Some(observer) = self.observers.remove(name) {
            self.send(Event::ObserverRemoved { observer }).unwrap();
        }
    }

    fn start(&mut self, start: &format::Start) -> Value {
        let request = StartRequest {
            kind: start.kind.as_str().into(),
            label: start.label.as_str().into(),
            output_limit_bytes: start.limit.map(limit_bytes),
            owner: start.owner.as_ref().map(|owner| self.owners[owner].0),
            notice: NoticePreference::AsMounted,
        };
        let reservation = match self.send(Event::Reserve(request)) {
            Ok(Reply::Reserved(reservation)) => reservation,
            Ok(other) => panic!("an odd answer to a reservation: {other:?}"),
            Err(refusal) => return refused(&refusal),
        };
        if start.run == Run::Throw {
            self.send(Event::Release { reservation }).unwrap();
            return json!({"error": "run_failed"});
        }
        let output = if start.stream { OutputMode::Stream } else { OutputMode::Final };
        let Ok(Reply::Started { task, id }) = self.send(Event::Commit { reservation, output })
        else {
            panic!("a commit cannot fail")
        };
        let name = start.name.clone();
        let written = String::new();
        self.producers.insert(
            task,
            Producer { name: name.clone(), on_cancel: start.on_cancel, written, done: false },
        );
        self.tasks.insert(name, task);
        json!(id)
    }

    fn read(&mut self, id: &str, caller: &Option<String>) -> Value {
        let Some(id) = parse(id) else { return unknown() };
        let caller = self.caller(caller);
        match self.send(Event::Read { id, caller }) {
            Ok(Reply::Reading { read, task, snapshot, output }) => {
                let text = match output {
                    Output::Drain => {
                        std::mem::take(&mut self.producers.get_mut(&task).unwrap().written)
                    }
                    Output::Final(text) => text.as_deref().unwrap_or("").to_owned(),
                };
                self.send(Event::ReadEnded { read, delivered: true }).unwrap();
                json!({"text": text, "snapshot": shown(&snapshot)})
            }
            Ok(other) => panic!("an odd answer to a read: {other:?}"),
            Err(refusal) => refused(&refusal),
        }
    }

    fn kill(&mut self, id: &str, caller: &Option<String>, reason: &Option<String>) -> Value {
        let Some(id) = parse(id) else { return unknown() };
        let caller = self.caller(caller);
        let event = Event::Kill { id, caller, reason: reason.as_deref().map(Into::into) };
        let answer = match self.send(event) {
            Ok(Reply::Killing { kill, task }) => {
                let accepted = self.call_cancel(task, reason.as_deref()).is_ok();
                self.send(Event::KillAnswered { kill, accepted })
            }
            other => other,
        };
        match answer {
            Ok(Reply::KillRequested(_)) => json!("requested"),
            Ok(Reply::AlreadyFinished(_)) => json!("already-finished"),
            Ok(Reply::Done) => json!({"error": "cancel_failed"}),
            Ok(other) => panic!("an odd answer to a kill: {other:?}"),
            Err(refusal) => refused(&refusal),
        }
    }

    fn wait(&mut self, name: &str, id: &str, caller: &Option<String>, timeout_ms: f64) {
        let Some(id) = parse(id) else {
            self.over.insert(name.to_owned());
            self.wait_events.push(json!({"wait": name, "error": unknown()["error"]}));
            return;
        };
        let caller = self.caller(caller);
        let timeout = std::time::Duration::try_from_secs_f64(timeout_ms / 1000.0);
        let event = Event::Wait { id, caller, timeout: timeout.unwrap_or_default() };
        match self.send(event) {
            Ok(Reply::Waiting { waiter, ready }) => {
                self.waits.insert(name.to_owned(), waiter);
                if ready {
                    self.carry_out(Command::Wake { waiter });
                } else if self.aborted_before.iter().any(|wait| wait == name) {
                    self.abort(name);
                }
            }
            Ok(other) => panic!("an odd answer to a wait: {other:?}"),
            Err(refusal) => {
                self.over.insert(name.to_owned());
                let error = refused(&refusal)["error"].clone();
                self.wait_events.push(json!({"wait": name, "error": error}));
            }
        }
    }

    fn abort(&mut self, name: &str) -> Value {
        if self.over.contains(name) {
            return Value::Null;
        }
        let Some(&waiter) = self.waits.get(name) else {
            self.aborted_before.push(name.to_owned());
            return json!("preaborted");
        };
        let known = self.send(Event::AbortWait { waiter }).unwrap();
        assert_eq!(known, Reply::Done, "a woken wait was taken at once");
        self.over.insert(name.to_owned());
        self.wait_events.push(json!({"wait": name, "error": "wait_aborted"}));
        Value::Null
    }
}

/// A limit that is no whole number above zero is refused like zero.
fn limit_bytes(limit: f64) -> u64 {
    if limit.fract() == 0.0 && limit > 0.0 { limit as u64 } else { 0 }
}

/// An id that is not one names no task.
fn parse(id: &str) -> Option<TaskId> {
    TaskId::parse(id).ok()
}

fn unknown() -> Value {
    json!({"error": "unknown_task"})
}

fn shown(snapshot: &TaskSnapshot) -> Value {
    json!({
        "id": snapshot.id,
        "kind": snapshot.kind,
        "label": snapshot.label,
        "limit": snapshot.output_limit_bytes,
        "owner_session": snapshot.owner_session,
        "status": snapshot.status,
        "detail": snapshot.detail,
        "started_at": snapshot.started_at_ms,
        "finished_at": snapshot.finished_at_ms,
        "reported": snapshot.reported,
    })
}

fn refused(refusal: &Refusal) -> Value {
    use longrun_core::{AccessRefusal, KillRefusal, ReadRefusal, StartRefusal, WaitRefusal};
    let access = |refusal: &AccessRefusal| match refusal {
        AccessRefusal::Unknown { .. } => "unknown_task",
        AccessRefusal::Foreign { .. } => "foreign_task",
        other => panic!("no vector gives {other:?}"),
    };
    let code = match refusal {
        Refusal::Start(StartRefusal::ShuttingDown) => "shutting_down",
        Refusal::Start(StartRefusal::NoController) => "no_controller",
        Refusal::Start(StartRefusal::InvalidKind { .. }) => "invalid_kind",
        Refusal::Start(StartRefusal::EmptyLabel) => "invalid_label",
        Refusal::Start(StartRefusal::ZeroOutputLimit) => "invalid_limit",
        Refusal::Start(StartRefusal::OwnerNotLive) => "owner_not_live",
        Refusal::Start(StartRefusal::OwnerDisposing) => "owner_inactive",
        Refusal::Start(StartRefusal::LimitReached { .. }) => "limit_reached",
        Refusal::Access(refusal)
        | Refusal::Read(ReadRefusal::Access(refusal))
        | Refusal::Kill(KillRefusal::Access(refusal))
        | Refusal::Wait(WaitRefusal::Access(refusal)) => access(refusal),
        Refusal::Wait(WaitRefusal::TimeoutOutOfRange) => "invalid_timeout",
        other => panic!("no vector gives {other:?}"),
    };
    json!({"error": code})
}
