//! Children that do as they should.

use longrun_tokio::{End, subagent::acp::Permission};

use super::*;

// contract: U4, U2, U3
#[tokio::test]
async fn an_answer_in_chunks_is_the_output_once_the_child_is_gone() {
    let stage = Stage::new();
    let subagents = stage.subagents(&[]);
    let prompt = "say let me ; say see; tool; touch seen; say it is 42";
    let id = stage.start(&subagents, prompt);
    stage.appears("seen").await;
    let (status, text) = stage.told(&id).await;
    assert_eq!((status.as_str(), text.as_str()), ("completed", "let me see\nit is 42"));
    // It may be read again.
    assert_eq!(stage.end(&id).await.text, text);
    stage.nobody_is_left();
}

// contract: U3, R2, M13
#[tokio::test]
async fn what_a_child_says_on_its_way_cannot_be_read() {
    let stage = Stage::new();
    let id = stage.start(&stage.subagents(&[]), "say not yet; sync; touch said; hang");
    stage.appears("said").await;
    let caller = stage.agent.caller();
    let read = stage.service.read(&id, &caller).unwrap();
    assert_eq!(read.text, "");
    let detail = read.task.detail.unwrap();
    assert!(detail.starts_with("at work, ") && detail.ends_with(" s"), "{detail}");
    stage.kill(&id);
    let told = stage.told(&id).await;
    assert_eq!(told, ("killed, aborted".to_owned(), "not yet".to_owned()));
    stage.nobody_is_left();
}

// contract: U2
#[tokio::test]
async fn every_stop_reason_has_its_status_and_keeps_what_was_said() {
    let stage = Stage::new();
    let subagents = stage.subagents(&[]);
    let cases = [
        ("max-tokens", "failed, max tokens"),
        ("max-turns", "failed, max turns"),
        ("refusal", "failed, refusal"),
        ("cancelled", "killed, aborted by itself"),
    ];
    for (stop, status) in cases {
        let id = stage.start(&subagents, &format!("say half; stop {stop}"));
        assert_eq!(stage.told(&id).await, (status.to_owned(), "half".to_owned()));
    }
    let id = stage.start(&subagents, "touch done");
    assert_eq!(stage.told(&id).await, ("completed, no output".to_owned(), String::new()));
    let id = stage.start(&subagents, "say half; fail the key is wrong");
    let detail = "it answered `session/prompt` with an error: Internal error: the key is wrong";
    assert_eq!(stage.told(&id).await, (format!("failed, {detail}"), "half".to_owned()));
    stage.nobody_is_left();
}

// contract: U4
#[tokio::test]
async fn permissions_are_answered_by_the_policy() {
    let stage = Stage::new();
    for (permission, answer) in [(Permission::Reject, "no"), (Permission::Allow, "yes")] {
        let config = AcpConfig { permission, ..stage.config(&[]) };
        let subagents = Subagents::new(AcpProvider::new(config).unwrap());
        assert_eq!(ended(&subagents, "may-i").await.text, answer);
    }
}

// contract: U4, B9, B2
#[tokio::test]
async fn a_child_works_where_it_is_told_in_the_environment_of_a_command() {
    let stage = Stage::new();
    let folder = stage.folder();
    let config = AcpConfig { env: vec![("OUR_TOKEN".into(), "7".into())], ..stage.config(&[]) };
    let subagents = Subagents::new(AcpProvider::new(config).unwrap());
    let prompt = "cwd; say  ; env NO_COLOR; say  ; env OUR_TOKEN; say  ; env LONGRUN_DEPTH; \
                  say  ; env PWD_SECRET";
    let text = ended(&subagents, prompt).await.text;
    assert_eq!(text, format!("{} 1 7 1 unset", folder.display()));
    fs::create_dir(folder.join("below")).unwrap();
    let mut request = Request::new("a child", "cwd; touch here");
    request.cwd = Some(folder.join("below"));
    let told = soon(subagents.run(request, std::future::pending())).await.unwrap();
    assert_eq!(told.text, folder.join("below").display().to_string());
    assert!(folder.join("below/here").exists(), "it is the directory of the process too");
}

// contract: U4, U2, S1, S3
#[tokio::test]
async fn what_cannot_be_started_is_refused_with_the_cause_and_is_no_task() {
    let stage = Stage::new();
    let file = stage.folder().join("file");
    fs::write(&file, "").unwrap();
    let refused = |config: AcpConfig, cwd: Option<&Path>| {
        let subagents = Subagents::new(AcpProvider::new(config).unwrap());
        let mut request = Request::new("a child", "say hello");
        request.cwd = cwd.map(Into::into);
        let started = stage.agent.start(subagents.spec(&request), || subagents.start(request));
        started.unwrap_err().to_string()
    };
    let config = || stage.config(&[]);
    let gone = stage.folder().join("gone");
    assert!(refused(config(), Some(&gone)).starts_with("no working directory"));
    assert!(refused(config(), Some(&file)).contains("is not a directory"));
    assert!(refused(config(), Some(Path::new("here"))).contains("is relative"));
    let no_agent = AcpConfig { command: "no-such-agent".into(), ..config() };
    assert!(refused(no_agent, None).starts_with("no program \"no-such-agent\""));
    assert!(stage.agent.list().is_empty());
    let id = stage.start(&stage.subagents(&[]), "say one");
    assert_eq!(id.as_str(), "subagent-1", "no number was used");
    assert_eq!(stage.told(&id).await.1, "one");
    let helper = stage.start(&stage.subagents(&[]).kind("helper"), "say two");
    assert_eq!(helper.as_str(), "helper-1", "each kind has its own numbers");
    assert_eq!(stage.told(&helper).await.1, "two");
}

// contract: P1
#[tokio::test]
async fn a_foreground_child_that_is_dropped_is_gone() {
    let stage = Stage::new();
    let subagents = stage.subagents(&[]);
    let request = Request::new("a child", "touch began; hang");
    let mut run = Box::pin(subagents.run(request, std::future::pending()));
    tokio::select! {
        ended = &mut run => panic!("{ended:?}"),
        () = stage.appears("began") => {}
    }
    drop(run);
    let folder = stage.folder();
    until("it is gone", || processes_in(&folder) == NOBODY).await;
}

// contract: O1, U4, T2
#[tokio::test]
async fn a_hundred_at_once_answer_and_a_hundred_at_once_are_disposed() {
    let stage = Stage::with_limit(100);
    let subagents = stage.subagents(&[]);
    let ids: Vec<TaskId> =
        (0..100).map(|number| stage.start(&subagents, &format!("say {number}"))).collect();
    for (number, id) in ids.iter().enumerate() {
        let read = stage.end(id).await;
        assert_eq!(
            (read.text, read.task.status.to_string()),
            (number.to_string(), "completed".into())
        );
    }
    stage.nobody_is_left();
    for number in 0..100 {
        stage.start(
            &subagents,
            &format!("touch {number}; {}", ["hang", "obey", "block"][number % 3]),
        );
    }
    for number in 0..100 {
        stage.appears(&number.to_string()).await;
    }
    let told_before = stage.inbox.nudges();
    assert_eq!(soon(stage.agent.dispose()).await, Ok(vec![]));
    stage.nobody_is_left();
    assert_eq!(stage.inbox.nudges(), told_before, "nobody is left to be told");
    assert_eq!(ended(&subagents, "say still here").await.end, End::Completed);
}
