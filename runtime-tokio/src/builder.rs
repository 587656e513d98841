//! How a service comes to be on tokio.

#[cfg(feature = "record")]
use std::io::{self, Write};
use std::{fmt, sync::Arc, time::Duration};

use longrun_shared::{
    BoxFuture, Config, Report, Runtime, Tap, TaskService,
    core::{Event, InvalidConfig, Now},
};
use tokio::{runtime::Handle, sync::Notify};

#[cfg(feature = "record")]
use crate::record::Recorder;
use crate::{
    clock::{Clocks, SystemClock, WallClock},
    timer,
};

/// Makes a [`TaskService`] that runs on tokio.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use longrun_tokio::Builder;
///
/// let service = Builder::new().max_active_per_owner(4).build()?;
/// service.shutdown().await?;
/// # Ok(())
/// # }
/// ```
#[must_use = "call `build`"]
pub struct Builder {
    config: Config,
    wall: Box<dyn WallClock>,
    handle: Option<Handle>,
    tap: Option<Tap>,
    #[cfg(feature = "record")]
    record: Option<Box<dyn Write + Send>>,
}

impl Default for Builder {
    fn default() -> Self {
        Self::new()
    }
}

impl Builder {
    /// With the default limits, the machine's wall clock, and the runtime that
    /// [`build`](Self::build) is called in.
    pub fn new() -> Self {
        Self {
            config: Config::default(),
            wall: Box::new(SystemClock),
            handle: None,
            tap: None,
            #[cfg(feature = "record")]
            record: None,
        }
    }

    /// All limits at once.
    pub fn config(self, config: Config) -> Self {
        Self { config, ..self }
    }

    /// How many tasks one owner may have at work: 10 by default.
    pub fn max_active_per_owner(mut self, limit: usize) -> Self {
        self.config.max_active_per_owner = limit;
        self
    }

    /// How long a task may take to end after a disposal cancelled it, before it is
    /// recorded as failed and reported as a possible orphan: for ever by default.
    pub fn teardown_deadline(mut self, deadline: Duration) -> Self {
        self.config.teardown_deadline = Some(deadline);
        self
    }

    /// Another wall clock.
    pub fn wall_clock(self, wall: impl WallClock) -> Self {
        Self { wall: Box::new(wall), ..self }
    }

    /// Another runtime than that which `build` is called in.
    pub fn runtime(self, handle: Handle) -> Self {
        Self { handle: Some(handle), ..self }
    }

    /// Shows every event to `tap`, in order, before it takes effect: replayed into a
    /// [`Registry`](longrun_shared::core::Registry) of the same [`Config`], they give
    /// the same commands. Called under the lock: it must be quick and must not call the
    /// service. If it panics, that is reported, and it is not called again.
    pub fn tap(self, mut tap: impl FnMut(Now, &Event) + Send + 'static) -> Self {
        let tap: Tap = Box::new(move |now, event| {
            tap(now, event);
            Ok(())
        });
        Self { tap: Some(tap), ..self }
    }

    /// Records the service to `writer`, as a trace that `longrun-sim replay` runs again to
    /// the same commands. [`record::create`](crate::record::create) makes a file for it;
    /// the [module](crate::record) tells what is in it.
    ///
    /// Each event is written as it comes, as one line with one `write_all` and a `flush`:
    /// of a process that is killed, all that had happened is there, but perhaps for the end
    /// of the last line. That is done under the lock of the service, so a writer that
    /// blocks holds the service up, and it must not call the service. For a file it is one
    /// system call an event; what the machine has not put on disk yet is lost with the
    /// machine.
    ///
    /// A writer that fails or panics does not disturb the service: that is logged as an
    /// error, once, and nothing more is recorded. (The first line is written by
    /// [`build`](Self::build): if that panics, so does `build`.)
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use longrun_tokio::{Builder, record};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("record.jsonl");
    /// let service = Builder::new().record(record::create(&path)?).build()?;
    /// service.shutdown().await?;
    ///
    /// let text = std::fs::read_to_string(&path)?;
    /// assert!(text.starts_with(r#"{"longrun_trace":1,"config":{"max_active_per_owner":10,"#));
    /// assert!(text.ends_with(",\"event\":\"shutdown\"}\n"));
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(feature = "record")]
    pub fn record(self, writer: impl Write + Send + 'static) -> Self {
        Self { record: Some(Box::new(writer)), ..self }
    }

    /// Makes the service, and starts its timer.
    ///
    /// # Errors
    ///
    /// [`BuildError`] if there is no runtime, or a limit is one that nothing can work
    /// within.
    pub fn build(self) -> Result<TaskService, BuildError> {
        self.config.check()?;
        let handle = match self.handle {
            Some(handle) => handle,
            None => Handle::try_current().map_err(|_| BuildError::NoRuntime)?,
        };
        let clocks = Arc::new(Clocks::start(&handle, self.wall));
        let rearm = Arc::new(Notify::new());
        let runtime = Arc::new(OnTokio {
            handle: handle.clone(),
            clocks: Arc::clone(&clocks),
            rearm: Arc::clone(&rearm),
        });
        let mut taps = Vec::new();
        #[cfg(feature = "record")]
        taps.extend(self.record.and_then(|writer| recorder(writer, self.config)));
        taps.extend(self.tap);
        let service = TaskService::tapped(runtime, self.config, taps)?;
        handle.spawn(timer::run(service.downgrade(), clocks, rearm));
        Ok(service)
    }
}

/// Begins a record, or logs why there is none.
#[cfg(feature = "record")]
fn recorder(writer: Box<dyn Write + Send>, config: Config) -> Option<Tap> {
    let failed = |error: io::Error| format!("the record cannot be written any further: {error}");
    match Recorder::start(writer, config) {
        Ok(mut recorder) => Some(Box::new(move |now, event| {
            recorder.event(now, event).map_err(|error| failed(error).into())
        })),
        Err(error) => {
            tracing::error!("{}", failed(error));
            None
        }
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").field("config", &self.config).finish_non_exhaustive()
    }
}

/// Why no service could be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// `build` was called outside a runtime, and none was named.
    #[error("no tokio runtime: call `build` inside one, or name one with `runtime`")]
    NoRuntime,
    /// A limit is one that nothing can work within.
    #[error(transparent)]
    Config(#[from] InvalidConfig),
}

/// What the service needs of a runtime, on tokio.
struct OnTokio {
    handle: Handle,
    clocks: Arc<Clocks>,
    rearm: Arc<Notify>,
}

impl Runtime for OnTokio {
    fn now(&self) -> Now {
        self.clocks.now(&self.handle)
    }

    fn spawn(&self, future: BoxFuture) {
        self.handle.spawn(future);
    }

    fn rearm(&self) {
        self.rearm.notify_one();
    }

    fn report(&self, report: &Report) {
        match report {
            Report::Killed { id, reason } => {
                tracing::info!(task = %id, reason, "a task was asked to stop");
            }
            Report::Broke { .. } | Report::TapEnded { .. } => tracing::error!("{report}"),
            other => tracing::warn!("{other}"),
        }
    }
}

impl Drop for OnTokio {
    fn drop(&mut self) {
        // The service is gone: the timer finds that out, and ends.
        self.rearm.notify_one();
    }
}
