//! A small agent of the Agent Client Protocol, for the tests: it does what its prompt says,
//! also what no agent should.
//!
//! A prompt is a row of steps, `say hello; refuse`, say; what a step does stands beside it
//! below. The arguments are steps that are taken before the first request is answered.

use std::{
    io::Write as _,
    process::{Command, Stdio, exit},
    sync::{Arc, Mutex},
};

use agent_client_protocol::{
    Agent, ByteStreams, Client, Error,
    v1::{
        ConnectionTo,
        schema::{
            CancelNotification, ContentBlock, ContentChunk, InitializeRequest, InitializeResponse,
            NewSessionRequest, NewSessionResponse, PermissionOption, PermissionOptionKind,
            PromptRequest, PromptResponse, RequestPermissionOutcome, RequestPermissionRequest,
            SessionId, SessionNotification, SessionUpdate, StopReason, ToolCall, ToolCallUpdate,
            ToolCallUpdateFields,
        },
    },
};
use tokio::sync::Notify;
use tokio_util::compat::{TokioAsyncReadCompatExt as _, TokioAsyncWriteCompatExt as _};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let agent = Arc::new(TestAgent::default());
    let (opening, prompted, cancelled) = (agent.clone(), agent.clone(), agent.clone());
    Agent
        .v1()
        .name("acp-agent")
        .on_receive_request(
            async move |request: InitializeRequest, responder, connection: ConnectionTo<Client>| {
                connection.spawn(async move {
                    for step in std::env::args().skip(1).collect::<Vec<_>>() {
                        before_the_session(&step).await;
                    }
                    responder.respond(InitializeResponse::new(request.protocol_version))
                })
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_request(
            async move |request: NewSessionRequest, responder, _| {
                if std::env::args().any(|step| step == "no-session") {
                    return responder.respond_with_error(Error::auth_required());
                }
                *opening.cwd.lock().expect(WHOLE) = request.cwd.display().to_string();
                responder.respond(NewSessionResponse::new("session-1"))
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_request(
            async move |request: PromptRequest, responder, connection: ConnectionTo<Client>| {
                let turn =
                    Turn { agent: prompted.clone(), session: request.session_id, connection };
                turn.connection.clone().spawn(async move {
                    let stop = turn.take(&request.prompt).await;
                    responder.respond_with_result(stop.map(PromptResponse::new))
                })
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_notification(
            async move |_: CancelNotification, _| {
                cancelled.cancelled.notify_one();
                Ok(())
            },
            agent_client_protocol::on_receive_notification!(),
        )
        .connect_to(ByteStreams::new(
            tokio::io::stdout().compat_write(),
            tokio::io::stdin().compat(),
        ))
        .await?;
    // The input has closed.
    let is_told = |step| std::env::args().any(|other| other == step);
    if is_told("mark-end") {
        std::fs::write("ending", "\n").map_err(Error::into_internal_error)?;
    }
    if is_told("stubborn") {
        stubborn();
    }
    Ok(())
}

/// Nobody panics while it holds a lock.
const WHOLE: &str = "a lock that is whole";

#[derive(Default)]
struct TestAgent {
    cwd: Mutex<String>,
    cancelled: Notify,
}

/// What is done instead of answering, or before it.
async fn before_the_session(step: &str) {
    match step {
        "hang-first" => std::future::pending().await,
        "garbage-first" => write("this is no protocol\n"),
        "exit-first" => {
            eprintln!("no key was found");
            exit(7);
        }
        "mark" => std::fs::write("started", "\n").expect("a file"),
        // These are for later.
        "stubborn" | "no-session" | "mark-end" => {}
        other => panic!("there is no step `{other}` before the session"),
    }
}

/// Writes past the protocol.
fn write(text: &str) {
    let mut stdout = std::io::stdout();
    // Who has gone does not read it.
    let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
}

/// Goes on whatever is asked: as a shell that ignores everything but SIGKILL.
fn stubborn() -> ! {
    use std::os::unix::process::CommandExt as _;
    let error =
        Command::new("bash").args(["-c", "trap '' TERM INT HUP; while :; do sleep 1; done"]).exec();
    panic!("bash: {error}");
}

/// The answer to one prompt.
struct Turn {
    agent: Arc<TestAgent>,
    session: SessionId,
    connection: ConnectionTo<Client>,
}

impl Turn {
    async fn take(&self, prompt: &[ContentBlock]) -> Result<StopReason, Error> {
        let [ContentBlock::Text(prompt)] = prompt else { panic!("not one text: {prompt:?}") };
        for step in prompt.text.split("; ") {
            let (step, rest) = step.split_once(' ').unwrap_or((step, ""));
            if let Some(stop) = self.step(step, rest).await? {
                return Ok(stop);
            }
        }
        Ok(StopReason::EndTurn)
    }

    /// One step; a stop reason ends the turn.
    async fn step(&self, step: &str, rest: &str) -> Result<Option<StopReason>, Error> {
        match step {
            "say" => self.say(rest)?,
            "tool" => self.use_tool()?,
            "cwd" => self.say(&self.agent.cwd.lock().expect(WHOLE))?,
            "env" => self.say(&std::env::var(rest).unwrap_or_else(|_| "unset".to_owned()))?,
            "log" => eprintln!("{rest}"),
            "touch" => std::fs::write(rest, "\n").map_err(Error::into_internal_error)?,
            "may-i" => self.ask().await?,
            // Once that is answered, all that was said has been written.
            "sync" => drop(self.ask_for_permission().await?),
            "flood" => self.flood(rest.parse().expect("a number of megabytes"))?,
            "stop" => return Ok(Some(stop_reason(rest))),
            "fail" => return Err(Error::internal_error().data(rest)),
            "leave" => leave_something(Stdio::inherit),
            "daemon" => leave_something(Stdio::null),
            "exit" => exit(rest.parse().expect("an exit code")),
            "die" => die(),
            "close" => close_output(),
            "garbage" => write("so be it\n"),
            "line" => endless_line(),
            "questions" => questions(),
            "hang" => std::future::pending().await,
            "block" => stubborn(),
            "obey" => {
                self.agent.cancelled.notified().await;
                self.say("obeyed")?;
                return Ok(Some(StopReason::Cancelled));
            }
            "late" => {
                // The answer comes after the cancel, as if there had been none.
                self.agent.cancelled.notified().await;
                self.say("too late")?;
            }
            other => panic!("there is no step `{other}`"),
        }
        Ok(None)
    }

    fn say(&self, text: &str) -> Result<(), Error> {
        let chunk = ContentChunk::new(text.to_owned().into());
        self.update(SessionUpdate::AgentMessageChunk(chunk))
    }

    fn use_tool(&self) -> Result<(), Error> {
        self.update(SessionUpdate::AgentThoughtChunk(ContentChunk::new("hm".to_owned().into())))?;
        self.update(SessionUpdate::ToolCall(ToolCall::new("tool-1", "a tool")))
    }

    fn update(&self, update: SessionUpdate) -> Result<(), Error> {
        self.connection.send_notification(SessionNotification::new(self.session.clone(), update))
    }

    async fn ask(&self) -> Result<(), Error> {
        match self.ask_for_permission().await? {
            RequestPermissionOutcome::Selected(selected) => {
                self.say(&selected.option_id.to_string())
            }
            outcome => self.say(&format!("{outcome:?}")),
        }
    }

    async fn ask_for_permission(&self) -> Result<RequestPermissionOutcome, Error> {
        let option = |id: &'static str, kind| PermissionOption::new(id, id, kind);
        let options = vec![
            option("always", PermissionOptionKind::AllowAlways),
            option("never", PermissionOptionKind::RejectAlways),
            option("yes", PermissionOptionKind::AllowOnce),
            option("no", PermissionOptionKind::RejectOnce),
        ];
        let tool = ToolCallUpdate::new("tool-1", ToolCallUpdateFields::new());
        let request = RequestPermissionRequest::new(self.session.clone(), tool, options);
        Ok(self.connection.send_request(request).block_task().await?.outcome)
    }

    /// So many megabytes of chunks, past the queue of the connection.
    fn flood(&self, megabytes: usize) -> Result<(), Error> {
        let text = "x".repeat(10_000);
        let chunk = format!(
            r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"{}","update":{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":"{text}\n"}}}}}}}}"#,
            self.session,
        );
        for _ in 0..megabytes * 100 {
            write(&(chunk.clone() + "\n"));
        }
        Ok(())
    }
}

/// Questions without end, and no answer is read.
fn questions() -> ! {
    let question = r#"{"jsonrpc":"2.0","id":"q","method":"fs/read_text_file","params":{}}"#;
    loop {
        write(&format!("{question}\n"));
    }
}

fn stop_reason(name: &str) -> StopReason {
    match name {
        "max-tokens" => StopReason::MaxTokens,
        "max-turns" => StopReason::MaxTurnRequests,
        "refusal" => StopReason::Refusal,
        "cancelled" => StopReason::Cancelled,
        other => panic!("there is no stop reason `{other}`"),
    }
}

/// Leaves a process behind, in a session of its own and without a parent that is known.
fn leave_something(pipes: fn() -> Stdio) {
    let mut command = Command::new("setsid");
    command.args(["--fork", "sleep", "1000"]).stdin(pipes()).stdout(pipes()).stderr(pipes());
    assert!(command.status().expect("the command `setsid`").success());
}

/// As from `kill -9`.
fn die() {
    let pid = std::process::id().to_string();
    Command::new("kill").args(["-9", &pid]).status().expect("the command `kill`");
}

/// Closes the output and goes on.
fn close_output() -> ! {
    use std::os::unix::process::CommandExt as _;
    let error = Command::new("bash").args(["-c", "exec >&-; while :; do sleep 1; done"]).exec();
    panic!("bash: {error}");
}

/// A line without end.
fn endless_line() -> ! {
    let text = "x".repeat(64 * 1024);
    loop {
        write(&text);
    }
}
