//! The tokio adapter of longrun.

#[cfg(feature = "bash")]
pub mod bash;
mod builder;
#[cfg(feature = "cli")]
pub mod cli;
mod clock;
#[cfg(feature = "bash")]
pub mod process;
#[cfg(feature = "testing")]
pub mod testing;
mod timer;
#[cfg(feature = "tools")]
pub mod tools;

pub use builder::{BuildError, Builder};
pub use clock::{SystemClock, WallClock};
pub use longrun_shared::*;
