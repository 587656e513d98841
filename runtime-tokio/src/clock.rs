//! The two clocks of a service.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use longrun_shared::core::{Instant, Now};
use tokio::runtime::Handle;

/// The wall clock: what snapshots show. It may step back.
pub trait WallClock: Send + Sync + 'static {
    /// Milliseconds since the Unix epoch.
    fn now_ms(&self) -> u64;
}

/// The wall clock of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl WallClock for SystemClock {
    fn now_ms(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }
}

/// The monotonic clock of a tokio runtime (it stands still while that is paused), and a
/// wall clock beside it.
pub(crate) struct Clocks {
    began: tokio::time::Instant,
    wall: Box<dyn WallClock>,
}

impl Clocks {
    /// Clocks that begin now.
    pub(crate) fn start(handle: &Handle, wall: Box<dyn WallClock>) -> Self {
        let _runtime = handle.enter();
        Self { began: tokio::time::Instant::now(), wall }
    }

    /// The time, from whichever thread asks: a paused clock is that of the runtime.
    pub(crate) fn now(&self, handle: &Handle) -> Now {
        let _runtime = handle.enter();
        let since = self.began.elapsed();
        let at = Instant(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX));
        Now::new(at, self.wall.now_ms())
    }

    /// When the runtime's clock will show that instant.
    pub(crate) fn when(&self, at: Instant) -> tokio::time::Instant {
        const FAR: Duration = Duration::from_secs(60 * 60 * 24 * 365);
        self.began + Duration::from_nanos(at.0).min(self.began.elapsed() + FAR)
    }
}
