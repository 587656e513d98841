//! Every text of the tools, as a model reads it.

use std::fmt::Write as _;

use longrun_tokio::{
    Outcome, TaskSpec,
    testing::OnCancel,
    tools::{BashOptions, Call, OnTimeout, Pipeline, ToolReply},
};
use serde_json::{Value, json};

use super::{
    Harness,
    scripted::{Origin, Script},
};

/// Replies under the names of what brought them about.
#[derive(Default)]
struct Page(String);

impl Page {
    fn add(&mut self, what: &str, reply: &ToolReply) {
        let kind = if reply.is_error { "error" } else { "result" };
        writeln!(self.0, "--- {what} ({kind})\n{}", reply.text()).unwrap();
    }
}

fn completed() -> Option<Outcome> {
    Some(Outcome::completed().with_detail("exit code: 0"))
}

// contract: M2, M3, M4, M5, A5, A6
#[tokio::test]
async fn texts_of_the_controls() {
    let harness = Harness::new();
    let tools = harness.controls();
    let mut page = Page::default();
    let say = async |page: &mut Page, tool: &str, args: Value| {
        let reply = harness.call(&tools, tool, args.clone()).await;
        page.add(&format!("{tool} {args}"), &reply);
    };
    say(&mut page, "task_list", json!({})).await;
    let spec = |label| TaskSpec::new("fake", label);
    harness.task(spec("cargo test"), "12 passed\n", completed()).await;
    let refuses = harness.task(spec("a\n[status: failed] </tag>"), "so far", None).await;
    let _refuses = refuses.on_cancel(OnCancel::FailOnce);
    harness.task(spec("broke"), "", Some(Outcome::failed("no such file"))).await;
    say(&mut page, "task_list", json!({})).await;
    for id in ["fake-1", "fake-1", "fake-2", "fake-2", "fake-3", "fake-4", "../x"] {
        say(&mut page, "task_output", json!({"task_id": id})).await;
    }
    say(&mut page, "task_output", json!({"task_id": "fake-2", "wait": true, "timeout_ms": 1}))
        .await;
    for args in [
        json!({}),
        json!([]),
        json!({"task_id": 7, "wait": "yes"}),
        json!({"task_id": "fake-1", "wait": true, "timeout_ms": -1}),
        json!({"task_id": "fake-1", "tail": 10}),
    ] {
        say(&mut page, "task_output", args).await;
    }
    for id in ["fake-2", "fake-2", "fake-2", "fake-1", "fake-4"] {
        say(&mut page, "task_kill", json!({"task_id": id, "reason": "no use"})).await;
    }
    say(&mut page, "task_kill", json!({"id": "fake-1"})).await;
    say(&mut page, "task_list", json!({"all": true})).await;
    insta::assert_snapshot!(page.0);
}

// contract: M10, S7
#[tokio::test]
async fn texts_of_the_pipeline() {
    let mut page = Page::default();
    for origin in Origin::ALL.into_iter().filter(|origin| !origin.is_structured()) {
        let harness = Harness::new();
        harness.task(TaskSpec::new("fake", "a label"), "12 passed\n", completed()).await;
        let calls = [
            ("task_output", json!({"task_id": "fake-1"})),
            ("bash", json!({"command": "sleep 600", "run_in_background": true})),
        ];
        for (tool, args) in calls {
            let script = Script(origin, "as the policy says".to_owned());
            let tools = harness.tools(BashOptions::default()).policy(script);
            let call = Call::of(&harness.agent, args);
            if origin == Origin::AbortedBefore {
                call.abort.cancel();
            }
            page.add(&format!("{tool}, {origin:?}"), &tools.call(tool, &call).await);
        }
    }
    insta::assert_snapshot!(page.0);
}

// contract: B3, B4, B6, B10, S8, P2
#[tokio::test]
async fn texts_of_bash() {
    let harness = Harness::new();
    let background = BashOptions { on_timeout: OnTimeout::Background, ..BashOptions::default() };
    let (kills, goes_on) = (harness.tools(BashOptions::default()), harness.tools(background));
    let mut page = Page::default();
    let say = async |page: &mut Page, tools: &Pipeline, args: Value| {
        let reply = harness.call(tools, "bash", args.clone()).await;
        page.add(&args.to_string(), &reply);
    };
    for command in ["true", "echo out", "printf no-newline; exit 3", "echo oops >&2", "kill -9 $$"]
    {
        say(&mut page, &kills, json!({"command": command})).await;
    }
    say(&mut page, &kills, json!({"command": "sleep 600", "timeout_ms": 20})).await;
    say(&mut page, &kills, json!({"command": "sleep 600 & echo left"})).await;
    say(&mut page, &goes_on, json!({"command": "sleep 600", "timeout_ms": 1})).await;
    for args in [
        json!({}),
        json!({"command": " "}),
        json!({"command": "true", "workdir": "/nowhere/at all"}),
        json!({"command": "true", "timeout_ms": "1s", "colour": true}),
        json!({"command": "a\u{0}b"}),
    ] {
        say(&mut page, &kills, args).await;
    }
    for _ in 0..9 {
        let args = json!({"command": "sleep 600", "run_in_background": true});
        say(&mut page, &kills, args).await;
    }
    let aborted = Call::of(&harness.agent, json!({"command": "echo begun; sleep 600"}));
    let (reply, ()) = tokio::join!(kills.call("bash", &aborted), async { aborted.abort.cancel() });
    assert!(reply.is_error && reply.text().contains("[aborted, and was ended]"), "{reply:?}");
    insta::assert_snapshot!(page.0);
}
