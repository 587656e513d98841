//! An agent that shares no code with us: one of the protocol's Python library.

use std::process::Command;

use longrun_tokio::End;

use super::*;

const SCRIPT: &str = include_str!("echo_agent.py");

// contract: U4, U2
#[tokio::test]
async fn an_agent_of_another_implementation_answers_and_is_killed() {
    // `acp` is the module of the package `agent-client-protocol`.
    let there = Command::new("python3").args(["-c", "import acp"]).output();
    if !there.as_ref().is_ok_and(|run| run.status.success()) {
        println!("skipped: python3 has no module `acp` here (pip install agent-client-protocol)");
        return;
    }
    let stage = Stage::new();
    let config = AcpConfig {
        command: "python3".into(),
        args: vec!["-c".into(), SCRIPT.into()],
        ..stage.config(&[])
    };
    let subagents = Subagents::new(AcpProvider::new(config).unwrap());
    let told = ended(&subagents, "hello").await;
    assert_eq!((told.end, told.text.as_str()), (End::Completed, "hello"), "{told:?}");

    let id = stage.start(&subagents, "wait");
    let caller = stage.agent.caller();
    let at_work = || {
        let task = stage.service.get(&id, &caller).unwrap();
        task.detail.is_some_and(|detail| detail.starts_with("at work"))
    };
    until("it is at work", at_work).await;
    stage.kill(&id);
    assert_eq!(stage.told(&id).await.0, "killed, aborted");
    stage.nobody_is_left();
}
