use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use crate::clock::WallClock;

/// A wall clock that is set by hand. Clones show the same time.
#[derive(Clone, Debug, Default)]
pub struct FakeClock(Arc<AtomicU64>);

impl FakeClock {
    /// A clock that shows that many milliseconds since the Unix epoch.
    #[must_use]
    pub fn at_ms(ms: u64) -> Self {
        Self(Arc::new(AtomicU64::new(ms)))
    }

    /// Sets it, forwards or back.
    pub fn set_ms(&self, ms: u64) {
        self.0.store(ms, Ordering::SeqCst);
    }
}

impl WallClock for FakeClock {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}
