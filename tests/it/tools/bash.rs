//! `bash`, and the three controls on what it starts.

use std::time::Duration;

use longrun_tokio::{
    bash::{BashConfig, BashExecutor, SpillConfig},
    tools::{Bash, BashOptions, Call, OnTimeout, Pipeline, Tool},
};
use serde_json::json;

use super::Harness;

// contract: S6
#[tokio::test]
async fn a_call_that_was_aborted_before_it_began_starts_nothing() {
    let harness = Harness::new();
    let tools = harness.tools(BashOptions::default());
    for run_in_background in [true, false] {
        let args = json!({"command": "touch ran", "run_in_background": run_in_background});
        let call = Call::of(&harness.agent, args);
        call.abort.cancel();
        let reply = tools.call("bash", &call).await;
        assert!(reply.is_error && reply.text().contains("nothing was started"), "{reply:?}");
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
    let reply = harness.call(&harness.tools(options), "bash", args).await;
    assert!(reply.is_error && reply.text().contains("foreground"), "{reply:?}");
    assert!(harness.agent.list().is_empty() && !harness.folder.path().join("ran").exists());
}

// contract: M6, M7, M1
#[tokio::test]
async fn the_tools_have_names_schemas_cards_and_values_for_code() {
    let harness = Harness::new();
    let tools = harness.tools(BashOptions::default());
    let args = json!({"command": "echo out", "run_in_background": true});
    let started = harness.call(&tools, "bash", args).await;
    assert_eq!(started.value, json!({"kind": "background", "taskId": "bash-1"}));

    let args = json!({"task_id": "bash-1", "wait": true});
    let output = harness.call(&tools, "task_output", args).await;
    let task = output.value["task"].clone();
    assert_eq!(output.value["text"], "out\n");
    let mut fields: Vec<&String> = task.as_object().unwrap().keys().collect();
    fields.sort();
    assert_eq!(fields, ["detail", "finishedAt", "id", "kind", "label", "startedAt", "status"]);
    let list = harness.call(&tools, "task_list", json!({})).await;
    assert_eq!(list.value, json!([task]));
    let killed = harness.call(&tools, "task_kill", json!({"task_id": "bash-1"})).await;
    assert_eq!(killed.value, json!({"outcome": "already-finished", "task": task}));

    let shown: Vec<(&str, String)> = tools
        .descriptions()
        .map(|tool| {
            assert_eq!(tool.input_schema["additionalProperties"], false, "{tool:?}");
            (tool.name, format!("{:?}", tool.card))
        })
        .collect();
    let expected = [
        ("task_output", "Read"),
        ("task_list", "Read"),
        ("task_kill", "Execute"),
        ("bash", "Execute"),
    ];
    assert_eq!(shown, expected.map(|(name, card)| (name, card.to_owned())));
}

// contract: M8, M9
#[tokio::test]
async fn every_text_about_a_capped_command_is_within_its_cap() {
    let harness = Harness::new();
    for limit in [8, 32, 64, 80] {
        let options = BashOptions { output_limit_bytes: Some(limit), ..BashOptions::default() };
        let tools = harness.tools(options);
        let args = json!({"command": "seq 1 200; echo né", "run_in_background": true});
        let started = harness.call(&tools, "bash", args).await;
        let id = &started.value["taskId"];
        let args = json!({"task_id": id, "wait": true});
        let output = harness.call(&tools, "task_output", args).await;
        let killed = harness.call(&tools, "task_kill", json!({"task_id": id})).await;
        for text in [output.text(), killed.text()] {
            assert!(text.len() as u64 <= limit, "{limit}: {text:?}");
            assert!(text.ends_with(']'), "{limit}: the end of the status is kept: {text:?}");
        }
        assert_eq!(output.value["text"].as_str().unwrap().lines().count(), 201, "never cut");
    }
}

// contract: B8, M6
#[tokio::test]
async fn the_value_of_a_command_names_the_file_that_has_all_of_its_output() {
    let harness = Harness::new();
    let spill = SpillConfig { dir: harness.folder.path().to_path_buf(), ..SpillConfig::default() };
    let config = BashConfig {
        memory_bytes: 64,
        spill: Some(spill),
        ..BashConfig::new(harness.folder.path())
    };
    let executor = BashExecutor::new(config).unwrap();
    let bash = Bash::new(harness.service.clone(), executor, BashOptions::default());
    let tools = Pipeline::new().tools(harness.controls.tools()).tool(bash);
    let args = json!({"command": "seq 1 1000; echo short >&2"});
    let value = harness.call(&tools, "bash", args).await.value;
    let path = value["stdout"]["spillPath"].as_str().unwrap();
    let all: Vec<String> = (1..=1000).map(|number| format!("{number}\n")).collect();
    assert_eq!(std::fs::read_to_string(path).unwrap(), all.concat());
    assert_eq!(value["stdout"]["truncated"], true);
    let short = json!({"text": "short\n", "truncated": false, "droppedBytes": 0});
    assert_eq!(value["stderr"], short);
}

// contract: B6, B10, P2
#[tokio::test]
async fn where_the_background_is_off_leftovers_are_ended_and_nothing_is_moved() {
    let harness = Harness::new();
    let options = BashOptions {
        enable_run_in_background: false,
        on_timeout: OnTimeout::Background,
        ..BashOptions::default()
    };
    let bash = harness.bash(options);
    let tools = harness.tools(options);
    assert!(bash.description().description.contains("exceeds its timeout is ended"));
    let call = Call::of(&harness.agent, json!({"command": "sleep 600 & sleep 600 &"}));
    call.background.ask();
    let reply = tools.call("bash", &call).await;
    let expected = "(no output)\n[2 processes outlived the shell and were ended]\n\
                    [not moved to the background: commands run in the foreground here]";
    assert_eq!((reply.text().as_str(), reply.is_error), (expected, false));
    let args = json!({"command": "sleep 600", "timeout_ms": 20});
    let reply = harness.call(&tools, "bash", args).await;
    assert_eq!(reply.value["timedOut"], true, "{reply:?}");
    assert!(reply.text().contains("[not moved to the background: "), "{reply:?}");
    assert!(harness.agent.list().is_empty());
}

// contract: B6, B10
#[tokio::test]
async fn the_rules_are_told_in_the_description() {
    let harness = Harness::new();
    let text = |on_timeout| {
        let options = BashOptions { on_timeout, ..BashOptions::default() };
        harness.bash(options).description().description
    };
    let kill = text(OnTimeout::Kill);
    assert!(kill.contains("exceeds its timeout is ended"), "{kill}");
    let left = "still runs 50 ms after the shell has exited goes on as a background task";
    assert!(kill.contains(left), "{kill}");
    assert!(text(OnTimeout::Background).contains("its timeout goes on as a background task"));
}

// contract: B3, B10, S7, R1
#[tokio::test]
async fn whatever_comes_first_decides_and_each_byte_comes_once() {
    let harness = Harness::new();
    let (mut moved, mut stayed) = (0, 0);
    for round in 0_u64..48 {
        let on_timeout = [OnTimeout::Kill, OnTimeout::Background][usize::from(round % 2 == 0)];
        let tools = harness.tools(BashOptions { on_timeout, ..BashOptions::default() });
        // Every mix of early and late, within the time that the command takes.
        let [abort, ask, timeout] = [round % 3, round / 3 % 4, round / 12].map(|n| 4 + n * 12);
        let args = json!({"command": "echo one; sleep 0.02; echo two", "timeout_ms": timeout});
        let call = Call::of(&harness.agent, args);
        let wishes = async {
            tokio::join!(
                async {
                    tokio::time::sleep(Duration::from_millis(abort)).await;
                    call.abort.cancel();
                },
                async {
                    tokio::time::sleep(Duration::from_millis(ask)).await;
                    call.background.ask();
                },
            )
        };
        let (reply, _) = tokio::join!(tools.call("bash", &call), wishes);
        let value = &reply.value;
        if value["kind"] == "background" {
            moved += 1;
            let args = json!({"task_id": value["taskId"], "wait": true});
            let read = harness.call(&tools, "task_output", args).await;
            assert!(read.text().ends_with("[status: completed, exit code: 0]"), "{read:?}");
            let text = reply.text();
            let before = text.rsplit_once('\n').unwrap().0.replace("(no output yet)", "");
            let all = format!("{before}\n{}", read.value["text"].as_str().unwrap());
            assert_eq!(all.split_whitespace().collect::<Vec<_>>(), ["one", "two"], "{reply:?}");
        } else {
            stayed += 1;
            let by_itself = value["exitCode"] == 0 && value["stdout"]["text"] == "one\ntwo\n";
            match [&value["timedOut"], &value["aborted"]].map(|end| end == true) {
                [false, false] => assert!(by_itself && !reply.is_error, "{reply:?}"),
                [true, false] => assert_eq!(on_timeout, OnTimeout::Kill, "{reply:?}"),
                [false, true] => assert!(reply.is_error, "{reply:?}"),
                [true, true] => panic!("two causes: {reply:?}"),
            }
            let tasks = harness.agent.list();
            let live = tasks.iter().filter(|task| !task.status.is_terminal());
            assert_eq!((live.count(), value.get("taskId")), (0, None), "{reply:?}");
        }
    }
    assert!(moved > 0 && stayed > 0, "both were seen: {moved} moved, {stayed} did not");
}
