//! What a producer gives the service: how to stop its work, when it is over, and
//! how to read what it wrote.

use std::{fmt, future::Future, pin::Pin, sync::Arc};

use futures::{Stream, StreamExt as _, stream::BoxStream};
use longrun_core::{NoticePreference, Outcome, OutputMode, output::Piece};

use crate::{
    completion::Completion,
    error::BoxError,
    gate::Gate,
    panics,
    sync::{Mutex, lock},
};

type Cancel = Box<dyn Fn(Option<&str>) -> Result<(), BoxError> + Send + Sync>;
type Reader = Box<dyn StreamReader>;
type Observe = Box<dyn Fn(u64) -> BoxStream<'static, Piece> + Send + Sync>;
type LiveDetail = Box<dyn Fn() -> Option<String> + Send + Sync>;
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

/// What reads a stream task's output for the one who consumes it, in two steps, so that
/// what nobody was given can be handed out again. Given with [`Hooks::stream_with`].
///
/// Neither call may block, and never are two of them made at once.
pub trait StreamReader: Send {
    /// What has come since the last [`commit`](Self::commit), all of it, whether or not it
    /// was peeked at before.
    ///
    /// # Errors
    ///
    /// Whatever kept it from reading. Then nothing was handed out.
    fn peek(&mut self) -> Result<String, BoxError>;

    /// What the last [`peek`](Self::peek) returned has been delivered: it must not be handed
    /// out again, and nothing that came after it may be passed over. Where a peek is not
    /// followed by this, it was not delivered, and there is nothing to be done.
    fn commit(&mut self);
}

/// A reader that cannot step back.
struct AtMostOnce<F>(F);

impl<F: FnMut() -> Result<String, BoxError> + Send> StreamReader for AtMostOnce<F> {
    fn peek(&mut self) -> Result<String, BoxError> {
        (self.0)()
    }

    fn commit(&mut self) {}
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
    live_detail: Option<LiveDetail>,
    observe: Option<Observe>,
}

impl Hooks {
    /// A final-output task: reads return what the outcome carries, once it is there.
    pub fn new(done: impl Future<Output = Outcome> + Send + 'static) -> Self {
        let cancel: Cancel = Box::new(|_| Ok(()));
        Self { done: Box::pin(done), cancel, reader: None, live_detail: None, observe: None }
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
    ///
    /// Such a reader cannot step back: what a [held read](crate::TaskService::read_held)
    /// that is dropped had been handed out is gone, so it reaches its reader at most once.
    /// A producer that can do better gives a [`StreamReader`].
    #[must_use]
    pub fn stream(self, reader: impl FnMut() -> Result<String, BoxError> + Send + 'static) -> Self {
        self.stream_with(AtMostOnce(reader))
    }

    /// A stream task whose reader can step back: what is not delivered is handed out again.
    /// In place of [`stream`](Self::stream).
    ///
    /// ```
    /// use longrun_shared::{BoxError, Hooks, Outcome, StreamReader};
    ///
    /// struct Text {
    ///     all: &'static str,
    ///     read: usize,
    ///     seen: usize,
    /// }
    ///
    /// impl StreamReader for Text {
    ///     fn peek(&mut self) -> Result<String, BoxError> {
    ///         self.seen = self.all.len();
    ///         Ok(self.all[self.read..].to_owned())
    ///     }
    ///
    ///     fn commit(&mut self) {
    ///         self.read = self.seen;
    ///     }
    /// }
    ///
    /// let text = Text { all: "all of it", read: 0, seen: 0 };
    /// let hooks = Hooks::new(async { Outcome::completed() }).stream_with(text);
    /// # drop(hooks);
    /// ```
    #[must_use]
    pub fn stream_with(self, reader: impl StreamReader + 'static) -> Self {
        Self { reader: Some(Box::new(reader)), ..self }
    }

    /// What there is to say of the task while it lives: it stands in each snapshot until
    /// the task has ended, when the outcome's own detail takes its place.
    ///
    /// It is asked whenever somebody looks, from any thread, perhaps by several at once,
    /// and everybody who looks waits for it: it should answer at once. In a read it is
    /// asked after the output was taken. It must not look at its own task. One that
    /// panics has nothing to say.
    ///
    /// ```
    /// use longrun_shared::{Hooks, Outcome};
    ///
    /// let hooks = Hooks::new(std::future::pending::<Outcome>())
    ///     .live_detail(|| Some("3 of 7 files done".to_owned()));
    /// # drop(hooks);
    /// ```
    #[must_use]
    pub fn live_detail(
        self,
        live_detail: impl Fn() -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        Self { live_detail: Some(Box::new(live_detail)), ..self }
    }

    /// How its output is observed, besides being read: what this returns yields the output
    /// from that offset on, for one observer of any number. Without it a stream task cannot
    /// be observed; an observer of a final-output task is given the output when it is there.
    ///
    /// The stream yields what is there at once, and wakes who polls it when more has come.
    /// It ends when no more will come. What it holds should be a place and no copy of the
    /// output, and nothing that keeps the work going: an observer may be slow, and may
    /// outlive the task. What is gone by the time it looks it tells as
    /// [`dropped`](Piece::dropped). A [`JointCursor`](longrun_core::output::JointCursor) does
    /// that for output kept in a [`Capture`](longrun_core::output::Capture).
    ///
    /// ```
    /// use futures::stream;
    /// use longrun_shared::{Hooks, Outcome, core::output::Piece};
    ///
    /// let text = "all of it";
    /// let hooks = Hooks::new(async { Outcome::completed() })
    ///     .stream(move || Ok(text.to_owned()))
    ///     .observe(move |from| {
    ///         let rest = text.get(from as usize..).filter(|rest| !rest.is_empty());
    ///         stream::iter(rest.map(|rest| Piece {
    ///             stream: None,
    ///             offset: from,
    ///             dropped: 0,
    ///             text: rest.to_owned(),
    ///             next: text.len() as u64,
    ///         }))
    ///     });
    /// # drop(hooks);
    /// ```
    #[must_use]
    pub fn observe<S>(self, observe: impl Fn(u64) -> S + Send + Sync + 'static) -> Self
    where
        S: Stream<Item = Piece> + Send + 'static,
    {
        Self { observe: Some(Box::new(move |from| observe(from).boxed())), ..self }
    }

    pub(crate) fn output_mode(&self) -> OutputMode {
        if self.reader.is_some() { OutputMode::Stream } else { OutputMode::Final }
    }

    /// Parts the future from what is called.
    pub(crate) fn split(self) -> (Done, Handle) {
        let gate = Gate::new();
        let output = self.output_mode();
        let Self { done, cancel, reader, live_detail, observe } = self;
        let (reader, ended) = (Mutex::new(reader), Completion::new());
        (done, Handle { cancel, reader, live_detail, observe, output, ended, gate })
    }
}

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hooks").field("output", &self.output_mode()).finish_non_exhaustive()
    }
}

fn peek(reader: &mut Reader) -> Result<String, BoxError> {
    panics::caught(|| reader.peek()).unwrap_or_else(|message| Err(message.into()))
}

fn commit(reader: &mut Reader) {
    // The panic has been printed, and what was read is the caller's.
    let _ = panics::caught(|| reader.commit());
}

/// What is called of a running task.
pub(crate) struct Handle {
    cancel: Cancel,
    reader: Mutex<Option<Reader>>,
    live_detail: Option<LiveDetail>,
    observe: Option<Observe>,
    pub(crate) output: OutputMode,
    /// For its observers: that it has ended, and the output of a final-output task.
    pub(crate) ended: Arc<Completion<Option<Arc<str>>>>,
    pub(crate) gate: Arc<Gate>,
}

impl Handle {
    pub(crate) fn cancel(&self, reason: Option<&str>) -> Result<(), BoxError> {
        panics::caught(|| (self.cancel)(reason)).unwrap_or_else(|message| Err(message.into()))
    }

    /// What a read of a stream task would return.
    pub(crate) fn peek(&self) -> Result<String, BoxError> {
        lock(&self.reader).as_mut().map_or(Ok(String::new()), peek)
    }

    /// What was peeked has been delivered.
    pub(crate) fn commit(&self) {
        if let Some(reader) = lock(&self.reader).as_mut() {
            commit(reader);
        }
    }

    /// What is left of the output, for one who need not step back: the task is not on record
    /// any more.
    pub(crate) fn drain(&self) -> Result<String, BoxError> {
        match lock(&self.reader).as_mut() {
            Some(reader) => peek(reader).inspect(|_| commit(reader)),
            None => {
                let output = self.ended.value().flatten();
                Ok(output.as_deref().unwrap_or_default().to_owned())
            }
        }
    }

    /// The output from that offset on, if the producer offers it.
    pub(crate) fn observe(&self, from: u64) -> Result<Option<BoxStream<'static, Piece>>, BoxError> {
        let Some(observe) = &self.observe else { return Ok(None) };
        panics::caught(|| observe(from)).map(Some).map_err(Into::into)
    }

    /// What the producer has to say of the task while it lives.
    pub(crate) fn live_detail(&self) -> Option<String> {
        let live_detail = self.live_detail.as_ref()?;
        // The panic has been printed; a snapshot without a detail is still a true one.
        let detail = panics::caught(live_detail).ok().flatten()?;
        (!detail.is_empty()).then_some(detail)
    }
}
