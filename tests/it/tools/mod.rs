//! The tools, called as a harness in the same process does.

mod bash;
mod caps;
mod offered;
mod pipeline;
mod reads;
mod schema;
mod scripted;
mod several;
mod texts;

use std::time::Duration;

use longrun_tokio::{
    Builder, NoticePolicy, Outcome, OwnerScope, TaskService, TaskSpec,
    bash::{BashConfig, BashExecutor},
    core::controls::ControlsConfig,
    subagent::{Child, Finish, InProcess, Subagents},
    testing::FakeProducer,
    tools::{Bash, BashOptions, Call, Controls, Pipeline, Subagent, SubagentOptions, ToolReply},
};
use serde_json::Value;

struct Harness {
    service: TaskService,
    controls: Controls,
    agent: OwnerScope,
    folder: tempfile::TempDir,
}

impl Harness {
    fn new() -> Self {
        Self::with(ControlsConfig::default())
    }

    fn with(config: ControlsConfig) -> Self {
        let service = Builder::new().build().unwrap();
        let notices = NoticePolicy::default();
        let controls = Controls::mount(&service, &service.root(), config, notices).unwrap();
        let agent = service.owner("s").open().unwrap();
        Self { service, controls, agent, folder: tempfile::tempdir().unwrap() }
    }

    fn bash(&self, options: BashOptions) -> Bash {
        let config = BashConfig {
            drain: Duration::from_millis(50),
            grace: Duration::from_millis(500),
            ..BashConfig::new(self.folder.path())
        };
        let executor = BashExecutor::new(config).unwrap();
        Bash::new(self.service.clone(), executor, options)
    }

    /// Children that give their prompt back.
    fn subagent(&self, options: SubagentOptions) -> Subagent {
        let child = async |child: Child| Finish::from(child.request.prompt);
        Subagent::new(self.service.clone(), Subagents::new(InProcess::new(child)), options)
    }

    /// The three controls alone.
    fn controls(&self) -> Pipeline {
        Pipeline::new().tools(self.controls.tools())
    }

    /// A task of the agent's with that output; ended, if it says how.
    async fn task(&self, spec: TaskSpec, output: &str, end: Option<Outcome>) -> FakeProducer {
        let producer = FakeProducer::stream();
        let id = self.agent.start(spec, || producer.hooks()).unwrap();
        producer.write(output);
        if let Some(end) = end {
            producer.settle(end);
            let ended = || self.service.get(&id, &self.agent.caller()).unwrap().finished_at_ms;
            while ended().is_none() {
                tokio::task::yield_now().await;
            }
        }
        producer
    }

    /// The three controls and `bash`.
    fn tools(&self, options: BashOptions) -> Pipeline {
        Pipeline::new().tools(self.controls.tools()).tool(self.bash(options))
    }

    /// All four, with every default.
    fn plain_tools(&self) -> Pipeline {
        let executor = BashExecutor::new(BashConfig::new(self.folder.path())).unwrap();
        let bash = Bash::new(self.service.clone(), executor, BashOptions::default());
        self.controls().tool(bash)
    }

    async fn call(&self, tools: &Pipeline, tool: &str, args: Value) -> ToolReply {
        tools.call(tool, &Call::of(&self.agent, args)).await
    }
}
