//! Killed, and disposed with their owner, in each moment of their life.

use super::*;

/// Where a child is, what it is told to get there, and what becomes of it when it is stopped
/// there.
struct Moment {
    name: &'static str,
    args: &'static [&'static str],
    prompt: &'static str,
    /// The file that says that it has come there; none for the very beginning.
    mark: Option<&'static str>,
    status: &'static str,
    text: &'static str,
}

const MOMENTS: &[Moment] = &[
    Moment {
        name: "before anything was polled",
        args: &[],
        prompt: "say hello",
        mark: None,
        status: "killed, aborted during its startup",
        text: "",
    },
    Moment {
        name: "in a startup that hangs",
        args: &["mark", "hang-first"],
        prompt: "say hello",
        mark: Some("started"),
        status: "killed, aborted during its startup",
        text: "",
    },
    Moment {
        name: "in a prompt, and it obeys",
        args: &[],
        prompt: "say half, ; sync; touch at-work; obey",
        mark: Some("at-work"),
        status: "killed, aborted",
        text: "half, obeyed",
    },
    Moment {
        name: "in a prompt, and it answers as if nothing had been",
        args: &[],
        prompt: "say half, ; sync; touch at-work; late",
        mark: Some("at-work"),
        status: "killed, aborted",
        text: "half, too late",
    },
    Moment {
        name: "in a prompt, and it does nothing",
        args: &["stubborn"],
        prompt: "say half; sync; touch at-work; hang",
        mark: Some("at-work"),
        status: "killed, aborted",
        text: "half",
    },
    Moment {
        name: "in a prompt, and it does not even read",
        args: &[],
        prompt: "say half; sync; touch at-work; block",
        mark: Some("at-work"),
        status: "killed, aborted",
        text: "half",
    },
    Moment {
        name: "in its disposal",
        args: &["stubborn", "mark-end"],
        prompt: "say done",
        mark: Some("ending"),
        status: "completed",
        text: "done",
    },
];

impl Moment {
    async fn reached(&self, stage: &Stage) -> TaskId {
        let id = stage.start(&stage.subagents(self.args), self.prompt);
        if let Some(mark) = self.mark {
            stage.appears(mark).await;
        }
        id
    }
}

// contract: U1, U2, U4, K2
#[tokio::test]
async fn a_kill_ends_a_child_in_each_moment_and_says_so() {
    for moment in MOMENTS {
        let stage = Stage::new();
        let id = moment.reached(&stage).await;
        stage.kill(&id);
        // Again, as anybody may.
        stage.kill(&id);
        let (status, text) = stage.told(&id).await;
        assert_eq!(
            (status.as_str(), text.as_str()),
            (moment.status, moment.text),
            "{}",
            moment.name
        );
        stage.nobody_is_left();
        assert_eq!(stage.inbox.nudges(), [], "a kill is known to who asked for it");
    }
}

// contract: U1, U2, O1, O2
#[tokio::test]
async fn a_disposal_of_the_owner_awaits_the_end_of_a_child_in_each_moment() {
    for moment in MOMENTS {
        let stage = Stage::new();
        moment.reached(&stage).await;
        assert_eq!(soon(stage.agent.dispose()).await, Ok(vec![]), "{}", moment.name);
        stage.nobody_is_left();
        assert!(stage.agent.list().is_empty());
        assert_eq!(stage.inbox.nudges(), [], "nobody is left to be told");
    }
}

// contract: T1, T2, U4
#[tokio::test]
async fn a_shutdown_awaits_the_end_of_children_in_all_moments() {
    let stage = Stage::new();
    for moment in MOMENTS {
        moment.reached(&stage).await;
        if let Some(mark) = moment.mark {
            fs::remove_file(stage.folder().join(mark)).unwrap();
        }
    }
    assert_eq!(soon(stage.service.shutdown()).await, Ok(vec![]));
    stage.nobody_is_left();
}

// contract: N1, U2
#[tokio::test]
async fn an_end_that_nobody_asked_for_is_announced() {
    let stage = Stage::new();
    let id = stage.start(&stage.subagents(&[]), "say 42");
    soon(stage.inbox.until(|nudges| nudges == [Nudge::Inject(id.clone())])).await;
    let text = "background task subagent-1 (subagent: a child) finished [status: completed]. \
                Read its output with task_output.";
    assert_eq!(stage.inbox.texts(), [text]);
    stage.nobody_is_left();
}
