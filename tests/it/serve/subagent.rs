//! Subagents through the pipe.

use serde_json::{Value, json};

use super::driver::{NOBODY, PATIENCE, Serve, processes_in, text};

/// A server whose subagents are test agents with these arguments.
fn serve(args: &str, options: &[&str]) -> Serve {
    serve_under(&[], args, options)
}

fn serve_under(front: &[&str], args: &str, options: &[&str]) -> Serve {
    let command = format!("'{}' {args}", env!("CARGO_BIN_EXE_acp-agent"));
    let mut serve =
        Serve::start_under(front, &[&["--acp", &command, "--grace-ms", "300"], options].concat());
    serve.open("a", "s");
    serve
}

fn args(prompt: &str) -> Value {
    json!({"description": "a child", "prompt": prompt})
}

impl Serve {
    /// Starts a subagent in the background, and waits until it has come to its work.
    fn start_subagent(&mut self, prompt: &str, mark: &str) -> String {
        let mut args = args(prompt);
        args["run_in_background"] = true.into();
        let reply = self.call("a", "subagent", args);
        assert_eq!(reply["value"]["kind"], "background", "{reply}");
        self.appears(mark);
        reply["value"]["taskId"].as_str().unwrap().to_owned()
    }

    /// Whom the server has started and is still there.
    fn work(&self) -> Vec<u32> {
        let all = processes_in(&self.folder());
        all.into_iter().filter(|&pid| pid != self.child.id()).collect()
    }
}

// contract: U4, U2, U3, P1, P3
#[test]
fn a_subagent_answers_in_the_foreground_and_in_the_background() {
    let mut serve = serve("", &[]);
    let reply = serve.call("a", "subagent", args("say let me see; tool; say 42"));
    assert_eq!((text(&reply), &reply["is_error"]), ("let me see\n42", &json!(false)));
    let reply = serve.call("a", "subagent", args("say half; stop refusal"));
    assert_eq!(text(&reply), "the subagent failed: refusal\nit had said so far:\nhalf");
    assert_eq!(reply["is_error"], true);

    let id = serve.start_subagent("say half; sync; touch at-work; obey", "at-work");
    assert_eq!(id, "subagent-1");
    let so_far = serve.call("a", "task_output", json!({"task_id": id}));
    let (body, status) = text(&so_far).split_once('\n').unwrap();
    assert!(body == "(no new output)" && status.starts_with("[status: running, at work, "));
    serve.call("a", "task_kill", json!({"task_id": id}));
    assert_eq!(serve.wait_for("a", &id), "halfobeyed\n[status: killed, aborted]");
    let id = serve.start_subagent("touch done; say 42", "done");
    let notice = serve.event("notice");
    assert_eq!(notice["task"], json!(id));
    assert_eq!(serve.wait_for("a", &id), "42\n[status: completed]");
    assert_eq!(serve.work(), NOBODY);
    assert!(serve.end().success());
}

// contract: P1, U1
#[test]
fn an_abort_ends_a_foreground_subagent_which_cannot_go_to_the_background() {
    let mut serve = serve("", &[]);
    let call = serve.send_call("a", "subagent", args("say half; sync; touch at-work; block"));
    serve.appears("at-work");
    let refused = serve.ask(json!({"op": "background", "call": call}));
    assert_eq!(refused["error"]["code"], "no_command");
    assert_eq!(serve.ask(json!({"op": "abort", "call": call}))["ok"], true);
    let reply = serve.reply(&call);
    assert_eq!(text(&reply), "the subagent was stopped: aborted\nit had said so far:\nhalf");
    assert_eq!((&reply["is_error"], serve.work()), (&json!(true), vec![]));
}

// contract: O1, O2, T1, T2, U4
#[test]
fn a_disposal_and_the_end_of_input_end_subagents_of_every_sort() {
    for end_of_input in [true, false] {
        let mut serve = serve("stubborn", &[]);
        let foreground = serve.send_call("a", "subagent", args("touch first; hang"));
        serve.appears("first");
        for (mark, prompt) in [("second", "hang"), ("third", "obey"), ("fourth", "leave; block")] {
            serve.start_subagent(&format!("touch {mark}; {prompt}"), mark);
        }
        assert!(serve.work().len() >= 4);
        if end_of_input {
            serve.close_input();
        } else {
            let reply = serve.ask(json!({"op": "dispose", "owner": "a"}));
            assert_eq!((&reply["ok"], &reply["orphans"]), (&json!(true), &json!([])));
            assert_eq!(serve.work(), NOBODY);
            let refused = serve.call("a", "subagent", args("say more"));
            assert_eq!(refused["is_error"], true);
        }
        assert_eq!(text(&serve.reply(&foreground)), "the subagent was stopped: aborted");
        assert!(serve.end().success());
        assert_eq!(processes_in(&serve.folder()), NOBODY);
    }
}

// contract: U1, U2, K2, O1, O2
#[test]
fn a_kill_and_a_disposal_end_a_subagent_in_its_startup_and_in_its_disposal() {
    let moments = [
        (
            "mark hang-first",
            "started",
            "(no new output)\n[status: killed, aborted during its startup]",
        ),
        ("stubborn mark-end", "ending", "done\n[status: completed]"),
    ];
    for (args, mark, told) in moments {
        let mut serve = serve(args, &[]);
        let id = serve.start_subagent("say done", mark);
        let killed = serve.call("a", "task_kill", json!({"task_id": id}));
        assert_eq!(text(&killed), format!("requested cancellation of task {id}"));
        assert_eq!(serve.wait_for("a", &id), told);
        assert_eq!(serve.work(), NOBODY);

        std::fs::remove_file(serve.folder().join(mark)).unwrap();
        serve.start_subagent("say done", mark);
        let reply = serve.ask(json!({"op": "dispose", "owner": "a"}));
        assert_eq!((&reply["orphans"], serve.work()), (&json!([]), vec![]));
    }
}

// contract: T3, U4
#[test]
fn a_server_that_is_killed_takes_its_subagents_along() {
    let mut serve = serve("stubborn", &[]);
    serve.start_subagent("touch at-work; leave; hang", "at-work");
    serve.child.kill().unwrap();
    serve.child.wait().unwrap();
    let (folder, began) = (serve.folder(), std::time::Instant::now());
    while processes_in(&folder) != NOBODY {
        assert!(began.elapsed() < PATIENCE, "somebody is left");
        std::thread::yield_now();
    }
}

// contract: U4, B7
#[test]
fn a_flood_takes_no_more_memory_than_what_is_kept_of_it() {
    let mut serve = serve("", &["--memory-bytes", "10000"]);
    serve.call("a", "subagent", args("say ready"));
    let before = peak_kib(&serve);
    let reply = serve.call("a", "subagent", args("flood 60; say that is all"));
    assert!(text(&reply).ends_with("x\nthat is all") && text(&reply).len() < 10_100);
    let grown = peak_kib(&serve) - before;
    assert!(grown < 24 * 1024, "60 MB of output took {grown} KiB");
}

/// The most memory that the server had at any time.
fn peak_kib(serve: &Serve) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", serve.child.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

// contract: P1
#[test]
fn subagents_of_subagents_come_to_an_end() {
    let mut outer = serve("", &[]);
    assert_eq!(text(&outer.call("a", "subagent", args("env LONGRUN_DEPTH"))), "1");
    let mut inner = serve_under(&["env", "LONGRUN_DEPTH=2"], "", &[]);
    assert_eq!(text(&inner.call("a", "subagent", args("env LONGRUN_DEPTH"))), "3");
    let mut innermost = serve_under(&["env", "LONGRUN_DEPTH=3"], "", &[]);
    let refused = innermost.call("a", "subagent", args("say more"));
    assert!(text(&refused).contains("at most 3 are allowed"), "{refused}");
}

// contract: U4
#[test]
fn without_an_agent_there_is_no_such_tool_and_a_bad_one_is_refused() {
    let mut serve = Serve::start(&[]);
    serve.open("a", "s");
    let refused = serve.call("a", "subagent", args("say hello"));
    assert_eq!(refused["error"]["code"], "unknown_tool");
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.ends_with("expected one of `bash`, `task_output`, `task_list`, `task_kill`"));
    for (line, expected) in [
        ("", "--acp: expected a command with its arguments, quoted as in a shell, got nothing"),
        ("agent 'one", "quoted as in a shell: missing closing quote"),
    ] {
        let (status, log) = Serve::start(&["--acp", line]).refused();
        assert!(!status.success() && log.contains(expected), "{log}");
    }
    let mut serve = Serve::start(&["--acp", "no-such-agent --fast"]);
    serve.open("a", "s");
    let refused = serve.call("a", "subagent", args("say hello"));
    assert!(text(&refused).contains("no program \"no-such-agent\""), "{refused}");
    assert_eq!(refused["is_error"], true);
}
