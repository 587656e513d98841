//! `task_output`.

use std::{sync::Arc, time::Duration};

use futures::future::BoxFuture;
use longrun_shared::{
    Caller, Read, ReadError, Status, TaskId, WaitError,
    core::{
        ReadRefusal, WaitRefusal,
        controls::{self, OutputArgs, OutputValue, PublicTask, one_line},
    },
};
use serde::Deserialize;
use serde_json::Value;

use super::{
    Call, Finalizer, Outcome, Tool, ToolDescription, ToolReply,
    args::{each, object},
    controls::{Mounted, json},
    reply::single_text,
};

pub(super) struct TaskOutput(pub(super) Arc<Mounted>);

impl Tool for TaskOutput {
    fn description(&self) -> ToolDescription {
        self.0.description(|[output, _, _]| output)
    }

    fn finalizer(&self, call: &Call<'_>) -> Finalizer {
        let Some(cap) = self.0.cap(call.args.get("task_id"), &call.caller()) else {
            return Finalizer::none();
        };
        Finalizer::new(move |content, value| {
            if let Some(text) = single_text(content) {
                *text = match status_of(value) {
                    Some(status) => controls::fit_read(text, &status, cap),
                    None => controls::fit_text(text, cap),
                };
            }
        })
    }

    fn check(&self, args: &Value) -> Result<(), String> {
        self.parse(args).map(drop)
    }

    fn call<'a>(&'a self, call: &'a Call<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async { self.read(call).await.unwrap_or_else(Outcome::error) })
    }
}

/// The status line of a read that has this value.
fn status_of(value: &Value) -> Option<String> {
    let task = value.get("task")?;
    let status = Status::deserialize(task.get("status")?).ok()?;
    Some(controls::status_line(status, task.get("detail").and_then(Value::as_str)))
}

impl TaskOutput {
    fn parse(&self, args: &Value) -> Result<OutputArgs, String> {
        let args = controls::parse_output(each(object(args)?), &self.0.config);
        args.map_err(|error| error.to_string())
    }

    async fn read(&self, call: &Call<'_>) -> Result<Outcome, String> {
        let args = self.parse(&call.args)?;
        let id = args.task_id.map_err(|unknown| unknown.to_string())?;
        let caller = call.caller();
        let read = match args.wait {
            None => self.0.service.read(&id, &caller).map_err(Interrupted::from),
            Some(timeout) => self.wait_and_read(&id, &caller, timeout, call).await,
        };
        let Read { text, task } = read.map_err(|error| refused(&id, &error))?;
        let shown = controls::output_text(&text, &task);
        let value = OutputValue { text, task: PublicTask::from(&task) };
        Ok(ToolReply::new(shown, json(&value)).into())
    }

    /// Waits, then reads, and takes what the wait was promised only once the output is
    /// there: if that cannot be read, the notice goes out after all. A task whose record
    /// goes with its owner is told and read to its end all the same.
    async fn wait_and_read(
        &self,
        id: &TaskId,
        caller: &Caller,
        timeout: Duration,
        call: &Call<'_>,
    ) -> Result<Read, Interrupted> {
        let service = &self.0.service;
        let mut wait = service.wait(id, caller, timeout);
        if let Some(refusal) = wait.refusal() {
            return Err(Interrupted::Wait(refusal.clone().into()));
        }
        let output = service.hold_output(id, caller)?;
        tokio::select! {
            // What has been promised goes before the wish to stop waiting.
            biased;
            ready = wait.ready() => ready.map_err(Interrupted::Wait)?,
            () = call.abort.cancelled() => return Err(Interrupted::Aborted),
        }
        match service.read(id, caller) {
            Ok(read) => {
                wait.abort().map_err(Interrupted::Wait)?;
                Ok(read)
            }
            Err(ReadError::Refused(ReadRefusal::Access(gone))) => {
                let text = output.drain()?;
                let waited = wait.abort().map_err(Interrupted::Wait)?;
                let task = waited.ok_or(ReadError::Refused(gone.into()))?.into_snapshot();
                Ok(Read { text, task })
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// Why nothing was read.
enum Interrupted {
    Aborted,
    Wait(WaitError),
    Read(ReadError),
}

impl From<ReadError> for Interrupted {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

fn refused(id: &TaskId, error: &Interrupted) -> String {
    match error {
        Interrupted::Aborted => {
            format!("the wait for task {id} was aborted; the task goes on")
        }
        Interrupted::Wait(WaitError::Refused(WaitRefusal::Access(_)))
        | Interrupted::Read(ReadError::Refused(ReadRefusal::Access(_))) => {
            controls::unknown_task_text(id.as_str())
        }
        Interrupted::Read(ReadError::Reader(why)) => format!(
            "the output of task {id} could not be read: {}; nothing was taken, try again",
            one_line(&why.to_string())
        ),
        Interrupted::Wait(error) => error.to_string(),
        Interrupted::Read(error) => error.to_string(),
    }
}
