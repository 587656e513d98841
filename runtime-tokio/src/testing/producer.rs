use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::{Stream, stream};
use longrun_shared::{BoxError, Hooks, Outcome, StreamReader, core::output::Piece};
use tokio::sync::{Notify, oneshot};

/// What a fake producer does when it is asked to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnCancel {
    /// It ends, as killed.
    Settle,
    /// It accepts and goes on.
    Ignore,
    /// It fails to.
    Fail,
    /// It fails to the first time, and ends the next.
    FailOnce,
}

/// A producer that does as it is told. Clones are the same one.
#[derive(Clone, Debug)]
pub struct FakeProducer(Arc<Fake>);

#[derive(Debug)]
struct Fake {
    state: Mutex<State>,
    /// For observers: it has written something, or ended.
    more: Notify,
}

#[derive(Debug)]
struct State {
    is_stream: bool,
    on_cancel: OnCancel,
    /// All of it.
    written: String,
    /// How much of it was read, and how much of it has been seen by who reads.
    read: usize,
    seen: usize,
    cancels: Vec<Option<String>>,
    end: Option<oneshot::Sender<Outcome>>,
    done: Option<oneshot::Receiver<Outcome>>,
    reader_fails: bool,
}

/// The hooks of a fake producer have been given out already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the hooks of this fake producer have been taken: one producer serves one task")]
pub struct HooksTaken;

impl FakeProducer {
    /// Of a stream task: reads return what was written.
    #[must_use]
    pub fn stream() -> Self {
        Self::new(true)
    }

    /// Of a final-output task.
    #[must_use]
    pub fn final_output() -> Self {
        Self::new(false)
    }

    fn new(is_stream: bool) -> Self {
        let (end, done) = oneshot::channel();
        let state = Mutex::new(State {
            is_stream,
            on_cancel: OnCancel::Settle,
            written: String::new(),
            read: 0,
            seen: 0,
            cancels: Vec::new(),
            end: Some(end),
            done: Some(done),
            reader_fails: false,
        });
        Self(Arc::new(Fake { state, more: Notify::new() }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same, doing that when it is asked to stop; by default it settles.
    #[must_use]
    pub fn on_cancel(self, on_cancel: OnCancel) -> Self {
        self.state().on_cancel = on_cancel;
        self
    }

    /// What a starter returns.
    ///
    /// # Errors
    ///
    /// [`HooksTaken`] the second time.
    pub fn hooks(&self) -> Result<Hooks, HooksTaken> {
        let (done, is_stream) = {
            let mut state = self.state();
            (state.done.take().ok_or(HooksTaken)?, state.is_stream)
        };
        let canceller = self.clone();
        let hooks = Hooks::new(async { done.await.expect("the fake producer was dropped") })
            .on_cancel(move |reason| canceller.cancel(reason));
        let (reader, observed) = (self.clone(), self.clone());
        Ok(if is_stream {
            hooks.stream_with(Reads(reader)).observe(move |from| observed.observe(from))
        } else {
            hooks
        })
    }

    /// Writes output.
    pub fn write(&self, text: &str) {
        self.state().written.push_str(text);
        self.0.more.notify_waiters();
    }

    /// Ends; only the first end counts.
    pub fn settle(&self, outcome: Outcome) {
        if let Some(end) = self.state().end.take() {
            // Nobody listens once the task is gone.
            let _ = end.send(outcome);
        }
        self.0.more.notify_waiters();
    }

    /// Breaks the contract: its `done` panics.
    pub fn break_contract(&self) {
        drop(self.state().end.take());
        self.0.more.notify_waiters();
    }

    /// Lets its reader fail from now on, or no longer.
    pub fn set_reader_fails(&self, fails: bool) {
        self.state().reader_fails = fails;
    }

    /// The reasons it was given when it was asked to stop, in order.
    #[must_use]
    pub fn cancels(&self) -> Vec<Option<String>> {
        self.state().cancels.clone()
    }

    fn cancel(&self, reason: Option<&str>) -> Result<(), BoxError> {
        let on_cancel = {
            let mut state = self.state();
            state.cancels.push(reason.map(ToOwned::to_owned));
            match state.on_cancel {
                OnCancel::FailOnce => {
                    state.on_cancel = OnCancel::Settle;
                    OnCancel::Fail
                }
                other => other,
            }
        };
        match on_cancel {
            OnCancel::Settle => self.settle(Outcome::killed()),
            OnCancel::Ignore => {}
            OnCancel::Fail | OnCancel::FailOnce => {
                return Err("the fake producer was told to fail".into());
            }
        }
        Ok(())
    }

    fn observe(&self, from: u64) -> impl Stream<Item = Piece> + Send + use<> + 'static {
        stream::unfold((self.clone(), from), async |(fake, from)| {
            let piece = fake.next_piece(from).await?;
            let next = piece.next;
            Some((piece, (fake, next)))
        })
    }

    /// What there is from that byte on, which begins a character.
    async fn next_piece(&self, from: u64) -> Option<Piece> {
        loop {
            let more = self.0.more.notified();
            {
                let state = self.state();
                let text = usize::try_from(from).ok().and_then(|from| state.written.get(from..));
                if let Some(text) = text.filter(|text| !text.is_empty()) {
                    let next = from + text.len() as u64;
                    let text = text.to_owned();
                    return Some(Piece { stream: None, offset: from, dropped: 0, text, next });
                }
                state.end.as_ref()?;
            }
            more.await;
        }
    }
}

/// Who reads it, and consumes what it reads.
struct Reads(FakeProducer);

impl StreamReader for Reads {
    fn peek(&mut self) -> Result<String, BoxError> {
        let mut state = self.0.state();
        if state.reader_fails {
            return Err("the fake reader was told to fail".into());
        }
        state.seen = state.written.len();
        Ok(state.written[state.read..].to_owned())
    }

    fn commit(&mut self) {
        let mut state = self.0.state();
        state.read = state.seen;
    }
}
