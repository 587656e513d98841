//! What is said to a child, and what is taken from it.

use std::{
    path::PathBuf,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use agent_client_protocol::{
    Agent, Client, Error, JsonRpcMessage as _, UntypedMessage, is_connection_terminated,
    is_incoming_transport_closed,
    schema::ProtocolVersion,
    v1::{
        ConnectionTo,
        schema::{
            CancelNotification, ContentBlock, Implementation, InitializeRequest, NewSessionRequest,
            PermissionOption, PermissionOptionKind, PromptRequest, PromptResponse,
            RequestPermissionOutcome, RequestPermissionRequest, RequestPermissionResponse,
            SelectedPermissionOutcome, SessionId, SessionNotification, SessionUpdate, StopReason,
        },
    },
};
use futures::{FutureExt as _, future::BoxFuture};
use longrun_core::controls::one_line;
use tokio::{sync::oneshot, time::timeout};

use super::{
    super::{AbortHandle, Finish, Stop, transcript::Transcript},
    AcpConfig, Permission,
    lines::{self, Broken},
};
use crate::process::Conversation;

/// How a conversation ended.
pub(super) struct Over {
    pub(super) finish: Finish,
    /// The child closed its output, as one does that exits.
    pub(super) closed: bool,
}

impl Over {
    pub(super) const fn told(finish: Finish) -> Self {
        Self { finish, closed: false }
    }

    fn failed(reason: String) -> Self {
        Self::told(Finish::failed(reason))
    }

    /// From what a request was answered instead of what was expected.
    fn unanswered(what: &str, error: &Error) -> Self {
        if is_incoming_transport_closed(error) || is_connection_terminated(error) {
            let reason = format!("it closed its output before it answered `{what}`");
            return Self { finish: Finish::failed(reason), closed: true };
        }
        let error = text_of(error);
        Self::failed(format!("it answered `{what}` with an error: {}", one_line(&error)))
    }
}

fn text_of(error: &Error) -> String {
    let data = error.data.as_ref().map(|data| match data.as_str() {
        Some(text) => format!(": {text}"),
        None => format!(": {data}"),
    });
    format!("{}{}", error.message, data.unwrap_or_default())
}

/// What is going to be said.
pub(super) struct Talk {
    cwd: PathBuf,
    prompt: String,
    abort: AbortHandle,
    permission: Permission,
    grace: Duration,
    said: Said,
}

/// What the child says.
#[derive(Clone)]
struct Said(Arc<Mutex<Transcript>>);

impl Said {
    fn lock(&self) -> MutexGuard<'_, Transcript> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a notification in. One that is unknown is passed over: the protocol grows.
    fn hear(&self, message: &UntypedMessage) {
        let method = message.method();
        if !SessionNotification::matches_method(method) {
            return;
        }
        let heard = SessionNotification::parse_message(method, message.params());
        let Ok(SessionNotification { update, .. }) = heard else { return };
        let mut said = self.lock();
        match update {
            SessionUpdate::AgentMessageChunk(chunk) => {
                if let ContentBlock::Text(text) = chunk.content {
                    said.push(&text.text);
                }
            }
            // What it says after that is another message.
            SessionUpdate::ToolCall(_) if !said.is_at_line_start() => said.push("\n"),
            _ => {}
        }
    }
}

impl Talk {
    pub(super) fn new(
        config: &AcpConfig,
        cwd: PathBuf,
        prompt: String,
        abort: AbortHandle,
    ) -> Self {
        let said = Said(Arc::new(Mutex::new(Transcript::new(config.memory_bytes))));
        let (permission, grace) = (config.permission, config.grace);
        Self { cwd, prompt, abort, permission, grace, said }
    }

    /// Begins to talk over these pipes, as soon as somebody waits for what comes of it.
    pub(super) fn with(self, conversation: Conversation) -> Connected {
        let (opened, ready) = oneshot::channel();
        let (told, over) = oneshot::channel();
        let (broken, said) = (Broken::default(), self.said.clone());
        let lines = lines::over(conversation, broken.clone());
        let (heard, permission, abort) = (said.clone(), self.permission, self.abort.clone());
        let connection = Client
            .v1()
            .name("longrun")
            .on_receive_notification(
                async move |message: UntypedMessage, _| {
                    heard.hear(&message);
                    Ok(())
                },
                agent_client_protocol::on_receive_notification!(),
            )
            .on_receive_request(
                async move |request: RequestPermissionRequest, responder, _| {
                    let outcome = match abort.is_aborted() {
                        true => RequestPermissionOutcome::Cancelled,
                        false => permission.answer(&request.options),
                    };
                    responder.respond(RequestPermissionResponse::new(outcome))
                },
                agent_client_protocol::on_receive_request!(),
            )
            .connect_with(lines, async move |connection: ConnectionTo<Agent>| {
                // Whoever waits for these has the connection: it is there.
                let _ = told.send(self.talk(&connection, opened).await);
                Ok(())
            });
        Connected { connection: connection.boxed(), ready, over, broken, said }
    }

    async fn talk(self, connection: &ConnectionTo<Agent>, opened: oneshot::Sender<()>) -> Over {
        match self.open(connection).await {
            Ok(session) => {
                let _ = opened.send(());
                self.turn(connection, session).await
            }
            Err(over) => over,
        }
    }

    async fn open(&self, connection: &ConnectionTo<Agent>) -> Result<SessionId, Over> {
        let client = Implementation::new("longrun", env!("CARGO_PKG_VERSION"));
        let initialize = InitializeRequest::new(ProtocolVersion::V1).client_info(client);
        let answer = connection.send_request(initialize).block_task().await;
        answer.map_err(|error| Over::unanswered("initialize", &error))?;
        let session = NewSessionRequest::new(self.cwd.clone());
        let answer = connection.send_request(session).block_task().await;
        answer
            .map(|session| session.session_id)
            .map_err(|error| Over::unanswered("session/new", &error))
    }

    /// The one turn. Whoever is asked to stop has a while to say so himself.
    async fn turn(&self, connection: &ConnectionTo<Agent>, session: SessionId) -> Over {
        let prompt = vec![ContentBlock::from(self.prompt.clone())];
        let request = PromptRequest::new(session.clone(), prompt);
        let mut answer = pin!(connection.send_request(request).block_task());
        tokio::select! {
            biased;
            answer = &mut answer => return told(answer),
            () = self.abort.aborted() => {}
        }
        if connection.send_notification(CancelNotification::new(session)).is_ok() {
            // Whatever it answers, it was asked to stop.
            let _ = timeout(self.grace, answer).await;
        }
        Over::told(Finish::new(Stop::Aborted, ""))
    }
}

fn told(answer: Result<PromptResponse, Error>) -> Over {
    let stop = match answer {
        Ok(answer) => answer.stop_reason,
        Err(error) => return Over::unanswered("session/prompt", &error),
    };
    let stop = match stop {
        StopReason::EndTurn => Stop::Completed,
        StopReason::MaxTokens => Stop::MaxTokens,
        StopReason::MaxTurnRequests => Stop::MaxTurns,
        StopReason::Refusal => Stop::Refused,
        StopReason::Cancelled => Stop::Aborted,
        other => Stop::Other(format!("{other:?}")),
    };
    Over::told(Finish::new(stop, ""))
}

impl Permission {
    fn answer(self, options: &[PermissionOption]) -> RequestPermissionOutcome {
        use PermissionOptionKind::{AllowAlways, AllowOnce, RejectAlways, RejectOnce};
        let kinds = match self {
            Self::Reject => [RejectOnce, RejectAlways],
            Self::Allow => [AllowOnce, AllowAlways],
        };
        let of_kind = |kind| options.iter().find(|option| option.kind == kind);
        match kinds.into_iter().find_map(of_kind) {
            Some(option) => RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(
                option.option_id.clone(),
            )),
            None => RequestPermissionOutcome::Cancelled,
        }
    }
}

/// A conversation under way. Dropping it closes the pipes.
pub(super) struct Connected {
    connection: BoxFuture<'static, Result<(), Error>>,
    ready: oneshot::Receiver<()>,
    over: oneshot::Receiver<Over>,
    broken: Broken,
    said: Said,
}

impl Connected {
    /// Until the session is open, or will never be.
    pub(super) async fn ready(&mut self) -> Result<(), Over> {
        tokio::select! {
            biased;
            Ok(()) = &mut self.ready => Ok(()),
            ended = &mut self.connection => Err(self.ended(ended)),
            over = &mut self.over => Err(self.completed(over.ok())),
        }
    }

    /// Until its end. The pipes are closed then.
    pub(super) async fn over(mut self) -> Over {
        tokio::select! {
            biased;
            over = &mut self.over => self.completed(over.ok()),
            ended = &mut self.connection => self.ended(ended),
        }
    }

    /// The connection has ended, perhaps before anything was told.
    fn ended(&mut self, ended: Result<(), Error>) -> Over {
        let over = self.over.try_recv().ok();
        let broken = || {
            let why = ended.err().map(|error| text_of(&error)).unwrap_or_default();
            let reason = format!("the connection to it broke: {}", one_line(&why));
            // Whoever exits closes its input too, and that may be noticed first.
            let closed = self.broken.reason().is_none();
            Over { closed, ..Over::failed(reason) }
        };
        let over = over.unwrap_or_else(broken);
        self.completed(Some(over))
    }

    /// What was told, with the text; why the lines ended goes before what followed from it.
    fn completed(&self, over: Option<Over>) -> Over {
        let Over { finish, closed } =
            over.unwrap_or_else(|| Over::failed("the connection to it broke".to_owned()));
        let finish = match (self.broken.reason(), &finish.stop) {
            (Some(reason), Stop::Failed(_)) => Finish::failed(reason),
            _ => finish,
        };
        Over { finish: self.said.lock().complete(finish), closed }
    }
}
