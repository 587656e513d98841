//! What a provider of children that speak the protocol is set to.

use std::{ffi::OsString, path::PathBuf, time::Duration};

/// The longest span that any setting may have: more than three weeks.
const LONGEST: Duration = Duration::from_millis(2_147_483_647);

/// The settings of an [`AcpProvider`](super::AcpProvider).
#[derive(Clone, Debug)]
pub struct AcpConfig {
    /// The agent: a path, or a name to look up in `PATH`.
    pub command: OsString,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// The directory of children whose request names none; absolute.
    pub cwd: PathBuf,
    /// Variables to set on top of the inherited ones.
    pub env: Vec<(OsString, OsString)>,
    /// Variables that children inherit as they are, as for commands:
    /// [`BashConfig::pass_env`](crate::bash::BashConfig::pass_env) tells the rule.
    pub pass_env: Vec<OsString>,
    /// What a child is answered that asks for a permission.
    pub permission: Permission,
    /// How long a child may take until its session is open.
    pub startup_deadline: Duration,
    /// How long each step of a child's end may take: to answer a cancel, to end by itself
    /// once its input is closed, to obey SIGTERM.
    pub grace: Duration,
    /// How many bytes of what a child says are kept, the last ones.
    pub memory_bytes: usize,
}

/// What a child is answered that asks for a permission.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Permission {
    /// No, this once if it can be said; a cancellation where no such answer is offered.
    #[default]
    Reject,
    /// Yes, this once if it can be said; a cancellation where no such answer is offered.
    Allow,
}

/// Why a configuration was turned down.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AcpConfigError {
    /// No agent.
    #[error("acp command is empty: expected a program that speaks the Agent Client Protocol")]
    NoCommand,
    /// The directory is relative.
    #[error("acp cwd {path:?} is relative: expected an absolute path")]
    RelativeCwd {
        /// What was given.
        path: PathBuf,
    },
    /// A span is zero or too long.
    #[error("acp {setting} is {value:?}: expected more than nothing and at most {LONGEST:?}")]
    Span {
        /// Which one.
        setting: &'static str,
        /// What was given.
        value: Duration,
    },
    /// No room for an answer.
    #[error("acp memory_bytes is {value}: expected at least 4, the length of one character")]
    Memory {
        /// What was given.
        value: usize,
    },
}

impl AcpConfig {
    /// The defaults, for children of that command that work in `cwd`: permissions are
    /// rejected, a startup may take a minute, each grace 3 seconds, and 64,000 bytes of an
    /// answer are kept.
    #[must_use]
    pub fn new(command: impl Into<OsString>, cwd: impl Into<PathBuf>) -> Self {
        Self {
            command: command.into(),
            args: Vec::new(),
            cwd: cwd.into(),
            env: Vec::new(),
            pass_env: Vec::new(),
            permission: Permission::default(),
            startup_deadline: Duration::from_secs(60),
            grace: Duration::from_secs(3),
            memory_bytes: 64_000,
        }
    }

    pub(super) fn check(&self) -> Result<(), AcpConfigError> {
        if self.command.is_empty() {
            return Err(AcpConfigError::NoCommand);
        }
        if !self.cwd.is_absolute() {
            return Err(AcpConfigError::RelativeCwd { path: self.cwd.clone() });
        }
        let spans = [("startup_deadline", self.startup_deadline), ("grace", self.grace)];
        for (setting, value) in spans {
            if value.is_zero() || value > LONGEST {
                return Err(AcpConfigError::Span { setting, value });
            }
        }
        if self.memory_bytes < 4 {
            return Err(AcpConfigError::Memory { value: self.memory_bytes });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // contract: U4
    #[test]
    fn each_setting_is_checked_and_named() {
        fn refused(change: impl FnOnce(&mut AcpConfig)) -> String {
            let mut config = AcpConfig::new("agent", "/");
            assert_eq!(config.check(), Ok(()));
            change(&mut config);
            config.check().unwrap_err().to_string()
        }
        assert!(refused(|config| config.command.clear()).contains("command is empty"));
        assert!(refused(|config| config.cwd = "here".into()).contains("cwd \"here\" is relative"));
        let deadline = refused(|config| config.startup_deadline = Duration::ZERO);
        assert!(deadline.contains("startup_deadline"), "{deadline}");
        assert!(refused(|config| config.grace = Duration::MAX).contains("grace"));
        assert!(refused(|config| config.memory_bytes = 3).contains("memory_bytes is 3"));
    }
}
