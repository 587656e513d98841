//! `longrun serve`, driven as a harness in another language would.

mod bad_input;
mod driver;
mod ends;
mod owners;
mod record;
mod storm;
mod story;
