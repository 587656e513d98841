//! The service around longrun's core, for any runtime.
#![forbid(unsafe_code)]

mod attach;
#[cfg(all(test, not(longrun_loom)))]
mod broken;
mod callbacks;
mod completion;
mod dispatch;
mod error;
mod inbox;
mod owner;
mod panics;
mod producer;
mod runtime;
mod scope;
mod service;
mod start;
mod state;
mod sync;
mod wait;

pub use callbacks::{Changed, Guard, TaskDone};
pub use error::{
    AccessError, BoxError, Broken, KillError, ReadError, ScopeError, StartError, WaitError,
};
pub use inbox::{Inbox, Notice};
pub use longrun_core as core;
pub use longrun_core::{
    Caller, ClaimSource, Config, Delivery, End, NoticePolicy, NoticePreference, Outcome, SessionId,
    Status, TaskId, TaskSnapshot,
};
pub use owner::{Disposal, OwnerBuilder, OwnerScope};
pub use producer::{Hooks, TaskSpec};
pub use runtime::{BoxFuture, Report, Runtime};
pub use scope::Scope;
pub use service::{HeldOutput, Killed, Read, TaskService, WeakTaskService};
pub use state::Tap;
pub use wait::{Wait, Waited};
