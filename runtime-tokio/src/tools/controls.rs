//! `task_output`, `task_list` and `task_kill`, mounted in a scope.

use std::sync::Arc;

use futures::future::BoxFuture;
use longrun_shared::{
    Caller, Guard, KillError, Killed, NoticePolicy, Scope, ScopeError, TaskId, TaskService,
    core::{
        KillRefusal,
        controls::{self, ControlsConfig, KillOutcome, KillValue, PublicTask, ToolSpec, one_line},
    },
};
use serde::Serialize;
use serde_json::Value;

use super::{
    Call, Finalizer, Tool, ToolDescription, ToolReply, Undelivered,
    args::{each, object},
    reply::single_text,
    task_output::TaskOutput,
};

/// The three tools that read and stop background tasks, mounted in a scope. While this or
/// one of its [`tools`](Self::tools) lives, the owners below the scope may start tasks and
/// are told when they end.
#[derive(Clone, Debug)]
pub struct Controls(Arc<Mounted>);

#[derive(Debug)]
pub(super) struct Mounted {
    pub(super) service: TaskService,
    pub(super) config: ControlsConfig,
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
        let mounted = scope.mount_controls(notices)?;
        Ok(Self(Arc::new(Mounted { service: service.clone(), config, _mounted: mounted })))
    }

    /// `task_output`, `task_list` and `task_kill`, for a [`Pipeline`](super::Pipeline).
    #[must_use]
    pub fn tools(&self) -> [Box<dyn Tool>; 3] {
        let mounted = || Arc::clone(&self.0);
        [
            Box::new(TaskOutput(mounted())),
            Box::new(TaskList(mounted())),
            Box::new(TaskKill(mounted())),
        ]
    }
}

impl Mounted {
    /// One of the three, as it is offered.
    pub(super) fn description(
        &self,
        of: impl FnOnce([ToolSpec; 3]) -> ToolSpec,
    ) -> ToolDescription {
        let spec = of(controls::tool_specs(&self.config));
        ToolDescription {
            name: spec.name,
            description: spec.description.to_owned(),
            input_schema: serde_json::from_str(&spec.input_schema).unwrap_or(Value::Null),
            card: spec.card,
        }
    }

    /// A task that the caller can see, and its cap.
    pub(super) fn cap(&self, id: &Value, caller: &Caller) -> Option<(TaskId, Option<usize>)> {
        let id = TaskId::parse(id.as_str()?).ok()?;
        let limit = self.service.get(&id, caller).ok()?.output_limit_bytes;
        // Nothing in memory is longer.
        Some((id, limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX))))
    }
}

/// `task_list`.
struct TaskList(Arc<Mounted>);

impl Tool for TaskList {
    fn description(&self) -> ToolDescription {
        self.0.description(|[_, list, _]| list)
    }

    fn check(&self, args: &Value) -> Result<(), String> {
        controls::parse_list(each(object(args)?)).map_err(|error| error.to_string())
    }

    fn call<'a>(&'a self, call: &'a Call<'a>) -> BoxFuture<'a, Undelivered> {
        Box::pin(async {
            let tasks = self.0.service.list(&call.caller());
            let value: Vec<PublicTask> = tasks.iter().map(PublicTask::from).collect();
            let text = controls::list_text(&tasks, controls::LIST_CAP_BYTES);
            ToolReply::new(text, json(&value)).into()
        })
    }
}

/// `task_kill`.
struct TaskKill(Arc<Mounted>);

impl Tool for TaskKill {
    fn description(&self) -> ToolDescription {
        self.0.description(|[_, _, kill]| kill)
    }

    fn finalizer(&self, call: &Call<'_>) -> Finalizer {
        let asked = call.args.get("task_id");
        let Some((_, Some(cap))) = asked.and_then(|id| self.0.cap(id, &call.caller())) else {
            return Finalizer::none();
        };
        Finalizer::new(move |content, _| {
            if let Some(text) = single_text(content) {
                *text = controls::fit_text(text, cap);
            }
        })
    }

    fn check(&self, args: &Value) -> Result<(), String> {
        controls::parse_kill(each(object(args)?)).map(drop).map_err(|error| error.to_string())
    }

    fn call<'a>(&'a self, call: &'a Call<'a>) -> BoxFuture<'a, Undelivered> {
        Box::pin(async { self.kill(call).unwrap_or_else(ToolReply::error).into() })
    }
}

impl TaskKill {
    fn kill(&self, call: &Call<'_>) -> Result<ToolReply, String> {
        let args = controls::parse_kill(each(object(&call.args)?));
        let args = args.map_err(|error| error.to_string())?;
        let id = args.task_id.map_err(|unknown| unknown.to_string())?;
        let killed = self.0.service.kill(&id, &call.caller(), args.reason);
        killed.map(|killed| killed_reply(&killed)).map_err(|error| refused(&id, &error))
    }
}

fn refused(id: &TaskId, error: &KillError) -> String {
    match error {
        KillError::Refused(KillRefusal::Access(_)) => controls::unknown_task_text(id.as_str()),
        KillError::Cancel(why) => format!(
            "task {id} could not be asked to stop: {}; it goes on, and can be killed again",
            one_line(&why.to_string())
        ),
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
    ToolReply::new(text, json(&KillValue { outcome, task: PublicTask::from(task) }))
}

pub(super) fn json(value: &impl Serialize) -> Value {
    // These types are strings, numbers and lists of them: they have a JSON form.
    serde_json::to_value(value).unwrap_or(Value::Null)
}
