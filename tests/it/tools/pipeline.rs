//! What a call goes through, and what becomes of its result.

use std::sync::{Arc, Mutex};

use futures::FutureExt;
use longrun_tokio::{
    BoxError, Status,
    tools::{
        BashOptions, BoxFuture, Call, Content, Next, Pipeline, Policy, ToolDescription, ToolReply,
        Undelivered, Verdict,
    },
};
use serde_json::{Value, json};

use super::{
    Harness,
    scripted::{Counting, Counts, Origin, Script},
};

async fn counted(args: Value, origin: Origin) -> (ToolReply, [usize; 4]) {
    let counts = Arc::new(Counts::default());
    let tools = Pipeline::new()
        .tool(Counting(Arc::clone(&counts)))
        .policy(Script(origin, "by the policy".to_owned()));
    let call = Call::unowned(args);
    if origin == Origin::AbortedBefore {
        call.abort.cancel();
    }
    let reply = tools.call("count", &call).await;
    (reply, counts.of())
}

// contract: M10
#[tokio::test]
async fn whatever_a_result_comes_from_it_is_finished_once_and_committed_only_if_it_is_delivered() {
    for origin in Origin::ALL {
        let (reply, [worked, committed, let_go, finished]) = counted(json!({}), origin).await;
        let works = usize::from(origin.works());
        let delivers = usize::from(origin.delivers());
        assert_eq!((worked, let_go, committed), (works, works, delivers), "{origin:?}: {reply:?}");
        assert_eq!(finished, 1, "{origin:?}");
        assert_eq!(reply.is_error, origin.is_error(), "{origin:?}: {reply:?}");
        assert_eq!(reply.value == json!(1), origin.delivers(), "{origin:?}: {reply:?}");
    }
}

// contract: M10
#[tokio::test]
async fn a_tool_that_panics_is_an_error_and_finished_all_the_same() {
    for (stage, finishes) in [("finalizer", 0), ("check", 1), ("call", 1), ("finish", 1)] {
        let args = json!({"panic": stage});
        let (reply, [_, committed, _, finished]) = counted(args, Origin::Tool).await;
        let text = reply.text();
        assert!(reply.is_error && text.contains(&format!("it panicked: at {stage}")), "{text}");
        assert_eq!((committed, finished), (0, finishes), "{stage}");
        let known = if ["call", "finish"].contains(&stage) { "stays done" } else { "nothing was" };
        assert!(text.contains(known), "{text}");
    }
}

// contract: M10
#[tokio::test]
async fn wrong_arguments_are_refused_after_the_policies_and_nothing_is_done() {
    let wrong = json!({"wrong": 1});
    let (reply, [worked, _, _, finished]) = counted(wrong.clone(), Origin::Tool).await;
    assert_eq!((reply.is_error, worked, finished), (true, 0, 1));
    assert_eq!(reply.text(), "`wrong`: expected nothing, got something");
    let (reply, _) = counted(wrong, Origin::Denial).await;
    assert_eq!(reply.text(), "by the policy");
}

// contract: M10
#[tokio::test]
async fn a_call_whose_future_is_dropped_is_let_go_of_and_never_committed() {
    let counts = Arc::new(Counts::default());
    let tools = Pipeline::new().tool(Counting(Arc::clone(&counts)));
    let call = Call::unowned(json!({"wait": true}));
    assert!(tools.call("count", &call).now_or_never().is_none());
    assert_eq!(counts.of(), [1, 0, 1, 0]);
    // One that a harness withholds itself.
    drop(tools.run("count", &Call::unowned(json!({}))).await);
    assert_eq!(counts.of(), [2, 0, 2, 1]);
}

/// Gives up on what it is wrapped around, at once.
struct GivesUp;

impl Policy for GivesUp {
    fn around<'a>(
        &'a self,
        _: &'a ToolDescription,
        _: &'a Call<'a>,
        next: Next<'a>,
    ) -> BoxFuture<'a, Result<Undelivered, BoxError>> {
        Box::pin(async {
            let gave_up = || Undelivered::error("it took too long");
            Ok(next.run().now_or_never().unwrap_or_else(gave_up))
        })
    }
}

// contract: M10, P1
#[tokio::test]
async fn a_policy_that_gives_up_on_the_tool_drops_what_it_was_doing() {
    let counts = Arc::new(Counts::default());
    let tools = Pipeline::new().tool(Counting(Arc::clone(&counts))).policy(GivesUp);
    let reply = tools.call("count", &Call::unowned(json!({"wait": true}))).await;
    assert_eq!((reply.text().as_str(), counts.of()), ("it took too long", [1, 0, 1, 1]));
    // A command in the foreground is ended.
    let harness = Harness::new();
    let tools = harness.tools(BashOptions::default()).policy(GivesUp);
    let reply = harness.call(&tools, "bash", json!({"command": "sleep 600"})).await;
    assert!(reply.is_error && harness.agent.list().is_empty(), "{reply:?}");
}

/// Notes each stage.
struct Noting(&'static str, Arc<Mutex<Vec<String>>>);

impl Noting {
    fn note(&self, stage: &str) {
        self.1.lock().unwrap().push(format!("{} {stage}", self.0));
    }
}

impl Policy for Noting {
    fn before<'a>(
        &'a self,
        _: &'a ToolDescription,
        _: &'a Call<'a>,
    ) -> BoxFuture<'a, Result<Verdict, BoxError>> {
        self.note("before");
        Box::pin(async { Ok(Verdict::Go) })
    }

    fn around<'a>(
        &'a self,
        _: &'a ToolDescription,
        _: &'a Call<'a>,
        next: Next<'a>,
    ) -> BoxFuture<'a, Result<Undelivered, BoxError>> {
        Box::pin(async {
            self.note("in");
            let outcome = next.run().await;
            self.note("out");
            Ok(outcome)
        })
    }

    fn after<'a>(
        &'a self,
        _: &'a ToolDescription,
        _: &'a Call<'a>,
        outcome: Undelivered,
    ) -> BoxFuture<'a, Result<Undelivered, BoxError>> {
        self.note(if outcome.reply.is_error { "after an error" } else { "after" });
        Box::pin(async { Ok(outcome) })
    }
}

// contract: M10
#[tokio::test]
async fn the_stages_come_in_order_and_the_first_policy_is_the_outermost() {
    let notes = Arc::new(Mutex::new(Vec::new()));
    let noting = |name| Noting(name, Arc::clone(&notes));
    let tools = |origin| {
        Pipeline::new()
            .tool(Counting(Arc::default()))
            .policy(noting("a"))
            .policy(Script(origin, "no".to_owned()))
            .policy(noting("b"))
    };
    let told = async |origin| {
        let _ = tools(origin).call("count", &Call::unowned(json!({}))).await;
        std::mem::take(&mut *notes.lock().unwrap()).join(", ")
    };
    assert_eq!(
        told(Origin::Tool).await,
        "a before, b before, a in, b in, b out, a out, a after, b after"
    );
    assert_eq!(told(Origin::Denial).await, "a before, a after an error, b after an error");
    assert_eq!(
        told(Origin::AroundPanics).await,
        "a before, b before, a in, b in, b out, a out, a after an error, b after an error",
        "a policy inside another one fails in its place"
    );
    assert!(told(Origin::AfterFails).await.ends_with("a after, b after an error"));
}

// contract: M11
#[test]
fn an_error_is_one_line_of_bounded_length_that_keeps_both_its_ends() {
    for (repeated, times) in [("x\n", 5000), ("界", 5000), ("\u{1b}", 5000), ("y", 200)] {
        let reply = ToolReply::error(format!("begin {} expected the end", repeated.repeat(times)));
        let text = reply.text();
        assert!(text.starts_with("begin ") && text.ends_with(" expected the end"), "{text}");
        assert!(text.len() <= 2003 && !text.contains(char::is_control), "{text}");
        assert_eq!(text.contains('…'), times > 200);
    }
}

// contract: M10
#[tokio::test]
async fn a_tool_that_is_not_there_is_an_error_that_names_those_that_are() {
    let tools = Pipeline::new().tool(Counting(Arc::default())).tool(Counting(Arc::default()));
    assert_eq!(tools.descriptions().count(), 1, "one of a name");
    let reply = tools.call("cou\nnt", &Call::unowned(json!({}))).await;
    assert!(reply.is_error);
    assert_eq!(reply.text(), r"there is no tool `cou\nnt`, expected one of `count`");
}

// contract: S6, S7
#[tokio::test]
async fn whatever_becomes_of_the_result_of_a_start_the_model_is_told_the_id_and_the_task_goes_on() {
    for origin in Origin::ALL {
        let harness = Harness::new();
        let script =
            || Script(origin, "nothing to see; bash-11 and my-bash-1 are others".to_owned());
        let tools = harness.tools(BashOptions::default()).policy(script());
        let args = json!({"command": "echo started; sleep 600", "run_in_background": true});
        let call = Call::of(&harness.agent, args);
        if origin == Origin::AbortedBefore {
            call.abort.cancel();
        }
        let reply = tools.call("bash", &call).await;
        let tasks = harness.agent.list();
        if !origin.works() {
            assert_eq!(tasks, [], "{origin:?}");
            assert!(!reply.text().contains("was started, and"), "{origin:?}: {reply:?}");
            continue;
        }
        if origin.is_structured() {
            assert_eq!(reply.content, script().blocks(), "a shape is kept");
        } else {
            let line = "[background task bash-1 was started, and is not affected: read it with \
                        task_output, stop it with task_kill]";
            let text = reply.text();
            let last = text.lines().next_back().unwrap();
            let expected = if origin.delivers() { "started background task bash-1" } else { line };
            assert_eq!(last, expected, "{origin:?}");
        }
        // Also where the call is aborted when it is over.
        call.abort.cancel();
        assert_eq!((tasks.len(), tasks[0].status), (1, Status::Running), "{origin:?}");
        let plain = harness.tools(BashOptions::default());
        let kill = harness.call(&plain, "task_kill", json!({"task_id": "bash-1"})).await;
        assert_eq!(kill.text(), "requested cancellation of task bash-1");
        harness.agent.dispose().await.unwrap();
    }
}

// contract: M10
#[tokio::test]
async fn an_empty_result_of_a_start_gets_the_id_as_its_only_block() {
    struct Empties;
    impl Policy for Empties {
        fn after<'a>(
            &'a self,
            _: &'a ToolDescription,
            _: &'a Call<'a>,
            mut outcome: Undelivered,
        ) -> BoxFuture<'a, Result<Undelivered, BoxError>> {
            outcome.reply.content.clear();
            Box::pin(async { Ok(outcome) })
        }
    }
    let harness = Harness::new();
    let tools = harness.tools(BashOptions::default()).policy(Empties);
    let args = json!({"command": "true", "run_in_background": true});
    let reply = harness.call(&tools, "bash", args).await;
    let [Content::Text(text)] = reply.content.as_slice() else { panic!("{reply:?}") };
    assert!(text.starts_with("[background task bash-1 was started"), "{text}");
    let reply = harness.call(&tools, "task_list", json!({})).await;
    assert_eq!(reply.content, [], "nothing is added where nothing was started");
}
