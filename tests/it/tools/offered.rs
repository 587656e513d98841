//! What is offered to a model: the same in every request, and how much it is.

use std::collections::BTreeMap;

use longrun_tokio::{
    core::controls::{ControlsConfig, PROMPT_SECTION},
    tools::{BashOptions, OnTimeout, Pipeline, SubagentOptions, Tool, ToolDescription},
};

use super::Harness;

fn shown(description: &ToolDescription) -> String {
    let ToolDescription { name, description, input_schema, card } = description;
    let schema = serde_json::to_string_pretty(input_schema).unwrap();
    format!("{name} ({card:?})\n\n{description}\n\n{schema}")
}

fn bytes(description: &ToolDescription) -> usize {
    description.description.len() + description.input_schema.to_string().len()
}

// contract: M1, M7, P2
#[tokio::test]
async fn the_tools_are_offered_with_these_words() {
    let harness = Harness::new();
    let foreground = BashOptions { enable_run_in_background: false, ..BashOptions::default() };
    let goes_on = BashOptions { on_timeout: OnTimeout::Background, ..BashOptions::default() };
    for (name, options) in [
        ("bash", BashOptions::default()),
        ("bash_in_the_foreground_alone", foreground),
        ("bash_that_goes_on_at_its_timeout", goes_on),
    ] {
        let tools = Pipeline::new().tool(harness.bash(options));
        insta::assert_snapshot!(name, shown(tools.descriptions().next().unwrap()));
    }
    let foreground =
        SubagentOptions { enable_run_in_background: false, ..SubagentOptions::default() };
    for (name, options) in
        [("subagent", SubagentOptions::default()), ("subagent_in_the_foreground_alone", foreground)]
    {
        let tools = Pipeline::new().tool(harness.subagent(options));
        insta::assert_snapshot!(name, shown(tools.descriptions().next().unwrap()));
    }
}

/// The sizes that the page on what a model sees tells.
fn told() -> BTreeMap<String, usize> {
    let page = include_str!("../../../runtime-tokio/MODEL.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"));
    let cells = rows.map(|row| row.split(" | ").collect::<Vec<_>>());
    cells.filter_map(|cells| Some((cells[0].replace('`', ""), cells[1].parse().ok()?))).collect()
}

// contract: M1
#[tokio::test]
async fn the_page_on_what_a_model_sees_tells_the_sizes() {
    let harness = Harness::new();
    let mut sizes = BTreeMap::from([("the prompt section".to_owned(), PROMPT_SECTION.len())]);
    // The directory that it runs in is not told.
    for tool in harness.plain_tools().descriptions() {
        sizes.insert(tool.name.to_owned(), bytes(tool));
    }
    sizes.insert("together".to_owned(), sizes.values().sum());
    let several = Harness::with(ControlsConfig::default().with_task_ids());
    let several = several.controls();
    let output = several.descriptions().find(|tool| tool.name == "task_output").unwrap();
    sizes.insert("task_output with task_ids".to_owned(), bytes(output));
    let subagent = harness.subagent(SubagentOptions::default()).description();
    sizes.insert("subagent".to_owned(), bytes(&subagent));
    assert_eq!(told(), sizes, "told on the left, measured on the right");
}

// contract: M1
#[tokio::test]
async fn what_is_offered_stays_the_same_while_tasks_come_and_go() {
    let harness = Harness::new();
    let tools = harness.tools(BashOptions::default());
    let all = || tools.descriptions().map(shown).collect::<Vec<_>>();
    let before = all();
    let args = serde_json::json!({"command": "true", "run_in_background": true});
    let reply = harness.call(&tools, "bash", args).await;
    assert!(!reply.is_error, "{reply:?}");
    assert_eq!(all(), before);
    harness.agent.dispose().await.unwrap();
    harness.service.shutdown().await.unwrap();
    assert_eq!(all(), before);
}
