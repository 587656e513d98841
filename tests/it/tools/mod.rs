//! The tools, called as a harness in the same process does.

mod bash;
mod caps;
mod pipeline;
mod scripted;

use std::time::Duration;

use longrun_tokio::{
    Builder, NoticePolicy, OwnerScope, TaskService,
    bash::{BashConfig, BashExecutor},
    core::controls::ControlsConfig,
    tools::{Bash, BashOptions, Call, Controls, Pipeline, ToolReply},
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
        let service = Builder::new().build().unwrap();
        let (config, notices) = (ControlsConfig::default(), NoticePolicy::default());
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

    /// The three controls and `bash`.
    fn tools(&self, options: BashOptions) -> Pipeline {
        Pipeline::new().tools(self.controls.tools()).tool(self.bash(options))
    }

    async fn call(&self, tools: &Pipeline, tool: &str, args: Value) -> ToolReply {
        tools.call(tool, &Call::of(&self.agent, args)).await
    }
}
