//! The command line tool, as a CI of somebody else calls it.

use std::{
    path::Path,
    process::{Command, Output},
};

fn sim(dir: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_longrun-sim"))
        .args(arguments)
        .current_dir(dir)
        .output()
        .expect("the tool can be run")
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn code(output: &Output) -> i32 {
    output.status.code().expect("it was not killed")
}

#[test]
fn a_campaign_says_what_held_and_writes_its_reports() {
    let dir = tempfile::tempdir().expect("a directory");
    let arguments = "campaign --seeds 0..64 --jobs 2 --junit j.xml --json j.json";
    let output = sim(dir.path(), &arguments.split(' ').collect::<Vec<_>>());
    assert_eq!(code(&output), 0, "{}", text(&output));
    assert!(text(&output).contains("64 runs"), "{}", text(&output));
    let junit = std::fs::read_to_string(dir.path().join("j.xml")).expect("a JUnit report");
    assert!(junit.contains("failures=\"0\"") && junit.ends_with("</testsuite>\n"));
    let json = std::fs::read_to_string(dir.path().join("j.json")).expect("a JSON report");
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!((&json["runs"], &json["failure"]), (&64.into(), &serde_json::Value::Null));
    let digest = format!("digest {}", json["digest"].as_str().expect("a digest"));
    assert!(text(&output).lines().any(|line| line == digest), "{}", text(&output));
}

// contract: X2
#[test]
fn a_campaign_has_one_digest_whatever_runs_it_and_another_for_other_seeds() {
    let dir = tempfile::tempdir().expect("a directory");
    let digest = |arguments: &str| {
        let output = sim(dir.path(), &arguments.split(' ').collect::<Vec<_>>());
        let text = text(&output);
        let digest = text.lines().find_map(|line| line.strip_prefix("digest "));
        digest.unwrap_or_else(|| panic!("no digest: {text}")).to_owned()
    };
    let one = digest("campaign --seeds 3..100 --jobs 1");
    assert_eq!(one, digest("campaign --seeds 3..100 --jobs 3 --checks full"));
    assert_ne!(one, digest("campaign --seeds 4..101 --jobs 1"));
    let part = |part: &str| {
        let digest = digest(&format!("campaign --seeds 3..100 --shard {part}"));
        u128::from_str_radix(&digest, 16).expect("a number")
    };
    let whole = part("1/3").wrapping_add(part("2/3")).wrapping_add(part("3/3"));
    assert_eq!(one, format!("{whole:032x}"));
}

#[test]
fn a_commit_hash_is_a_seed_and_gives_the_same_trace_each_time() {
    let dir = tempfile::tempdir().expect("a directory");
    let trace = |hash: &str| {
        let output = sim(dir.path(), &["trace", hash]);
        assert_eq!(code(&output), 0);
        output.stdout
    };
    let hash = "0f5ca4d98be9b54e5f1b74bea5b1abc5e9bd2b3d";
    assert_eq!(trace(hash), trace(hash));
    assert_ne!(trace(hash), trace("7"));
}

#[test]
fn a_trace_can_be_replayed_and_drawn_in_each_way() {
    let dir = tempfile::tempdir().expect("a directory");
    let trace = sim(dir.path(), &["trace", "5"]).stdout;
    std::fs::write(dir.path().join("t.jsonl"), trace).expect("a file");
    for arguments in [
        &["replay", "t.jsonl"][..],
        &["shrink", "t.jsonl"],
        &["explain", "t.jsonl"],
        &["explain", "t.jsonl", "--format", "mermaid"],
        &["explain", "t.jsonl", "--format", "svg"],
    ] {
        let output = sim(dir.path(), arguments);
        assert_eq!(code(&output), 0, "{arguments:?}: {}", text(&output));
    }
}

#[test]
fn of_a_trace_that_ends_in_the_middle_of_a_line_the_rest_is_replayed_with_a_note() {
    let dir = tempfile::tempdir().expect("a directory");
    let trace = sim(dir.path(), &["trace", "5"]).stdout;
    let lines = trace.iter().filter(|&&byte| byte == b'\n').count();
    std::fs::write(dir.path().join("t.jsonl"), &trace[..trace.len() - 3]).expect("a file");
    let output = sim(dir.path(), &["replay", "t.jsonl"]);
    assert_eq!(code(&output), 0, "{}", text(&output));
    let note = format!("t.jsonl: it ends in the middle of line {lines}, which is left out\n");
    assert_eq!(String::from_utf8_lossy(&output.stderr), note);
    let events = format!("t.jsonl: {} events, and nothing failed\n", lines - 2);
    assert_eq!(String::from_utf8_lossy(&output.stdout), events);
}

#[test]
fn what_is_not_as_it_should_be_is_a_usage_error_that_says_so() {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("t.jsonl"), "{}").expect("a file");
    for (arguments, says) in [
        (&["replay", "none.jsonl"][..], "cannot read none.jsonl"),
        (&["replay", "t.jsonl"], "t.jsonl: line 1 is not the header of a trace"),
        (&["replay"], "<FILE>"),
        (&["campaign", "--seeds", "1", "--junit", "none/j.xml"], "cannot write none/j.xml"),
        (&["exhaustive", "--world", "none"], "choose one of"),
        (&["campaign", "--seeds", "5..2"], "holds no seeds"),
        (&["campaign", "--shard", "9/8"], "the second of eight"),
        (&["dance"], "unrecognized subcommand"),
    ] {
        let output = sim(dir.path(), arguments);
        assert_eq!(code(&output), 2, "{arguments:?}: {}", text(&output));
        assert!(text(&output).contains(says), "{arguments:?}: {}", text(&output));
    }
}

#[test]
fn a_small_world_is_searched_and_its_pairs_are_listed() {
    let dir = tempfile::tempdir().expect("a directory");
    let output = sim(dir.path(), &["exhaustive", "--world", "kills", "--depth", "5"]);
    assert_eq!(code(&output), 0, "{}", text(&output));
    let text = text(&output);
    assert!(text.contains("states") && text.contains("task running"), "{text}");
}
