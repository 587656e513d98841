//! Time as data: the registry is told what time it is and reads no clock.

use core::time::Duration;

/// A moment on a monotonic clock, in nanoseconds since whenever that clock began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct Instant(pub u64);

impl Instant {
    /// The end of time; nothing is due later.
    pub const MAX: Self = Self(u64::MAX);

    /// That much later, or the end of time.
    #[must_use]
    pub fn saturating_add(self, span: Duration) -> Self {
        let nanos = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(nanos))
    }

    /// How long ago `earlier` was; zero if it was not.
    #[must_use]
    pub fn saturating_since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// The time of an event, as its sender saw it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Now {
    /// The monotonic clock: what deadlines are measured with. Going backwards is
    /// read as standing still.
    pub at: Instant,
    /// The wall clock, in milliseconds since the Unix epoch: what snapshots show.
    /// It may step back.
    pub wall_ms: u64,
}

impl Now {
    /// That moment by both clocks.
    #[must_use]
    pub const fn new(at: Instant, wall_ms: u64) -> Self {
        Self { at, wall_ms }
    }

    /// What this sender's clocks showed at an earlier moment.
    pub(crate) fn back_at(self, earlier: Instant) -> Self {
        let ago = self.at.saturating_since(earlier).as_millis();
        let ago = u64::try_from(ago).unwrap_or(u64::MAX);
        Self { at: earlier, wall_ms: self.wall_ms.saturating_sub(ago) }
    }
}
