//! Read: the state is taken, then the output is drained, then the read ends.
//!
//! Reads of one task are served one at a time. Since the state is taken before the
//! drain, a read that says *terminal* has delivered every byte; since a read reports
//! only when it has delivered, one whose reader fails, or whose caller never gets to
//! hand over what it found, changes nothing.
//!
//! A read may take as long as it likes: nothing but another read waits for it. Its
//! record may go meanwhile, with its owner; then its end changes nothing either.

use alloc::vec::Vec;

use super::{
    Registry,
    arena::Arena,
    tasks::{Task, Teller},
};
use crate::{
    Caller, Command, Output, OutputMode, ReadKey, ReadRefusal, Refusal, Reply, TaskId, TaskKey,
};

#[derive(Clone, Debug)]
pub(super) struct Reading {
    pub(super) task: TaskKey,
    /// Whether the state it will tell is terminal.
    pub(super) terminal: bool,
}

pub(super) type Reads = Arena<ReadKey, Reading>;

impl Registry {
    pub(super) fn begin_read(&mut self, id: TaskId, caller: Caller) -> Result<Reply, Refusal> {
        let caller = if canary!(ForeignRead) { self.tasks.session_of(&id) } else { caller };
        let reached = self.tasks.reach(&id, caller.as_ref()).map_err(ReadRefusal::from)?;
        let (key, mut snapshot, busy) = (reached.0, reached.1.snapshot(), reached.1.reading);
        if busy.is_some() {
            return Err(ReadRefusal::InProgress { id }.into());
        }
        let terminal = snapshot.status.is_terminal();
        let read = self.reads.insert(Reading { task: key, terminal });
        let task = self.tasks.get_mut(key).expect("it was just reached");
        task.reading = Some(read);
        let output = task.where_output_is();
        snapshot.reported |= terminal;
        Ok(Reply::Reading { read, task: key, snapshot, output })
    }

    pub(super) fn read_ended(
        &mut self,
        read: ReadKey,
        delivered: bool,
        out: &mut Vec<Command>,
    ) -> Result<Reply, Refusal> {
        let Some(Reading { task: key, terminal }) = self.reads.remove(read) else {
            return Ok(Reply::Done);
        };
        if let Some(task) = self.tasks.get_mut(key)
            && (delivered || !canary!(UndeliveredKeepsTurn))
        {
            task.reading = None;
        }
        if (delivered || canary!(UndeliveredTells)) && terminal {
            self.tell(key, Teller::Read, out);
        }
        Ok(Reply::Done)
    }
}

impl Registry {
    /// Where the output of a task on record is, whoever may reach it. Consumes and reports
    /// nothing.
    #[must_use]
    pub fn output_of(&self, task: TaskKey) -> Option<Output> {
        self.tasks.get(task).map(Task::where_output_is)
    }
}

impl Task {
    fn where_output_is(&self) -> Output {
        match self.output_mode {
            OutputMode::Stream => Output::Drain,
            OutputMode::Final => Output::Final(self.output.clone()),
        }
    }
}
