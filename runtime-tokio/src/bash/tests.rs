//! Real commands. Every wait is for a fact, bounded generously.

use std::fs;
use std::future::{Future, pending, ready};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use longrun_core::End;
use tokio::time::timeout;

use super::*;
use crate::process::SpawnError;

/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn executor(change: impl FnOnce(&mut BashConfig)) -> BashExecutor {
    let mut config = BashConfig::new("/");
    change(&mut config);
    BashExecutor::new(config).unwrap()
}

fn plain() -> BashExecutor {
    executor(|_| {})
}

fn start(executor: &BashExecutor, command: &str) -> BashProcess {
    executor.start(executor.resolve(BashRequest::new(command)).unwrap()).unwrap()
}

async fn run(executor: &BashExecutor, request: BashRequest) -> ForegroundResult {
    soon(executor.run(executor.resolve(request).unwrap(), pending())).await.unwrap()
}

fn stdout(result: &ForegroundResult) -> String {
    result.output.of(Stream::Stdout).text
}

fn stderr(result: &ForegroundResult) -> String {
    result.output.of(Stream::Stderr).text
}

async fn soon<T>(future: impl Future<Output = T>) -> T {
    timeout(PATIENCE, future).await.expect("a fact that never came")
}

/// What reads bring until they have brought a whole line.
async fn line(process: &BashProcess) -> String {
    soon(async {
        let mut text = String::new();
        while !text.contains('\n') {
            text += &process.read();
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        text.trim().to_owned()
    })
    .await
}

async fn appears(path: &Path) -> String {
    soon(async {
        loop {
            match fs::read_to_string(path) {
                Ok(text) if text.ends_with('\n') => return text.trim().to_owned(),
                Ok(_) | Err(_) => tokio::time::sleep(Duration::from_millis(2)).await,
            }
        }
    })
    .await
}

fn runs(pid: &str) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap().trim_start().starts_with(['Z', 'X']))
}

fn refused(request: BashRequest) -> String {
    plain().resolve(request).unwrap_err().to_string()
}

// contract: B1
#[test]
fn a_request_that_makes_no_sense_is_refused_with_the_reason() {
    let ok = || BashRequest::new("true");
    assert!(refused(BashRequest::new(" \n")).contains("empty"));
    assert!(refused(BashRequest::new("a\0b")).contains("NUL character at byte 1"));
    assert!(refused(BashRequest::new("x".repeat(200_000))).contains("200000 bytes"));
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(refused(BashRequest { timeout_ms: Some(bad), ..ok() }).contains("positive finite"));
    }
    for name in ["", "a=b", "a\0"] {
        let env = vec![(name.into(), "".into())];
        assert!(refused(BashRequest { env, ..ok() }).contains("cannot be set"));
    }
    let gone = Some("/no/such".into());
    assert!(refused(BashRequest { workdir: gone, ..ok() }).contains("no working directory"));
    let file = Some("/proc/version".into());
    assert!(refused(BashRequest { workdir: file, ..ok() }).contains("not a directory"));
}

// contract: B4
#[test]
fn a_missing_shell_is_known_before_anything_is_started() {
    let executor = executor(|config| config.shell = "no-such-shell".into());
    let error = executor.resolve(BashRequest::new("true")).unwrap_err();
    assert!(matches!(error, BashError::Spawn(SpawnError::NoProgram { .. })), "{error}");
}

// contract: B1
#[test]
fn defaults_and_caps_are_filled_in_by_resolve_alone() {
    let executor = executor(|config| config.cwd = "/proc".into());
    let resolve = |workdir: Option<&str>, timeout_ms| {
        let workdir = workdir.map(Into::into);
        let request = BashRequest { workdir, timeout_ms, ..BashRequest::new("true") };
        let spec = executor.resolve(request).unwrap();
        (spec.workdir().to_str().unwrap().to_owned(), spec.timeout())
    };
    assert_eq!(resolve(None, None), ("/proc".into(), Duration::from_secs(120)));
    assert_eq!(
        resolve(Some("self"), Some(1.5)),
        ("/proc/self".into(), Duration::from_micros(1500))
    );
    assert_eq!(resolve(Some("/tmp"), Some(1e300)), ("/tmp".into(), Duration::from_secs(600)));
    assert_eq!(resolve(None, Some(1e-300)).1, Duration::from_nanos(1));
}

// contract: B9
#[tokio::test]
async fn the_environment_is_quiet_and_the_request_has_the_last_word() {
    let request = BashRequest {
        env: vec![("PAGER".into(), "less".into()), ("MY_TOKEN".into(), "given".into())],
        ..BashRequest::new("echo $NO_COLOR $TERM $PAGER $GIT_PAGER $GIT_TERMINAL_PROMPT $MY_TOKEN")
    };
    let result = run(&plain(), request).await;
    assert_eq!(stdout(&result), "1 dumb less cat 0 given\n");
}

// contract: B3
#[tokio::test]
async fn a_foreground_command_tells_its_streams_and_its_exit() {
    let request = BashRequest {
        stdin: Some(b"hello".to_vec()),
        workdir: Some("/proc".into()),
        ..BashRequest::new("pwd; cat; echo oops >&2; exit 3")
    };
    let result = run(&plain(), request).await;
    assert_eq!((result.exit, result.cause), (Exit::Code(3), Cause::Exited));
    assert_eq!(stdout(&result), "/proc\nhello");
    assert_eq!(stderr(&result), "oops\n");
    assert_eq!((result.leftovers_ended, result.drained), (0, true));
}

// contract: B3
#[tokio::test]
async fn a_command_that_kills_itself_has_neither_timed_out_nor_been_aborted() {
    let result = run(&plain(), BashRequest::new("kill -TERM $$")).await;
    assert_eq!((result.exit.to_string(), result.cause), ("signal: SIGTERM".into(), Cause::Exited));
}

// contract: B3
#[tokio::test]
async fn the_timeout_decides_even_if_the_command_then_exits_well() {
    let request = BashRequest {
        timeout_ms: Some(2000.0),
        ..BashRequest::new("trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.01; done")
    };
    let result = run(&plain(), request).await;
    assert_eq!((result.exit, result.cause), (Exit::Code(0), Cause::TimedOut));
    assert_eq!(stdout(&result), "up\nbye\n");
    assert_eq!(result.timeout, Duration::from_secs(2));
}

// contract: B3
#[tokio::test]
async fn an_abort_ends_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let executor = executor(|config| config.grace = Duration::from_millis(50));
    let command =
        format!("trap '' TERM; echo $$ > {}; while :; do sleep 0.01; done", file.display());
    let spec = executor.resolve(BashRequest::new(command)).unwrap();
    let abort = async { drop(appears(&file).await) };
    let result = soon(executor.run(spec, abort)).await.unwrap();
    assert_eq!((result.exit.to_string(), result.cause), ("signal: SIGKILL".into(), Cause::Aborted));
    assert!(!runs(&appears(&file).await));
}

// contract: B3
#[tokio::test]
async fn a_caller_that_gave_up_before_starts_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("made");
    let executor = plain();
    let command = format!("touch {}", file.display());
    let spec = executor.resolve(BashRequest::new(command)).unwrap();
    assert!(matches!(executor.run(spec, ready(())).await, Err(BashError::Aborted)));
    assert!(!file.exists());
}

// contract: B3
#[tokio::test]
async fn dropping_a_foreground_run_kills_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let executor = plain();
    let command = format!("echo $$ > {}; sleep 1000; true", file.display());
    let spec = executor.resolve(BashRequest::new(command)).unwrap();
    let pid = tokio::select! {
        _ = executor.run(spec, pending()) => unreachable!("it sleeps"),
        pid = appears(&file) => pid,
    };
    soon(async {
        while Path::new(&format!("/proc/{pid}")).exists() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

// contract: B6
#[tokio::test]
async fn leftovers_of_a_foreground_command_are_ended_and_counted() {
    let executor = executor(|config| config.drain = Duration::from_millis(200));
    let result =
        run(&executor, BashRequest::new("sleep 1000 & echo $!; sleep 1000 & exit 2")).await;
    assert_eq!((result.exit, result.cause), (Exit::Code(2), Cause::Exited));
    assert_eq!((result.leftovers_ended, result.drained), (2, true));
    assert!(!runs(stdout(&result).trim()));
}

// contract: B6
#[tokio::test]
async fn leftovers_that_end_in_time_are_waited_for() {
    let executor = executor(|config| config.drain = PATIENCE);
    let result = run(&executor, BashRequest::new("(sleep 0.1; echo late) & exit 0")).await;
    assert_eq!((stdout(&result).as_str(), result.leftovers_ended), ("late\n", 0));
}

// contract: B4
#[tokio::test]
async fn a_background_command_completes_with_its_code() {
    let process = start(&plain(), "echo out; echo err >&2; exit 9");
    let exit = soon(process.done()).await;
    assert_eq!(
        exit,
        BashExit {
            exit: Exit::Code(9),
            killed: false,
            drained: true,
            silent: false,
            left_session: 0,
        }
    );
    assert_eq!(exit.outcome().end, End::Completed);
    assert_eq!(process.read(), "out\n[stderr]\nerr\n");
    assert_eq!(process.read(), "");
    assert!(!process.kill());
}

// contract: B4
#[tokio::test]
async fn a_killed_command_that_then_exits_by_itself_counts_as_killed() {
    let process = start(&plain(), "trap 'exit 0' TERM; echo up; while :; do sleep 0.01; done");
    assert_eq!(line(&process).await, "up");
    assert!(process.kill());
    let outcome = soon(process.done()).await.outcome();
    assert_eq!((outcome.end, outcome.detail.as_deref()), (End::Killed, Some("exit code: 0")));
}

// contract: B6
#[tokio::test]
async fn the_shell_may_have_exited_while_its_children_go_on() {
    let process = start(&plain(), "sleep 1000 & echo $!; exit 0");
    let pid = line(&process).await;
    soon(async {
        while process.shell_exit().is_none() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!((process.shell_exit(), process.live_processes().unwrap()), (Some(Exit::Code(0)), 1));
    assert!(process.kill());
    soon(process.done()).await;
    assert!(!runs(&pid));
}

// contract: R8
#[tokio::test]
async fn what_nobody_read_in_time_is_counted_in_the_text() {
    let executor = executor(|config| (config.memory_bytes, config.spill) = (10, None));
    let process = start(&executor, "printf '%s' 0123456789abcde; printf E >&2");
    soon(process.done()).await;
    assert_eq!(process.read(), "[5 bytes of stdout were dropped]\n56789abcde\n[stderr]\nE");
}

// contract: B4
#[tokio::test]
async fn reading_never_waits() {
    let process = start(&plain(), "sleep 1000");
    let before = Instant::now();
    assert_eq!(process.read(), "");
    assert!(before.elapsed() < Duration::from_secs(5));
    process.kill();
    let outcome = soon(process.done()).await.outcome();
    assert_eq!(outcome.detail.as_deref(), Some("signal: SIGTERM, no output"));
}

/// Lets a command that reads from this named pipe go on.
async fn open(gate: &Path) {
    let gate = gate.to_owned();
    soon(tokio::task::spawn_blocking(move || fs::write(gate, "go\n"))).await.unwrap().unwrap();
}

/// Waits until a stream has brought exactly that, without moving a cursor.
async fn arrived(process: &BashProcess, stream: Stream, bytes: &[u8]) {
    soon(async {
        while process.read_bytes(stream, 0).bytes != bytes {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
}

/// Two named pipes: one that is read from twice could be opened for the second time
/// before its first writer has closed it.
fn gates(folder: &Path) -> [PathBuf; 2] {
    ["first", "second"].map(|name| {
        let gate = folder.join(name);
        assert!(std::process::Command::new("mkfifo").arg(&gate).status().unwrap().success());
        gate
    })
}

// contract: R1
#[tokio::test]
async fn the_streams_are_read_in_the_order_in_which_they_came() {
    let folder = tempfile::tempdir().unwrap();
    let gates = gates(folder.path());
    let [first, second] = gates.each_ref().map(|gate| format!("read x < {}", gate.display()));
    let command = format!("echo one; {first}; echo two >&2; {second}; echo three; echo four");
    let process = start(&plain(), &command);
    arrived(&process, Stream::Stdout, b"one\n").await;
    open(&gates[0]).await;
    arrived(&process, Stream::Stderr, b"two\n").await;
    open(&gates[1]).await;
    soon(process.done()).await;
    assert_eq!(process.read(), "one\n[stderr]\ntwo\n[stdout]\nthree\nfour\n");
}

// contract: R7
#[tokio::test]
async fn a_character_with_the_other_stream_in_its_middle_is_read_whole() {
    let folder = tempfile::tempdir().unwrap();
    let gates = gates(folder.path());
    let [first, second] = gates.each_ref().map(|gate| format!("read x < {}", gate.display()));
    let command =
        format!("printf '\\342\\202'; {first}; echo E >&2; {second}; printf '\\254\\n\\342\\202'");
    let process = start(&plain(), &command);
    arrived(&process, Stream::Stdout, b"\xe2\x82").await;
    let mut text = process.read();
    open(&gates[0]).await;
    arrived(&process, Stream::Stderr, b"E\n").await;
    text += &process.read();
    open(&gates[1]).await;
    soon(process.done()).await;
    text += &process.read();
    assert_eq!(text, "[stderr]\nE\n\u{20ac}\n\u{fffd}");
}

// contract: M12
#[tokio::test]
async fn what_a_model_reads_is_clean_and_the_bytes_are_as_they_were() {
    let command = r"printf 'head\0tail \033[31mred\033[0m\r\n10%%\r20%%\r\n'";
    let clean = "head\u{2400}tail red\n20%\n\
                 [binary data: 1 control character is shown as a symbol]\n";
    let process = start(&plain(), command);
    soon(process.done()).await;
    assert_eq!(process.read(), clean);
    let raw = process.read_bytes(Stream::Stdout, 0).bytes;
    assert_eq!(raw, b"head\0tail \x1b[31mred\x1b[0m\r\n10%\r20%\r\n");

    let result = run(&plain(), BashRequest::new(command)).await;
    assert_eq!(result.output.text(), clean);
}

// contract: M12, R8
#[tokio::test]
async fn of_a_progress_bar_the_last_frame_is_read() {
    let process = start(
        &plain(),
        r"for i in {1..5000}; do printf '\rfetch %d/5000 [%-40s]' $i x; done; echo; echo saved",
    );
    soon(process.done()).await;
    let text = process.read();
    let bar = format!("fetch 5000/5000 [x{}]\nsaved\n", " ".repeat(39));
    let (loss, rest) = text.split_once('\n').unwrap();
    assert!(loss.contains(" bytes of stdout were dropped; all of it is in "), "{loss}");
    assert_eq!(rest, bar);
}

// contract: R1
#[tokio::test]
async fn another_reader_does_not_move_the_models_cursor() {
    let process = start(&plain(), "echo one; echo two >&2");
    soon(process.done()).await;
    let (mut first, mut second) = (Cursor::default(), Cursor::default());
    let text = process.read_with(&mut first).text();
    assert_eq!(text, process.read_with(&mut second).text());
    assert!(process.read_with(&mut first).is_empty());
    assert_eq!(process.read(), text);
}
