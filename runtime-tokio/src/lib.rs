//! The tokio adapter of longrun.
#![deny(unsafe_code)]

mod builder;
mod clock;
#[cfg(feature = "testing")]
pub mod testing;
mod timer;

pub use builder::{BuildError, Builder};
pub use clock::{SystemClock, WallClock};
pub use longrun_shared::*;
