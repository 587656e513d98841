//! Bash commands, in the foreground and in the background.
//!
//! [`BashExecutor::resolve`] alone fills in defaults and applies caps; what it
//! returns runs as it is, by [`BashExecutor::run`] while the caller waits, or by
//! [`BashExecutor::start`] beside it. Every command is a fresh `bash -c` that
//! leads its own session; what that means for it and for what it starts is told
//! in [`process`](crate::process).

mod config;
pub(crate) mod env;
mod exit;
mod foreground;
mod live;
mod request;
mod task;
#[cfg(test)]
mod tests;

use std::future::Future;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

use crate::process::{
    Cursor, Delta, Exit, LogChunk, Piece, Process, SpillBudget, SpillFiles, SpillPlan, SpillStore,
    Stream,
};

pub use self::config::{BashConfig, ConfigError, SpillConfig};
pub use self::exit::BashExit;
pub use self::foreground::{Cause, ForegroundResult};
#[cfg(feature = "tools")]
pub(crate) use self::foreground::{Foreground, Turn};
use self::live::Live;
#[cfg(feature = "tools")]
pub(crate) use self::live::could_not_be_ended;
pub use self::request::{BashError, BashRequest, BashSpec};

/// Runs bash commands with one configuration.
#[derive(Clone, Debug)]
pub struct BashExecutor {
    config: BashConfig,
    spill: Option<SpillPlan>,
}

impl BashExecutor {
    /// An executor with that configuration. Removes what harnesses that died have left in
    /// the directory for long output, and blocks for that.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] names the setting that was wrong and what was expected.
    pub fn new(config: BashConfig) -> Result<Self, ConfigError> {
        config.check()?;
        let spill = config.spill.as_ref().map(|spill| SpillPlan {
            store: SpillStore::new(&spill.dir),
            stream_bytes: spill.stream_bytes,
            budget: SpillBudget::new(spill.owner_bytes),
        });
        if let Some(spill) = &spill {
            spill.store.sweep();
        }
        Ok(Self { config, spill })
    }

    /// Its configuration.
    #[must_use]
    pub const fn config(&self) -> &BashConfig {
        &self.config
    }

    /// Checks a request and fills in what it leaves open. Reads the environment
    /// of the host and the file system; starts nothing.
    ///
    /// # Errors
    ///
    /// [`BashError`] if the request makes no sense, or if it is known already
    /// that it cannot be started: no such directory, no shell.
    pub fn resolve(&self, request: BashRequest) -> Result<BashSpec, BashError> {
        request::resolve(&self.config, self.spill.clone(), request)
    }

    /// Starts a command in the background. Nothing but a kill limits its time.
    /// Must be called inside a tokio runtime; blocks for the start alone.
    ///
    /// # Errors
    ///
    /// [`BashError::Spawn`] if it could not be started.
    pub fn start(&self, spec: BashSpec) -> Result<BashProcess, BashError> {
        BashProcess::start(&spec)
    }

    /// Runs a command until it ends, its time is over or `abort` is ready; the
    /// first of them decides what the result says. A non-zero exit is no error.
    /// Returns when nothing is left in the command's session: what outlives the
    /// shell gets [`BashConfig::drain`] to end by itself, and is ended then.
    ///
    /// Dropping the future kills the command.
    ///
    /// # Errors
    ///
    /// [`BashError::Spawn`] if it could not be started, [`BashError::Aborted`] if
    /// `abort` was ready before.
    pub async fn run(
        &self,
        spec: BashSpec,
        abort: impl Future<Output = ()>,
    ) -> Result<ForegroundResult, BashError> {
        foreground::run(spec, abort).await
    }
}

/// A command in the background. Dropping it while it runs kills it.
#[derive(Debug)]
pub struct BashProcess {
    process: Process,
    cursor: Mutex<Cursor>,
    started: Instant,
    /// Somebody has asked for its end.
    stopping: AtomicBool,
}

impl BashProcess {
    fn start(spec: &BashSpec) -> Result<Self, BashError> {
        let process = Process::spawn(&spec.process)?;
        // As much of a line as of the whole stream: no other bound is needed.
        let cursor = Mutex::new(Cursor::new(spec.process.memory_bytes));
        let stopping = AtomicBool::new(false);
        Ok(Self { process, cursor, started: Instant::now(), stopping })
    }

    /// What came since the last read, both streams in one text fit for a model, see
    /// [`Delta::text`].
    pub fn read(&self) -> String {
        self.told(&self.read_delta())
    }

    /// What [`read`](Self::read) would return, and where its cursor would be then.
    fn peek(&self) -> (String, Cursor) {
        let mut cursor = self.cursor().clone();
        let delta = self.process.read(&mut cursor);
        (self.told(&delta), cursor)
    }

    /// Moves the cursor of [`read`](Self::read) on, unless it has been moved as far.
    fn pass(&self, to: Cursor) {
        let mut cursor = self.cursor();
        if Stream::ALL.iter().all(|&stream| cursor.offset(stream) <= to.offset(stream)) {
            *cursor = to;
        }
    }

    fn cursor(&self) -> MutexGuard<'_, Cursor> {
        self.cursor.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn told(&self, delta: &Delta) -> String {
        let files = self.process.files();
        delta.text_telling(|stream| files.state(stream).whereabouts())
    }

    /// What came since the last read, in sections. It moves the same cursor as
    /// [`read`](Self::read).
    pub fn read_delta(&self) -> Delta {
        self.process.read(&mut self.cursor())
    }

    /// What came since another reader's last read. There may be any number of them, and
    /// none moves the cursor of [`read`](Self::read).
    pub fn read_with(&self, cursor: &mut Cursor) -> Delta {
        self.process.read(cursor)
    }

    /// The files that hold what memory does not.
    #[must_use]
    pub fn files(&self) -> SpillFiles {
        self.process.files()
    }

    /// The bytes of a stream from an offset on, as they were written, as far as they are
    /// kept. It moves no cursor.
    #[must_use]
    pub fn read_bytes(&self, stream: Stream, offset: u64) -> LogChunk {
        self.process.read_bytes(stream, offset)
    }

    /// What both streams bring, from an offset on over both, until they have ended; see
    /// [`Process::observe`]. It moves no cursor.
    pub fn observe(
        &self,
        from: u64,
    ) -> impl futures::Stream<Item = Piece> + Send + use<> + 'static {
        self.process.observe(from)
    }

    /// Asks for its end: SIGTERM to everything in its session, and after the grace
    /// SIGKILL. Returns at once and can be repeated. Says whether the request came
    /// before all had ended.
    pub fn kill(&self) -> bool {
        self.stopping.store(true, Ordering::Relaxed);
        self.process.terminate()
    }

    /// Waits until nothing of it is left and its output has been read. Any number
    /// of callers may wait; the future does not keep the command alive.
    pub fn done(&self) -> impl Future<Output = BashExit> + Send + 'static {
        let done = self.process.done();
        async move { done.await.into() }
    }

    /// Waits until something of it lives on in spite of SIGKILL, and says how many.
    fn resists(&self) -> impl Future<Output = usize> + Send + '_ {
        let resists = self.process.resists();
        async move {
            resists.await;
            self.process.left().all()
        }
    }

    /// Waits for the exit of the shell; its children may go on.
    fn shell_exited(&self) -> impl Future<Output = Exit> + Send + 'static {
        self.process.wait_exited()
    }

    /// How the shell ended, if it has; its children may still be running.
    #[must_use]
    pub fn shell_exit(&self) -> Option<Exit> {
        self.process.exited()
    }

    /// How many of its processes live at this moment. Blocks for one look at
    /// `/proc`, some milliseconds.
    ///
    /// # Errors
    ///
    /// If `/proc` could not be read.
    pub fn live_processes(&self) -> io::Result<usize> {
        self.process.live_members()
    }

    /// What there is to say of it while it lives, such as `no output yet, 12 s`, or that
    /// the shell has exited and how many processes are left, or could not be ended. Nothing
    /// where there is nothing to add. Where something has outlived the shell, it may block
    /// for a look at `/proc`, which all that ask within 200 ms share.
    #[must_use]
    pub fn live_detail(&self) -> Option<String> {
        let shell = self.shell_exit();
        let live = Live {
            shell,
            // Nobody is counted in the moment in which an ordinary command comes to its
            // end: of a hundred that end together, each look would delay all the others.
            alive: self
                .process
                .outlived()
                .then(|| self.process.live_members_lately().ok())
                .flatten(),
            silent_for: self.process.is_silent().then(|| self.started.elapsed()),
            stopping: self.stopping.load(Ordering::Relaxed),
            resisting: self.process.resisting(),
        };
        live.detail()
    }
}

/// So many processes, in words.
pub(crate) fn count(processes: usize) -> String {
    match processes {
        1 => "1 process".to_owned(),
        several => format!("{several} processes"),
    }
}
