//! Reading the output of a task, which consumes it.

use std::{fmt, sync::Arc};

use longrun_core::{Caller, Event, Output, Refusal, Reply, TaskId, TaskSnapshot};

use crate::{
    TaskService,
    error::{AccessError, ReadError},
    producer::Handle,
    state::{Outside, SendError},
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

/// The output of a task, for one who has to deliver it whatever becomes of the record.
pub struct HeldOutput {
    handle: Option<Arc<Handle>>,
}

impl HeldOutput {
    /// What is left to be read of a stream task. For a task that is on record
    /// [`TaskService::read`] does it, in turn with others.
    ///
    /// # Errors
    ///
    /// [`ReadError::Reader`] if the producer's reader failed.
    pub fn drain(&self) -> Result<String, ReadError> {
        let Some(handle) = &self.handle else { return Ok(String::new()) };
        let _turn = handle.gate.enter();
        handle.drain().map_err(ReadError::Reader)
    }
}

impl fmt::Debug for HeldOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeldOutput").finish_non_exhaustive()
    }
}

impl TaskService {
    /// Reads a task: of a stream task what came since the previous read, of a
    /// final-output task its result. Reads of one task are served one at a time: a
    /// second one blocks its thread while the first drains.
    ///
    /// # Errors
    ///
    /// [`ReadError`]: nothing was consumed or reported. A reader that reads its own
    /// task is refused.
    pub fn read(&self, id: &TaskId, caller: &Caller) -> Result<Read, ReadError> {
        let handle = self.handle(id, caller)?;
        // What follows from it is carried out when the turn is over: a callback may read
        // this very task.
        let mut outside = Outside::default();
        let result = self.read_in_turn(id, caller, handle.as_deref(), &mut outside);
        self.inner.finish(outside);
        result
    }

    fn read_in_turn(
        &self,
        id: &TaskId,
        caller: &Caller,
        handle: Option<&Handle>,
        outside: &mut Outside,
    ) -> Result<Read, ReadError> {
        let _turn = handle.map(|handle| handle.gate.enter());
        let event = Event::Read { id: id.clone(), caller: caller.clone() };
        let begun = self.inner.transact(event, |_, reply| reply, outside);
        let (read, snapshot, output) = match begun {
            Ok(Reply::Reading { read, snapshot, output, .. }) => (read, snapshot, output),
            Ok(other) => unreachable!("not an answer to a read: {other:?}"),
            Err(SendError::Refused(Refusal::Read(refusal))) => return Err(refusal.into()),
            Err(SendError::Refused(other)) => unreachable!("not a refusal of a read: {other}"),
            Err(SendError::Broken(broken)) => return Err(broken.into()),
        };
        let drained = match output {
            Output::Final(text) => Ok(text.as_deref().unwrap_or_default().to_owned()),
            Output::Drain => handle.map_or(Ok(String::new()), Handle::drain),
        };
        let ended = Event::ReadEnded { read, delivered: drained.is_ok() };
        // Only a service that has broken meanwhile does not take it.
        let _ = self.inner.transact(ended, |_, reply| reply, outside);
        let text = drained.map_err(ReadError::Reader)?;
        // Asked last, so that it knows of all that was read.
        Ok(Read { text, task: self.inner.with_live_detail(snapshot, handle) })
    }

    /// Keeps hold of a task's output, also when its record goes with its owner.
    ///
    /// # Errors
    ///
    /// [`ReadError`] if there is no such task, or it is another session's.
    pub fn hold_output(&self, id: &TaskId, caller: &Caller) -> Result<HeldOutput, ReadError> {
        Ok(HeldOutput { handle: self.handle(id, caller)? })
    }

    /// The handle of a task that the caller can reach.
    pub(crate) fn handle(
        &self,
        id: &TaskId,
        caller: &Caller,
    ) -> Result<Option<Arc<Handle>>, AccessError> {
        let state = lock(&self.inner.state);
        if let Some(broken) = &state.broken {
            return Err(broken.clone().into());
        }
        let key = state.registry.key_of(id, caller.as_ref())?;
        Ok(state.handles.get(&key).cloned())
    }
}
