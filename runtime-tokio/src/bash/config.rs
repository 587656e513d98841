//! What a bash executor is set to.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// The longest span that any setting may have: more than three weeks, and what
/// the timers of every harness can still count.
const LONGEST: Duration = Duration::from_millis(2_147_483_647);

/// The settings of a [`BashExecutor`](super::BashExecutor).
#[derive(Clone, Debug)]
pub struct BashConfig {
    /// Where commands run that name no directory; absolute.
    pub cwd: PathBuf,
    /// How long a foreground command may take that names no timeout.
    pub timeout: Duration,
    /// The cap on any foreground timeout.
    pub max_timeout: Duration,
    /// How many bytes of each output stream are kept.
    pub memory_bytes: usize,
    /// How long what got a SIGTERM may take before it gets a SIGKILL.
    pub grace: Duration,
    /// How long after the end an output pipe may stay open, and how long after
    /// the shell's exit a foreground command waits for what it has left behind.
    pub drain: Duration,
    /// The shell: a path, or a name to look up in `PATH`.
    pub shell: OsString,
    /// Variables that commands inherit although their names look like secrets.
    pub pass_env: Vec<OsString>,
}

/// Why a configuration was turned down.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The directory is relative.
    #[error("bash cwd {path:?} is relative: expected an absolute path")]
    RelativeCwd {
        /// What was given.
        path: PathBuf,
    },
    /// A span is zero or too long.
    #[error("bash {setting} is {value:?}: expected more than nothing and at most {LONGEST:?}")]
    Span {
        /// Which one.
        setting: &'static str,
        /// What was given.
        value: Duration,
    },
    /// The default is above the cap.
    #[error("bash timeout is {timeout:?}: expected at most max_timeout, {max_timeout:?}")]
    TimeoutAboveCap {
        /// The default.
        timeout: Duration,
        /// The cap.
        max_timeout: Duration,
    },
    /// No room for output.
    #[error("bash memory_bytes is {value}: expected at least 4, the length of one character")]
    Memory {
        /// What was given.
        value: usize,
    },
    /// No shell.
    #[error("bash shell is empty: expected a program, such as \"bash\"")]
    NoShell,
}

impl BashConfig {
    /// The defaults, for commands that run in `cwd`.
    #[must_use]
    pub fn new(cwd: impl Into<PathBuf>) -> Self {
        Self {
            cwd: cwd.into(),
            timeout: Duration::from_secs(120),
            max_timeout: Duration::from_secs(600),
            memory_bytes: 64_000,
            grace: Duration::from_secs(3),
            drain: Duration::from_secs(2),
            shell: "bash".into(),
            pass_env: Vec::new(),
        }
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        if !self.cwd.is_absolute() {
            return Err(ConfigError::RelativeCwd { path: self.cwd.clone() });
        }
        let spans = [
            ("timeout", self.timeout),
            ("max_timeout", self.max_timeout),
            ("grace", self.grace),
            ("drain", self.drain),
        ];
        for (setting, value) in spans {
            if value.is_zero() || value > LONGEST {
                return Err(ConfigError::Span { setting, value });
            }
        }
        if self.timeout > self.max_timeout {
            let (timeout, max_timeout) = (self.timeout, self.max_timeout);
            return Err(ConfigError::TimeoutAboveCap { timeout, max_timeout });
        }
        if self.memory_bytes < 4 {
            return Err(ConfigError::Memory { value: self.memory_bytes });
        }
        if self.shell.is_empty() {
            return Err(ConfigError::NoShell);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(change: impl FnOnce(&mut BashConfig)) -> String {
        let mut config = BashConfig::new("/");
        assert_eq!(config.check(), Ok(()));
        change(&mut config);
        config.check().unwrap_err().to_string()
    }

    // contract: B1
    #[test]
    fn each_setting_is_checked_and_named() {
        assert!(refused(|config| config.cwd = "here".into()).contains("cwd"));
        assert!(refused(|config| config.timeout = Duration::ZERO).contains("timeout"));
        assert!(refused(|config| config.grace = Duration::MAX).contains("grace"));
        assert!(refused(|config| config.drain = Duration::ZERO).contains("drain"));
        assert!(refused(|config| config.max_timeout = Duration::from_secs(1)).contains("at most"));
        assert!(refused(|config| config.memory_bytes = 0).contains("memory_bytes"));
        assert!(refused(|config| config.shell.clear()).contains("shell"));
    }
}
