//! The subagents of the demonstration: scripted, in this process.

use std::time::Duration;

use tokio::time::sleep;

use crate::subagent::{Child, Finish, InProcess, Stop, Subagents};

/// What they are for, and what they are asked.
pub(super) const ERRANDS: [(&str, &str); 2] = [
    ("count the words", "How many words has: to be or not to be?"),
    ("find the author", "Read every play there is, and tell who wrote that."),
];

pub(super) fn scripted() -> Subagents {
    Subagents::new(InProcess::new(play))
}

async fn play(child: Child) -> Finish {
    if child.request.prompt == ERRANDS[0].1 {
        child.say("to is one, be is two");
        sleep(Duration::from_millis(1500)).await;
        return "six words, four of them different".to_owned().into();
    }
    child.say("I have read Hamlet, and there are 38 more");
    child.abort.aborted().await;
    Finish::new(Stop::Aborted, "")
}
