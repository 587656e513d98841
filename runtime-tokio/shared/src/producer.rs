//! What a producer gives the service: how to stop its work, when it is over, and
//! how to read what it wrote.

use std::{
    fmt,
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
};

use longrun_core::{NoticePreference, Outcome, OutputMode};

use crate::{
    error::BoxError,
    panics,
    sync::{Condvar, Mutex, ThreadId, current_thread, lock, wait},
};

type Cancel = Box<dyn Fn(Option<&str>) -> Result<(), BoxError> + Send + Sync>;
type Reader = Box<dyn FnMut() -> Result<String, BoxError> + Send>;
pub(crate) type Done = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// What a task is, before it is one.
#[derive(Clone, Debug)]
pub struct TaskSpec {
    pub(crate) kind: String,
    pub(crate) label: String,
    pub(crate) output_limit_bytes: Option<u64>,
    pub(crate) notice: NoticePreference,
}

impl TaskSpec {
    /// A task of that kind (the first part of its id) under that label (what people
    /// and models see of it). Neither may be empty.
    #[must_use]
    pub fn new(kind: impl Into<String>, label: impl Into<String>) -> Self {
        Self {
            kind: kind.into(),
            label: label.into(),
            output_limit_bytes: None,
            notice: NoticePreference::AsMounted,
        }
    }

    /// Caps each model-facing text about the task at that many bytes of UTF-8; not
    /// zero.
    #[must_use]
    pub fn output_limit_bytes(self, limit: u64) -> Self {
        Self { output_limit_bytes: Some(limit), ..self }
    }

    /// Whether and how the owner is told when it has ended.
    #[must_use]
    pub fn notice(self, notice: NoticePreference) -> Self {
        Self { notice, ..self }
    }
}

/// The hooks of one running task.
///
/// `done` must end only when all that the task holds is released: processes
/// reaped, pipes drained, child agents disposed. It must not fail: one that panics,
/// or that the runtime drops, makes the task `failed`.
///
/// ```
/// use longrun_shared::{Hooks, Outcome};
///
/// let hooks = Hooks::new(async { Outcome::completed().with_output("42") })
///     .on_cancel(|reason| {
///         println!("asked to stop: {reason:?}");
///         Ok(())
///     });
/// # drop(hooks);
/// ```
pub struct Hooks {
    pub(crate) done: Done,
    cancel: Cancel,
    reader: Option<Reader>,
}

impl Hooks {
    /// A final-output task: reads return what the outcome carries, once it is there.
    pub fn new(done: impl Future<Output = Outcome> + Send + 'static) -> Self {
        Self { done: Box::pin(done), cancel: Box::new(|_| Ok(())), reader: None }
    }

    /// How to ask it to stop. The call must return at once, may come any number of
    /// times, from any thread, and must make `done` end. If it fails, the task goes on.
    #[must_use]
    pub fn on_cancel(
        self,
        cancel: impl Fn(Option<&str>) -> Result<(), BoxError> + Send + Sync + 'static,
    ) -> Self {
        Self { cancel: Box::new(cancel), ..self }
    }

    /// A stream task: each read returns what `reader` does, what has come since the
    /// call before. It must not block and is never called twice at once. What it has
    /// handed out it must not hand out again; if it fails, it has handed out nothing.
    #[must_use]
    pub fn stream(self, reader: impl FnMut() -> Result<String, BoxError> + Send + 'static) -> Self {
        Self { reader: Some(Box::new(reader)), ..self }
    }

    pub(crate) fn output_mode(&self) -> OutputMode {
        if self.reader.is_some() { OutputMode::Stream } else { OutputMode::Final }
    }

    /// Parts the future from what is called.
    pub(crate) fn split(self) -> (Done, Handle) {
        let gate = Gate { reading: Mutex::new(None), free: Condvar::new() };
        (self.done, Handle { cancel: self.cancel, reader: Mutex::new(self.reader), gate })
    }
}

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hooks").field("output", &self.output_mode()).finish_non_exhaustive()
    }
}

/// What is called of a running task.
pub(crate) struct Handle {
    cancel: Cancel,
    reader: Mutex<Option<Reader>>,
    pub(crate) gate: Gate,
}

impl Handle {
    pub(crate) fn cancel(&self, reason: Option<&str>) -> Result<(), BoxError> {
        catch_unwind(AssertUnwindSafe(|| (self.cancel)(reason)))
            .unwrap_or_else(|panic| Err(panics::message(&*panic).into()))
    }

    pub(crate) fn drain(&self) -> Result<String, BoxError> {
        let mut reader = lock(&self.reader);
        let Some(reader) = reader.as_mut() else { return Ok(String::new()) };
        catch_unwind(AssertUnwindSafe(reader))
            .unwrap_or_else(|panic| Err(panics::message(&*panic).into()))
    }
}

/// Lets one reader in at a time.
pub(crate) struct Gate {
    reading: Mutex<Option<ThreadId>>,
    free: Condvar,
}

impl Gate {
    /// Waits for one's turn. `None`: it is this very thread that is reading.
    pub(crate) fn enter(&self) -> Option<Turn<'_>> {
        let me = current_thread().id();
        let mut reading = lock(&self.reading);
        while let Some(reader) = *reading {
            if reader == me {
                return None;
            }
            reading = wait(&self.free, reading);
        }
        *reading = Some(me);
        Some(Turn { gate: self })
    }
}

/// A reader's turn; it ends when this is dropped.
pub(crate) struct Turn<'a> {
    gate: &'a Gate,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *lock(&self.gate.reading) = None;
        self.gate.free.notify_one();
    }
}
