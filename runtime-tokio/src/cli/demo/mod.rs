//! `longrun demo`: a scripted agent session on real commands.

mod census;
mod children;
mod stage;

use std::{path::PathBuf, process::ExitCode, sync::Arc, time::Duration};

use longrun_shared::{
    BoxError, ClaimSource, Delivery, Inbox, Notice, NoticePolicy, OwnerScope, TaskService,
    core::controls::ControlsConfig,
};
use serde_json::{Value, json};
use tokio::{sync::mpsc, time};

use self::{census::processes_in, stage::Stage};
use super::Failure;
use crate::{
    Builder,
    bash::{BashConfig, BashExecutor},
    tools::{Bash, BashOptions, Call, Controls, Pipeline, Subagent, SubagentOptions, ToolReply},
};

/// How many tasks the agents of the demonstration may have at work.
const LIMIT: usize = 4;
const GRACE: Duration = Duration::from_millis(800);

pub(super) async fn run() -> Result<ExitCode, Failure> {
    let folder = tempfile::tempdir()?;
    let mut show = Show::open(folder.path().canonicalize()?)?;
    show.stage.title("An agent session on real commands");
    show.stage.fact(&format!("they run in {}", show.folder.display()));

    show.start_two().await;
    show.read_twice().await;
    show.ask_two_subagents().await;
    show.list().await;
    show.wait_in_vain().await;
    show.wait_to_the_end().await;
    show.collect().await;
    show.kill().await;
    show.be_told().await;
    show.try_a_foreign_id().await?;
    show.start_one_too_many().await;
    let left = show.dispose().await?;

    show.stage.close();
    Ok(if left == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

struct Show {
    stage: Stage,
    folder: PathBuf,
    service: TaskService,
    tools: Pipeline,
    agent: OwnerScope,
    news: mpsc::UnboundedReceiver<News>,
}

impl Show {
    fn open(folder: PathBuf) -> Result<Self, Failure> {
        let service = Builder::new().max_active_per_owner(LIMIT).build()?;
        let notices = NoticePolicy { delivery: Delivery::Wakeup, ..NoticePolicy::default() };
        let controls =
            Controls::mount(&service, &service.root(), ControlsConfig::default(), notices)?;
        let config = BashConfig { grace: GRACE, ..BashConfig::new(&folder) };
        let executor = BashExecutor::new(config)?;
        let bash = Bash::new(service.clone(), executor, BashOptions::default());
        let (subagents, options) = (children::scripted(), SubagentOptions::default());
        let subagent = Subagent::new(service.clone(), subagents, options);
        let tools = Pipeline::new().tools(controls.tools()).tool(bash).tool(subagent);
        let (sender, news) = mpsc::unbounded_channel();
        let agent = service.owner("session-1").busy(true).inbox(Arc::new(Bell(sender))).open()?;
        Ok(Self { stage: Stage::open(), folder, service, tools, agent, news })
    }

    async fn call(&self, tool: &str, args: Value) -> ToolReply {
        self.call_as("agent", &self.agent, tool, args).await
    }

    async fn call_as(&self, who: &str, by: &OwnerScope, tool: &str, args: Value) -> ToolReply {
        self.stage.call(who, tool, &args);
        let call = Call::of(by, args);
        let calling = self.tools.call(tool, &call);
        let reply = match tool {
            "task_output" => self.stage.meanwhile("waiting", calling).await,
            _ => calling.await,
        };
        self.stage.reply(&reply);
        reply
    }

    async fn in_background(&self, command: &str) {
        self.call("bash", json!({"command": command, "run_in_background": true})).await;
    }

    async fn start_two(&mut self) {
        self.stage.scene("Start a long job and a chatty one, and go on at once");
        self.in_background("sleep 60").await;
        self.in_background("for i in 1 2 3 4 5 6; do echo \"step $i\"; sleep 0.3; done").await;
    }

    async fn read_twice(&mut self) {
        self.stage.scene("Read what is new, twice: each byte comes once");
        for _ in 0..2 {
            time::sleep(Duration::from_millis(450)).await;
            self.call("task_output", json!({"task_id": "bash-2"})).await;
        }
    }

    async fn ask_two_subagents(&mut self) {
        self.stage.scene("Give two subagents something to do beside that");
        for (description, prompt) in children::ERRANDS {
            let args = json!({
                "description": description, "prompt": prompt, "run_in_background": true,
            });
            self.call("subagent", args).await;
        }
    }

    async fn list(&mut self) {
        self.stage.scene("List what there is");
        self.call("task_list", json!({})).await;
    }

    async fn wait_in_vain(&mut self) {
        self.stage.scene("Wait, and run out of time: nothing is stopped by that");
        let args = json!({"task_id": "bash-1", "wait": true, "timeout_ms": 400});
        self.call("task_output", args).await;
    }

    async fn wait_to_the_end(&mut self) {
        self.stage.scene("Wait to the end");
        self.call("task_output", json!({"task_id": "bash-2", "wait": true})).await;
    }

    async fn collect(&mut self) {
        self.stage.scene("Collect a subagent's answer: what it said on its way stays its own");
        self.call("task_output", json!({"task_id": "subagent-1", "wait": true})).await;
    }

    async fn kill(&mut self) {
        self.stage.scene("Kill what no longer matters");
        for id in ["bash-1", "subagent-2"] {
            let args = json!({"task_id": id, "reason": "the result is not needed"});
            self.call("task_kill", args).await;
            self.call("task_output", json!({"task_id": id, "wait": true})).await;
        }
    }

    async fn be_told(&mut self) {
        self.stage.scene("Go idle, and be woken when a task has ended");
        self.in_background("sleep 0.5; echo 'two tests failed'; exit 3").await;
        // Of what has ended by now the agent knows.
        while self.news.try_recv().is_ok() {}
        // The end of the turn: nothing is pending, so the agent is idle from here on.
        let nothing = self.agent.claim_or_idle(ClaimSource::Inbox);
        let news = self.stage.meanwhile("idle", self.news.recv()).await;
        if let (None, Some(News::Wake)) = (nothing, news) {
            self.agent.set_busy(true);
        }
        for notice in self.agent.claim(ClaimSource::Inbox) {
            self.stage.news(&notice.text);
        }
        self.call("task_output", json!({"task_id": "bash-3"})).await;
    }

    async fn try_a_foreign_id(&mut self) -> Result<(), Failure> {
        self.stage.scene("Another session tries an id that it has guessed");
        let stranger = self.service.owner("session-2").open()?;
        let args = json!({"task_id": "bash-3"});
        self.call_as("stranger", &stranger, "task_output", args).await;
        self.call_as("stranger", &stranger, "task_list", json!({})).await;
        Ok(())
    }

    async fn start_one_too_many(&mut self) {
        self.stage.scene("Start stubborn work, and one task too many");
        let stubborn = "trap '' TERM; echo 'SIGTERM is ignored here'; while :; do sleep 1; done";
        self.in_background(stubborn).await;
        for _ in 1..=LIMIT {
            self.in_background("sleep 60 & sleep 60 & wait").await;
        }
    }

    /// How many processes are left.
    async fn dispose(&mut self) -> Result<usize, Failure> {
        self.stage.scene("The agent goes, and its work goes with it");
        // The stubborn one must have come to its trap to be stubborn.
        let call = Call::of(&self.agent, json!({"task_id": "bash-4"}));
        while !self.tools.call("task_output", &call).await.text().contains("ignored") {
            time::sleep(Duration::from_millis(20)).await;
        }
        let before = processes_in(&self.folder).len();
        self.stage.fact(&format!("{before} processes are at work"));
        let began = time::Instant::now();
        let orphans = self.stage.meanwhile("disposing", self.agent.dispose()).await?;
        let took = began.elapsed().as_secs_f64();
        self.stage.fact(&format!(
            "disposed after {took:.1} s: SIGTERM, {:.1} s of grace, SIGKILL to what was left",
            GRACE.as_secs_f64()
        ));
        self.service.shutdown().await?;
        let left = processes_in(&self.folder).len() + orphans.len();
        self.stage.fact(&match left {
            0 => "no process is left".to_owned(),
            left => format!("{left} processes are left, which is a bug"),
        });
        Ok(left)
    }
}

enum News {
    Inject,
    Wake,
}

/// An inbox that rings: the notice itself is claimed.
struct Bell(mpsc::UnboundedSender<News>);

impl Inbox for Bell {
    fn inject(&self, _: &Notice) -> Result<(), BoxError> {
        Ok(self.0.send(News::Inject)?)
    }

    fn wake(&self, _: &Notice) -> Result<(), BoxError> {
        Ok(self.0.send(News::Wake)?)
    }
}
