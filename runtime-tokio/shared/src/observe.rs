//! Observing the output of a task, which leaves it as it is.

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures::{Stream, StreamExt as _, stream::BoxStream};
use longrun_core::{
    Caller, OutputMode, TaskId,
    output::{self, Piece},
};

use crate::{TaskService, completion::Completed, error::ObserveError};

/// What an observer is told: a stretch of output, or the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// Whose it is, if there is more than one stream.
    pub stream: Option<output::Stream>,
    /// Where the text begins, in bytes from the beginning of all output of the task.
    pub offset: u64,
    /// How many bytes right in front of it this observer has missed.
    pub dropped: u64,
    /// Text as it was written, escape sequences and all; may be empty at the end.
    pub text: String,
    /// The offset behind the text, to go on from.
    pub next: u64,
    /// Whether the task has ended. No byte is left, and nothing follows.
    pub end: bool,
}

/// An observer of a task's output: a [`Stream`] of what comes, from an offset on, until the
/// task has ended. The last item, and no other, says that.
///
/// It moves no cursor but its own: it consumes nothing and reports nothing, and the task's
/// reads and its notice are what they would be without it. It holds up nothing either: it
/// has a place in the output and no copy of it, so one that is slow misses what is no longer
/// kept, and is told how much. So there is no limit on how many there may be. It may outlive
/// the record, the owner and the service, and does not keep the work going. Dropping it
/// leaves nothing behind.
#[must_use = "an observer does nothing unless it is polled"]
pub struct Observer {
    /// Until it is exhausted.
    pieces: Option<BoxStream<'static, Piece>>,
    ended: Completed<Option<Arc<str>>>,
    next: u64,
    /// It shows the outcome's output.
    is_final: bool,
    over: bool,
}

impl TaskService {
    /// Observes a task's output from that byte on, counted from the beginning of all its
    /// output, whatever was read of it. An offset that nothing has reached yet is waited
    /// for. What a final-output task has to show is one item, with its end.
    ///
    /// # Errors
    ///
    /// [`ObserveError`]: access is as for reads, and a stream task whose producer does not
    /// offer it cannot be observed.
    ///
    /// ```
    /// use longrun_shared::{ObserveError, Observed, TaskId, TaskService, core::Caller};
    ///
    /// async fn show(tasks: &TaskService, id: &TaskId, of: &Caller) -> Result<(), ObserveError> {
    ///     let mut observer = tasks.observe(id, of, 0)?;
    ///     while let Some(Observed { text, dropped, .. }) = observer.next().await {
    ///         if dropped > 0 {
    ///             println!("[{dropped} bytes are missing here]");
    ///         }
    ///         print!("{text}");
    ///     }
    ///     Ok(())
    /// }
    /// ```
    pub fn observe(
        &self,
        id: &TaskId,
        caller: &Caller,
        from: u64,
    ) -> Result<Observer, ObserveError> {
        let not_observable = || ObserveError::NotObservable { id: id.clone() };
        let (_, handle) = self.handle(id, caller)?;
        let pieces = handle.observe(from).map_err(ObserveError::Producer)?;
        let is_final = pieces.is_none();
        if is_final && handle.output == OutputMode::Stream {
            return Err(not_observable());
        }
        Ok(Observer { pieces, ended: handle.ended.wait(), next: from, is_final, over: false })
    }
}

impl Observer {
    /// The next item; none after the one that said the end.
    pub async fn next(&mut self) -> Option<Observed> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// The next piece, if one is there now.
    fn poll_piece(&mut self, context: &mut Context<'_>) -> Option<Piece> {
        let pieces = self.pieces.as_mut()?;
        // A producer that panics has no more to say; the panic has been printed.
        let polled = catch_unwind(AssertUnwindSafe(|| pieces.poll_next_unpin(context)));
        match polled.unwrap_or(Poll::Ready(None)) {
            Poll::Ready(Some(piece)) => Some(piece),
            Poll::Ready(None) => {
                self.pieces = None;
                None
            }
            Poll::Pending => None,
        }
    }

    /// The last item. Of a final-output task it has the output.
    fn end(&mut self, output: Option<&str>) -> Observed {
        self.over = true;
        self.pieces = None;
        let output = output.filter(|_| self.is_final).unwrap_or_default();
        let from = usize::try_from(self.next).unwrap_or(usize::MAX).min(output.len());
        // Begun in the middle of a character.
        let begin = output.ceil_char_boundary(from);
        let (dropped, text) = ((begin - from) as u64, &output[begin..]);
        let offset = self.next + dropped;
        let next = offset + text.len() as u64;
        Observed { stream: None, offset, dropped, text: text.to_owned(), next, end: true }
    }
}

impl Stream for Observer {
    type Item = Observed;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Observed>> {
        if self.over {
            return Poll::Ready(None);
        }
        // First, so that a piece that is not there after the end never comes.
        let ended = Pin::new(&mut self.ended).poll(context);
        if let Some(Piece { stream, offset, dropped, text, next }) = self.poll_piece(context) {
            self.next = next;
            return Poll::Ready(Some(Observed { stream, offset, dropped, text, next, end: false }));
        }
        ended.map(|output| Some(self.end(output.as_deref())))
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observer").field("next", &self.next).finish_non_exhaustive()
    }
}
