//! Subagents: scripted ones on paused time, and the test agent as a child process.

mod acp;
mod acp_ends;
mod foreign;
mod moments;
mod phases;
mod tool;

use std::{
    fs,
    future::Future,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use longrun_tokio::{
    Builder, Guard, NoticePolicy, OwnerScope, Read, TaskId, TaskService, Waited,
    subagent::{
        Ended, Request, Subagents,
        acp::{AcpConfig, AcpProvider},
    },
    testing::{FakeInbox, Nudge},
};

use crate::serve::driver::{NOBODY, PATIENCE, processes_in};

/// Longer than any machine takes for what obeys, short enough to wait for what does not.
const GRACE: Duration = Duration::from_millis(500);

/// A service, an agent of it, and a folder that its children work in.
struct Stage {
    service: TaskService,
    _controls: Guard,
    agent: OwnerScope,
    inbox: Arc<FakeInbox>,
    folder: tempfile::TempDir,
}

impl Stage {
    fn new() -> Self {
        Self::with_limit(10)
    }

    fn with_limit(limit: usize) -> Self {
        let service = Builder::new().max_active_per_owner(limit).build().unwrap();
        let controls = service.mount_controls(NoticePolicy::default()).unwrap();
        let inbox = Arc::new(FakeInbox::new());
        let agent = service.owner("s").inbox(inbox.clone()).open().unwrap();
        let folder = tempfile::tempdir().unwrap();
        Self { service, _controls: controls, agent, inbox, folder }
    }

    fn folder(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    /// The test agent, which works in the folder.
    fn config(&self, args: &[&str]) -> AcpConfig {
        AcpConfig {
            args: args.iter().map(Into::into).collect(),
            grace: GRACE,
            ..AcpConfig::new(env!("CARGO_BIN_EXE_acp-agent"), self.folder())
        }
    }

    fn subagents(&self, args: &[&str]) -> Subagents {
        Subagents::new(AcpProvider::new(self.config(args)).unwrap())
    }

    fn start(&self, subagents: &Subagents, prompt: &str) -> TaskId {
        let request = Request::new("a child", prompt);
        self.agent.start(subagents.spec(&request), || subagents.start(request)).unwrap()
    }

    /// Waits for the end of a task, and reads it.
    async fn end(&self, id: &TaskId) -> Read {
        let caller = self.agent.caller();
        let waited = soon(self.service.wait(id, &caller, PATIENCE)).await.unwrap();
        let Waited::Ended(_) = waited else { panic!("{id} did not end: {waited:?}") };
        self.service.read(id, &caller).unwrap()
    }

    /// The status and the detail of a task that has ended, and its output.
    async fn told(&self, id: &TaskId) -> (String, String) {
        let Read { text, task } = self.end(id).await;
        let detail = task.detail.as_deref().map(|detail| format!(", {detail}"));
        (format!("{}{}", task.status, detail.unwrap_or_default()), text)
    }

    fn kill(&self, id: &TaskId) {
        self.service.kill(id, &self.agent.caller(), Some("enough")).unwrap();
    }

    /// Waits for a file that a child makes in the folder.
    async fn appears(&self, name: &str) {
        let path = self.folder().join(name);
        until(&format!("{name} appears"), || path.exists()).await;
    }

    fn nobody_is_left(&self) {
        assert_eq!(processes_in(&self.folder()), NOBODY);
    }
}

async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("a fact that never came")
}

/// Waits for something that is to be seen from outside.
async fn until(what: &str, seen: impl Fn() -> bool) {
    let began = Instant::now();
    while !seen() {
        assert!(began.elapsed() < PATIENCE, "never became a fact: {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// How a child in the foreground ended.
async fn ended(subagents: &Subagents, prompt: &str) -> Ended {
    let request = Request::new("a child", prompt);
    soon(subagents.run(request, std::future::pending())).await.unwrap()
}
