//! The tool `subagent`.

use std::sync::Mutex;

use longrun_tokio::{
    core::controls::{Card, ControlsConfig},
    subagent::{Child, Finish, InProcess, Stop},
    tools::{Call, Controls, Pipeline, Subagent, SubagentOptions, Tool, ToolReply},
};
use serde_json::{Value, json};

use super::*;

/// Children that note what they were asked, and answer by the first word of it.
#[derive(Clone, Default)]
struct Children(Arc<Mutex<Vec<Request>>>);

impl Children {
    fn tool(&self, stage: &Stage, options: SubagentOptions) -> Subagent {
        let asked = self.0.clone();
        let child = move |child: Child| {
            asked.lock().unwrap().push(child.request.clone());
            answer(child)
        };
        let subagents = Subagents::new(InProcess::new(child));
        Subagent::new(stage.service.clone(), subagents, options)
    }

    fn asked(&self) -> Vec<Request> {
        self.0.lock().unwrap().clone()
    }
}

/// Calls it as a model does.
async fn called(tool: &Subagent, call: &Call<'_>) -> ToolReply {
    Pipeline::new().tool(tool.clone()).call("subagent", call).await
}

async fn answer(child: Child) -> Finish {
    match child.request.prompt.as_str() {
        "nothing" => String::new().into(),
        "too much" => Finish::new(Stop::MaxTokens, "half"),
        "fail" => Finish::failed("no idea"),
        "wait" => {
            child.say("I wait");
            child.abort.aborted().await;
            Finish::new(Stop::Aborted, "")
        }
        other => format!("the answer to {other}").into(),
    }
}

fn args(prompt: &str) -> Value {
    json!({"description": "a child", "prompt": prompt})
}

// contract: P1, M6, M7
#[tokio::test]
async fn in_the_foreground_the_answer_is_the_result() {
    let (stage, children) = (Stage::new(), Children::default());
    let tool = children.tool(&stage, SubagentOptions::default());
    let mut call = Call::of(&stage.agent, args("life"));
    call.cwd = Some("/tmp".into());
    let reply = called(&tool, &call).await;
    assert_eq!((reply.text().as_str(), reply.is_error), ("the answer to life", false));
    let value = json!({"kind": "foreground", "text": "the answer to life", "detail": null});
    assert_eq!(reply.value, value);
    let [asked] = &children.asked()[..] else { panic!("one child") };
    assert_eq!((asked.depth, asked.cwd.as_deref()), (1, Some(Path::new("/tmp"))));
    assert_eq!((asked.description.as_str(), asked.prompt.as_str()), ("a child", "life"));

    let reply = called(&tool, &Call::of(&stage.agent, args("nothing"))).await;
    assert_eq!((reply.text().as_str(), reply.is_error), ("(no output)", false));
    let reply = called(&tool, &Call::unowned(args("too much"))).await;
    let text = "the subagent failed: max tokens\nit had said so far:\nhalf";
    assert_eq!((reply.text().as_str(), reply.is_error, reply.value), (text, true, Value::Null));
    let reply = called(&tool, &Call::of(&stage.agent, args("fail"))).await;
    assert_eq!((reply.text().as_str(), reply.is_error), ("the subagent failed: no idea", true));
    assert!(stage.agent.list().is_empty(), "no task is made of them");
    assert_eq!((tool.description().name, tool.description().card), ("subagent", Card::Execute));
}

// contract: P1, S6
#[tokio::test]
async fn the_abort_of_a_foreground_call_ends_its_child_and_an_early_one_starts_none() {
    let (stage, children) = (Stage::new(), Children::default());
    let tool = children.tool(&stage, SubagentOptions::default());
    let call = Call::of(&stage.agent, args("wait"));
    let mut running = Box::pin(called(&tool, &call));
    assert!(futures::poll!(&mut running).is_pending());
    call.abort.cancel();
    let reply = soon(running).await;
    let text = "the subagent was stopped: aborted\nit had said so far:\nI wait";
    assert_eq!((reply.text().as_str(), reply.is_error), (text, true));

    for run_in_background in [true, false] {
        let mut args = args("life");
        args["run_in_background"] = run_in_background.into();
        let call = Call::of(&stage.agent, args);
        call.abort.cancel();
        let reply = called(&tool, &call).await;
        assert!(reply.is_error && reply.text().contains("nothing was started"), "{reply:?}");
    }
    assert_eq!((children.asked().len(), stage.agent.list().len()), (1, 0));
}

// contract: P3, S7, U1, M5
#[tokio::test]
async fn in_the_background_a_task_is_started_that_the_controls_read_and_kill() {
    let (stage, children) = (Stage::new(), Children::default());
    let tool = children.tool(&stage, SubagentOptions::default());
    let (config, notices) = (ControlsConfig::default(), NoticePolicy::default());
    let root = stage.service.root();
    let controls = Controls::mount(&stage.service, &root, config, notices).unwrap();
    let controls = Pipeline::new().tools(controls.tools());
    let start = async |owner: Option<&OwnerScope>, prompt: &str| {
        let mut args = args(prompt);
        args["run_in_background"] = true.into();
        let call = Call { owner, ..Call::unowned(args) };
        let reply = called(&tool, &call).await;
        // The task has an id: the call's abort ends nothing of it.
        call.abort.cancel();
        reply
    };
    let reply = start(Some(&stage.agent), "life").await;
    assert_eq!(reply.text(), "started background task subagent-1");
    assert_eq!(reply.value, json!({"kind": "background", "taskId": "subagent-1"}));
    let call = Call::of(&stage.agent, json!({"task_id": "subagent-1", "wait": true}));
    let reply = controls.call("task_output", &call).await;
    assert_eq!(reply.text(), "the answer to life\n[status: completed]");

    start(Some(&stage.agent), "wait").await;
    let list = controls.call("task_list", &Call::of(&stage.agent, json!({}))).await.text();
    assert!(list.contains("subagent-2 [subagent] running"), "{list}");
    let call = Call::of(&stage.agent, json!({"task_id": "subagent-2"}));
    let reply = controls.call("task_kill", &call).await.text();
    assert_eq!(reply, "requested cancellation of task subagent-2");
    let call = Call::of(&stage.agent, json!({"task_id": "subagent-2", "wait": true}));
    let reply = controls.call("task_output", &call).await;
    assert_eq!(reply.text(), "I wait\n[status: killed, aborted]");

    start(None, "life").await;
    let unowned = stage.service.list(&None);
    assert_eq!(unowned.len(), 1, "without an agent it belongs to nobody");
}

// contract: P2
#[tokio::test]
async fn where_the_background_is_off_it_is_not_offered_and_not_taken() {
    let (stage, children) = (Stage::new(), Children::default());
    let options = SubagentOptions { enable_run_in_background: false, ..SubagentOptions::default() };
    let tool = children.tool(&stage, options);
    let described = tool.description();
    assert_eq!(described.input_schema["properties"].get("run_in_background"), None);
    assert!(!described.description.contains("background"));
    let mut args = args("life");
    args["run_in_background"] = true.into();
    let reply = called(&tool, &Call::of(&stage.agent, args)).await;
    assert!(reply.is_error && reply.text().contains("foreground"), "{reply:?}");
    assert!(stage.agent.list().is_empty() && children.asked().is_empty());
    let offered = children.tool(&stage, SubagentOptions::default()).description();
    assert_eq!(offered.input_schema["properties"]["run_in_background"]["type"], "boolean");
}

// contract: P1
#[tokio::test]
async fn children_of_children_come_to_an_end() {
    let (stage, children) = (Stage::new(), Children::default());
    let mut tool = children.tool(&stage, SubagentOptions::default());
    for depth in 1..=3 {
        assert!(!called(&tool, &Call::of(&stage.agent, args("life"))).await.is_error);
        assert_eq!(children.asked().last().unwrap().depth, depth);
        tool = tool.at_depth(depth);
    }
    let reply = called(&tool, &Call::of(&stage.agent, args("life"))).await;
    let text = "a subagent would have 4 agents above it, and at most 3 are allowed; do it yourself";
    assert_eq!((reply.text().as_str(), reply.is_error), (text, true));
    let none = SubagentOptions { max_depth: 0, ..SubagentOptions::default() };
    let reply = called(&children.tool(&stage, none), &Call::of(&stage.agent, args("life"))).await;
    assert!(reply.is_error && reply.text().contains("not allowed here"), "{reply:?}");
    assert_eq!(children.asked().len(), 3);
}

// contract: M8, M9
#[tokio::test]
async fn a_limit_holds_for_what_a_model_reads_of_a_background_child() {
    let (stage, children) = (Stage::new(), Children::default());
    let options = SubagentOptions { output_limit_bytes: Some(80), ..SubagentOptions::default() };
    let tool = children.tool(&stage, options);
    let (config, notices) = (ControlsConfig::default(), NoticePolicy::default());
    let root = stage.service.root();
    let controls = Controls::mount(&stage.service, &root, config, notices).unwrap();
    let controls = Pipeline::new().tools(controls.tools());
    let mut args = args(&"long ".repeat(100));
    args["run_in_background"] = true.into();
    called(&tool, &Call::of(&stage.agent, args)).await;
    let call = Call::of(&stage.agent, json!({"task_id": "subagent-1", "wait": true}));
    let text = controls.call("task_output", &call).await.text();
    assert!(text.len() <= 80 && text.ends_with("[status: completed]"), "{text}");
}
