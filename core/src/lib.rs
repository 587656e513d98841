//! longrun-core
#![no_std]
#![forbid(unsafe_code)]
#![warn(clippy::wildcard_enum_match_arm)]

extern crate alloc;

mod command;
mod config;
pub mod controls;
mod event;
mod ids;
mod phase;
mod refusal;
mod registry;
mod snapshot;
mod time;

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
