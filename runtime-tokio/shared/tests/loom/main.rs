//! The service around the core in every order of its threads' steps, up to three
//! preemptions:
//!
//! ```text
//! RUSTFLAGS="--cfg longrun_loom" cargo test -p longrun-shared --release --test loom
//! ```
//!
//! Each model lets two or three threads do one thing each, and asserts after they were
//! joined: an assertion inside a contained callback would be swallowed. What came of
//! it is collected over all executions, and each possible outcome must have been seen.
#![cfg(longrun_loom)]
#![allow(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod dispatch;
mod dispose;
mod held;
mod kill;
mod observe;
mod read;
mod shutdown;
mod wait;
mod world;
