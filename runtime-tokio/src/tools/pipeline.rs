//! From a call to a result.

use std::{
    fmt,
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use futures::{FutureExt, future::BoxFuture};
use longrun_shared::{BoxError, TaskId, core::controls::one_line, panics};

use super::{
    Call, Content, Finalizer, Policy, Tool, ToolDescription, ToolReply, Undelivered, Verdict,
};

/// The tools of a harness, and what each call of one goes through:
///
/// 1. the tool's [`finalizer`](Tool::finalizer) is made: our controls look up the cap of the
///    task, among those that the caller can see;
/// 2. each policy's [`before`](Policy::before), which may answer instead of the tool;
/// 3. each policy's [`around`](Policy::around), and inside the innermost one the
///    [`check`](Tool::check) of the arguments and the tool's [work](Tool::call);
/// 4. each policy's [`after`](Policy::after), whatever the result came from;
/// 5. a result that does not name the background task which the call has made gets a line
///    that does;
/// 6. the finalizer, once.
///
/// A call that was aborted before the third stage starts nothing. A panic in any stage is
/// contained, and is an error for the model. When the future of a call is dropped, no result
/// comes to be and no finalizer runs: what the tool was doing is dropped with it, nothing
/// was read, and a background task that was made goes on.
///
/// The descriptions are taken when a tool is added and do not change.
#[derive(Default)]
pub struct Pipeline {
    tools: Vec<(ToolDescription, Box<dyn Tool>)>,
    policies: Vec<Box<dyn Policy>>,
}

impl Pipeline {
    /// With no tools, and no policies.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool, in the place of one that has the same name.
    #[must_use]
    pub fn tool(self, tool: impl Tool + 'static) -> Self {
        self.tools([Box::new(tool) as Box<dyn Tool>])
    }

    /// Adds several.
    #[must_use]
    pub fn tools(mut self, tools: impl IntoIterator<Item = Box<dyn Tool>>) -> Self {
        for tool in tools {
            let description = tool.description();
            self.tools.retain(|(other, _)| other.name != description.name);
            self.tools.push((description, tool));
        }
        self
    }

    /// Adds a policy, inside those that were added before.
    #[must_use]
    pub fn policy(mut self, policy: impl Policy + 'static) -> Self {
        self.policies.push(Box::new(policy));
        self
    }

    /// What a model is offered.
    pub fn descriptions(&self) -> impl Iterator<Item = &ToolDescription> {
        self.tools.iter().map(|(description, _)| description)
    }

    /// Calls a tool; its result counts as delivered when this returns it.
    pub async fn call(&self, tool: &str, call: &Call<'_>) -> ToolReply {
        self.run(tool, call).await.deliver()
    }

    /// Calls a tool, for a harness that has stages of its own to come: it
    /// [delivers](Undelivered::deliver) the outcome itself, or drops it.
    pub async fn run(&self, tool: &str, call: &Call<'_>) -> Undelivered {
        let Some((description, tool)) = self.tools.iter().find(|(known, _)| known.name == tool)
        else {
            let known: Vec<&str> = self.descriptions().map(|tool| tool.name).collect();
            let (tool, known) = (one_line(tool), known.join("`, `"));
            return Undelivered::error(format!(
                "there is no tool `{tool}`, expected one of `{known}`"
            ));
        };
        let (made, began) = (OnceLock::new(), AtomicBool::new(false));
        let run = Run { description, tool: &**tool, call, made: &made, began: &began };
        let finalizer = catch_unwind(AssertUnwindSafe(|| tool.finalizer(call)));
        let (finalizer, mut outcome) = match finalizer {
            Ok(finalizer) => (finalizer, run.carry_out(&self.policies).await),
            Err(panic) => (
                Finalizer::none(),
                Undelivered::error(run.failure("the tool", &panics::message(&*panic))),
            ),
        };
        for policy in &self.policies {
            outcome = run.after(&**policy, outcome).await;
        }
        run.finish(finalizer, outcome)
    }
}

impl fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tools: Vec<&str> = self.descriptions().map(|tool| tool.name).collect();
        f.debug_struct("Pipeline")
            .field("tools", &tools)
            .field("policies", &self.policies.len())
            .finish()
    }
}

const POLICY: &str = "a policy of the harness";

/// One call on its way.
#[derive(Clone, Copy)]
struct Run<'a> {
    description: &'a ToolDescription,
    tool: &'a dyn Tool,
    call: &'a Call<'a>,
    /// The background task that it has made.
    made: &'a OnceLock<TaskId>,
    /// Whether the tool has begun.
    began: &'a AtomicBool,
}

impl<'a> Run<'a> {
    async fn carry_out(self, policies: &'a [Box<dyn Policy>]) -> Undelivered {
        for policy in policies {
            let before = async { policy.before(self.description, self.call).await };
            match self.unless_aborted(contained(before)).await {
                Some(Ok(Verdict::Go)) => {}
                Some(Ok(Verdict::Answer(reply))) => return reply.into(),
                Some(Err(why)) => return Undelivered::error(self.failure(POLICY, &why)),
                None => return self.aborted(),
            }
        }
        Next { run: self, policies }.run().await
    }

    async fn work(self) -> Undelivered {
        let checked = catch_unwind(AssertUnwindSafe(|| self.tool.check(&self.call.args)));
        match checked {
            Ok(Ok(())) => {}
            Ok(Err(wrong)) => return Undelivered::error(wrong),
            Err(panic) => {
                return Undelivered::error(self.failure("the tool", &panics::message(&*panic)));
            }
        }
        if self.call.abort.is_cancelled() {
            return self.aborted();
        }
        self.began.store(true, Ordering::Relaxed);
        match contained(async { Ok(self.tool.call(self.call).await) }).await {
            Ok(outcome) => {
                let id = outcome.reply.value.get("taskId").and_then(|id| id.as_str());
                if let Some(id) = id.and_then(|id| TaskId::parse(id).ok()) {
                    // The tool is called once.
                    let _ = self.made.set(id);
                }
                outcome
            }
            Err(why) => Undelivered::error(self.failure("the tool", &why)),
        }
    }

    async fn after(self, policy: &dyn Policy, outcome: Undelivered) -> Undelivered {
        let after = async { policy.after(self.description, self.call, outcome).await };
        match self.unless_aborted(contained(after)).await {
            Some(Ok(outcome)) => outcome,
            Some(Err(why)) => Undelivered::error(self.failure(POLICY, &why)),
            None => self.aborted(),
        }
    }

    /// The result as the model gets it. Where the finalizer panics, what it should have
    /// bounded is withheld.
    fn finish(self, finalizer: Finalizer, mut outcome: Undelivered) -> Undelivered {
        self.name_the_task(&mut outcome.reply);
        let ToolReply { content, value, .. } = &mut outcome.reply;
        let finished = catch_unwind(AssertUnwindSafe(|| finalizer.finish(content, value)));
        let Err(panic) = finished else { return outcome };
        let mut error = ToolReply::error(self.failure("the tool", &panics::message(&*panic)));
        self.name_the_task(&mut error);
        error.into()
    }

    /// A result of one text that does not name the task which the call has made gets a line
    /// that does. Others keep their shape: who made them was told.
    fn name_the_task(self, reply: &mut ToolReply) {
        let Some(id) = self.made.get() else { return };
        let line = format!(
            "[background task {id} was started, and is not affected: read it with task_output, \
             stop it with task_kill]"
        );
        match reply.content.as_mut_slice() {
            [] => reply.content.push(Content::Text(line)),
            [Content::Text(text)] if !names(text, id) => {
                let newline = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
                text.push_str(newline);
                text.push_str(&line);
            }
            [_, ..] => {}
        }
    }

    /// The result of a stage, unless it waits and the call is aborted.
    async fn unless_aborted<T>(self, stage: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            // What is ready is not thrown away.
            biased;
            done = stage => Some(done),
            () = self.call.abort.cancelled() => None,
        }
    }

    fn aborted(self) -> Undelivered {
        Undelivered::error(if self.began.load(Ordering::Relaxed) {
            "the call was aborted before its result was released; what it has done stays done"
        } else {
            "the call was aborted before it began; nothing was started"
        })
    }

    fn failure(self, who: &str, why: &str) -> String {
        let why = one_line(why);
        if self.began.load(Ordering::Relaxed) {
            format!(
                "{who} failed: {why}; the result is withheld, and what the call has done stays \
                 done: look before you repeat it"
            )
        } else {
            format!("{who} failed: {why}; nothing was done: try once more, or tell the user")
        }
    }
}

/// What a [policy](Policy::around) is wrapped around: the policies inside it, and the tool.
pub struct Next<'a> {
    run: Run<'a>,
    policies: &'a [Box<dyn Policy>],
}

impl<'a> Next<'a> {
    /// Goes on with the call. Never fails: an error is a result like any other.
    pub fn run(self) -> BoxFuture<'a, Undelivered> {
        let Self { run, policies } = self;
        let Some((policy, inner)) = policies.split_first() else { return run.work().boxed() };
        let next = Next { run, policies: inner };
        async move {
            let around = async { policy.around(run.description, run.call, next).await };
            match contained(around).await {
                Ok(outcome) => outcome,
                Err(why) => Undelivered::error(run.failure(POLICY, &why)),
            }
        }
        .boxed()
    }
}

impl fmt::Debug for Next<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Next").field("tool", &self.run.description.name).finish_non_exhaustive()
    }
}

/// The result of a stage, or why there is none.
async fn contained<T>(stage: impl Future<Output = Result<T, BoxError>>) -> Result<T, String> {
    match AssertUnwindSafe(stage).catch_unwind().await {
        Ok(result) => result.map_err(|error| error.to_string()),
        Err(panic) => Err(panics::message(&*panic)),
    }
}

/// Whether the text has that id as a word of its own.
fn names(text: &str, id: &TaskId) -> bool {
    let joins = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    text.match_indices(id.as_str()).any(|(at, found)| {
        !text[..at].ends_with(joins) && !text[at + found.len()..].starts_with(joins)
    })
}
