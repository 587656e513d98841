//! The conditions under which a command starts.

use serde_json::json;

use super::{claimed, opened, run, tasks};
use crate::serve::driver::{Serve, text};

// The agent had deleted its own directory, and from then on every command failed with a
// message that blamed the shell.
// contract: S2, S3, S5, B4
#[test]
fn bug_26_a_directory_that_is_gone_is_named_and_nothing_is_registered() {
    let mut serve = Serve::start(&[]);
    let gone = serve.folder().join("gone \u{1b}[1m\nné");
    std::fs::create_dir(&gone).unwrap();
    serve.ask(json!({"op": "open", "owner": "a", "session": "s", "cwd": gone}));
    let rmdir = "rmdir \"$PWD\"; pwd >/dev/null; echo removed";
    assert!(run(&mut serve, rmdir).starts_with("removed\n"));
    for command in ["pwd", "cd / && echo ok"] {
        for background in [false, true] {
            let args = json!({"command": command, "run_in_background": background});
            let reply = serve.call("a", "bash", args);
            let says = text(&reply);
            assert_eq!((&reply["is_error"], &reply["value"]), (&json!(true), &json!(null)));
            assert!(
                says.contains("gone ") && says.contains("expected an existing directory"),
                "{says}"
            );
            assert!(!says.contains("bash") && !says.contains("shell"), "{says}");
            assert!(!says.contains(char::is_control), "{says:?}");
        }
    }
    assert_eq!(tasks(&mut serve, "a"), [json!(null); 0]);
    assert_eq!(claimed(&mut serve, "a"), [""; 0]);
    let valid = json!({"command": "pwd", "workdir": "/", "run_in_background": true});
    assert_eq!(serve.call("a", "bash", valid)["value"]["taskId"], "bash-1", "no id was used");
    assert_eq!(serve.wait_for("a", "bash-1"), "/\n[status: completed, exit code: 0]");

    // What is there and is no directory, or may not be entered, is named too.
    std::fs::write(serve.folder().join("file"), "").unwrap();
    let folder = serve.folder();
    let cases = [
        (folder.join("file"), "not a directory"),
        (folder.join("file/below"), "not a directory"),
        (folder.join("no/such"), "expected an existing directory"),
        (folder.join("x".repeat(300)), "too long"),
        (folder.join("x\n".repeat(5_000)), "too long"),
        (folder.join("loop"), "symbolic links"),
        (folder.join("nul\0"), "nul byte"),
        (folder.join("~"), "expected an existing directory"),
    ];
    std::os::unix::fs::symlink("loop", folder.join("loop")).unwrap();
    for (workdir, expected) in cases {
        let args = json!({"command": "pwd", "workdir": workdir, "run_in_background": true});
        let says = text(&serve.call("a", "bash", args)).to_lowercase();
        assert!(says.contains(expected), "{says}");
        assert!(says.contains("expected ") && says.len() < 5_000, "{says}");
        assert!(says.lines().count() <= 2, "{says}");
    }
    assert_eq!(tasks(&mut serve, "a").len(), 1);
    assert!(serve.end().success());
}

// A command inherited the standard input of the harness: it waited for ever, or ate what
// was meant for the harness.
// contract: B2, B9
#[test]
fn bug_27_a_command_reads_the_end_of_its_input_and_nothing_of_ours() {
    let mut serve = opened(&[]);
    let commands = [
        ("cat; echo after", "after\n"),
        ("read -p 'name? ' x; echo \"[$x]\"", "[]\n"),
        ("cat /dev/stdin | wc -c", "0\n"),
        ("while read -r line; do echo \"$line\"; done; echo none", "none\n"),
        ("head -c 1 <&0 | wc -c; tty", "0\nnot a tty\n[exit code: 1]"),
        ("exec 3<&0; cat <&3; bash -c 'cat; echo inner'", "inner\n"),
        ("(: </dev/tty) 2>/dev/null || echo no terminal", "no terminal\n"),
        ("mapfile -t lines; echo ${#lines[@]}", "0\n"),
    ];
    for (command, expected) in commands {
        // Requests go on coming while it runs, and each of them is answered.
        let call = serve.send_call("a", "bash", json!({"command": command}));
        let others: Vec<_> =
            (0..20).map(|_| serve.send_call("a", "task_list", json!({}))).collect();
        assert_eq!(text(&serve.reply(&call)), expected, "{command}");
        for tag in others {
            assert_eq!(text(&serve.reply(&tag)), "(no background tasks)");
        }
        let id = serve.start_command("a", command);
        assert!(serve.wait_for("a", &id).starts_with(expected.split('[').next().unwrap()));
        serve.ask(json!({"op": "dispose", "owner": "a"}));
        serve.open("a", "s");
    }
    assert!(serve.end().success());
}

// contract: B9, B2
#[test]
fn bug_27_what_a_command_inherits_follows_a_rule() {
    let set =
        ["env", "FAKE_PROVIDER_KEY=x", "MY_TOKEN=x", "DB_PASSWORD=x", "ALLOWED_TOKEN=x", "PLAIN=x"];
    let mut serve = Serve::start_under(&set, &["--env", "ALLOWED_TOKEN"]);
    serve.open("a", "s");
    let env = run(&mut serve, "env");
    for withheld in ["FAKE_PROVIDER_KEY", "MY_TOKEN", "DB_PASSWORD"] {
        assert!(!env.contains(withheld), "{env}");
    }
    for given in ["PLAIN=x", "ALLOWED_TOKEN=x", "PATH=", "LONGRUN_TASK="] {
        assert!(env.lines().any(|line| line.starts_with(given)), "{given}: {env}");
    }
    // Who asks for one is told why it is not there.
    let told = "[not passed to commands, as secrets: MY_TOKEN]";
    assert_eq!(
        run(&mut serve, "echo \"<$MY_TOKEN$XMY_TOKEN$ALLOWED_TOKEN>\""),
        format!("<x>\n{told}")
    );
    let args = json!({"command": "test -n \"$MY_TOKEN\"", "run_in_background": true});
    let started = serve.call("a", "bash", args);
    assert_eq!(text(&started), format!("started background task bash-1\n{told}"));
    assert_eq!(run(&mut serve, "ls /proc/self/fd | wc -l"), "4\n", "0, 1, 2 and ls' own");
    assert_eq!(
        run(&mut serve, "trap; ulimit -c >/dev/null; kill -PIPE $$"),
        "(no output)\n[signal: SIGPIPE]"
    );
    assert!(serve.end().success());
}

// contract: B1, S5
#[test]
fn bug_26_a_command_that_cannot_be_run_is_refused_with_what_to_do() {
    let mut serve = opened(&[]);
    let near = format!("true # {}", "z".repeat(131_071 - 7));
    let over = format!("{near}z");
    assert_eq!(run(&mut serve, &near), "(no output)");
    for (command, expected) in [
        (over.as_str(), "expected fewer than 131072; put it into a file"),
        ("", "expected a bash command"),
        (" \n\t", "expected a bash command"),
        ("true\u{0}", "NUL character at byte 4"),
    ] {
        for background in [false, true] {
            let args = json!({"command": command, "run_in_background": background});
            let reply = serve.call("a", "bash", args);
            assert_eq!(reply["is_error"], true, "{reply}");
            assert!(text(&reply).contains(expected), "{reply}");
        }
    }
    let odd = "printf '%s\\n' 'né 🎉' \"a\tb\"; # \u{feff}\u{200d}\n\n\n: '\n'";
    let id = serve.start_command("a", odd);
    assert_eq!(id, "bash-1");
    assert_eq!(serve.wait_for("a", &id), "né 🎉\na\tb\n[status: completed, exit code: 0]");
    assert_eq!(text(&serve.call("a", "task_list", json!({}))).lines().count(), 1);
    assert!(serve.end().success());
}
