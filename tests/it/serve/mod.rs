//! `longrun serve`, driven as a harness in another language would.

mod background;
mod bad_input;
mod bad_model;
mod descriptors;
pub(crate) mod driver;
mod ends;
mod leftovers;
mod observe;
mod owners;
mod record;
mod settings;
mod spill;
mod states;
mod storm;
mod story;
mod subagent;
