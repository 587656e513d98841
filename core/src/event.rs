//! The one way in.
//!
//! Two kinds of event go through the one door. A *request* is imperative and can
//! be refused; a refused request changes nothing. A *fact* is in the past tense
//! and cannot be refused; a late, doubled or lost one is absorbed.
//!
//! Where the outside can fail, a request comes in two steps, and everything else
//! may happen between them:
//!
//! | begin | the outside | finish |
//! |---|---|---|
//! | [`Event::Reserve`] | the starter runs | [`Event::Commit`] or [`Event::Release`] |
//! | [`Event::Kill`] | the producer's cancel | [`Event::KillAnswered`] |
//! | [`Event::Read`] | the output is drained and handed over | [`Event::ReadEnded`] |
//! | [`Event::Wait`] | the waiter is woken | [`Event::TakeWait`], [`Event::AbortWait`] or [`Event::WaitDropped`] |

use alloc::{sync::Arc, vec::Vec};
use core::time::Duration;

use crate::{
    ControllerKey, KillKey, ListenerKey, NoticePolicy, ObserverKey, Outcome, OwnerKey, ReadKey,
    ReservationKey, ScopeKey, SessionId, TaskId, TaskKey, TaskSnapshot, WaiterKey,
};

/// Who makes a request: the session of an agent, or nobody in particular, who can
/// reach only what is unowned.
pub type Caller = Option<SessionId>;

/// Something that happened, or that somebody asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Event {
    /// Time passed. Answer: [`Reply::Done`].
    Tick,

    /// Open a scope below `parent`, or below the root. Answer: [`Reply::Scope`].
    OpenScope {
        /// The scope above; `None` is the root.
        parent: Option<ScopeKey>,
    },
    /// Close a scope and those below it: every registration in them ends. Owners
    /// in them live on. Answer: [`Reply::Done`].
    CloseScope {
        /// Which one.
        scope: ScopeKey,
    },
    /// Attach a controller: its owners' starts are no longer refused for want of
    /// one. Answer: [`Reply::Controller`].
    AttachController {
        /// Where; `None` is the root, which serves everyone.
        scope: Option<ScopeKey>,
        /// If it announces ended tasks to the owners it serves: how.
        notices: Option<NoticePolicy>,
    },
    /// A controller is gone.
    ControllerDetached {
        /// Which one.
        controller: ControllerKey,
    },
    /// Register a completion listener. Answer: [`Reply::Listener`].
    AddListener {
        /// Where; `None` is the root, which serves everyone.
        scope: Option<ScopeKey>,
    },
    /// A completion listener is gone.
    ListenerRemoved {
        /// Which one.
        listener: ListenerKey,
    },
    /// Register a change observer. Answer: [`Reply::Observer`].
    AddObserver {
        /// Where; `None` is the root, which serves everyone.
        scope: Option<ScopeKey>,
    },
    /// A change observer is gone.
    ObserverRemoved {
        /// Which one.
        observer: ObserverKey,
    },

    /// Register a live owner under its session id, replacing the one that was live
    /// there. Answer: [`Reply::Owner`].
    OpenOwner {
        /// The identity that grants access.
        session: SessionId,
        /// Where it lives; `None` is the root.
        scope: Option<ScopeKey>,
        /// Whether it is in a turn.
        busy: bool,
    },
    /// An owner began or ended a turn. Only this says so: waking does not.
    BusyChanged {
        /// Which owner.
        owner: OwnerKey,
        /// Whether it is in a turn now.
        busy: bool,
    },
    /// Hand over the pending notices of an owner. Answer: [`Reply::Claimed`].
    Claim {
        /// Which owner.
        owner: OwnerKey,
        /// What else the owner takes in this step.
        source: ClaimSource,
        /// Finding nothing, mark the owner idle in the same moment.
        or_idle: bool,
    },
    /// Dispose an owner: cancel its live tasks, then forget it. The end is
    /// [`Command::OwnerDisposed`](crate::Command::OwnerDisposed). Answer:
    /// [`Reply::Done`], or [`Reply::Disposed`] if it has ended already.
    DisposeOwner {
        /// Which owner.
        owner: OwnerKey,
    },
    /// Nobody holds the owner any more: dispose it, and forget its key.
    OwnerDropped {
        /// Which owner.
        owner: OwnerKey,
    },

    /// Admit a start: all that can fail is checked, and a slot is taken. Answer:
    /// [`Reply::Reserved`].
    Reserve(StartRequest),
    /// The starter succeeded: the task is registered. Cannot fail. Answer:
    /// [`Reply::Started`].
    Commit {
        /// Which start.
        reservation: ReservationKey,
        /// How its output is read.
        output: OutputMode,
    },
    /// The starter failed: the slot is free again.
    Release {
        /// Which start.
        reservation: ReservationKey,
    },
    /// A producer's work is over and its resources are released.
    Settled {
        /// Which task.
        task: TaskKey,
        /// How it ended.
        outcome: Outcome,
    },
    /// A producer broke its contract: its `done` panicked, failed or vanished.
    Broke {
        /// Which task.
        task: TaskKey,
        /// What was seen of it.
        error: Arc<str>,
    },
    /// A producer answered a [`Command::Cancel`](crate::Command::Cancel).
    CancelAnswered {
        /// Which task.
        task: TaskKey,
        /// Why it could not be asked to stop, if so.
        error: Option<Arc<str>>,
    },

    /// Begin a consuming read. Answer: [`Reply::Reading`].
    Read {
        /// Which task.
        id: TaskId,
        /// Who asks.
        caller: Caller,
    },
    /// A read is over. It may take as long as it likes: only other reads of its task are
    /// turned away until then.
    ReadEnded {
        /// Which read.
        read: ReadKey,
        /// Whether somebody was given the output. If not, nothing was read.
        delivered: bool,
    },
    /// Begin a kill. Answer: [`Reply::Killing`], or [`Reply::AlreadyFinished`].
    Kill {
        /// Which task.
        id: TaskId,
        /// Who asks.
        caller: Caller,
        /// Why, forwarded to the producer word for word.
        reason: Option<Arc<str>>,
    },
    /// The producer answered a kill. Answer: [`Reply::KillRequested`],
    /// [`Reply::AlreadyFinished`], or [`Reply::Done`] where its cancel failed.
    KillAnswered {
        /// Which kill.
        kill: KillKey,
        /// Whether the producer accepted to stop.
        accepted: bool,
    },
    /// Wait for the end of a task. Answer: [`Reply::Waiting`].
    Wait {
        /// Which task.
        id: TaskId,
        /// Who asks.
        caller: Caller,
        /// For how long: above zero and at most [`MAX_WAIT`](crate::MAX_WAIT).
        timeout: Duration,
    },
    /// Take what a woken waiter was promised. Answer: [`Reply::WaitOver`], or
    /// [`Reply::Done`] while there is nothing to take.
    TakeWait {
        /// Which wait.
        waiter: WaiterKey,
    },
    /// End a wait: what it was promised already it still gets. Answer:
    /// [`Reply::WaitOver`] or [`Reply::Done`].
    AbortWait {
        /// Which wait.
        waiter: WaiterKey,
    },
    /// Nobody will take the result of a wait: what it was promised is given back.
    WaitDropped {
        /// Which wait.
        waiter: WaiterKey,
    },

    /// Dispose the service: cancel everything, then forget it. The end is
    /// [`Command::ShutDown`](crate::Command::ShutDown). Answer: [`Reply::Done`], or
    /// [`Reply::Disposed`] if it has ended already.
    Shutdown,
}

/// A request to start work.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct StartRequest {
    /// What kind of work; also the first part of its id.
    pub kind: Arc<str>,
    /// What to call it.
    pub label: Arc<str>,
    /// The cap on one model-facing text about it, in bytes; not zero.
    pub output_limit_bytes: Option<u64>,
    /// Whose work it is; `None`: nobody's, and it ends with the service.
    pub owner: Option<OwnerKey>,
    /// Whether its end is announced.
    pub notice: NoticePreference,
}

/// What a task's producer wants of the notice of its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum NoticePreference {
    /// As the owner's controls do it.
    #[default]
    AsMounted,
    /// Never wake an idle owner for it.
    NeverWake,
    /// Do not announce it at all.
    Never,
}

/// How a task's output is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum OutputMode {
    /// A read returns what came since the previous one.
    Stream,
    /// A read returns the outcome's output once the task is over.
    Final,
}

/// What an owner takes at the start of a step, besides its notices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum ClaimSource {
    /// Input of the user's: the wake budget is full again.
    User,
    /// Only what the runtime has for it.
    Inbox,
}

/// What an event came to, for the one who sent it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Reply {
    /// It is done, or absorbed; there is nothing to tell.
    Done,
    /// A scope was opened.
    Scope(ScopeKey),
    /// A controller was attached.
    Controller(ControllerKey),
    /// A completion listener was registered.
    Listener(ListenerKey),
    /// A change observer was registered.
    Observer(ObserverKey),
    /// An owner was registered.
    Owner {
        /// Its key.
        owner: OwnerKey,
        /// Who was live under that session id until now.
        replaced: Option<OwnerKey>,
    },
    /// These notices are the owner's now.
    Claimed {
        /// The ended tasks, in the order in which they ended.
        notices: Vec<TaskSnapshot>,
        /// Whether the owner was marked idle.
        idle: bool,
    },
    /// A disposal that had ended already.
    Disposed {
        /// Tasks that may still be at work.
        orphans: Vec<TaskId>,
    },
    /// A start was admitted: run the starter, then commit or release.
    Reserved(ReservationKey),
    /// A task was registered.
    Started {
        /// Its key.
        task: TaskKey,
        /// Its public name.
        id: TaskId,
    },
    /// A read has begun.
    Reading {
        /// The read to end.
        read: ReadKey,
        /// Which task.
        task: TaskKey,
        /// Its state before the drain.
        snapshot: TaskSnapshot,
        /// Where the output is.
        output: Output,
    },
    /// A kill has begun: call the producer's cancel, then answer.
    Killing {
        /// The kill to answer.
        kill: KillKey,
        /// Which task.
        task: TaskKey,
    },
    /// The producer was asked to stop.
    KillRequested(TaskSnapshot),
    /// The task had ended before.
    AlreadyFinished(TaskSnapshot),
    /// A wait was registered.
    Waiting {
        /// The wait.
        waiter: WaiterKey,
        /// Whether there is something to take at once.
        ready: bool,
    },
    /// A wait is over.
    WaitOver {
        /// The task as the wait found it.
        snapshot: TaskSnapshot,
        /// Whether the timeout ended it, not the task.
        timed_out: bool,
    },
}

/// Where a read finds its output.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Output {
    /// The producer's reader has it: drain it.
    Drain,
    /// Here it is; `None` while the task lives, or if it left none.
    Final(Option<Arc<str>>),
}
