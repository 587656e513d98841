//! `bash`: commands in the foreground and in the background.

use std::{
    convert::Infallible,
    sync::{Arc, Mutex, PoisonError},
};

use futures::future::BoxFuture;
use longrun_shared::{
    Hooks, OwnerScope, StartError, TaskId, TaskService, TaskSpec, core::controls::Card,
};
use serde_json::{Value, json};

use super::{
    Call, Tool, ToolDescription, ToolReply, Undelivered,
    bash_args::BashArgs,
    foreground::{background_reply, foreground_reply, missed, moved_reply},
    start_task,
};
use crate::{
    bash::{BashExecutor, BashProcess, BashRequest, BashSpec, Foreground, Turn},
    process::{SpillBudget, SpillFiles},
};

/// How the tool is offered.
#[derive(Clone, Copy, Debug)]
pub struct BashOptions {
    /// Whether a command may run in the background. If not, the parameter is absent,
    /// and an argument of that name is refused.
    pub enable_run_in_background: bool,
    /// The cap on each model-facing text about a background command, in bytes.
    pub output_limit_bytes: Option<u64>,
    /// What happens to a foreground command whose time is over.
    pub on_timeout: OnTimeout,
}

/// What happens to a foreground command whose time is over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnTimeout {
    /// It is ended.
    #[default]
    Kill,
    /// It goes on as a background task. If it cannot, it is ended.
    Background,
}

impl Default for BashOptions {
    fn default() -> Self {
        Self {
            enable_run_in_background: true,
            output_limit_bytes: None,
            on_timeout: OnTimeout::default(),
        }
    }
}

/// The tool `bash`.
#[derive(Clone, Debug)]
pub struct Bash {
    service: TaskService,
    executor: BashExecutor,
    options: BashOptions,
}

/// What the commands of one owner have on disk.
struct Kept {
    budget: SpillBudget,
    /// The files of foreground commands, whose results name them. Those of a task go with
    /// its record.
    files: Mutex<Vec<SpillFiles>>,
}

impl Kept {
    fn new(executor: &BashExecutor) -> Self {
        let bytes = executor.config().spill.as_ref().map_or(0, |spill| spill.owner_bytes);
        Self { budget: SpillBudget::new(bytes), files: Mutex::default() }
    }

    fn keep(&self, files: &SpillFiles) {
        if files.any() {
            self.files.lock().unwrap_or_else(PoisonError::into_inner).push(files.clone());
        }
    }
}

/// Runs a command. One that is moved to the background, or leaves something behind that
/// goes on there, is answered with the id of the task.
impl Tool for Bash {
    fn description(&self) -> ToolDescription {
        let config = self.executor.config();
        let mut properties = json!({
            "command": {"type": "string", "pattern": "\\S", "description": "The bash command."},
            "description": {
                "type": "string",
                "description": "What it does, in a few words, for the user.",
            },
            "timeout_ms": {
                "type": "number",
                "exclusiveMinimum": 0,
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
        if self.options.enable_run_in_background {
            properties["run_in_background"] = json!({
                "type": "boolean",
                "description": "Return a task id at once and go on while the command runs. \
                                Default: false.",
            });
        }
        ToolDescription {
            name: "bash",
            description: self.rules(),
            input_schema: json!({
                "type": "object",
                "properties": properties,
                "required": ["command"],
                "additionalProperties": false,
            }),
            card: Card::Execute,
        }
    }

    fn check(&self, args: &Value) -> Result<(), String> {
        BashArgs::parse(args, self.options.enable_run_in_background).map(drop)
    }

    fn call<'a>(&'a self, call: &'a Call<'a>) -> BoxFuture<'a, Undelivered> {
        Box::pin(async { self.run(call).await.unwrap_or_else(ToolReply::error).into() })
    }
}

impl Bash {
    /// The tool, running commands with that executor.
    #[must_use]
    pub fn new(service: TaskService, executor: BashExecutor, options: BashOptions) -> Self {
        Self { service, executor, options }
    }

    /// What becomes of a command, in the words of the description.
    fn rules(&self) -> String {
        let background = self.options.enable_run_in_background;
        let goes_on = "goes on as a background task, whose id the result names";
        let late = match self.options.on_timeout {
            OnTimeout::Background if background => goes_on,
            OnTimeout::Background | OnTimeout::Kill => "is ended",
        };
        let left = if background { goes_on } else { "is ended" };
        let drain = self.executor.config().drain.as_millis();
        let mut rules = format!(
            "Run a bash command and return its output. A command that exceeds its timeout \
             {late}. What still runs {drain} ms after the shell has exited {left}."
        );
        if background {
            rules.push_str(
                " With run_in_background: true the command is a background task from the start, \
                 without a time limit. Read a task with task_output, stop it with task_kill. It \
                 is over when no process that the command started is left in its session.",
            );
        }
        rules
    }

    async fn run(&self, call: &Call<'_>) -> Result<ToolReply, String> {
        let args = BashArgs::parse(&call.args, self.options.enable_run_in_background)?;
        let kept = self.service.attachment(call.owner, || Kept::new(&self.executor));
        let request = BashRequest {
            spill_budget: Some(kept.budget.clone()),
            workdir: call.workdir(args.workdir),
            timeout_ms: args.timeout_ms,
            ..BashRequest::new(args.command)
        };
        let spec = self.executor.resolve(request).map_err(|error| error.to_string())?;
        if args.run_in_background {
            self.in_background(call.owner, spec)
        } else {
            self.in_foreground(call, spec, &kept).await
        }
    }

    fn in_background(
        &self,
        owner: Option<&OwnerScope>,
        spec: BashSpec,
    ) -> Result<ToolReply, String> {
        let (label, missed) = (spec.command().to_owned(), missed(&spec));
        let started =
            self.start(owner, &label, || self.executor.start(spec).map(BashProcess::hooks));
        let id = started.map_err(|error| error.to_string())?;
        let started = [format!("started background task {id}")];
        let lines: Vec<String> = started.into_iter().chain(missed).collect();
        Ok(background_reply(&id, lines.join("\n")))
    }

    fn start<E>(
        &self,
        owner: Option<&OwnerScope>,
        label: &str,
        starter: impl FnOnce() -> Result<Hooks, E>,
    ) -> Result<TaskId, StartError<E>> {
        let limit = self.options.output_limit_bytes;
        start_task(&self.service, owner, TaskSpec::new("bash", label), limit, starter)
    }

    async fn in_foreground(
        &self,
        call: &Call<'_>,
        spec: BashSpec,
        kept: &Kept,
    ) -> Result<ToolReply, String> {
        let (label, missed) = (spec.command().to_owned(), missed(&spec));
        let mut run = Foreground::start(spec).map_err(|error| error.to_string())?;
        let mut refused = None;
        loop {
            let turn = run.next_turn(call.abort.cancelled(), call.background.asked()).await;
            if self.is_to_move(turn) {
                match self.hand_over(call.owner, &label, &run) {
                    // From here on nothing waits: the id is on its way.
                    Ok(id) => return Ok(moved_reply(&run, missed, turn, &id)),
                    Err(why) => refused = Some(why),
                }
            }
            if turn != Turn::Asked {
                let result = run.end(turn).await;
                kept.keep(&result.files);
                return Ok(foreground_reply(&result, missed, refused.as_deref()));
            }
        }
    }

    fn is_to_move(&self, turn: Turn) -> bool {
        match turn {
            Turn::Over | Turn::Aborted => false,
            Turn::Asked | Turn::Outlived(_) => true,
            Turn::TimedOut => self.options.on_timeout == OnTimeout::Background,
        }
    }

    /// Makes a task of a command that runs. If it cannot be one, says why, shortly.
    fn hand_over(
        &self,
        owner: Option<&OwnerScope>,
        label: &str,
        run: &Foreground,
    ) -> Result<TaskId, String> {
        if !self.options.enable_run_in_background {
            return Err("commands run in the foreground here".to_owned());
        }
        let hooks = || Ok::<_, Infallible>(Arc::clone(&run.process).shared_hooks());
        self.start(owner, label, hooks).map_err(|error| {
            let error = error.to_string();
            // What follows is what to do before the next try.
            error.split_once(": ").map_or(error.clone(), |(why, _)| why.to_owned())
        })
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
