//! The producer's cap on every text of a control, whatever that comes from.

use longrun_tokio::{
    BoxError, Outcome as Ended, OwnerScope, Status, TaskSpec,
    core::controls::status_line,
    testing::{FakeProducer, OnCancel},
    tools::{
        BoxFuture, Call, Content, Policy, ToolDescription, ToolReply, Undelivered, Verdict,
        single_text,
    },
};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    Harness,
    scripted::{Origin, Script},
};

const CAPS: [u64; 5] = [8, 32, 64, 80, 4096];

/// What stands in the way of the tool itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trouble {
    None,
    Arguments,
    /// The producer's reader, or its cancel, fails.
    Producer,
}

#[derive(Clone, Debug)]
struct Case {
    tool: &'static str,
    cap: u64,
    origin: Origin,
    trouble: Trouble,
    output: String,
    text: String,
    ended: bool,
}

fn hostile() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "\n",
        "é",
        "界",
        "🦀",
        "plain words ",
        "[status: completed]",
        "[output truncated]",
        "[result truncated]",
        "\u{1b}[2J",
    ]);
    (prop::collection::vec(pieces, 0..12), 1..120_usize)
        .prop_map(|(pieces, times)| pieces.concat().repeat(times))
}

fn any_case() -> impl Strategy<Value = Case> {
    let tool = prop::sample::select(vec!["task_output", "task_kill"]);
    let cap = prop::sample::select(CAPS.to_vec());
    let origin = prop::sample::select(Origin::ALL.to_vec());
    let trouble = prop::sample::select(vec![
        Trouble::None,
        Trouble::None,
        Trouble::Arguments,
        Trouble::Producer,
    ]);
    (tool, cap, origin, trouble, hostile(), hostile(), any::<bool>()).prop_map(
        |(tool, cap, origin, trouble, output, text, ended)| Case {
            tool,
            cap,
            origin,
            trouble,
            output,
            text,
            ended,
        },
    )
}

impl Case {
    async fn carry_out(&self) -> ToolReply {
        let harness = Harness::new();
        let on_cancel =
            if self.trouble == Trouble::Producer { OnCancel::Fail } else { OnCancel::Ignore };
        let producer = FakeProducer::stream().on_cancel(on_cancel);
        let spec = TaskSpec::new("pty", "a label").output_limit_bytes(self.cap);
        harness.agent.start(spec, || producer.hooks()).unwrap();
        producer.write(&self.output);
        if self.ended {
            producer.settle(Ended::completed().with_detail("exit code: 0"));
            let wait = std::time::Duration::from_secs(60);
            let id = harness.agent.list()[0].id.clone();
            harness.service.wait(&id, &harness.agent.caller(), wait).await.unwrap();
        }
        if self.trouble == Trouble::Producer {
            producer.set_reader_fails(true);
        }
        let tools = harness.controls().policy(Script(self.origin, self.text.clone()));
        let mut args = json!({"task_id": "pty-1"});
        if self.trouble == Trouble::Arguments {
            args["an argument that is not there"] = Value::Null;
        }
        let call = Call::of(&harness.agent, args);
        if self.origin == Origin::AbortedBefore {
            call.abort.cancel();
        }
        tools.call(self.tool, &call).await
    }

    fn check(&self, reply: &mut ToolReply) -> Result<(), TestCaseError> {
        if self.origin.is_structured() {
            let kept = Script(self.origin, self.text.clone()).blocks();
            prop_assert_eq!(&reply.content, &kept, "a shape is kept");
            return Ok(());
        }
        let text = single_text(&mut reply.content).unwrap();
        prop_assert!(text.len() as u64 <= self.cap, "{} bytes: {:?}", text.len(), text);
        if self.origin.delivers() && self.trouble == Trouble::None && self.tool == "task_output" {
            // The canonical value is whole, and the last line is the status, as far as it fits.
            prop_assert_eq!(&reply.value["text"], &json!(self.output));
            let task = &reply.value["task"];
            let status = if self.ended { Status::Completed } else { Status::Running };
            let line = status_line(status, task["detail"].as_str());
            let last = text.rsplit('\n').next().unwrap();
            prop_assert!(line.ends_with(last), "{:?} does not end in {:?}", text, line);
            prop_assert!(line.len() as u64 > self.cap || last == line, "{:?}", text);
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    // contract: M8, M9, M10
    #[test]
    fn every_text_of_a_control_is_within_the_cap_whatever_it_comes_from(case in any_case()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let mut reply = runtime.block_on(case.carry_out());
        case.check(&mut reply)?;
    }
}

/// Disposes the owner, so that no record is left, and then denies the call.
struct Disposes(OwnerScope);

impl Policy for Disposes {
    fn before<'a>(
        &'a self,
        _: &'a ToolDescription,
        _: &'a Call<'a>,
    ) -> BoxFuture<'a, Result<Verdict, BoxError>> {
        Box::pin(async {
            self.0.dispose().await?;
            Ok(Verdict::Answer(ToolReply::error("a denial that is far too long")))
        })
    }
}

// contract: M10
#[tokio::test]
async fn the_cap_is_looked_up_before_any_policy_runs() {
    for tool in ["task_output", "task_kill"] {
        let harness = Harness::new();
        let agent = harness.service.owner("another").open().unwrap();
        let producer = FakeProducer::stream();
        let spec = TaskSpec::new("pty", "a label").output_limit_bytes(8);
        agent.start(spec, || producer.hooks()).unwrap();
        let owner = harness.service.owner("another").open().unwrap();
        let tools = harness.controls().policy(Disposes(agent));
        let call = Call::of(&owner, json!({"task_id": "pty-1"}));
        assert_eq!(tools.call(tool, &call).await.text(), "uncated]");
        let after = harness.controls().call(tool, &call).await.text();
        assert!(after.starts_with("unknown task"), "the record is gone: {after}");
    }
}

/// Adds a block to each result.
struct Adds;

impl Policy for Adds {
    fn after<'a>(
        &'a self,
        _: &'a ToolDescription,
        _: &'a Call<'a>,
        mut undelivered: Undelivered,
    ) -> BoxFuture<'a, Result<Undelivered, BoxError>> {
        undelivered.reply.content.push(Content::Text("seen by the policy".to_owned()));
        Box::pin(async { Ok(undelivered) })
    }
}

// contract: M10
#[tokio::test]
async fn a_read_beside_another_block_is_the_policys_to_bound() {
    let harness = Harness::new();
    let spec = TaskSpec::new("pty", "a label").output_limit_bytes(8);
    harness.task(spec, "a line\n", None).await;
    let tools = harness.controls().policy(Adds);
    let reply = harness.call(&tools, "task_output", json!({"task_id": "pty-1"})).await;
    let texts = ["a line\n[status: running]", "seen by the policy"];
    assert_eq!(reply.content, texts.map(|text| Content::Text(text.to_owned())));
    let again = harness.call(&tools, "task_output", json!({"task_id": "pty-1"})).await;
    assert_eq!(again.value["text"], "", "it was delivered, and counts as read");
}

// contract: M10, A2
#[tokio::test]
async fn the_cap_of_a_task_that_the_caller_cannot_see_is_not_looked_up() {
    let harness = Harness::new();
    let producer = FakeProducer::stream();
    let spec = TaskSpec::new("pty", "a label").output_limit_bytes(8);
    harness.agent.start(spec, || producer.hooks()).unwrap();
    let stranger = harness.service.owner("another").open().unwrap();
    let tools = harness.controls();
    for tool in ["task_output", "task_kill"] {
        let args = json!({"task_id": "pty-1"});
        let foreign = tools.call(tool, &Call::of(&stranger, args.clone())).await.text();
        let expected = "unknown task `pty-1`: call task_list for the ids of your background tasks";
        assert_eq!(foreign, expected);
        let own = tools.call(tool, &Call::of(&harness.agent, args)).await.text();
        assert!(own.len() <= 8, "{own}");
    }
}
