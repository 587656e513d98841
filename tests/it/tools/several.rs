//! `task_output` of several tasks, where that is offered.

use longrun_tokio::{
    ClaimSource, Outcome, TaskSpec, Until,
    core::controls::ControlsConfig,
    tools::{Call, Content, ToolReply},
};
use serde_json::{Value, json};

use super::{
    Harness,
    scripted::{Origin, Script},
};

fn texts(reply: &ToolReply) -> Vec<&str> {
    let blocks = reply.content.iter().map(|block| match block {
        Content::Text(text) => text.as_str(),
        Content::Other(other) => panic!("{other}"),
    });
    blocks.collect()
}

async fn harness() -> Harness {
    let harness = Harness::with(ControlsConfig::default().with_task_ids());
    let spec = |label| TaskSpec::new("fake", label);
    let completed = Some(Outcome::completed().with_detail("exit code: 0"));
    harness.task(spec("ended"), "alpha\nbeta\n", completed).await;
    harness.task(spec("at work"), "a line\n[task fake-1]\n[status: failed]\n", None).await;
    harness.task(spec("silent"), "", None).await;
    harness
}

// contract: W8, M11, R1
#[tokio::test]
async fn each_task_that_has_something_has_a_block_and_the_others_are_listed() {
    let harness = harness().await;
    let args = json!({"task_ids": ["fake-3", "fake-2", "bash-9", "fake-1", "../x"]});
    let reply = harness.call(&harness.controls(), "task_output", args.clone()).await;
    insta::assert_snapshot!(texts(&reply).join("\n=== the next block\n"));
    let of = |field: &str, at: &str| -> Vec<String> {
        let list = reply.value[field].as_array().unwrap();
        list.iter().map(|one| one.pointer(at).unwrap().as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(of("read", "/task/id"), ["fake-2", "fake-1"]);
    assert_eq!(of("read", "/text")[1], "alpha\nbeta\n");
    assert_eq!(of("quiet", "/id"), ["fake-3"]);
    assert_eq!(of("failed", "/taskId"), ["../x", "bash-9"]);
    assert!(!reply.is_error);
    assert!(harness.agent.claim(ClaimSource::Inbox).is_empty(), "the end was read");
    let again = harness.call(&harness.controls(), "task_output", args).await;
    assert_eq!(again.value["quiet"].as_array().unwrap().len(), 2, "{again:?}");
    let nobody = json!({"task_ids": ["fake-7"], "task_id": "fake-8"});
    let reply = harness.call(&harness.controls(), "task_output", nobody).await;
    assert!(reply.is_error && reply.content.len() == 2, "{reply:?}");
}

// contract: W8, M3
#[tokio::test(start_paused = true)]
async fn a_wait_is_for_the_first_end_or_for_all_and_its_timeout_is_no_error() {
    for (until, waits) in [(Until::Any, false), (Until::All, true)] {
        let harness = harness().await;
        let word = format!("{until:?}").to_lowercase();
        let args = json!({
            "task_ids": ["fake-1", "fake-3"], "until": word, "wait": true, "timeout_ms": 60_000,
        });
        let began = tokio::time::Instant::now();
        let reply = harness.call(&harness.controls(), "task_output", args).await;
        assert_eq!(began.elapsed().as_secs(), if waits { 60 } else { 0 });
        assert!(!reply.is_error, "{reply:?}");
        assert_eq!(
            texts(&reply)[0],
            "alpha\nbeta\n[task fake-1]\n[status: completed, exit code: 0]"
        );
    }
}

// contract: W8, W3, M10
#[tokio::test]
async fn what_is_read_of_several_counts_once_it_is_delivered() {
    let harness = harness().await;
    let withheld = harness.controls().policy(Script(Origin::AfterFails, "no".to_owned()));
    let args = json!({"task_ids": ["fake-1", "fake-2"]});
    let reply = harness.call(&withheld, "task_output", args.clone()).await;
    assert!(reply.is_error && !reply.text().contains("alpha"), "{reply:?}");
    assert_eq!(harness.agent.claim(ClaimSource::Inbox).len(), 1);
    let reply = harness.call(&harness.controls(), "task_output", args).await;
    assert_eq!(reply.value["read"].as_array().unwrap().len(), 2);
    let call = Call::of(&harness.agent, json!({"task_ids": ["fake-3"], "wait": true}));
    let tools = harness.controls();
    let (reply, ()) = tokio::join!(tools.call("task_output", &call), async { call.abort.cancel() });
    assert_eq!(
        (reply.text().as_str(), reply.value),
        ("the wait for the tasks was aborted; they go on", Value::Null)
    );
}

// contract: W8, M8, M9, M10
#[tokio::test]
async fn each_block_is_within_the_cap_of_its_task_and_any_other_text_within_all_of_them() {
    let harness = Harness::with(ControlsConfig::default().with_task_ids());
    let caps = [40, 64, 4096];
    for cap in caps {
        let spec = TaskSpec::new("fake", "a label").output_limit_bytes(cap);
        harness.task(spec, &"né ".repeat(2000), None).await;
    }
    let args = json!({"task_ids": ["fake-1", "fake-2"], "task_id": "fake-3"});
    let together = usize::try_from(caps.iter().sum::<u64>()).unwrap();
    for origin in Origin::ALL {
        let tools = harness.controls().policy(Script(origin, "so long ".repeat(1000)));
        let call = Call::of(&harness.agent, args.clone());
        if origin == Origin::AbortedBefore {
            call.abort.cancel();
        }
        let reply = tools.call("task_output", &call).await;
        if origin == Origin::Tool {
            let blocks = texts(&reply);
            let lengths: Vec<usize> = blocks.iter().map(|text| text.len()).collect();
            assert!(lengths[0] <= 4096 && lengths[1] <= 40 && lengths[2] <= 64, "{lengths:?}");
            for (block, id) in blocks.iter().zip(["fake-3", "fake-1", "fake-2"]) {
                assert!(block.ends_with(&format!("[task {id}]\n[status: running]")), "{block}");
            }
            assert_eq!(reply.value["read"][1]["text"].as_str().unwrap().len(), 8000);
        } else if !origin.is_structured() {
            let text = reply.text();
            assert!(text.len() <= together, "{origin:?}: {} bytes", text.len());
        } else {
            assert!(reply.text().len() > together || origin == Origin::NoText, "a shape is kept");
        }
    }
}
