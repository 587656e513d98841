//! Children that misbehave: a clear end, in bounded time and memory, and no process left.

use longrun_tokio::subagent::{AbortHandle, Provider as _, Stop, acp::MAX_LINE_BYTES};

use super::*;

/// What becomes of a child with these arguments and that prompt.
async fn told(args: &[&str], prompt: &str) -> (String, String) {
    let stage = Stage::new();
    let id = stage.start(&stage.subagents(args), prompt);
    let told = stage.told(&id).await;
    stage.nobody_is_left();
    told
}

// contract: U4, U2
#[tokio::test]
async fn one_that_exits_says_how_with_the_last_that_it_logged() {
    let (status, text) = told(&["exit-first"], "say hello").await;
    let detail = "could not be started: it closed its output before it answered `initialize`; \
                  exit code: 7";
    assert_eq!(status, format!("failed, {detail}"));
    assert_eq!(text, "[stderr]\nno key was found\n");

    let (status, text) = told(&[], "say half; log I am going; sync; exit 3").await;
    let detail = "it closed its output before it answered `session/prompt`; exit code: 3";
    assert_eq!(status, format!("failed, {detail}"));
    assert_eq!(text, "half\n[stderr]\nI am going\n");
}

// contract: U4, U2
#[tokio::test]
async fn one_that_dies_between_prompt_and_answer_says_of_what() {
    let (status, text) = told(&[], "say half; sync; die").await;
    let detail = "it closed its output before it answered `session/prompt`; signal: SIGKILL";
    assert_eq!((status, text), (format!("failed, {detail}"), "half".to_owned()));
}

// contract: U4
#[tokio::test]
async fn one_that_closes_its_output_and_goes_on_is_ended() {
    let (status, text) = told(&[], "say half; sync; close").await;
    let detail = "it closed its output before it answered `session/prompt`";
    assert_eq!((status, text), (format!("failed, {detail}"), "half".to_owned()));
}

// contract: U4
#[tokio::test]
async fn garbage_is_quoted() {
    let (status, _) = told(&["garbage-first"], "say hello").await;
    let what = "it wrote a line that is no message of the protocol";
    assert_eq!(status, format!("failed, could not be started: {what}: this is no protocol"));
    let (status, text) = told(&[], "say half; sync; garbage; hang").await;
    assert_eq!((status, text), (format!("failed, {what}: so be it"), "half".to_owned()));
}

// contract: U4, B7
#[tokio::test]
async fn a_line_without_end_and_questions_without_end_are_cut_off() {
    let (status, text) = told(&[], "say half; sync; line").await;
    let detail = format!("it wrote a line of more than {MAX_LINE_BYTES} bytes");
    assert_eq!((status, text), (format!("failed, {detail}"), "half".to_owned()));
    let (status, _) = told(&[], "questions").await;
    assert_eq!(status, "failed, it asked more than 1000 times and read no answer");
}

// contract: U4, B7, R8
#[tokio::test]
async fn of_a_flood_the_end_is_kept_and_the_rest_is_counted() {
    let (status, text) = told(&[], "flood 20; say that is all").await;
    assert_eq!(status, "completed");
    let (first, rest) = text.split_once('\n').unwrap();
    let dropped: usize = first
        .strip_prefix('[')
        .and_then(|first| first.strip_suffix(" bytes before this were dropped]"))
        .unwrap_or_else(|| panic!("{first}"))
        .parse()
        .unwrap();
    assert_eq!((dropped + rest.len(), rest.len()), (20 * 100 * 10_001 + 11, 64_000));
    assert!(rest.ends_with("xxx\nthat is all"), "the end is kept");
}

// contract: U5, U4
#[tokio::test]
async fn one_that_never_opens_a_session_has_a_deadline() {
    let stage = Stage::new();
    let config = AcpConfig { startup_deadline: GRACE, ..stage.config(&["hang-first", "stubborn"]) };
    let subagents = Subagents::new(AcpProvider::new(config).unwrap());
    let id = stage.start(&subagents, "say hello");
    let (status, text) = stage.told(&id).await;
    assert_eq!(status, "failed, could not be started: it was not ready after 500ms");
    assert_eq!(text, "");
    stage.nobody_is_left();
    let (status, _) = told(&["no-session"], "say hello").await;
    let detail = "it answered `session/new` with an error: Authentication required";
    assert_eq!(status, format!("failed, could not be started: {detail}"));
}

// contract: U4, B5, O1, L7
#[tokio::test]
async fn what_a_child_leaves_behind_goes_with_it() {
    for prompt in ["leave; say done", "daemon; say done", "daemon; leave; say done"] {
        let (status, text) = told(&[], prompt).await;
        assert_eq!((status.as_str(), text.as_str()), ("completed", "done"), "{prompt}");
    }
    // It goes on when its input is closed, and ignores SIGTERM.
    let (status, text) = told(&["stubborn"], "say done").await;
    assert_eq!((status.as_str(), text.as_str()), ("completed", "done"));
}

// contract: U4, U1, L7
#[tokio::test]
async fn what_left_a_child_that_was_over_before_anybody_looked_goes_too() {
    let stage = Stage::new();
    let script = "echo $$ >pid; setsid --fork sleep 1000 <&- >&- 2>&-; exit 3";
    let args = vec!["-c".into(), script.into()];
    let config = AcpConfig { command: "bash".into(), args, ..stage.config(&[]) };
    let provider = AcpProvider::new(config).unwrap();
    let startup = provider.start(Request::new("a child", "hello"), AbortHandle::new()).unwrap();
    stage.appears("pid").await;
    let pid = || fs::read_to_string(stage.folder().join("pid")).unwrap().trim().to_owned();
    until("it is reaped", || !pid().is_empty() && !Path::new("/proc").join(pid()).exists()).await;
    assert_eq!(processes_in(&stage.folder()).len(), 1, "the other one goes on");
    let finish = soon(startup).await.unwrap_err();
    let reason = "it closed its output before it answered `initialize`; exit code: 3";
    assert_eq!((finish.stop, finish.note), (Stop::Failed(reason.to_owned()), None));
    stage.nobody_is_left();
}
