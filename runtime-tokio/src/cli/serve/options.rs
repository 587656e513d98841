//! How `longrun serve` is set.

use std::{ffi::OsString, fs::File, path::PathBuf, time::Duration};

use clap::{
    Args, ValueEnum,
    builder::{OsStringValueParser, TypedValueParser},
};
use longrun_shared::{
    Config, Delivery, NoticePolicy,
    core::controls::{ControlsConfig, InvalidControlsConfig, one_line},
};

use super::Failure;
use crate::{
    bash::{BashConfig, SpillConfig},
    process::is_tellable,
    record,
    subagent::acp::{self, AcpConfig, AcpProvider, Permission},
    tools::{BashOptions, OnTimeout, SubagentOptions},
};

/// The options of `longrun serve`. Times are in milliseconds.
#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// Tasks that one owner may have at work.
    #[arg(long, value_name = "N", default_value_t = 10)]
    max_active_per_owner: usize,
    /// How long task_output waits when it is not told.
    #[arg(long, value_name = "MS", default_value_t = 30_000)]
    wait_timeout_ms: u64,
    /// The longest that task_output waits.
    #[arg(long, value_name = "MS", default_value_t = 600_000)]
    max_wait_timeout_ms: u64,
    /// Let task_output take several ids in one call, as `task_ids` and `until`.
    #[arg(long)]
    task_ids: bool,
    /// Whether an idle owner is woken when a task has ended.
    #[arg(long, value_enum, default_value_t = DeliveryOption::Quiet)]
    delivery: DeliveryOption,
    /// How often in a row an owner is woken before it claims user input.
    #[arg(long, value_name = "N", default_value_t = 3)]
    max_consecutive_wakes: u32,
    /// The cap on each text of task_output and task_kill about a background command or
    /// subagent, and on its notice, in bytes; none by default.
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(1..))]
    output_limit_bytes: Option<u64>,
    /// How long a foreground command may take when it is not told.
    #[arg(long, value_name = "MS", default_value_t = 120_000)]
    timeout_ms: u64,
    /// The longest that a foreground command may take.
    #[arg(long, value_name = "MS", default_value_t = 600_000)]
    max_timeout_ms: u64,
    /// How much of each output stream is kept in memory, in bytes.
    #[arg(long, value_name = "BYTES", default_value_t = 64_000)]
    memory_bytes: usize,
    /// How much of a longer output stream is kept in a file, in bytes; 0 for no files.
    #[arg(long, value_name = "BYTES", default_value_t = 64 << 20)]
    spill_bytes: u64,
    /// The directory for such files; by default the system's for temporary files.
    #[arg(long, value_name = "DIR")]
    spill_dir: Option<PathBuf>,
    /// How long a process may take to end after SIGTERM, before it gets SIGKILL.
    #[arg(long, value_name = "MS", default_value_t = 3_000)]
    grace_ms: u64,
    /// How long an output pipe may stay open after the end. Also how long after the exit
    /// of its shell a foreground command waits for what it has left behind, which goes on
    /// as a background task then.
    #[arg(long, value_name = "MS", default_value_t = 2_000)]
    drain_ms: u64,
    /// What happens to a foreground command whose time is over.
    #[arg(long, value_enum, default_value_t = OnTimeoutOption::Kill)]
    on_timeout: OnTimeoutOption,
    /// How long a task may take to end once a disposal has cancelled it, before it is
    /// given up; without it a disposal waits for as long as it takes.
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..))]
    teardown_deadline_ms: Option<u64>,
    /// Let a variable through that commands and subagents would not inherit as it is. Can
    /// be repeated.
    ///
    /// They inherit no variable that looks like a secret: whose name has KEY, PASSWORD,
    /// SECRET, TOKEN, CREDENTIAL or PASSPHRASE in it, or one of PASS, PASSWD, PWD, PAT, JWT
    /// and BEARER between underscores (PWD and OLDPWD themselves are none); in small letters,
    /// too. Nor one that makes a program ask, wait or colour: whose name ends with EDITOR,
    /// VISUAL, ASKPASS or PAGER, nor FORCE_COLOR or CLICOLOR_FORCE. Some get values that turn
    /// colours, pagers and prompts off, such as NO_COLOR, TERM, PAGER and DEBIAN_FRONTEND.
    #[arg(long, value_name = "NAME",
        value_parser = OsStringValueParser::new().try_map(variable_name))]
    env: Vec<OsString>,
    /// Offer the tool `subagent`: a command with its arguments, quoted as in a shell, which
    /// speaks the Agent Client Protocol.
    #[arg(long, value_name = "COMMAND")]
    acp: Option<String>,
    /// What a subagent is answered that asks for a permission.
    #[arg(long, value_enum, default_value_t = PermissionOption::Reject)]
    acp_permission: PermissionOption,
    /// How long a subagent may take until its session is open.
    #[arg(long, value_name = "MS", default_value_t = 60_000)]
    acp_startup_ms: u64,
    /// How many agents may be above a subagent. How many are above this runtime's own, its
    /// environment tells: LONGRUN_DEPTH, which a subagent is started with.
    #[arg(long, value_name = "N", default_value_t = 3)]
    max_depth: u32,
    /// Tell what has changed in an owner's tasks.
    #[arg(long)]
    pub(super) events: bool,
    /// Record the runtime's events in a new file, which only its owner may read, since it
    /// holds the commands: `longrun-sim replay` runs them again.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum DeliveryOption {
    Quiet,
    Wakeup,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum OnTimeoutOption {
    /// It is ended.
    Kill,
    /// It goes on as a background task; if it cannot, it is ended.
    Background,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum PermissionOption {
    Reject,
    Allow,
}

impl Options {
    pub(super) fn config(&self) -> Config {
        Config {
            max_active_per_owner: self.max_active_per_owner,
            teardown_deadline: self.teardown_deadline_ms.map(Duration::from_millis),
            ..Config::default()
        }
    }

    pub(super) fn controls(&self) -> Result<ControlsConfig, InvalidControlsConfig> {
        let config = ControlsConfig::new(self.wait_timeout_ms, self.max_wait_timeout_ms)?;
        Ok(if self.task_ids { config.with_task_ids() } else { config })
    }

    pub(super) fn notices(&self) -> NoticePolicy {
        NoticePolicy {
            delivery: match self.delivery {
                DeliveryOption::Quiet => Delivery::Quiet,
                DeliveryOption::Wakeup => Delivery::Wakeup,
            },
            max_consecutive_wakes: self.max_consecutive_wakes,
        }
    }

    pub(super) fn bash(&self) -> Result<BashConfig, Failure> {
        let mut spill = SpillConfig { stream_bytes: self.spill_bytes, ..SpillConfig::default() };
        if let Some(dir) = &self.spill_dir {
            spill.dir = std::env::current_dir()?.join(dir);
            if !is_tellable(&spill.dir) {
                let dir = one_line(&dir.display().to_string());
                return Err(format!("--spill-dir {dir}: expected one line of plain text").into());
            }
        }
        Ok(BashConfig {
            spill: (self.spill_bytes > 0).then_some(spill),
            timeout: Duration::from_millis(self.timeout_ms),
            max_timeout: Duration::from_millis(self.max_timeout_ms),
            memory_bytes: self.memory_bytes,
            grace: Duration::from_millis(self.grace_ms),
            drain: Duration::from_millis(self.drain_ms),
            pass_env: self.env.clone(),
            ..BashConfig::new(std::env::current_dir()?)
        })
    }

    /// The file for the record, if there is to be one.
    pub(super) fn record(&self) -> Result<Option<File>, Failure> {
        let Some(path) = &self.record else { return Ok(None) };
        let file = record::create(path).map_err(|error| {
            let path = path.display();
            format!("--record {path}: expected a path where a new file can be made: {error}")
        })?;
        Ok(Some(file))
    }

    /// The children of the tool `subagent`, if it is offered.
    pub(super) fn acp(&self) -> Result<Option<AcpProvider>, Failure> {
        let Some(line) = &self.acp else { return Ok(None) };
        let expected = "expected a command with its arguments, quoted as in a shell";
        let words = shell_words::split(line)
            .map_err(|error| format!("--acp {}: {expected}: {error}", one_line(line)))?;
        let Some((command, args)) = words.split_first() else {
            return Err(format!("--acp: {expected}, got nothing").into());
        };
        let config = AcpConfig {
            args: args.iter().map(Into::into).collect(),
            pass_env: self.env.clone(),
            permission: match self.acp_permission {
                PermissionOption::Reject => Permission::Reject,
                PermissionOption::Allow => Permission::Allow,
            },
            startup_deadline: Duration::from_millis(self.acp_startup_ms),
            grace: Duration::from_millis(self.grace_ms),
            memory_bytes: self.memory_bytes,
            ..AcpConfig::new(command, std::env::current_dir()?)
        };
        Ok(Some(AcpProvider::new(config)?))
    }

    pub(super) fn subagent_tool(&self) -> Result<SubagentOptions, Failure> {
        let depth = std::env::var_os(acp::DEPTH).filter(|depth| !depth.is_empty());
        let depth = depth.map_or(Ok(0), |depth| {
            let depth = depth.to_string_lossy();
            depth.parse().map_err(|error| {
                let depth = one_line(&depth);
                format!("{}={depth}: expected a number of agents: {error}", acp::DEPTH)
            })
        })?;
        let max_depth = self.max_depth;
        let output_limit_bytes = self.output_limit_bytes;
        Ok(SubagentOptions { depth, max_depth, output_limit_bytes, ..SubagentOptions::default() })
    }

    pub(super) fn bash_tool(&self) -> BashOptions {
        BashOptions {
            output_limit_bytes: self.output_limit_bytes,
            on_timeout: match self.on_timeout {
                OnTimeoutOption::Kill => OnTimeout::Kill,
                OnTimeoutOption::Background => OnTimeout::Background,
            },
            ..BashOptions::default()
        }
    }
}

fn variable_name(name: OsString) -> Result<OsString, &'static str> {
    if name.is_empty() || name.as_encoded_bytes().contains(&b'=') {
        return Err("expected the name of a variable, and no value");
    }
    Ok(name)
}
