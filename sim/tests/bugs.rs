//! The command line tool on a core with a seeded bug in it: the whole way from finding
//! it to seeing it again, and the exit codes that tell one sort of failure from another.

use std::{
    path::Path,
    process::{Command, Output},
};

const TOOL: &str = env!("CARGO_BIN_EXE_longrun-sim");
/// What a line that reproduces a failure begins with in a build like this one.
const BY_CARGO: &str = "cargo run --release -p longrun-sim --features canary -- ";

fn sim(dir: &Path, arguments: &str) -> Output {
    let arguments = arguments.split(' ');
    Command::new(TOOL).args(arguments).current_dir(dir).output().expect("the tool can be run")
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn code(output: &Output) -> i32 {
    output.status.code().expect("it was not killed")
}

/// What follows those words in what the tool said.
fn line(said: &str, words: &str) -> String {
    let found = said.lines().find_map(|line| line.trim_start().strip_prefix(words));
    found.unwrap_or_else(|| panic!("no line `{words}` in:\n{said}")).trim_start().to_owned()
}

#[test]
fn exit_codes_tell_a_broken_property_a_panic_and_a_failed_liveness_apart() {
    let dir = tempfile::tempdir().expect("a directory");
    for (bug, exit, kind) in [
        ("silent-withdrawal", 1, "broken property"),
        ("answers-are-trusted", 3, "panic"),
        ("shutdown-untold", 4, "failed liveness"),
    ] {
        let campaign = "campaign --seeds 0..500 --junit j.xml --json j.json --with-canary";
        let output = sim(dir.path(), &format!("{campaign} {bug}"));
        let said = text(&output);
        assert_eq!(code(&output), exit, "{bug}: {said}");
        assert!(said.lines().any(|line| line.starts_with(kind)), "{bug}: {said}");

        let reproduce = line(&said, "reproduce:");
        let junit = std::fs::read_to_string(dir.path().join("j.xml")).expect("a JUnit report");
        assert!(junit.contains("failures=\"1\""), "{junit}");
        assert!(junit.contains(&format!("<failure message=\"{kind}\">")), "{junit}");
        assert!(junit.contains(&format!("reproduce: {reproduce}")), "{junit}");
        let json = std::fs::read_to_string(dir.path().join("j.json")).expect("a JSON report");
        let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        assert_eq!(
            (&json["failure"]["kind"], &json["reproduce"]),
            (&kind.into(), &reproduce.into())
        );
        assert_eq!(json["digest"], serde_json::Value::Null);

        for way in ["reproduce:", "run it again:"] {
            let arguments = line(&said, way);
            let arguments = arguments.strip_prefix(BY_CARGO).expect("the feature is in the line");
            let again = sim(dir.path(), arguments);
            assert_eq!(code(&again), exit, "{bug}: {arguments}: {}", text(&again));
        }
    }
}

#[test]
fn a_line_that_reproduces_a_failure_does_so_as_it_was_printed() {
    let dir = tempfile::tempdir().expect("a directory");
    let output = sim(dir.path(), "campaign --seeds 0..500 --with-canary answers-are-trusted");
    let printed = line(&text(&output), "reproduce:");
    let saved = dir.path().join("longrun-sim-failures");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    // Where this build is, so that it is not made once more.
    let target = Path::new(TOOL).ancestors().nth(2).expect("it is in a folder of its profile");
    let shell = Command::new("sh")
        .args(["-c", &format!("{printed} --out '{}'", saved.display())])
        .current_dir(root)
        .env("CARGO_TARGET_DIR", target)
        .output()
        .expect("a shell");
    assert_eq!(code(&shell), 3, "{printed}\n{}", text(&shell));
    assert_eq!(line(&text(&shell), "reproduce:"), printed);
}

#[test]
fn the_hunt_for_a_bug_says_how_to_see_it_again() {
    let dir = tempfile::tempdir().expect("a directory");
    let output = sim(dir.path(), "canary foreign-read");
    assert_eq!(code(&output), 0, "{}", text(&output));
    let printed = line(&text(&output), "reproduce:");
    let arguments = printed.strip_prefix(BY_CARGO).expect("the feature is in the line");
    assert_eq!(code(&sim(dir.path(), arguments)), 1, "{arguments}");
    let missed = sim(dir.path(), "canary stopping-is-free --seeds 0..1");
    assert_eq!(code(&missed), 1, "{}", text(&missed));
    assert!(text(&missed).contains("NOT FOUND"), "{}", text(&missed));
    let unknown = sim(dir.path(), "campaign --with-canary none");
    assert_eq!(code(&unknown), 2, "{}", text(&unknown));
}

#[test]
fn a_failure_is_told_though_its_trace_and_the_report_cannot_be_saved() {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("file"), "").expect("a file");
    let places = "--out file/failures --json file/j.json";
    let output =
        sim(dir.path(), &format!("campaign --with-canary shutdown-untold {places} --seeds 0..9"));
    let said = text(&output);
    assert_eq!(code(&output), 4, "{said}");
    assert!(said.contains("the trace is not saved") && said.contains("cannot write"), "{said}");
    assert!(said.contains("reproduce:"), "{said}");
}

#[test]
fn a_bug_is_found_saved_small_replayed_and_drawn_with_the_offending_step_marked() {
    let dir = tempfile::tempdir().expect("a directory");
    let output =
        sim(dir.path(), "campaign --seeds 0..500 --jobs 1 --with-canary silent-withdrawal");
    let said = text(&output);
    let explain = line(&said, "see it:");
    let explain = explain.strip_prefix(BY_CARGO).expect("the feature is in the line");
    let drawn = text(&sim(dir.path(), explain));
    assert!(drawn.lines().any(|line| line.starts_with('✗')), "{drawn}");
    assert!(drawn.contains("withdrawals [N7]"), "{drawn}");
    // In a core without the bug the same trace holds.
    let saved = line(&said, "saved:");
    let saved = saved.split(',').next().expect("a file");
    assert_eq!(code(&sim(dir.path(), &format!("replay {saved}"))), 0);
    // Of several traces, one that fails is enough.
    std::fs::write(dir.path().join("t.jsonl"), sim(dir.path(), "trace 5").stdout).expect("a file");
    let both = format!("replay t.jsonl {saved} --with-canary silent-withdrawal");
    assert_eq!(code(&sim(dir.path(), &both)), 1);
}
