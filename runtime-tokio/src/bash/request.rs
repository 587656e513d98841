//! From what a caller asks for to what is run.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

use crate::process::{
    ProcessSpec, SpawnError, SpillBudget, SpillPlan, check_directory, check_program,
};

use super::config::BashConfig;
use super::env;

/// The most that the system takes as one argument, its final zero included.
const ARGUMENT_BYTES: usize = 128 * 1024;

/// What a caller asks for; what is absent is filled in by
/// [`BashExecutor::resolve`](super::BashExecutor::resolve).
#[derive(Clone, Debug, Default)]
pub struct BashRequest {
    /// The command, as after `bash -c`.
    pub command: String,
    /// The directory to run in; a relative one starts at the configured one.
    pub workdir: Option<PathBuf>,
    /// How long it may take in the foreground, in milliseconds.
    pub timeout_ms: Option<f64>,
    /// Variables to set on top of the inherited ones.
    pub env: Vec<(OsString, OsString)>,
    /// What the command reads from its standard input; nothing if absent.
    pub stdin: Option<Vec<u8>>,
    /// What its output may take on disk, together with that of others; by default the
    /// executor's.
    pub spill_budget: Option<SpillBudget>,
}

impl BashRequest {
    /// A request for a command, with every default.
    #[must_use]
    pub fn new(command: impl Into<String>) -> Self {
        Self { command: command.into(), ..Self::default() }
    }
}

/// What is run: checked, and with nothing left open.
#[derive(Clone, Debug)]
pub struct BashSpec {
    /// The command.
    pub(super) command: String,
    /// How long it may take in the foreground.
    pub(super) timeout: Duration,
    /// The variables of the host that it does not get.
    pub(super) withheld: Vec<OsString>,
    pub(super) process: ProcessSpec,
}

impl BashSpec {
    /// The command, as it was asked for.
    #[must_use]
    pub fn command(&self) -> &str {
        &self.command
    }

    /// The directory that it runs in.
    #[must_use]
    pub fn workdir(&self) -> &std::path::Path {
        &self.process.cwd
    }

    /// How long it may take in the foreground.
    #[must_use]
    pub const fn timeout(&self) -> Duration {
        self.timeout
    }

    /// The variables of the host that it does not get, by name, because they look
    /// like secrets.
    #[must_use]
    pub fn withheld(&self) -> &[OsString] {
        &self.withheld
    }

    /// Those of [`withheld`](Self::withheld) that the command names.
    pub fn missed(&self) -> impl Iterator<Item = &str> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let names = move |name: &&str| {
            self.command.match_indices(name).any(|(at, found)| {
                let (before, after) = (&self.command[..at], &self.command[at + found.len()..]);
                !before.ends_with(is_part) && !after.starts_with(is_part)
            })
        };
        self.withheld.iter().filter_map(|name| name.to_str()).filter(names)
    }

    /// Sets one more variable, whatever the request said of it.
    pub fn set_env(&mut self, name: impl Into<OsString>, value: impl Into<OsString>) {
        let name = name.into();
        self.process.env.retain(|(other, _)| *other != name);
        self.process.env.push((name, value.into()));
    }
}

/// Why a command was not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BashError {
    /// Nothing to run.
    #[error("the command is empty: expected a bash command")]
    EmptyCommand,
    /// No argument can hold a NUL.
    #[error("the command has a NUL character at byte {at}: expected text; remove it")]
    NulInCommand {
        /// Where.
        at: usize,
    },
    /// No argument can be so long.
    #[error(
        "the command has {bytes} bytes: expected fewer than {ARGUMENT_BYTES}; put it into a file \
         and run that"
    )]
    CommandTooLong {
        /// Its length.
        bytes: usize,
    },
    /// The timeout is no span of time.
    #[error("the timeout is {timeout_ms} ms: expected a positive finite number")]
    BadTimeout {
        /// What was given.
        timeout_ms: f64,
    },
    /// A variable cannot be set.
    #[error(
        "the variable {name:?} cannot be set: expected a name without '=', and no NUL in name or \
         value"
    )]
    BadVariable {
        /// Its name.
        name: OsString,
    },
    /// The caller had given up before anything was started.
    #[error("aborted before the command was started")]
    Aborted,
    /// It could not be started.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
}

pub(super) fn resolve(
    config: &BashConfig,
    spill: Option<SpillPlan>,
    request: BashRequest,
) -> Result<BashSpec, BashError> {
    let BashRequest { command, workdir, timeout_ms, env, stdin, spill_budget } = request;
    check_command(&command)?;
    for (name, value) in &env {
        check_variable(name, value)?;
    }
    let cwd = workdir.map_or_else(|| config.cwd.clone(), |dir| config.cwd.join(dir));
    check_directory(&cwd)?;
    let timeout = resolve_timeout(config, timeout_ms)?;
    let environment = env::compose(std::env::vars_os(), &config.pass_env, &env);
    let path = environment.vars.get(OsStr::new("PATH"));
    check_program(&config.shell, path.map(OsString::as_os_str), &cwd)?;
    let process = ProcessSpec {
        program: config.shell.clone(),
        args: vec!["-c".into(), command.clone().into()],
        cwd,
        env: environment.vars.into_iter().collect(),
        stdin,
        memory_bytes: config.memory_bytes,
        spill: spill.map(|plan| SpillPlan { budget: spill_budget.unwrap_or(plan.budget), ..plan }),
        grace: config.grace,
        drain: config.drain,
    };
    Ok(BashSpec { command, timeout, withheld: environment.withheld, process })
}

fn check_command(command: &str) -> Result<(), BashError> {
    if command.trim().is_empty() {
        Err(BashError::EmptyCommand)
    } else if let Some(at) = command.bytes().position(|byte| byte == 0) {
        Err(BashError::NulInCommand { at })
    } else if command.len() >= ARGUMENT_BYTES {
        Err(BashError::CommandTooLong { bytes: command.len() })
    } else {
        Ok(())
    }
}

fn check_variable(name: &OsStr, value: &OsStr) -> Result<(), BashError> {
    let bytes = name.as_bytes();
    let bad = bytes.is_empty() || bytes.contains(&b'=') || bytes.contains(&0);
    if bad || value.as_bytes().contains(&0) {
        return Err(BashError::BadVariable { name: name.to_owned() });
    }
    Ok(())
}

fn resolve_timeout(config: &BashConfig, asked_ms: Option<f64>) -> Result<Duration, BashError> {
    let Some(timeout_ms) = asked_ms else { return Ok(config.timeout) };
    if !timeout_ms.is_finite() || timeout_ms <= 0.0 {
        return Err(BashError::BadTimeout { timeout_ms });
    }
    // Less than the smallest duration is still not nothing, and more than the
    // largest is more than the cap.
    let asked = Duration::try_from_secs_f64(timeout_ms / 1000.0).unwrap_or(config.max_timeout);
    Ok(asked.clamp(Duration::from_nanos(1), config.max_timeout))
}
