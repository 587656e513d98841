//! Background tasks for AI agent harnesses, on tokio.
//!
//! [`Builder`] makes a [`TaskService`]. An agent is an [`OwnerScope`]; what it starts is a
//! task with an id, which can be read, waited for and killed by whoever has its session,
//! and which ends with it. Producers hand over [`Hooks`]; [`bash`] and [`subagent`] make some.
//! A harness is told of ended tasks through its [`Inbox`], and takes the notices with
//! [`OwnerScope::claim`].
//!
//! | module | what it is | feature |
//! |---|---|---|
//! | [`bash`], [`process`] | commands, each in a session of its own (Linux) | `bash`, on by default |
//! | [`subagent`] | child agents, in this process or by the Agent Client Protocol | the latter: `acp` |
//! | `tools` | `bash`, `subagent`, `task_output`, `task_list`, `task_kill` as JSON in, text out, and a pipeline of policies around them | `tools` |
//! | `record` | a live service as a trace that the simulation replays | `record` |
//! | `testing` | fakes for the tests of a harness | `testing` |
//! | `cli` | the command `longrun` | `cli` |
//!
//! The service itself is in `longrun-shared` and knows no tokio; it is re-exported here.
//! What it promises is in the contract, which `longrun-core` carries.

#![deny(unsafe_code)]

#[cfg(feature = "bash")]
pub mod bash;
mod builder;
#[cfg(feature = "cli")]
pub mod cli;
mod clock;
#[cfg(feature = "bash")]
pub mod process;
#[cfg(feature = "record")]
pub mod record;
pub mod subagent;
#[cfg(feature = "testing")]
pub mod testing;
mod timer;
#[cfg(feature = "tools")]
pub mod tools;

pub use builder::{BuildError, Builder};
pub use clock::{SystemClock, WallClock};
pub use longrun_shared::*;

#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
