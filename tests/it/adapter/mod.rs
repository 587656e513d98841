//! The tokio adapter through its public API: on paused time, and on several threads
//! where threads matter.
//!
//! Nothing here sleeps. Time is paused and advanced, and what another thread does is
//! waited for as a fact.

mod access;
mod callbacks;
mod collect;
mod dispose;
mod held;
mod kill;
mod limits;
mod live;
mod notices;
mod observe;
mod order;
mod read;
mod record;
mod replay;
mod scopes;
mod settle;
mod shutdown;
mod start;
mod starter;
mod threads;
mod trouble;
mod wait;
mod wait_lost;
mod waits;
mod wakes;

use std::{
    cell::RefCell,
    fmt::Display,
    io,
    pin::pin,
    sync::{Arc, Mutex, Once, PoisonError},
    time::{Duration, Instant},
};

use futures::FutureExt as _;
use longrun_tokio::{
    Builder, Caller, ClaimSource, Guard, Hooks, NoticePolicy, Outcome, OwnerScope, Read,
    StartError, TaskId, TaskService, TaskSnapshot, TaskSpec, Wait,
    core::StartRefusal,
    testing::{FakeInbox, FakeProducer, Nudge},
};

/// Long enough for any fact, short enough to see that it never came.
const PATIENCE: Duration = Duration::from_secs(60);
const A_MINUTE: Duration = Duration::from_secs(60);

/// A service with quiet controls, and one owner with its inbox.
struct World {
    service: TaskService,
    controls: Guard,
    inbox: Arc<FakeInbox>,
    owner: OwnerScope,
}

impl World {
    fn new() -> Self {
        Self::with(|builder| builder)
    }

    fn with(build: impl FnOnce(Builder) -> Builder) -> Self {
        Self::mounted(NoticePolicy::default(), build)
    }

    fn mounted(policy: NoticePolicy, build: impl FnOnce(Builder) -> Builder) -> Self {
        let service = build(Builder::new()).build().unwrap();
        let controls = service.mount_controls(policy).unwrap();
        let inbox = Arc::new(FakeInbox::new());
        let owner = service.owner("s1").inbox(inbox.clone()).open().unwrap();
        Self { service, controls, inbox, owner }
    }

    /// Another owner, without an inbox.
    fn open(&self, session: &str) -> OwnerScope {
        self.service.owner(session).open().unwrap()
    }

    fn caller(&self) -> Caller {
        self.owner.caller()
    }

    /// Starts a task of the owner's.
    fn start(&self, producer: &FakeProducer) -> TaskId {
        start(&self.owner, producer)
    }

    /// Starts a task whose hooks are made by hand.
    fn start_hooks(&self, hooks: Hooks) -> TaskId {
        self.owner.start(make(), || Ok::<_, Never>(hooks)).unwrap()
    }

    fn start_unowned(&self, producer: &FakeProducer) -> TaskId {
        self.service.start_unowned(make(), || producer.hooks()).unwrap()
    }

    fn get(&self, id: &TaskId) -> TaskSnapshot {
        self.service.get(id, &self.caller()).unwrap()
    }

    fn read(&self, id: &TaskId) -> Read {
        self.service.read(id, &self.caller()).unwrap()
    }

    fn wait(&self, id: &TaskId) -> Wait {
        self.service.wait(id, &self.caller(), A_MINUTE)
    }

    /// Until a task has ended, without learning of it as its owner.
    async fn ended(&self, id: &TaskId) {
        until("the task has ended", || self.get(id).status.is_terminal()).await;
    }

    /// Lets a task come to its own end.
    async fn complete(&self, id: &TaskId, producer: &FakeProducer) {
        producer.settle(Outcome::completed());
        self.ended(id).await;
    }

    /// Takes the pending notices: of which tasks they are.
    fn claim(&self) -> Vec<TaskId> {
        claimed(&self.owner)
    }
}

/// An error that does not occur.
type Never = std::convert::Infallible;

fn make() -> TaskSpec {
    TaskSpec::new("bash", "make")
}

fn start(owner: &OwnerScope, producer: &FakeProducer) -> TaskId {
    owner.start(make(), || producer.hooks()).unwrap()
}

/// Why a start is refused; the starter must not run.
fn refusal(owner: &OwnerScope, spec: TaskSpec) -> StartRefusal {
    let refused = owner.start(spec, || -> Result<Hooks, Never> { panic!("the starter ran") });
    match refused {
        Err(StartError::Refused(refusal)) => refusal,
        other => panic!("not refused but {other:?}"),
    }
}

fn claimed(owner: &OwnerScope) -> Vec<TaskId> {
    owner.claim(ClaimSource::Inbox).into_iter().map(|notice| notice.task.id).collect()
}

fn inject(id: &TaskId) -> Nudge {
    Nudge::Inject(id.clone())
}

fn withdraw(id: &TaskId) -> Nudge {
    Nudge::Withdraw(id.clone())
}

/// Waits for what must come; on paused time, that it never does is seen at once.
async fn soon<F: Future>(future: F) -> F::Output {
    const LATE: Duration = Duration::from_secs(60 * 60);
    let began = tokio::time::Instant::now();
    let output = tokio::time::timeout(LATE, future).await.expect("it never ended");
    // A timeout looks once more before it gives up.
    assert!(began.elapsed() < LATE, "it ended, and nobody was woken for it");
    output
}

/// Lets others run until something is a fact.
async fn until(what: &str, fact: impl Fn() -> bool) {
    let began = Instant::now();
    while !fact() {
        assert!(began.elapsed() < PATIENCE, "never became a fact: {what}");
        tokio::task::yield_now().await;
    }
}

/// The same, for a thread outside the runtime.
fn block_until(what: &str, fact: impl Fn() -> bool) {
    let began = Instant::now();
    while !fact() {
        assert!(began.elapsed() < PATIENCE, "never became a fact: {what}");
        std::thread::yield_now();
    }
}

/// Waits for a future on a thread outside the runtime.
fn block_on<F: Future>(future: F) -> F::Output {
    let (mut future, began) = (pin!(future), Instant::now());
    loop {
        if let Some(output) = future.as_mut().now_or_never() {
            return output;
        }
        assert!(began.elapsed() < PATIENCE, "it never ended");
        std::thread::yield_now();
    }
}

/// Lets everything run that can without time passing.
async fn come_to_rest() {
    for _ in 0..64 {
        tokio::task::yield_now().await;
    }
}

/// A runtime of several threads.
fn threads() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap()
}

/// What happened, in order.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn add(&self, what: impl Display) {
        self.lines_mut(|lines| lines.push(what.to_string()));
    }

    fn lines(&self) -> Vec<String> {
        self.lines_mut(|lines| lines.clone())
    }

    fn has(&self, part: &str) -> bool {
        self.lines_mut(|lines| lines.iter().any(|line| line.contains(part)))
    }

    fn lines_mut<T>(&self, with: impl FnOnce(&mut Vec<String>) -> T) -> T {
        with(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

thread_local! {
    static LOGGED: RefCell<Log> = RefCell::default();
}

/// What the adapter writes to the log of its host on this thread from now on.
///
/// There is one subscriber for the whole binary: whether an event is enabled is cached
/// across threads, and subscribers that come and go race with that.
fn logged() -> Log {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(|| LogWriter);
        tracing::subscriber::set_global_default(subscriber.finish()).unwrap();
    });
    LOGGED.take();
    LOGGED.with_borrow(Log::clone)
}

struct LogWriter;

impl io::Write for LogWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LOGGED.with_borrow(|log| log.add(String::from_utf8_lossy(bytes).trim_end()));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
