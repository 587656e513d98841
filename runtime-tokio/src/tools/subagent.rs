//! `subagent`: child agents in the foreground and in the background.

use longrun_shared::{End, OwnerScope, StartError, TaskId, TaskService, core::controls::Card};
use serde_json::{Value, json};

use super::{
    BoxFuture, Call, Tool, ToolDescription, ToolReply, Undelivered, foreground::background_reply,
    start_task, subagent_args::SubagentArgs,
};
use crate::subagent::{Ended, Request, Subagents};

/// How the tool is offered.
#[derive(Clone, Copy, Debug)]
pub struct SubagentOptions {
    /// The name that a model calls it by.
    pub name: &'static str,
    /// Whether a subagent may run in the background. If not, the parameter is absent, and an
    /// argument of that name is refused.
    pub enable_run_in_background: bool,
    /// The cap on each model-facing text about a background subagent, in bytes.
    pub output_limit_bytes: Option<u64>,
    /// How many agents are above those that call it: 0 for agents that are nobody's child.
    pub depth: u32,
    /// How many agents may be above a subagent; 0 forbids them all.
    pub max_depth: u32,
}

impl Default for SubagentOptions {
    /// `subagent`, also in the background, three levels deep.
    fn default() -> Self {
        Self {
            name: "subagent",
            enable_run_in_background: true,
            output_limit_bytes: None,
            depth: 0,
            max_depth: 3,
        }
    }
}

/// The tool `subagent`.
///
/// A harness whose children may have children of their own gives them the same tool
/// [`at_depth`](Self::at_depth) of the child's request.
#[derive(Clone, Debug)]
pub struct Subagent {
    service: TaskService,
    subagents: Subagents,
    options: SubagentOptions,
}

/// Runs a subagent. In the foreground the call is over when nothing of it is left, and the
/// call's abort ends it; dropping the future drops it.
impl Tool for Subagent {
    fn description(&self) -> ToolDescription {
        let mut properties = json!({
            "description": {
                "type": "string",
                "pattern": "\\S",
                "description": "What the subagent is for, in a few words.",
            },
            "prompt": {
                "type": "string",
                "pattern": "\\S",
                "description": "What it is to do. It knows nothing else of this session.",
            },
        });
        let mut description = "Have a subagent do something by itself and return its final \
                               answer. It begins without the history of this session."
            .to_owned();
        if self.options.enable_run_in_background {
            properties["run_in_background"] = json!({
                "type": "boolean",
                "description": "Return a task id at once and go on while the subagent works. \
                                Default: false.",
            });
            description.push_str(
                " With run_in_background: true it is a background task: its answer is read with \
                 task_output once it has ended, and task_kill stops it.",
            );
        }
        ToolDescription {
            name: self.options.name,
            description,
            input_schema: json!({
                "type": "object",
                "properties": properties,
                "required": ["description", "prompt"],
                "additionalProperties": false,
            }),
            card: Card::Execute,
        }
    }

    fn check(&self, args: &Value) -> Result<(), String> {
        SubagentArgs::parse(args, self.options.enable_run_in_background).map(drop)
    }

    fn call<'a>(&'a self, call: &'a Call<'a>) -> BoxFuture<'a, Undelivered> {
        Box::pin(async { self.run(call).await.unwrap_or_else(ToolReply::error).into() })
    }
}

impl Subagent {
    /// The tool, starting children with that producer.
    #[must_use]
    pub fn new(service: TaskService, subagents: Subagents, options: SubagentOptions) -> Self {
        Self { service, subagents, options }
    }

    /// The same for agents that have so many above them.
    #[must_use]
    pub fn at_depth(&self, depth: u32) -> Self {
        Self { options: SubagentOptions { depth, ..self.options }, ..self.clone() }
    }

    async fn run(&self, call: &Call<'_>) -> Result<ToolReply, String> {
        let args = SubagentArgs::parse(&call.args, self.options.enable_run_in_background)?;
        self.check_depth()?;
        let request = Request {
            description: args.description,
            prompt: args.prompt,
            cwd: call.cwd.clone(),
            depth: self.options.depth.saturating_add(1),
        };
        if args.run_in_background {
            let id = self.start(call.owner, request).map_err(|error| error.to_string())?;
            return Ok(background_reply(&id, format!("started background task {id}")));
        }
        match self.subagents.run(request, call.abort.cancelled()).await {
            Ok(ended) => Ok(foreground_reply(&ended)),
            Err(error) => Err(format!("the subagent could not be started: {error}")),
        }
    }

    fn check_depth(&self) -> Result<(), String> {
        let SubagentOptions { depth, max_depth, .. } = self.options;
        if depth < max_depth {
            return Ok(());
        }
        Err(match max_depth {
            0 => "subagents are not allowed here; do it yourself".to_owned(),
            _ => format!(
                "a subagent would have {} agents above it, and at most {max_depth} are allowed; \
                 do it yourself",
                depth.saturating_add(1)
            ),
        })
    }

    fn start(&self, owner: Option<&OwnerScope>, request: Request) -> Result<TaskId, StartError> {
        let (task, limit) = (self.subagents.spec(&request), self.options.output_limit_bytes);
        start_task(&self.service, owner, task, limit, || self.subagents.start(request))
    }
}

/// The answer; or how the subagent ended, and what it had said by then.
fn foreground_reply(ended: &Ended) -> ToolReply {
    let detail = ended.detail.as_deref();
    if ended.end == End::Completed {
        let text = if ended.text.is_empty() { "(no output)" } else { &ended.text };
        let value = json!({"kind": "foreground", "text": ended.text, "detail": detail});
        return ToolReply::new(text.to_owned(), value);
    }
    let how = if ended.end == End::Killed { "was stopped" } else { "failed" };
    let why = detail.map(|detail| format!(": {detail}")).unwrap_or_default();
    let mut text = format!("the subagent {how}{why}");
    if !ended.text.is_empty() {
        text.push_str("\nit had said so far:\n");
        text.push_str(&ended.text);
    }
    ToolReply { is_error: true, ..ToolReply::new(text, Value::Null) }
}
