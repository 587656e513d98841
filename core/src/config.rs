//! What a registry may hold: every growth has a limit.

use alloc::{format, sync::Arc};
use core::time::Duration;

/// The longest a single wait may last: 2 147 483 647 ms, a little under 25 days.
pub const MAX_WAIT: Duration = Duration::from_millis(2_147_483_647);

/// The limits of a registry. All are finite by default but the two that say so.
///
/// ```
/// use longrun_core::Config;
///
/// let config = Config { max_active_per_owner: 4, ..Config::default() };
/// assert!(config.check().is_ok());
/// assert!(Config { max_active_per_owner: 0, ..config }.check().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields, default))]
pub struct Config {
    /// Tasks running, stopping or being started per exact owner; all unowned
    /// tasks together share one more such bucket. Default 10.
    pub max_active_per_owner: usize,
    /// Waits and kills in flight on one task. Default 4096.
    pub max_waiters_per_task: usize,
    /// Bytes kept of a label; the rest is cut off and marked. Default 65 536.
    pub max_label_bytes: usize,
    /// Bytes kept of a detail, a reason or an error. Default 4096.
    pub max_detail_bytes: usize,
    /// Ended tasks kept per owner whose end the owner has been told of; the oldest
    /// go first. `None`, the default, keeps all until the owner is disposed.
    pub max_settled_per_owner: Option<usize>,
    /// How long a task may take to end after a disposal cancelled it. Past that it
    /// is recorded as failed and reported as a possible orphan. `None`, the
    /// default, waits for as long as it takes.
    pub teardown_deadline: Option<Duration>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            max_active_per_owner: 10,
            max_waiters_per_task: 4096,
            max_label_bytes: 65_536,
            max_detail_bytes: 4096,
            max_settled_per_owner: None,
            teardown_deadline: None,
        }
    }
}

impl Config {
    /// Whether a registry can work within these limits.
    ///
    /// # Errors
    ///
    /// [`InvalidConfig`] names the first limit that is zero (or, for the two sizes
    /// of text, under 16 bytes).
    pub fn check(&self) -> Result<(), InvalidConfig> {
        let refuse = |field, least| Err(InvalidConfig { field, least });
        if self.max_active_per_owner == 0 {
            return refuse("max_active_per_owner", "1");
        }
        if self.max_waiters_per_task == 0 {
            return refuse("max_waiters_per_task", "1");
        }
        if self.max_label_bytes < 16 {
            return refuse("max_label_bytes", "16");
        }
        if self.max_detail_bytes < 16 {
            return refuse("max_detail_bytes", "16");
        }
        if self.teardown_deadline == Some(Duration::ZERO) {
            return refuse("teardown_deadline", "1 ns, or none");
        }
        Ok(())
    }

    /// A label as a registry keeps it: what is longer is cut off, on a character border,
    /// and marked.
    pub(crate) fn bounded_label(&self, label: Arc<str>) -> Arc<str> {
        bounded(label, self.max_label_bytes)
    }

    /// A detail, a reason or an error as a registry keeps it: what is longer is cut off, on
    /// a character border, and marked.
    #[must_use]
    pub fn bounded_detail(&self, detail: Arc<str>) -> Arc<str> {
        bounded(detail, self.max_detail_bytes)
    }
}

fn bounded(text: Arc<str>, max_bytes: usize) -> Arc<str> {
    if text.len() <= max_bytes {
        return text;
    }
    const MARK: &str = "…";
    let kept = text.floor_char_boundary(max_bytes.saturating_sub(MARK.len()));
    format!("{}{MARK}", &text[..kept]).into()
}

/// A limit that no registry can work within.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{field}` must be at least {least}")]
pub struct InvalidConfig {
    field: &'static str,
    least: &'static str,
}

/// How the controls mounted at a scope announce ended tasks to owners.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct NoticePolicy {
    /// Whether an idle owner is woken.
    pub delivery: Delivery,
    /// How often an owner is woken in a row before it has to claim user input.
    pub max_consecutive_wakes: u32,
}

impl Default for NoticePolicy {
    fn default() -> Self {
        Self { delivery: Delivery::Quiet, max_consecutive_wakes: 3 }
    }
}

/// Whether an idle owner is woken for a notice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Delivery {
    /// Never: notices are there when the owner next takes a step.
    #[default]
    Quiet,
    /// Within the budget of [`NoticePolicy::max_consecutive_wakes`].
    Wakeup,
}

#[cfg(test)]
mod tests {
    use super::*;

    // contract: S2
    #[test]
    fn the_least_that_works_is_accepted_and_less_is_named() {
        let least = Config {
            max_active_per_owner: 1,
            max_waiters_per_task: 1,
            max_label_bytes: 16,
            max_detail_bytes: 16,
            max_settled_per_owner: Some(0),
            teardown_deadline: Some(Duration::from_nanos(1)),
        };
        assert_eq!(least.check(), Ok(()));
        assert_eq!(Config::default().check(), Ok(()));
        let less = [
            ("max_active_per_owner", Config { max_active_per_owner: 0, ..least }),
            ("max_waiters_per_task", Config { max_waiters_per_task: 0, ..least }),
            ("max_label_bytes", Config { max_label_bytes: 15, ..least }),
            ("max_detail_bytes", Config { max_detail_bytes: 15, ..least }),
            ("teardown_deadline", Config { teardown_deadline: Some(Duration::ZERO), ..least }),
        ];
        for (field, config) in less {
            assert_eq!(config.check().map_err(|invalid| invalid.field), Err(field));
        }
    }
}
