//! Children that speak the Agent Client Protocol, version 1, each a process of its own.
//!
//! # The model
//!
//! A child is started as any command is (see [`process`](crate::process)), with pipes to its
//! standard input and output, and gets one session and one prompt. What it says in message
//! chunks is its answer. It is offered nothing of ours: no files, no terminals, no servers
//! of tools. Where it asks for a permission, [`Permission`] answers.
//!
//! Its working directory is the request's, or else the configured one; its environment is
//! what a command gets ([`BashConfig::pass_env`](crate::bash::BashConfig::pass_env) tells the
//! rule), and `LONGRUN_DEPTH`, which tells how many agents are above it.
//!
//! # The end
//!
//! Asked to stop, the child is sent a cancel and has one grace to answer it. In any case its
//! standard input is closed then; after one more grace it gets SIGTERM, after the third
//! SIGKILL, and with it whatever it has started. The run is disposed when no known process
//! of it is left.
//!
//! # What a child cannot do
//!
//! - Keep the task from ending: its startup has a deadline, its end is above.
//! - Fill the memory: a line longer than [`MAX_LINE_BYTES`] is the end of it, of what it
//!   says the last [`AcpConfig::memory_bytes`] are kept, of its standard error the last 4 KiB,
//!   and one that asks a thousand questions without reading an answer is ended. (A line of
//!   that length that is made for it takes fifty times as much while it is parsed.)
//! - Be misunderstood: a line that is no message of the protocol is the end of it, and the
//!   failure quotes it. So an agent must not write its log to standard output.

mod config;
mod lines;
mod talk;
mod teardown;

use std::{ffi::OsStr, ffi::OsString, path::PathBuf, sync::Arc, time::Duration};

use futures::FutureExt as _;
use longrun_shared::BoxError;

pub use self::config::{AcpConfig, AcpConfigError, Permission};
pub use self::lines::MAX_LINE_BYTES;
use self::{
    talk::{Over, Talk},
    teardown::Teardown,
};
use super::{AbortHandle, Finish, Provider, Request, Run, Startup, Stop};
use crate::{
    bash::env::compose,
    process::{Conversation, Process, ProcessSpec, check_directory, check_program},
};

/// How many bytes of a child's standard error are kept.
const STDERR_BYTES: usize = 4096;

/// How long a pipe may stay open after the last known process has gone.
const DRAIN: Duration = Duration::from_secs(1);

/// Starts children that speak the Agent Client Protocol.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
/// use longrun_tokio::subagent::{Request, Subagents, acp::{AcpConfig, AcpProvider}};
///
/// // A command that ends at once is no agent.
/// let subagents = Subagents::new(AcpProvider::new(AcpConfig::new("true", "/"))?);
/// let ended = subagents.run(Request::new("say hello", "hello"), std::future::pending()).await?;
/// assert_eq!(
///     ended.detail.as_deref(),
///     Some("could not be started: it closed its output before it answered `initialize`; \
///           exit code: 0"),
/// );
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct AcpProvider {
    config: AcpConfig,
}

impl AcpProvider {
    /// A provider with that configuration.
    ///
    /// # Errors
    ///
    /// [`AcpConfigError`] names the setting that was wrong and what was expected.
    pub fn new(config: AcpConfig) -> Result<Self, AcpConfigError> {
        config.check()?;
        Ok(Self { config })
    }

    /// What a child is started with.
    fn spec(&self, cwd: PathBuf, depth: u32) -> Result<ProcessSpec, BoxError> {
        let config = &self.config;
        if !cwd.is_absolute() {
            let error = format!("working directory {cwd:?} is relative: expected an absolute path");
            return Err(error.into());
        }
        check_directory(&cwd)?;
        let mut env = compose(std::env::vars_os(), &config.pass_env, &config.env).vars;
        env.insert(DEPTH.into(), depth.to_string().into());
        let path = env.get(OsStr::new("PATH")).map(OsString::as_os_str);
        check_program(&config.command, path, &cwd)?;
        Ok(ProcessSpec {
            program: config.command.clone(),
            args: config.args.clone(),
            cwd,
            env: env.into_iter().collect(),
            stdin: None,
            memory_bytes: STDERR_BYTES,
            spill: None,
            grace: config.grace,
            drain: DRAIN,
        })
    }
}

/// The variable that tells a child how many agents are above it.
pub const DEPTH: &str = "LONGRUN_DEPTH";

impl Provider for AcpProvider {
    /// Checks the directory and the program, and starts the process.
    fn start(&self, request: Request, abort: AbortHandle) -> Result<Startup, BoxError> {
        let cwd = request.cwd.unwrap_or_else(|| self.config.cwd.clone());
        let spec = self.spec(cwd.clone(), request.depth)?;
        let (process, conversation) = Process::converse(&spec)?;
        let child = Starting {
            process: Arc::new(process),
            conversation,
            talk: Talk::new(&self.config, cwd, request.prompt, abort.clone()),
            grace: self.config.grace,
            abort,
        };
        Ok(child.started().boxed())
    }

    fn startup_deadline(&self) -> Duration {
        self.config.startup_deadline
    }
}

/// A process that has not opened a session yet.
struct Starting {
    process: Arc<Process>,
    conversation: Conversation,
    talk: Talk,
    grace: Duration,
    abort: AbortHandle,
}

impl Starting {
    async fn started(self) -> Result<Run, Finish> {
        let Self { process, conversation, talk, grace, abort } = self;
        let teardown = Teardown::new(process, grace);
        let mut talk = talk.with(conversation);
        let over = tokio::select! {
            biased;
            () = abort.aborted() => Over::told(Finish::new(Stop::Aborted, "")),
            ready = talk.ready() => match ready {
                Ok(()) => return Ok(run(talk, teardown)),
                Err(over) => over,
            },
        };
        // Its input closes with this.
        drop(talk);
        let finish = teardown.explain(over).await;
        let ended = teardown.ended().await;
        // One that hangs in its startup may have said what it waits for.
        let finish = match finish.stop {
            Stop::Aborted => teardown.with_last_words(finish),
            _ => finish,
        };
        Err(match ended {
            Ok(()) => finish,
            Err(error) => finish.with_note(error.to_string()),
        })
    }
}

fn run(talk: talk::Connected, teardown: Teardown) -> Run {
    let ending = teardown.clone();
    Run::new(async move { ending.explain(talk.over().await).await })
        .on_dispose(move || teardown.ended())
}
