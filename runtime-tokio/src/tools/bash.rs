//! `bash`: commands in the foreground and in the background.

use longrun_shared::{OwnerScope, StartError, TaskId, TaskService, TaskSpec, core::controls::Card};
use serde_json::json;

use super::{Call, ToolDescription, ToolReply, bash_args::BashArgs, foreground::foreground_reply};
use crate::bash::{BashError, BashExecutor, BashProcess, BashRequest, BashSpec, Cause};

/// How the tool is offered.
#[derive(Clone, Copy, Debug)]
pub struct BashOptions {
    /// Whether a command may run in the background. If not, the parameter is absent,
    /// and an argument of that name is refused.
    pub enable_run_in_background: bool,
    /// The cap on each model-facing text about a background command, in bytes.
    pub output_limit_bytes: Option<u64>,
}

impl Default for BashOptions {
    fn default() -> Self {
        Self { enable_run_in_background: true, output_limit_bytes: None }
    }
}

/// The tool `bash`.
#[derive(Clone, Debug)]
pub struct Bash {
    service: TaskService,
    executor: BashExecutor,
    options: BashOptions,
}

impl Bash {
    /// The tool, running commands with that executor.
    #[must_use]
    pub fn new(service: TaskService, executor: BashExecutor, options: BashOptions) -> Self {
        Self { service, executor, options }
    }

    /// What a model is offered. The same for as long as this lives.
    #[must_use]
    pub fn description(&self) -> ToolDescription {
        let config = self.executor.config();
        let mut properties = json!({
            "command": {"type": "string", "minLength": 1, "description": "The bash command."},
            "description": {
                "type": "string",
                "description": "What it does, in a few words, for the user.",
            },
            "timeout_ms": {
                "type": "number",
                "description": format!(
                    "How many milliseconds it may take in the foreground. Default: {}; longer \
                     than {} counts as {}.",
                    config.timeout.as_millis(),
                    config.max_timeout.as_millis(),
                    config.max_timeout.as_millis(),
                ),
            },
            "workdir": {
                "type": "string",
                "description": "The directory to run in; a relative one starts at the session's.",
            },
        });
        let mut description = "Run a bash command and return its output.".to_owned();
        if self.options.enable_run_in_background {
            properties["run_in_background"] = json!({
                "type": "boolean",
                "description": "Return a task id at once and go on while the command runs. \
                                Default: false.",
            });
            description.push_str(
                " With run_in_background: true it becomes a background task without a time \
                 limit: read it with task_output, stop it with task_kill. The task is over when \
                 no process that the command started is left in its session.",
            );
        }
        ToolDescription {
            name: "bash",
            description,
            input_schema: json!({
                "type": "object",
                "properties": properties,
                "required": ["command"],
                "additionalProperties": false,
            }),
            card: Card::Execute,
        }
    }

    /// Runs a command.
    pub async fn call(&self, call: &Call<'_>) -> ToolReply {
        if call.abort.is_cancelled() {
            return ToolReply::error("the call was aborted before it began; nothing was started");
        }
        let args = match BashArgs::parse(&call.args, self.options.enable_run_in_background) {
            Ok(args) => args,
            Err(error) => return ToolReply::error(error),
        };
        let request = BashRequest {
            workdir: call.workdir(args.workdir),
            timeout_ms: args.timeout_ms,
            ..BashRequest::new(args.command)
        };
        let spec = match self.executor.resolve(request) {
            Ok(spec) => spec,
            Err(error) => return ToolReply::error(error),
        };
        if args.run_in_background {
            self.in_background(call.owner, spec)
        } else {
            self.in_foreground(call, spec).await
        }
    }

    fn in_background(&self, owner: Option<&OwnerScope>, spec: BashSpec) -> ToolReply {
        let mut task = TaskSpec::new("bash", spec.command());
        if let Some(limit) = self.options.output_limit_bytes {
            task = task.output_limit_bytes(limit);
        }
        match self.start(owner, task, spec) {
            Ok(id) => ToolReply::new(
                format!("started background task {id}"),
                json!({"kind": "background", "taskId": id}),
            ),
            Err(error) => ToolReply::error(error),
        }
    }

    fn start(
        &self,
        owner: Option<&OwnerScope>,
        task: TaskSpec,
        spec: BashSpec,
    ) -> Result<TaskId, StartError<BashError>> {
        let starter = || self.executor.start(spec).map(BashProcess::hooks);
        match owner {
            Some(owner) => owner.start(task, starter),
            None => self.service.start_unowned(task, starter),
        }
    }

    async fn in_foreground(&self, call: &Call<'_>, spec: BashSpec) -> ToolReply {
        match self.executor.run(spec, call.abort.cancelled()).await {
            Ok(result) => {
                let mut reply = foreground_reply(&result);
                reply.is_error = result.cause == Cause::Aborted;
                reply
            }
            Err(error) => ToolReply::error(error),
        }
    }
}

impl Call<'_> {
    /// Where a command of this call runs: below the caller's directory, if it has one.
    fn workdir(&self, asked: Option<std::path::PathBuf>) -> Option<std::path::PathBuf> {
        match (&self.cwd, asked) {
            (Some(cwd), Some(asked)) => Some(cwd.join(asked)),
            (Some(cwd), None) => Some(cwd.clone()),
            (None, asked) => asked,
        }
    }
}
