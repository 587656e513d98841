//! What a server is set to, by options and by its environment.

use serde_json::json;

use super::driver::{Serve, text};

// contract: B8
#[test]
fn variables_that_are_empty_are_as_good_as_none() {
    let empty = ["env", "TMPDIR=", "LONGRUN_DEPTH="];
    let mut serve = Serve::start_under(&empty, &["--memory-bytes", "1000"]);
    serve.open("a", "s");
    let reply = serve.call("a", "bash", json!({"command": "seq 1 5000"}));
    assert!(text(&reply).contains("all of it is in /tmp/longrun-spill-"), "{reply}");
    assert!(serve.end().success());
}

// contract: B8
#[test]
fn a_relative_directory_for_temporary_files_is_below_the_current_one() {
    let relative = ["bash", "-c", "mkdir below; TMPDIR=below exec \"$0\" \"$@\""];
    let mut serve = Serve::start_under(&relative, &["--memory-bytes", "1000"]);
    serve.open("a", "s");
    let reply = serve.call("a", "bash", json!({"command": "seq 1 5000"}));
    let expected = format!("all of it is in {}/below/longrun-spill-", serve.folder().display());
    assert!(text(&reply).contains(&expected), "{expected}: {reply}");
    assert!(serve.end().success());
}

// contract: B9
#[test]
fn what_is_no_name_of_a_variable_is_refused() {
    for name in ["A=B", ""] {
        let (status, stderr) = Serve::start(&["--env", name]).refused();
        assert_eq!(status.code(), Some(2), "{stderr}");
        assert!(stderr.contains("expected the name of a variable, and no value"), "{stderr}");
    }
}

// contract: U1
#[test]
fn what_is_no_depth_is_refused() {
    let (status, stderr) = Serve::start_under(&["env", "LONGRUN_DEPTH=deep"], &[]).refused();
    assert_eq!(status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("LONGRUN_DEPTH=deep: expected a number of agents"), "{stderr}");
}
