//! The tools as a harness offers them to a model: JSON arguments in, text and a value
//! out.
//!
//! A [`Pipeline`] has the tools and the harness's policies, and takes each call through
//! them. The texts are the core's ([`controls`](crate::core::controls)); this module asks
//! the service. Nothing here fails: what goes wrong is a reply with
//! [`is_error`](ToolReply::is_error) that a model can act on.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use longrun_tokio::{Builder, bash::{BashConfig, BashExecutor}};
//! use longrun_tokio::tools::{Bash, BashOptions, Call, Controls, Pipeline};
//! use serde_json::json;
//!
//! let service = Builder::new().build()?;
//! let controls =
//!     Controls::mount(&service, &service.root(), Default::default(), Default::default())?;
//! let executor = BashExecutor::new(BashConfig::new("/"))?;
//! let bash = Bash::new(service.clone(), executor, BashOptions::default());
//! let tools = Pipeline::new().tools(controls.tools()).tool(bash);
//! let owner = service.owner("session-1").open()?;
//!
//! let call = Call::of(&owner, json!({"command": "echo hello", "run_in_background": true}));
//! assert_eq!(tools.call("bash", &call).await.value["taskId"], "bash-1");
//!
//! let call = Call::of(&owner, json!({"task_id": "bash-1", "wait": true}));
//! let reply = tools.call("task_output", &call).await;
//! assert_eq!(reply.text(), "hello\n[status: completed, exit code: 0]");
//! # service.shutdown().await?;
//! # Ok(())
//! # }
//! ```

#[doc = include_str!("../../MODEL.md")]
pub mod what_the_model_sees {}

mod args;
mod bash;
mod bash_args;
mod controls;
mod foreground;
mod pipeline;
mod policy;
mod reply;
mod subagent;
mod subagent_args;
mod task_output;
mod tool;

use std::{path::PathBuf, sync::Arc};

pub use futures::future::BoxFuture;
use longrun_shared::{
    Caller, Hooks, OwnerScope, StartError, TaskId, TaskService, TaskSpec, core::controls::Card,
};
use serde_json::Value;
use tokio::sync::Notify;
pub use tokio_util::sync::CancellationToken;

pub use self::{
    bash::{Bash, BashOptions, OnTimeout},
    controls::{Controls, MountError},
    pipeline::{Next, Pipeline},
    policy::{Policy, Verdict},
    reply::{Content, Delivery, ToolReply, Undelivered, single_text},
    subagent::{Subagent, SubagentOptions},
    tool::{Finalizer, Tool},
};

/// A tool, as it is offered to a model.
#[derive(Clone, Debug)]
pub struct ToolDescription {
    /// Its name.
    pub name: &'static str,
    /// What a model is told of it.
    pub description: String,
    /// A JSON Schema of its arguments.
    pub input_schema: Value,
    /// How a user interface shows a call of it.
    pub card: Card,
}

/// One call of a tool.
#[derive(Clone, Debug)]
pub struct Call<'a> {
    /// The agent that makes it, if one does: who owns what it starts.
    pub owner: Option<&'a OwnerScope>,
    /// The arguments, as they came.
    pub args: Value,
    /// The caller's directory; commands run where the executor is set to without one.
    pub cwd: Option<PathBuf>,
    /// Ends the call. Of a task that has its id it ends nothing.
    pub abort: CancellationToken,
    /// Moves the command of the call to the background.
    pub background: ToBackground,
}

/// Asks for the command of a call in the foreground to go on in the background, as a
/// task of the caller's: the call then answers with the task's id and the output so far.
/// Clones ask the same call.
///
/// A call of anything else takes no notice. Where the task is refused, the command goes
/// on in the foreground, and can be asked for again; the call's answer says why.
#[derive(Clone, Debug, Default)]
pub struct ToBackground(Arc<Notify>);

impl ToBackground {
    /// Asks, now or ahead of the call.
    pub fn ask(&self) {
        self.0.notify_one();
    }

    async fn asked(&self) {
        self.0.notified().await;
    }
}

/// Starts a task with that cap on its texts, of the owner's, or of nobody's.
fn start_task<E>(
    service: &TaskService,
    owner: Option<&OwnerScope>,
    mut task: TaskSpec,
    output_limit_bytes: Option<u64>,
    starter: impl FnOnce() -> Result<Hooks, E>,
) -> Result<TaskId, StartError<E>> {
    if let Some(limit) = output_limit_bytes {
        task = task.output_limit_bytes(limit);
    }
    match owner {
        Some(owner) => owner.start(task, starter),
        None => service.start_unowned(task, starter),
    }
}

impl<'a> Call<'a> {
    /// A call by an agent.
    #[must_use]
    pub fn of(owner: &'a OwnerScope, args: Value) -> Self {
        Self { owner: Some(owner), ..Self::unowned(args) }
    }

    /// A call by nobody in particular.
    #[must_use]
    pub fn unowned(args: Value) -> Self {
        let (abort, background) = (CancellationToken::new(), ToBackground::default());
        Self { owner: None, args, cwd: None, abort, background }
    }

    fn caller(&self) -> Caller {
        self.owner.and_then(OwnerScope::caller)
    }
}
