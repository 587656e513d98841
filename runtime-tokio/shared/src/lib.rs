//! The service around longrun's core, for any runtime.
#![forbid(unsafe_code)]

mod attach;
#[cfg(all(test, not(longrun_loom)))]
mod broken;
mod callbacks;
mod collect;
mod completion;
mod dispatch;
mod error;
mod gate;
mod inbox;
mod observe;
mod owner;
#[doc(hidden)]
pub mod panics;
mod producer;
mod read;
mod runtime;
mod scope;
mod service;
mod start;
mod state;
mod sync;
mod wait;
mod waits;

pub use callbacks::{Changed, Guard, TaskDone};
pub use collect::Collected;
pub use error::{
    AccessError, BoxError, Broken, CollectError, KillError, ObserveError, ReadError, ScopeError,
    StartError, WaitError,
};
pub use inbox::{Inbox, Notice};
pub use longrun_core as core;
pub use longrun_core::{
    Caller, ClaimSource, Config, Delivery, End, NoticePolicy, NoticePreference, Outcome, SessionId,
    Status, TaskId, TaskSnapshot,
};
pub use observe::{Observed, Observer};
pub use owner::{Disposal, OwnerBuilder, OwnerScope};
pub use producer::{Hooks, StreamReader, TaskSpec};
pub use read::{HeldRead, Read, Receipt};
pub use runtime::{BoxFuture, Report, Runtime};
pub use scope::Scope;
pub use service::{Killed, TaskService, WeakTaskService};
pub use state::Tap;
pub use wait::{Wait, Waited};
pub use waits::{Until, WaitOutcome, Waits};
