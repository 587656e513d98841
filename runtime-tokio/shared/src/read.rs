//! Reading the output of a task, which consumes it: at once, or when it is committed.

use std::{
    fmt,
    sync::{Arc, Weak},
};

use longrun_core::{
    Caller, Event, Output, ReadKey, ReadRefusal, Refusal, Reply, TaskId, TaskKey, TaskSnapshot,
};

use crate::{
    TaskService, Wait,
    error::{AccessError, ReadError},
    gate::Turn,
    producer::Handle,
    state::{Inner, Outside, SendError},
    sync::lock,
};

/// What a read found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// What came since the previous read, or the final output.
    pub text: String,
    /// The task as it was before the read, with what its producer said of it after. If it
    /// says that the task has ended, no byte is left.
    pub task: TaskSnapshot,
}

/// A read that counts once it is committed: by then somebody must have been given what it
/// found. Dropping it means that nothing was read.
///
/// Until then the task is as it was: the next read would return the same (what came since
/// with it), nothing is reported, and the notice of an end is pending if it was and may be
/// claimed. A commit withdraws it. A producer's reader that
/// [cannot step back](crate::Hooks::stream) hands out its output at most once: what such a
/// read had found is lost with it.
///
/// While it is held, nobody else reads the task: [`read`](TaskService::read) is refused, and
/// [`read_held`](TaskService::read_held) waits its turn. So hold it for as long as it takes
/// to deliver it, and do not wait for another read of the same task meanwhile. All else goes
/// on: kills, waits, the end, a disposal and the shutdown wait for no read. One that ends
/// after the record has gone with its owner changes nothing.
#[derive(Debug)]
#[must_use = "a held read that is dropped has read nothing"]
pub struct HeldRead {
    /// What came since the previous read, or the final output.
    pub text: String,
    /// The task as it was before the read, as in [`Read::task`].
    pub task: TaskSnapshot,
    /// What makes it a read.
    pub receipt: Receipt,
}

impl HeldRead {
    /// It has been delivered: the cursor moves on, and an end counts as reported. Callbacks
    /// that follow may run on this thread.
    pub fn commit(self) -> Read {
        let Self { text, task, receipt } = self;
        receipt.commit();
        Read { text, task }
    }
}

/// What is owed for something that was read and has not been delivered yet: a commit. For
/// one who has taken the text of a [`HeldRead`] and knows later whether it was delivered.
///
/// Dropping it means that it was not. It keeps neither the service nor the work going, and
/// may outlive both.
#[must_use = "what is not committed was not read"]
pub struct Receipt {
    // In this order: once the read has been taken back, the promise of the end is too.
    reading: Option<Reading>,
    /// A wait that was promised the end which the read tells.
    #[expect(dead_code, reason = "held to be given back, which does nothing once it was told")]
    wait: Option<Wait>,
}

impl Receipt {
    /// For what nothing has to be done about any more.
    pub(crate) const fn settled() -> Self {
        Self { reading: None, wait: None }
    }

    /// The same, and with it goes a wait that may have been promised the task's end.
    pub(crate) fn with_wait(self, wait: Wait) -> Self {
        Self { wait: Some(wait), ..self }
    }

    /// It has been delivered, see [`HeldRead::commit`].
    pub fn commit(mut self) {
        if let Some(mut reading) = self.reading.take() {
            let mut outside = Outside::default();
            reading.end(true, &mut outside);
            reading.inner.finish(outside);
        }
        // The wait goes untaken: what it was promised has been told by the read.
    }
}

impl fmt::Debug for Receipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let read = self.reading.as_ref().and_then(|reading| reading.open.as_ref());
        f.debug_tuple("Receipt").field(&read.map(|(read, _)| read)).finish()
    }
}

/// A read between its beginning and its end.
struct Reading {
    inner: Arc<Inner>,
    /// Not to be kept by a read that nobody ends: the record goes with its owner, and then
    /// there is nothing left to commit.
    handle: Weak<Handle>,
    open: Option<(ReadKey, Turn)>,
}

impl Reading {
    /// Begins a read in one's turn: what it has found, and how to end it.
    fn begin(
        inner: &Arc<Inner>,
        id: &TaskId,
        caller: &Caller,
        turn: Turn,
        outside: &mut Outside,
    ) -> Result<(Read, Self), ReadError> {
        let event = Event::Read { id: id.clone(), caller: caller.clone() };
        let begun = inner.transact(
            event,
            |state, reply| {
                let Reply::Reading { read, task, snapshot, output } = reply else {
                    unreachable!("not an answer to a read: {reply:?}")
                };
                (read, snapshot, output, state.handle_on_record(task))
            },
            outside,
        );
        let (read, snapshot, output, handle) = match begun {
            Ok(begun) => begun,
            Err(SendError::Refused(Refusal::Read(refusal))) => return Err(refusal.into()),
            Err(SendError::Refused(other)) => unreachable!("not a refusal of a read: {other}"),
            Err(SendError::Broken(broken)) => return Err(broken.into()),
        };
        let open = Some((read, turn));
        let mut reading = Self { inner: Arc::clone(inner), handle: Arc::downgrade(&handle), open };
        let found = match output {
            Output::Final(text) => Ok(text.as_deref().unwrap_or_default().to_owned()),
            Output::Drain => handle.peek(),
        };
        match found {
            // Asked last, so that it knows of all that was read.
            Ok(text) => {
                let task = inner.with_live_detail(snapshot, Some(&handle));
                Ok((Read { text, task }, reading))
            }
            Err(error) => {
                reading.end(false, outside);
                Err(ReadError::Reader(error))
            }
        }
    }

    /// Ends it, once, and with it the turn.
    fn end(&mut self, delivered: bool, outside: &mut Outside) {
        let Some((read, turn)) = self.open.take() else { return };
        if delivered && let Some(handle) = self.handle.upgrade() {
            handle.commit();
        }
        // Only a service that has broken meanwhile does not take it.
        let event = Event::ReadEnded { read, delivered };
        let _ = self.inner.transact(event, |_, reply| reply, outside);
        drop(turn);
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        if self.open.is_none() {
            return;
        }
        let mut outside = Outside::default();
        self.end(false, &mut outside);
        self.inner.finish(outside);
    }
}

impl TaskService {
    /// Reads a task: of a stream task what came since the previous read, of a
    /// final-output task its result. Reads of one task are served one at a time: a
    /// second one blocks its thread while the first drains.
    ///
    /// # Errors
    ///
    /// [`ReadError`]: nothing was consumed or reported. Refused as
    /// [`InProgress`](ReadRefusal::InProgress) is a reader that reads its own task, and a
    /// read while another is [held](Self::read_held), since there is no telling for how
    /// long, and it may be held by this very thread.
    pub fn read(&self, id: &TaskId, caller: &Caller) -> Result<Read, ReadError> {
        let (_, handle) = self.handle(id, caller)?;
        let in_progress = || ReadRefusal::InProgress { id: id.clone() };
        let turn = handle.gate.enter().ok_or_else(in_progress)?;
        // What follows from it is carried out when the turn is over: a callback may read
        // this very task.
        let mut outside = Outside::default();
        let read = Reading::begin(&self.inner, id, caller, turn, &mut outside);
        let read = read.map(|(read, mut reading)| {
            reading.end(true, &mut outside);
            read
        });
        self.inner.finish(outside);
        read
    }

    /// Reads a task like [`read`](Self::read), but what it finds counts as read only once it
    /// is committed. Waits its turn while others read the task or hold what they have read,
    /// and blocks no thread for it. What it finds is what was there when its turn came.
    /// Dropping the future leaves nothing behind.
    ///
    /// # Errors
    ///
    /// [`ReadError`]: nothing was consumed or reported.
    ///
    /// ```
    /// use longrun_shared::{ReadError, TaskId, TaskService, core::Caller};
    ///
    /// async fn show(tasks: &TaskService, id: &TaskId, of: &Caller) -> Result<(), ReadError> {
    ///     let held = tasks.read_held(id, of).await?;
    ///     if deliver(&held.text) {
    ///         held.commit();
    ///     }
    ///     Ok(())
    /// }
    /// # fn deliver(text: &str) -> bool { !text.is_empty() }
    /// ```
    pub fn read_held(
        &self,
        id: &TaskId,
        caller: &Caller,
    ) -> impl Future<Output = Result<HeldRead, ReadError>> + use<> {
        let turn = self.handle(id, caller).map(|(_, handle)| handle.gate.turn());
        let (inner, id, caller) = (Arc::clone(&self.inner), id.clone(), caller.clone());
        async move { inner.hold(&id, &caller, turn?.await) }
    }

    /// The handle of a task that the caller can reach.
    pub(crate) fn handle(
        &self,
        id: &TaskId,
        caller: &Caller,
    ) -> Result<(TaskKey, Arc<Handle>), AccessError> {
        let state = lock(&self.inner.state);
        if let Some(broken) = &state.broken {
            return Err(broken.clone().into());
        }
        let key = state.registry.key_of(id, caller.as_ref())?;
        Ok((key, state.handle_on_record(key)))
    }
}

impl Inner {
    /// Begins a read in one's turn, and holds what it finds.
    pub(crate) fn hold(
        self: &Arc<Self>,
        id: &TaskId,
        caller: &Caller,
        turn: Turn,
    ) -> Result<HeldRead, ReadError> {
        let mut outside = Outside::default();
        let begun = Reading::begin(self, id, caller, turn, &mut outside);
        self.finish(outside);
        let (Read { text, task }, reading) = begun?;
        Ok(HeldRead { text, task, receipt: Receipt { reading: Some(reading), wait: None } })
    }
}
