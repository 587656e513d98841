//! The simulation: a world that misbehaves, a model that knows what should happen,
//! and a registry between them.
//!
//! ```text
//!   bytes ──► Source ──► World ──(now, event)──► Registry ──► answer, commands
//!  (a seed,      │      (queue, swarm, gen)         │                 │
//!   proptest,    │        ▲                         │                 ▼
//!   a fuzzer)    └────────┤                       Model ────────► the same?
//!                         └──── answers, commands ──┴───── Ledger: who was told?
//! ```
//!
//! A [`Source`] of bytes is behind every choice. The world ([`run`]) draws what
//! happens next, sends it as an event, and answers what the registry asks of it:
//! sooner, later, twice, never. A [`Bench`] holds what the registry says against a
//! naive [`model`] that looks through the whole history each time, and against a
//! ledger that only knows who was told of what. A run first does as it pleases
//! (safety), then heals, and everything has to come to rest (liveness).
//!
//! What fails is a [`Trace`], and from there on only the trace counts: it can be
//! replayed ([`replay`]), made small ([`shrink`]) and drawn ([`explain`]).
//!
//! | to | open |
//! |---|---|
//! | see what is checked | `property`, then `bench` and `ledger` |
//! | see what should happen | `model` |
//! | see what can happen | `gen` and `world`; `swarm` for how often |
//! | search a small world to the end | `exhaustive` |
//! | script what a real adapter must do alike | [`phases`] |
//! | check the checkers | `canary` |

mod bench;
pub mod campaign;
#[cfg(feature = "canary")]
pub mod canary;
mod coverage;
mod difference;
pub mod exhaustive;
pub mod explain;
mod fingerprint;
pub mod fuzz;
mod r#gen;
mod heal;
mod keys;
mod ledger;
pub mod model;
pub mod phases;
mod property;
mod queue;
mod run;
mod shrink;
mod source;
mod swarm;
pub mod trace;
mod world;
mod worlds;

pub use bench::{Bench, Depth};
pub use coverage::{Coverage, Pairs};
pub use property::{Failure, Kind, Label, Property, Seen};
pub use run::{Report, replay, run};
pub use shrink::shrink;
pub use source::Source;
pub use trace::Trace;
