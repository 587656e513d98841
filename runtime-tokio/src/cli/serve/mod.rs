//! `longrun serve`: the runtime over JSON lines.

mod agents;
mod calls;
mod lines;
mod observers;
mod options;
mod request;

use std::{
    future::Future,
    pin::{Pin, pin},
    process::ExitCode,
    sync::{Arc, Mutex},
    task::Poll,
    time::Duration,
};

use longrun_shared::{
    Changed, Disposal, Guard, TaskService,
    core::controls::{ControlsConfig, PublicTask, one_line},
};
use serde_json::{Map, Value, json};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    time::{Instant, timeout_at},
};
use tokio_util::task::TaskTracker;

pub(super) use self::options::Options;
use self::{
    agents::Agents,
    calls::Calls,
    lines::{Line, Output},
    observers::Observers,
    request::{Request, Trouble},
};
use super::Failure;
use crate::{
    Builder,
    bash::BashExecutor,
    subagent::Subagents,
    tools::{Bash, Controls, Pipeline, Subagent},
};

/// Serves until the end of input, a `shutdown`, or a signal.
pub(super) async fn run(options: Options) -> Result<ExitCode, Failure> {
    catch_what_the_parent_set()?;
    let server = Arc::new(Server::new(&options)?);
    let _events = if options.events { Some(server.report_changes()?) } else { None };
    let mut signals = Signals::new()?;
    let mut input = lines::input();
    let ended = loop {
        tokio::select! {
            line = input.recv() => match line {
                None => break Ended::Input,
                Some(Err(error)) => {
                    tracing::error!("standard input cannot be read: {error}");
                    break Ended::BrokenInput;
                }
                Some(Ok(line)) => {
                    if let Some(tag) = server.take(line).await {
                        break Ended::Asked(tag);
                    }
                }
            },
            number = signals.next() => break Ended::Signal(number),
            () = server.output.gone.cancelled() => break Ended::Output,
        }
    };
    server.end(ended, &mut signals).await
}

/// Why a server ends.
enum Ended {
    /// Its input did.
    Input,
    /// Its input cannot be read.
    BrokenInput,
    /// Its output cannot be written, or nobody reads it.
    Output,
    /// By a request of that tag, to be answered.
    Asked(Option<Value>),
    /// By that signal.
    Signal(u8),
}

struct Server {
    service: TaskService,
    tools: Pipeline,
    delivering: Mutex<()>,
    agents: Agents,
    calls: Calls,
    observers: Observers,
    requests: TaskTracker,
    output: Output,
}

impl Server {
    fn new(options: &Options) -> Result<Self, Failure> {
        let controls: ControlsConfig = options.controls()?;
        let executor = BashExecutor::new(options.bash()?)?;
        let subagents = options.acp()?.map(Subagents::new);
        let subagent_options = options.subagent_tool()?;
        let config = options.config();
        // What is refused leaves no file.
        config.check()?;
        let mut builder = Builder::new().config(config);
        if let Some(file) = options.record()? {
            builder = builder.record(file);
        }
        let service = builder.build()?;
        let controls = Controls::mount(&service, &service.root(), controls, options.notices())?;
        let bash = Bash::new(service.clone(), executor, options.bash_tool());
        let subagent =
            subagents.map(|subagents| Subagent::new(service.clone(), subagents, subagent_options));
        let mut tools = Pipeline::new().tool(bash).tools(controls.tools());
        if let Some(subagent) = subagent {
            tools = tools.tool(subagent);
        }
        let output = Output::start();
        let agents = Agents::new(service.clone(), output.clone());
        let (calls, observers) = (Calls::default(), Observers::default());
        let requests = TaskTracker::new();
        let delivering = Mutex::default();
        Ok(Self { service, tools, delivering, agents, calls, observers, requests, output })
    }

    fn report_changes(self: &Arc<Self>) -> Result<Guard, Failure> {
        let server = Arc::downgrade(self);
        Ok(self.service.on_tasks_changed(move |changed| {
            if let Some(server) = server.upgrade() {
                server.report_change(*changed);
            }
        })?)
    }

    fn report_change(&self, changed: Changed) {
        let agent = changed.owner.map(|owner| self.agents.by_key(owner));
        let agent = match agent {
            // What was given up of an owner that is forgotten tells nobody anything.
            Some(None) => return,
            agent => agent.flatten(),
        };
        let caller = agent.as_ref().and_then(|agent| agent.owner.caller());
        let tasks: Vec<PublicTask> = self.service.list(&caller).iter().map(Into::into).collect();
        let owner = agent.map(|agent| agent.name());
        self.output.send(&json!({"event": "changed", "owner": owner, "tasks": tasks}));
    }

    /// Starts what a line asks for, up to where it has to wait: requests begin in the
    /// order in which they come. Returns the tag of a request to end.
    async fn take(self: &Arc<Self>, line: Line) -> Option<Option<Value>> {
        let (tag, request) = request::parse(line);
        let request = match request {
            Ok(Request::Shutdown {}) => return Some(tag),
            Ok(Request::Observe { owner, task_id, from }) => {
                self.observe(tag, owner.as_deref(), &task_id, from);
                return None;
            }
            Ok(request) => request,
            Err(trouble) => {
                self.reply(tag, trouble.reply());
                return None;
            }
        };
        let server = Arc::clone(self);
        let mut answer = Box::pin(async move {
            let reply = match request {
                Request::Call { owner, tool, args } => {
                    let called = server.call(&tag, owner.as_deref(), &tool, args).await;
                    called.err().map(|trouble| trouble.reply())
                }
                request => {
                    let reply = server.answer(request).await;
                    Some(reply.unwrap_or_else(|trouble| trouble.reply()))
                }
            };
            if let Some(reply) = reply {
                server.reply(tag, reply);
            }
        });
        if !is_ready_at_once(answer.as_mut()).await {
            self.requests.spawn(answer);
        }
        None
    }

    fn reply(&self, tag: Option<Value>, reply: Value) {
        let mut fields = Map::new();
        fields.extend(tag.map(|tag| ("tag".to_owned(), tag)));
        if let Value::Object(reply) = reply {
            fields.extend(reply);
        }
        self.output.send(&Value::Object(fields));
    }

    async fn answer(&self, request: Request) -> Result<Value, Trouble> {
        match request {
            Request::Open { owner, session, cwd } => self.open(&owner, &session, cwd),
            Request::Abort { call } => self.calls.abort(&call).map(|()| json!({"ok": true})),
            Request::Background { call } => {
                self.calls.to_background(&call).map(|()| json!({"ok": true}))
            }
            Request::State { owner, busy } => {
                self.agents.get(&owner)?.owner.set_busy(busy);
                Ok(json!({"ok": true}))
            }
            Request::Claim { owner, source, or_idle } => {
                let agent = self.agents.get(&owner)?;
                let claimed = if or_idle {
                    agent.owner.claim_or_idle(source)
                } else {
                    Some(agent.owner.claim(source))
                };
                let idle = claimed.is_none();
                let messages: Vec<Value> = claimed
                    .unwrap_or_default()
                    .into_iter()
                    .map(|notice| json!({"task": notice.task.id, "text": notice.text}))
                    .collect();
                Ok(json!({"messages": messages, "idle": idle}))
            }
            Request::Tasks { owner } => {
                let agent = owner.map(|owner| self.agents.get(&owner)).transpose()?;
                let caller = agent.and_then(|agent| agent.owner.caller());
                let tasks = self.service.list(&caller);
                let tasks: Vec<PublicTask> = tasks.iter().map(Into::into).collect();
                Ok(json!({"tasks": tasks}))
            }
            Request::Dispose { owner } => {
                let agent = self.agents.get(&owner)?;
                let disposal = agent.dispose();
                self.calls.end_work_of(agent.owner.key()).await;
                let orphans = disposal.await.map_err(|error| broken(&error))?;
                self.agents.ended(&agent);
                Ok(json!({"ok": true, "orphans": orphans}))
            }
            Request::Call { .. } | Request::Observe { .. } | Request::Shutdown {} => {
                unreachable!("it is not answered here")
            }
        }
    }

    fn open(
        &self,
        owner: &str,
        session: &str,
        cwd: Option<std::path::PathBuf>,
    ) -> Result<Value, Trouble> {
        if owner.is_empty() || session.is_empty() {
            let expected = "expected an `owner` and a `session` that are not empty";
            return Err(Trouble::new("invalid_request", expected));
        }
        if let Some(cwd) = cwd.as_ref().filter(|cwd| !cwd.is_absolute() || !cwd.is_dir()) {
            let got = one_line(&cwd.display().to_string());
            let message = format!("`cwd`: expected an absolute path of a directory, got `{got}`");
            return Err(Trouble::new("invalid_request", message));
        }
        let replaced = self.agents.open(owner, session, cwd).map_err(|error| broken(&error))?;
        let mut reply = json!({"ok": true});
        for (field, name) in ["replaced", "also_replaced"].into_iter().zip(replaced) {
            reply[field] = name.into();
        }
        Ok(reply)
    }

    /// Ends all work, then itself. A further signal cuts that short: what still runs then
    /// is killed at once.
    async fn end(
        self: &Arc<Self>,
        ended: Ended,
        signals: &mut Signals,
    ) -> Result<ExitCode, Failure> {
        let shutdown = self.service.shutdown();
        self.calls.abort_work();
        let number = tokio::select! {
            code = self.wind_down(ended, shutdown) => return code,
            number = signals.next() => number,
        };
        Ok(ExitCode::from(128 + number))
    }

    async fn wind_down(&self, ended: Ended, shutdown: Disposal) -> Result<ExitCode, Failure> {
        let orphans = shutdown.await?;
        self.requests.close();
        self.requests.wait().await;
        // A reader that has stopped reading is not waited for for ever.
        let deadline = Instant::now() + LAST_WORDS;
        self.observers.ended(deadline).await;
        let code = match ended {
            Ended::Input => ExitCode::SUCCESS,
            Ended::BrokenInput | Ended::Output => ExitCode::FAILURE,
            Ended::Signal(number) => ExitCode::from(128 + number),
            Ended::Asked(tag) => {
                self.reply(tag, json!({"ok": true, "orphans": orphans}));
                ExitCode::SUCCESS
            }
        };
        let _ = timeout_at(deadline, self.output.flushed()).await;
        Ok(code)
    }
}

/// How long the last replies may take to be read.
const LAST_WORDS: Duration = Duration::from_secs(5);

fn broken(error: &dyn std::error::Error) -> Trouble {
    Trouble::new("broken", error.to_string())
}

/// Polls a future once: it goes as far as it can without waiting.
async fn is_ready_at_once(mut future: Pin<&mut (impl Future<Output = ()> + ?Sized)>) -> bool {
    std::future::poll_fn(|context| Poll::Ready(future.as_mut().poll(context).is_ready())).await
}

/// Catches, for good, what would do harm as it was inherited.
fn catch_what_the_parent_set() -> std::io::Result<()> {
    // With a limit on the size of files, the write beyond it fails, and no more than that.
    let file_size = rustix::process::Signal::XFSZ.as_raw();
    // Where the ends of children are ignored, the system keeps no exit status.
    for kind in [SignalKind::from_raw(file_size), SignalKind::child()] {
        drop(signal(kind)?);
    }
    Ok(())
}

/// The signals that end a server in good order.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// The number of the next one.
    async fn next(&mut self) -> u8 {
        let (terminate, interrupt, hangup) =
            (pin!(self.terminate.recv()), pin!(self.interrupt.recv()), pin!(self.hangup.recv()));
        tokio::select! {
            _ = terminate => 15,
            _ = interrupt => 2,
            _ = hangup => 1,
        }
    }
}
