//! `task_output`.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures::future::BoxFuture;
use longrun_shared::{
    CollectError, Collected, HeldRead, ReadError, Receipt, Status, TaskId, TaskSnapshot, Until,
    core::controls::{
        self, AskedTask, AskedTasks, CollectedValue, FailedTask, MAX_TASK_IDS, OutputArgs,
        OutputValue, PublicTask, one_line,
    },
};
use serde::Deserialize;
use serde_json::Value;

use super::{
    Call, Content, Delivery, Finalizer, Tool, ToolDescription, ToolReply, Undelivered,
    args::{each, object},
    controls::{Mounted, json},
    reply::single_text,
};

/// What it reads counts as read once its result is delivered.
pub(super) struct TaskOutput(pub(super) Arc<Mounted>);

impl Tool for TaskOutput {
    fn description(&self) -> ToolDescription {
        self.0.description(|[output, _, _]| output)
    }

    fn finalizer(&self, call: &Call<'_>) -> Finalizer {
        let caller = call.caller();
        let several = call.args.get("task_ids").and_then(Value::as_array).into_iter().flatten();
        let asked = call.args.get("task_id").into_iter().chain(several.take(MAX_TASK_IDS));
        let caps: Caps = asked.filter_map(|id| self.0.cap(id, &caller)).collect();
        if caps.values().all(Option::is_none) {
            return Finalizer::none();
        }
        Finalizer::new(move |content, value| fit(content, value, &caps))
    }

    fn check(&self, args: &Value) -> Result<(), String> {
        self.parse(args).map(drop)
    }

    fn call<'a>(&'a self, call: &'a Call<'a>) -> BoxFuture<'a, Undelivered> {
        Box::pin(async { self.read(call).await.unwrap_or_else(Undelivered::error) })
    }
}

/// The caps of the tasks that a call is about, if they have any.
type Caps = BTreeMap<TaskId, Option<usize>>;

/// Cuts the texts of a read, each within the cap of its task. A text that is all there is
/// and is no read has the room of all the tasks together, unless one of them has no cap.
/// Other results keep their shape.
fn fit(content: &mut [Content], value: &Value, caps: &Caps) {
    let endings = endings(value);
    let ending_of = |text: &str| endings.iter().find(|(_, ending)| text.ends_with(ending));
    if content.len() == own_blocks(value) {
        for block in &mut *content {
            if let Content::Text(text) = block
                && let Some((id, ending)) = ending_of(text)
                && let Some(&Some(cap)) = caps.get(id)
            {
                *text = controls::fit_read(text, ending, cap);
            }
        }
    }
    let mut caps = caps.values();
    let together = caps.try_fold(0_usize, |sum, cap| cap.map(|cap| sum.saturating_add(cap)));
    if let (Some(text), Some(together)) = (single_text(content), together)
        && ending_of(text).is_none()
    {
        *text = controls::fit_text(text, together);
    }
}

/// How many blocks the result has that comes with this value.
fn own_blocks(value: &Value) -> usize {
    let count = |of: &str| value.get(of).and_then(Value::as_array).map_or(0, Vec::len);
    if value.get("task").is_some() {
        1
    } else {
        count("read") + count("quiet").min(1) + count("failed")
    }
}

/// What the texts of a read of one task, or of several, end in.
fn endings(value: &Value) -> Vec<(TaskId, String)> {
    let one = value.get("task").and_then(|task| {
        let (id, status, detail) = facts(task)?;
        Some((id, controls::status_line(status, detail)))
    });
    let several = value.get("read").and_then(Value::as_array).into_iter().flatten();
    let several = several.filter_map(|read| {
        let (id, status, detail) = facts(read.get("task")?)?;
        let ending = controls::one_of_several_ending(&id, status, detail);
        Some((id, ending))
    });
    one.into_iter().chain(several).collect()
}

fn facts(task: &Value) -> Option<(TaskId, Status, Option<&str>)> {
    let id = TaskId::parse(task.get("id")?.as_str()?).ok()?;
    let status = Status::deserialize(task.get("status")?).ok()?;
    Some((id, status, task.get("detail").and_then(Value::as_str)))
}

impl TaskOutput {
    fn parse(&self, args: &Value) -> Result<OutputArgs, String> {
        let args = controls::parse_output(each(object(args)?), &self.0.config);
        args.map_err(|error| error.to_string())
    }

    async fn read(&self, call: &Call<'_>) -> Result<Undelivered, String> {
        let OutputArgs { tasks, wait } = self.parse(&call.args)?;
        match tasks {
            AskedTasks::One(id) => {
                self.one(id.map_err(|unknown| unknown.to_string())?, wait, call).await
            }
            AskedTasks::Several { ids, until_all } => {
                let until = if until_all { Until::All } else { Until::Any };
                self.several(ids, wait.map(|wait| (until, wait)), call).await
            }
        }
    }

    async fn one(
        &self,
        id: TaskId,
        wait: Option<Duration>,
        call: &Call<'_>,
    ) -> Result<Undelivered, String> {
        let (service, caller) = (&self.0.service, call.caller());
        let held = match wait {
            Some(timeout) => {
                service.wait_and_read(&id, &caller, timeout, call.abort.cancelled()).await
            }
            None => tokio::select! {
                biased;
                held = service.read_held(&id, &caller) => held.map_err(CollectError::from),
                () = call.abort.cancelled() => Err(CollectError::Aborted),
            },
        };
        let HeldRead { text, task, receipt } = held.map_err(|error| refused(&id, &error))?;
        let shown = controls::output_text(&text, &task);
        let value = OutputValue { text, task: PublicTask::from(&task) };
        let reply = ToolReply::new(shown, json(&value));
        Ok(Undelivered::new(reply, Delivery::new(|| receipt.commit())))
    }

    async fn several(
        &self,
        asked: Vec<AskedTask>,
        wait: Option<(Until, Duration)>,
        call: &Call<'_>,
    ) -> Result<Undelivered, String> {
        let mut answer = Answer::default();
        let mut ids = Vec::new();
        for asked in asked {
            match asked {
                Ok(id) => ids.push(id),
                Err(unknown) => answer.fail(unknown.shown().to_owned(), unknown.to_string()),
            }
        }
        let collected = self.0.service.collect(&ids, &call.caller(), wait, call.abort.cancelled());
        let collected = collected.await.map_err(|error| match error {
            CollectError::Aborted => "the wait for the tasks was aborted; they go on".to_owned(),
            error => error.to_string(),
        })?;
        for (id, collected) in collected {
            answer.add(&id, collected);
        }
        Ok(answer.finish())
    }
}

/// An answer about several tasks.
#[derive(Default)]
struct Answer {
    texts: Vec<String>,
    value: CollectedValue,
    quiet: Vec<TaskSnapshot>,
    receipts: Vec<Receipt>,
}

impl Answer {
    fn add(&mut self, id: &TaskId, collected: Collected) {
        match collected {
            Collected::Read(HeldRead { text, task, receipt }) => {
                self.texts.push(controls::one_of_several_text(&text, &task));
                self.value.read.push(OutputValue { text, task: PublicTask::from(&task) });
                self.receipts.push(receipt);
            }
            Collected::Nothing(task) => self.quiet.push(task),
            Collected::Failed(error) => self.fail(id.to_string(), refused(id, &error)),
        }
    }

    fn fail(&mut self, task_id: String, error: String) {
        self.value.failed.push(FailedTask { task_id, error });
    }

    /// A block for each task that has something, then one for those that have not.
    fn finish(self) -> Undelivered {
        let Self { mut texts, mut value, quiet, receipts } = self;
        value.quiet = quiet.iter().map(PublicTask::from).collect();
        if !quiet.is_empty() {
            texts.push(controls::quiet_tasks_text(&quiet, controls::LIST_CAP_BYTES));
        }
        texts.extend(value.failed.iter().map(|failed| failed.error.clone()));
        let reply = ToolReply {
            is_error: value.read.is_empty() && value.quiet.is_empty(),
            value: json(&value),
            content: texts.into_iter().map(Content::Text).collect(),
        };
        let commit = || receipts.into_iter().for_each(Receipt::commit);
        Undelivered::new(reply, Delivery::new(commit))
    }
}

fn refused(id: &TaskId, error: &CollectError) -> String {
    if error.access().is_some() {
        return controls::unknown_task_text(id.as_str());
    }
    match error {
        CollectError::Aborted => format!("the wait for task {id} was aborted; the task goes on"),
        CollectError::Read(ReadError::Reader(why)) => format!(
            "the output of task {id} could not be read: {}; nothing was taken, try again",
            one_line(&why.to_string())
        ),
        error => error.to_string(),
    }
}
