//! `task_output`, `task_list` and `task_kill`.

use std::time::Duration;

use longrun_shared::{
    Caller, Guard, KillError, Killed, NoticePolicy, Read, ReadError, Scope, ScopeError, TaskId,
    TaskService, TaskSnapshot, WaitError,
    core::{
        KillRefusal, ReadRefusal, WaitRefusal,
        controls::{self, ControlsConfig, KillOutcome, KillValue, OutputValue, PublicTask},
    },
};
use serde::Serialize;
use serde_json::Value;

use super::{
    Call, ToolDescription, ToolReply,
    args::{each, object},
};

/// The three tools that read and stop background tasks, mounted in a scope. While this
/// lives, the owners below it may start tasks and are told when they end.
#[derive(Debug)]
pub struct Controls {
    service: TaskService,
    config: ControlsConfig,
    _mounted: Guard,
}

/// Why the controls were not mounted.
pub type MountError = ScopeError;

impl Controls {
    /// Mounts them in a scope.
    ///
    /// # Errors
    ///
    /// [`MountError`] if the service met a bug of its own.
    pub fn mount(
        service: &TaskService,
        scope: &Scope,
        config: ControlsConfig,
        notices: NoticePolicy,
    ) -> Result<Self, MountError> {
        Ok(Self { service: service.clone(), config, _mounted: scope.mount_controls(notices)? })
    }

    /// What a model is offered. The same for as long as this lives.
    #[must_use]
    pub fn descriptions(&self) -> [ToolDescription; 3] {
        controls::tool_specs(&self.config).map(|spec| ToolDescription {
            name: spec.name,
            description: spec.description.to_owned(),
            input_schema: serde_json::from_str(&spec.input_schema).unwrap_or(Value::Null),
            card: spec.card,
        })
    }

    /// Reads a task's output, perhaps after a wait for its end.
    pub async fn task_output(&self, call: &Call<'_>) -> ToolReply {
        let args = match object(&call.args) {
            Ok(args) => args,
            Err(error) => return ToolReply::error(error),
        };
        let args = match controls::parse_output(each(args), &self.config) {
            Ok(args) => args,
            Err(error) => return ToolReply::error(error),
        };
        let id = match args.task_id {
            Ok(id) => id,
            Err(unknown) => return ToolReply::error(unknown),
        };
        let caller = call.caller();
        // The cap is looked up before anything can go wrong.
        let before = self.service.get(&id, &caller).ok();
        let read = match args.wait {
            None => self.service.read(&id, &caller).map_err(Interrupted::from),
            Some(timeout) => self.wait_and_read(&id, &caller, timeout, call).await,
        };
        match read {
            Ok(Read { text, task }) => {
                let shown = controls::capped_output_text(&text, &task);
                let value = OutputValue { text, task: PublicTask::from(&task) };
                ToolReply::new(shown, json(&value))
            }
            Err(error) => capped(output_text(&id, &error), before.as_ref()),
        }
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
        let mut wait = self.service.wait(id, caller, timeout);
        if let Some(refusal) = wait.refusal() {
            return Err(Interrupted::Wait(refusal.clone().into()));
        }
        let output = self.service.hold_output(id, caller)?;
        tokio::select! {
            // What has been promised goes before the wish to stop waiting.
            biased;
            ready = wait.ready() => ready.map_err(Interrupted::Wait)?,
            () = call.abort.cancelled() => return Err(Interrupted::Aborted),
        }
        match self.service.read(id, caller) {
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

    /// Lists the tasks that the caller can see.
    pub fn task_list(&self, call: &Call<'_>) -> ToolReply {
        let parsed = object(&call.args)
            .and_then(|args| controls::parse_list(each(args)).map_err(|error| error.to_string()));
        if let Err(error) = parsed {
            return ToolReply::error(error);
        }
        let tasks = self.service.list(&call.caller());
        let value: Vec<PublicTask> = tasks.iter().map(PublicTask::from).collect();
        ToolReply::new(controls::list_text(&tasks, controls::LIST_CAP_BYTES), json(&value))
    }

    /// Asks a task to stop.
    pub fn task_kill(&self, call: &Call<'_>) -> ToolReply {
        let args = match object(&call.args) {
            Ok(args) => args,
            Err(error) => return ToolReply::error(error),
        };
        let args = match controls::parse_kill(each(args)) {
            Ok(args) => args,
            Err(error) => return ToolReply::error(error),
        };
        let id = match args.task_id {
            Ok(id) => id,
            Err(unknown) => return ToolReply::error(unknown),
        };
        let caller = call.caller();
        let before = self.service.get(&id, &caller).ok();
        match self.service.kill(&id, &caller, args.reason) {
            Ok(killed) => killed_reply(&killed),
            Err(error) => capped(kill_text(&id, &error), before.as_ref()),
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

fn output_text(id: &TaskId, error: &Interrupted) -> String {
    match error {
        Interrupted::Aborted => {
            format!("the wait for task {id} was aborted; the task goes on")
        }
        Interrupted::Wait(WaitError::Refused(WaitRefusal::Access(_)))
        | Interrupted::Read(ReadError::Refused(ReadRefusal::Access(_))) => {
            controls::unknown_task_text(id.as_str())
        }
        Interrupted::Wait(error) => error.to_string(),
        Interrupted::Read(error) => error.to_string(),
    }
}

fn kill_text(id: &TaskId, error: &KillError) -> String {
    match error {
        KillError::Refused(KillRefusal::Access(_)) => controls::unknown_task_text(id.as_str()),
        error => format!("{error}; task {id} goes on"),
    }
}

fn killed_reply(killed: &Killed) -> ToolReply {
    let (outcome, task, text) = match killed {
        Killed::Requested(task) => {
            (KillOutcome::CancellationRequested, task, controls::kill_requested_text(&task.id))
        }
        Killed::AlreadyFinished(task) => {
            (KillOutcome::AlreadyFinished, task, controls::kill_finished_text(task))
        }
    };
    let value = KillValue { outcome, task: PublicTask::from(task) };
    ToolReply::new(controls::capped_text(&text, task), json(&value))
}

/// An error about a task, within that task's cap.
fn capped(text: String, task: Option<&TaskSnapshot>) -> ToolReply {
    ToolReply::error(task.map_or(text.clone(), |task| controls::capped_text(&text, task)))
}

pub(super) fn json(value: &impl Serialize) -> Value {
    // These types are strings, numbers and lists of them: they have a JSON form.
    serde_json::to_value(value).unwrap_or(Value::Null)
}
