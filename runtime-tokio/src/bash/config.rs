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
    /// How many bytes of each output stream are kept in memory.
    pub memory_bytes: usize,
    /// Where longer output goes; nowhere if absent, and then only its end is kept.
    pub spill: Option<SpillConfig>,
    /// How long what got a SIGTERM may take before it gets a SIGKILL.
    pub grace: Duration,
    /// How long after the end an output pipe may stay open, and how long after
    /// the shell's exit a foreground command waits for what it has left behind.
    pub drain: Duration,
    /// The shell: a path, or a name to look up in `PATH`.
    pub shell: OsString,
    /// Variables that commands inherit as they are, whatever the rule for all others says.
    ///
    /// What a command inherits of the host, unless it is named here or the request sets it:
    ///
    /// - Nothing that looks like a secret: whose name, in upper case, has `KEY`, `PASSWORD`,
    ///   `SECRET`, `TOKEN`, `CREDENTIAL` or `PASSPHRASE` in it, or one of `PASS`, `PASSWD`,
    ///   `PWD`, `PAT`, `JWT` and `BEARER` between underscores (`PWD` and `OLDPWD` themselves
    ///   are none).
    /// - Nothing that makes a program ask or wait: whose name ends with `EDITOR`, `VISUAL`,
    ///   `ASKPASS` or `PAGER`; nor `FORCE_COLOR` or `CLICOLOR_FORCE`.
    /// - Instead of what the host has, values that turn colours, pagers and prompts off: of
    ///   `NO_COLOR`, `CARGO_TERM_COLOR`, `TERM` (`dumb`), `PAGER`, `AWS_PAGER`, `GH_PAGER`,
    ///   `GIT_PAGER`, `MANPAGER`, `SYSTEMD_PAGER` (`cat`, or nothing), `DEBIAN_FRONTEND`,
    ///   `GCM_INTERACTIVE`, `GH_PROMPT_DISABLED`, `GIT_ASKPASS`, `GIT_TERMINAL_PROMPT`,
    ///   `PIP_NO_INPUT` and `SSH_ASKPASS_REQUIRE`.
    ///
    /// All else is inherited. What the configuration files of a program say is left as it
    /// is: an editor that git's `core.editor` names is run.
    pub pass_env: Vec<OsString>,
}

/// Where output goes that is longer than what is kept in memory. A host whose files may have
/// a limited size (`ulimit -f`) must ignore or catch `SIGXFSZ`: by default the system ends it
/// at such a write.
#[derive(Clone, Debug)]
pub struct SpillConfig {
    /// The directory in which a private one is made when it is needed; absolute.
    pub dir: PathBuf,
    /// How many bytes of a stream are kept in its file, from the first one on.
    pub stream_bytes: u64,
    /// How many bytes the files of one owner may have in all. Whoever runs commands
    /// without tools, and so without owners, has one such budget for all of them.
    pub owner_bytes: u64,
}

impl Default for SpillConfig {
    /// In the directory for temporary files, which `TMPDIR` names, from the current
    /// directory on if it is relative; `/tmp` if it names none. 64 MiB of a stream,
    /// 512 MiB of an owner.
    fn default() -> Self {
        let dir = temporary(std::env::var_os("TMPDIR"));
        Self { dir, stream_bytes: 64 << 20, owner_bytes: 512 << 20 }
    }
}

fn temporary(named: Option<OsString>) -> PathBuf {
    let dir = named.filter(|dir| !dir.is_empty()).map_or_else(|| "/tmp".into(), PathBuf::from);
    // Without a current directory it stays relative, which the check of the settings tells.
    std::path::absolute(&dir).unwrap_or(dir)
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
    /// The directory for long output is relative.
    #[error("bash spill directory {path:?} is relative: expected an absolute path")]
    RelativeSpillDir {
        /// What was given.
        path: PathBuf,
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
            spill: Some(SpillConfig::default()),
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
        if let Some(spill) = self.spill.as_ref().filter(|spill| !spill.dir.is_absolute()) {
            return Err(ConfigError::RelativeSpillDir { path: spill.dir.clone() });
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

    // contract: B8
    #[test]
    fn the_directory_for_temporary_files_is_an_absolute_one_in_any_case() {
        let here = std::env::current_dir().unwrap();
        let cases = [
            (None, "/tmp".into()),
            (Some(""), "/tmp".into()),
            (Some("/var/tmp"), "/var/tmp".into()),
            (Some("below/it"), here.join("below/it")),
        ];
        for (named, expected) in cases {
            assert_eq!(temporary(named.map(Into::into)), expected, "{named:?}");
        }
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
        let spill = SpillConfig { dir: "here".into(), ..SpillConfig::default() };
        assert!(refused(|config| config.spill = Some(spill)).contains("spill directory"));
    }
}
