//! The background-task runtime of an agent harness, as a pure state machine.
//!
//! An agent starts long work, gets an id, goes on, reads what is new, waits, kills, is
//! told when it is done; and when the agent goes, its work goes with it. This crate is
//! the part that decides: who may start, read and stop what, which end of a task counts,
//! who is told of it (exactly once, and never nobody), when a disposal is over. It does
//! no I/O, reads no clock, spawns nothing, and needs no `std`.
//!
//! ```text
//!  callers ── requests ─┐                                 ┌─ wake a waiter
//!  producers ─ facts ───┤   ┌─────────────────────────┐   ├─ call a listener, an observer
//!  clock ─ time ────────┴─► │ Registry::handle(       │ ─►├─ ask a producer to stop
//!                           │   now, event, &mut out) │   ├─ nudge an inbox
//!                           │   -> Result<Reply, _>   │   └─ an owner, the service, is done
//!                           └─────────────────────────┘
//!                             next_deadline() ──► one timer
//! ```
//!
//! Start with [`Registry`], then [`Event`] and [`Command`]: what can come in and what can
//! go out is listed there once. [`controls`] has every text that a model reads. What is
//! promised is in `CONTRACT.md`, clause by clause; comments and tests cite its clauses.
//!
//! # Driving it
//!
//! Whoever runs the registry does six things:
//!
//! 1. tells it what happened, with the time: [`Registry::handle`];
//! 2. gives the [`Reply`], or the [`Refusal`], to whoever asked;
//! 3. carries out the [`Command`]s, in order, and outside any lock, since callbacks may
//!    ask for more;
//! 4. answers those commands that say so with another event;
//! 5. sets one timer to [`Registry::next_deadline`], and sends [`Event::Tick`] then;
//! 6. runs what a reply asks for on the spot (a starter after [`Reply::Reserved`], a
//!    producer's cancel after [`Reply::Killing`], its reader after [`Reply::Reading`]), and
//!    finishes with the event that belongs to it.
//!
//! ```
//! use longrun_core::{
//!     Caller, Command, Config, Event, Instant, NoticePolicy, NoticePreference, Now, Outcome,
//!     OutputMode, Registry, Reply, SessionId, StartRequest,
//! };
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut registry = Registry::new(Config::default())?;
//! let mut out = Vec::new();
//! // A real driver reads its clocks here; a simulation makes time up.
//! let now = |ms: u64| Now::new(Instant(ms * 1_000_000), 1_700_000_000_000 + ms);
//!
//! // Something can read and stop tasks, and announces their ends.
//! let notices = Some(NoticePolicy::default());
//! registry.handle(now(0), Event::AttachController { scope: None, notices }, &mut out)?;
//! let open = Event::OpenOwner { session: SessionId::new("s"), scope: None, busy: true };
//! let Reply::Owner { owner, .. } = registry.handle(now(0), open, &mut out)? else { panic!() };
//!
//! // A start: reserve, run the starter, commit.
//! let request = StartRequest {
//!     kind: "bash".into(),
//!     label: "make".into(),
//!     output_limit_bytes: None,
//!     owner: Some(owner),
//!     notice: NoticePreference::AsMounted,
//! };
//! let reserved = registry.handle(now(1), Event::Reserve(request), &mut out)?;
//! let Reply::Reserved(reservation) = reserved else { panic!() };
//! let commit = Event::Commit { reservation, output: OutputMode::Final };
//! let Reply::Started { task, id } = registry.handle(now(2), commit, &mut out)? else { panic!() };
//! assert_eq!(id.as_str(), "bash-1");
//!
//! // Somebody waits for it: that sets the timer.
//! let caller: Caller = Some(SessionId::new("s"));
//! let timeout = std::time::Duration::from_secs(5);
//! registry.handle(now(3), Event::Wait { id: id.clone(), caller, timeout }, &mut out)?;
//! assert_eq!(registry.next_deadline().map(|(at, _)| at), Some(Instant(5_003_000_000)));
//!
//! // The producer says that it is over: the waiter is woken, and takes its result.
//! let outcome = Outcome::completed().with_detail("exit code: 0");
//! registry.handle(now(9), Event::Settled { task, outcome }, &mut out)?;
//! let [Command::Wake { waiter }] = out[..] else { panic!("{out:?}") };
//! out.clear();
//! let over = registry.handle(now(9), Event::TakeWait { waiter }, &mut out)?;
//! let Reply::WaitOver { snapshot, timed_out: false } = over else { panic!() };
//! assert_eq!(snapshot.detail.as_deref(), Some("exit code: 0"));
//! assert!(registry.next_deadline().is_none());
//! # Ok(())
//! # }
//! ```
//!
//! # Features
//!
//! `serde` for events, commands and snapshots, and the format of a `trace`; `check` for [`Registry::check`], every
//! invariant of the state in one place. Both build without `std`.
#![no_std]
#![forbid(unsafe_code)]
#![warn(clippy::wildcard_enum_match_arm)]

extern crate alloc;

#[macro_use]
pub mod canary;

mod command;
mod config;
pub mod controls;
mod event;
mod ids;
pub mod output;
mod phase;
mod refusal;
mod registry;
mod snapshot;
mod time;
#[cfg(feature = "serde")]
pub mod trace;

pub use command::{Command, Lane, Warning};
pub use config::{Config, Delivery, InvalidConfig, MAX_WAIT, NoticePolicy};
pub use event::{
    Caller, ClaimSource, Event, NoticePreference, Output, OutputMode, Reply, StartRequest,
};
pub use ids::{
    ControllerKey, InvalidTaskId, KillKey, ListenerKey, MAX_KIND_BYTES, MAX_TASK_ID_BYTES,
    ObserverKey, OwnerKey, ReadKey, ReservationKey, ScopeKey, SessionId, TaskId, TaskKey,
    WaiterKey,
};
pub use phase::{End, Status};
pub use refusal::{
    AccessRefusal, Gone, KillRefusal, ReadRefusal, Refusal, StartRefusal, WaitRefusal,
};
pub use registry::{Due, Registry};
pub use snapshot::{Outcome, Stop, StopCause, TaskSnapshot};
pub use time::{Instant, Now};
