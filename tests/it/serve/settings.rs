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

/// What a command prints, without its last newline.
fn printed(serve: &mut Serve, command: &str) -> String {
    text(&serve.call("a", "bash", json!({"command": command}))).trim_end().to_owned()
}

// contract: B9
#[test]
fn a_commit_without_a_message_ends_at_once_and_no_editor_or_helper_is_run() {
    let helper = "echo $0 >>\"$HELPED\"; exec sleep 600";
    let script = format!(
        "printf '%s\\n' '#!/bin/sh' '{helper}' >helper; chmod +x helper; h=$PWD/helper; \
         export HELPED=$PWD/helped EDITOR=$h VISUAL=$h GIT_EDITOR=$h GIT_SEQUENCE_EDITOR=$h \
         GIT_ASKPASS=$h SSH_ASKPASS=$h SUDO_ASKPASS=$h PAGER=$h PSQL_PAGER=$h \
         HOME=$PWD GIT_CONFIG_NOSYSTEM=1; exec \"$0\" \"$@\""
    );
    let mut serve = Serve::start_under(&["bash", "-c", &script], &["--env", "SUDO_ASKPASS"]);
    serve.open("a", "s");
    assert!(printed(&mut serve, "echo $HELPED").ends_with("/helped"), "all else is inherited");
    let made = "git init -q . && git config user.email a@b && git config user.name a && \
                git add helper && echo made";
    if printed(&mut serve, made) != "made" {
        eprintln!("not tried: there is no git here");
        return;
    }
    let id = serve.start_command("a", "git commit");
    let end = serve.wait_for("a", &id);
    assert!(end.ends_with("[status: completed, exit code: 1]"), "{end}");
    assert!(end.contains("EDITOR"), "it says what it lacks: {end}");
    let ask = "printf 'protocol=https\\nhost=nowhere.invalid\\n\\n' | git credential fill";
    assert!(printed(&mut serve, ask).contains("terminal prompts disabled"));
    assert!(!serve.folder().join("helped").exists());
    assert!(printed(&mut serve, "echo $SUDO_ASKPASS").ends_with("/helper"), "it was let through");
    let request = "GIT_EDITOR='echo given >' git commit -q; git log --format=%s";
    assert_eq!(printed(&mut serve, request), "given", "who names an editor gets it");
    assert!(serve.end().success());
}
