//! The contract's tests, in one binary.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod adapter;
mod cases;
mod corpora;
mod serve;
mod subagent;
mod tidy;
mod tools;
mod vectors;
