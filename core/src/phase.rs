//! One task's life as a table of transitions, written once.
//!
//! ```text
//!            cancelled            cancelled
//!               │                   ┌──┐
//!   running ────┴────────► stopping ┘  │
//!      │                      │
//!      └────── settled ───────┴──► completed | killed | failed     (final)
//! ```

use core::fmt;

/// Where a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Status {
    /// At work.
    Running,
    /// Asked to stop, and not over yet.
    Stopping,
    /// Over: it came to its own end, good or bad.
    Completed,
    /// Over: it was stopped.
    Killed,
    /// Over: it could not be carried out or observed to its end.
    Failed,
}

impl Status {
    /// All of them, in the order of a life.
    pub const ALL: [Self; 5] =
        [Self::Running, Self::Stopping, Self::Completed, Self::Killed, Self::Failed];

    /// Whether nothing can change any more.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        match self {
            Self::Running | Self::Stopping => false,
            Self::Completed | Self::Killed | Self::Failed => true,
        }
    }

    /// The word that a model reads.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Stopping => "stopping",
            Self::Completed => "completed",
            Self::Killed => "killed",
            Self::Failed => "failed",
        }
    }

    /// The state after that step, or `None` if the step changes nothing.
    pub(crate) const fn after(self, step: Step) -> Option<Self> {
        match (self, step) {
            (Self::Running | Self::Stopping, Step::Cancelled) => Some(Self::Stopping),
            (Self::Running | Self::Stopping, Step::Settled(end)) => Some(end.status()),
            (Self::Completed | Self::Killed | Self::Failed, Step::Cancelled | Step::Settled(_)) => {
                None
            }
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// How a task ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum End {
    /// It came to its own end.
    Completed,
    /// It was stopped.
    Killed,
    /// It could not be carried out or observed to its end.
    Failed,
}

impl End {
    /// The state of a task that ended so.
    #[must_use]
    pub const fn status(self) -> Status {
        match self {
            Self::Completed => Status::Completed,
            Self::Killed => Status::Killed,
            Self::Failed => Status::Failed,
        }
    }
}

/// What can happen to a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The producer accepted a request to stop.
    Cancelled,
    /// The producer reported the end, or it was recorded for it.
    Settled(End),
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{format, string::String};

    // contract: L1, L3, K2
    #[test]
    fn the_whole_matrix_of_states_and_steps() {
        let steps = [
            Step::Cancelled,
            Step::Settled(End::Completed),
            Step::Settled(End::Killed),
            Step::Settled(End::Failed),
        ];
        let mut table = String::new();
        for status in Status::ALL {
            for step in steps {
                let next = status.after(step).map_or("(nothing)", Status::as_str);
                table.push_str(&format!("{status:<10} {:<20} -> {next}\n", format!("{step:?}")));
            }
        }
        insta::assert_snapshot!(table);
    }
}
