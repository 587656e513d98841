//! The tools, called as a harness in the same process does.

use longrun_tokio::{
    Builder, NoticePolicy, OwnerScope, TaskService,
    bash::{BashConfig, BashExecutor},
    core::controls::ControlsConfig,
    tools::{Bash, BashOptions, Call, Controls},
};
use serde_json::{Value, json};

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
        let executor = BashExecutor::new(BashConfig::new(self.folder.path())).unwrap();
        Bash::new(self.service.clone(), executor, options)
    }
}

// contract: S6
#[tokio::test]
async fn a_call_that_was_aborted_before_it_began_starts_nothing() {
    let harness = Harness::new();
    let bash = harness.bash(BashOptions::default());
    for run_in_background in [true, false] {
        let args = json!({"command": "touch ran", "run_in_background": run_in_background});
        let call = Call::of(&harness.agent, args);
        call.abort.cancel();
        let reply = bash.call(&call).await;
        assert!(reply.is_error && reply.text.contains("nothing was started"), "{reply:?}");
    }
    assert!(harness.agent.list().is_empty());
    assert!(!harness.folder.path().join("ran").exists());
}

// contract: P2
#[tokio::test]
async fn where_the_background_is_off_it_is_not_offered_and_not_taken() {
    let harness = Harness::new();
    let options = BashOptions { enable_run_in_background: false, ..BashOptions::default() };
    let bash = harness.bash(options);
    let described = bash.description();
    assert_eq!(described.input_schema["properties"].get("run_in_background"), None);
    assert!(!described.description.contains("background"));
    let args = json!({"command": "touch ran", "run_in_background": true});
    let reply = bash.call(&Call::of(&harness.agent, args)).await;
    assert!(reply.is_error && reply.text.contains("foreground"), "{reply:?}");
    assert!(harness.agent.list().is_empty() && !harness.folder.path().join("ran").exists());
}

// contract: M6, M7, M1
#[tokio::test]
async fn the_tools_have_names_schemas_cards_and_values_for_code() {
    let harness = Harness::new();
    let bash = harness.bash(BashOptions::default());
    let args = json!({"command": "echo out", "run_in_background": true});
    let started = bash.call(&Call::of(&harness.agent, args)).await;
    assert_eq!(started.value, json!({"kind": "background", "taskId": "bash-1"}));

    let args = json!({"task_id": "bash-1", "wait": true});
    let output = harness.controls.task_output(&Call::of(&harness.agent, args)).await;
    let task = output.value["task"].clone();
    assert_eq!(output.value["text"], "out\n");
    let mut fields: Vec<&String> = task.as_object().unwrap().keys().collect();
    fields.sort();
    assert_eq!(fields, ["detail", "finishedAt", "id", "kind", "label", "startedAt", "status"]);
    let list = harness.controls.task_list(&Call::of(&harness.agent, json!({})));
    assert_eq!(list.value, json!([task]));
    let kill = Call::of(&harness.agent, json!({"task_id": "bash-1"}));
    let killed = harness.controls.task_kill(&kill);
    assert_eq!(killed.value, json!({"outcome": "already-finished", "task": task}));

    let shown = harness.controls.descriptions().map(|tool| {
        assert_eq!(tool.input_schema["additionalProperties"], false, "{tool:?}");
        (tool.name, format!("{:?}", tool.card))
    });
    let expected = [("task_output", "Read"), ("task_list", "Read"), ("task_kill", "Execute")];
    assert_eq!(shown, expected.map(|(name, card)| (name, card.to_owned())));
    assert_ne!(started.value, Value::Null);
}

// contract: M8, M9
#[tokio::test]
async fn every_text_about_a_capped_command_is_within_its_cap() {
    let harness = Harness::new();
    for limit in [8, 32, 64, 80] {
        let options = BashOptions { output_limit_bytes: Some(limit), ..BashOptions::default() };
        let bash = harness.bash(options);
        let args = json!({"command": "seq 1 200; echo né", "run_in_background": true});
        let started = bash.call(&Call::of(&harness.agent, args)).await;
        let id = &started.value["taskId"];
        let args = json!({"task_id": id, "wait": true});
        let output = harness.controls.task_output(&Call::of(&harness.agent, args)).await;
        let kill = Call::of(&harness.agent, json!({"task_id": id}));
        for text in [output.text, harness.controls.task_kill(&kill).text] {
            assert!(text.len() as u64 <= limit, "{limit}: {text:?}");
            assert!(text.ends_with(']'), "{limit}: the end of the status is kept: {text:?}");
        }
        assert_eq!(output.value["text"].as_str().unwrap().lines().count(), 201, "never cut");
    }
}
