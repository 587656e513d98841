//! `task_output`, `task_list` and `task_kill`.

use longrun_shared::{
    Guard, KillError, Killed, NoticePolicy, Read, ReadError, Scope, ScopeError, TaskId,
    TaskService, TaskSnapshot, WaitError, Waited,
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
        if let Some(timeout) = args.wait {
            let wait = self.service.wait(&id, &caller, timeout);
            if let Err(error) = wait_or_abort(wait, call).await {
                return capped(wait_text(&id, &error), before.as_ref());
            }
        }
        match self.service.read(&id, &caller) {
            Ok(Read { text, task }) => {
                let shown = controls::capped_output_text(&text, &task);
                let value = OutputValue { text, task: PublicTask::from(&task) };
                ToolReply::new(shown, json(&value))
            }
            Err(error) => capped(read_text(&id, &error), before.as_ref()),
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

async fn wait_or_abort(
    mut wait: longrun_shared::Wait,
    call: &Call<'_>,
) -> Result<Waited, Interrupted> {
    tokio::select! {
        // What has been promised goes before the wish to stop waiting.
        biased;
        waited = &mut wait => return waited.map_err(Interrupted::Failed),
        () = call.abort.cancelled() => {}
    }
    wait.abort().map_err(Interrupted::Failed)?.ok_or(Interrupted::Aborted)
}

enum Interrupted {
    Aborted,
    Failed(WaitError),
}

fn wait_text(id: &TaskId, error: &Interrupted) -> String {
    match error {
        Interrupted::Aborted => {
            format!("the wait for task {id} was aborted; the task goes on")
        }
        Interrupted::Failed(WaitError::Refused(WaitRefusal::Access(_))) => {
            controls::unknown_task_text(id.as_str())
        }
        Interrupted::Failed(error) => error.to_string(),
    }
}

fn read_text(id: &TaskId, error: &ReadError) -> String {
    match error {
        ReadError::Refused(ReadRefusal::Access(_)) => controls::unknown_task_text(id.as_str()),
        error => error.to_string(),
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
