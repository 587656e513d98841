//! The end of an owner.

use std::time::{Duration, Instant};

use serde_json::json;

use super::{nothing_is_left, opened, setting, status, until};
use crate::serve::driver::{processes_in, text};

// The end of a session was a SIGKILL at once: no handler ran, and lock files stayed.
// contract: B5, O1, O2
#[test]
fn bug_22_a_disposal_lets_handlers_run() {
    let mut serve = opened(&["--grace-ms", "60000"]);
    let command = "exec 2>&-; trap 'rm -f demo.lock; echo cleaned; exit 0' TERM; echo >demo.lock; \
                   while :; do sleep 0.05; done";
    let id = serve.start_command("a", command);
    serve.appears("demo.lock");
    let wait = serve.send_call("a", "task_output", json!({"task_id": id, "wait": true}));
    super::dispose(&mut serve, "a");
    let last = serve.reply(&wait);
    assert_eq!(text(&last), "cleaned\n[status: killed, exit code: 0]");
    assert!(!serve.folder().join("demo.lock").exists());
    nothing_is_left(&serve);
    assert!(serve.end().success());
}

// contract: O1, O3, O4, B5
#[test]
fn bug_22_stubborn_commands_take_one_grace_and_a_second_disposal_joins_the_first() {
    const GRACE: Duration = Duration::from_secs(1);
    let stubborn = setting("LONGRUN_CASES_STUBBORN", 20);
    let owner_limit = stubborn.to_string();
    let mut serve = opened(&["--grace-ms", "1000", "--max-active-per-owner", &owner_limit]);
    for n in 0..stubborn {
        let command = format!("trap '' TERM; echo >up{n}; while :; do sleep 0.5; done");
        serve.start_command("a", &command);
    }
    for n in 0..stubborn {
        serve.appears(&format!("up{n}"));
    }
    let began = Instant::now();
    let disposals = [(); 3].map(|()| serve.send(json!({"op": "dispose", "owner": "a"})));
    let command = json!({"command": "echo >late", "run_in_background": true});
    let refused = serve.call("a", "bash", command.clone());
    assert!(text(&refused).contains("being disposed"), "{refused}");
    for tag in disposals {
        let reply = serve.reply(&tag);
        assert_eq!((&reply["ok"], &reply["orphans"]), (&json!(true), &json!([])));
    }
    // One after the other they would take twenty, or a hundred.
    assert!(began.elapsed() >= GRACE && began.elapsed() < GRACE * 10, "{:?}", began.elapsed());
    nothing_is_left(&serve);
    assert!(text(&serve.call("a", "bash", command)).contains("being disposed"));
    assert!(!serve.folder().join("late").exists());
    assert!(serve.end().success());
}

// contract: O1, O4, S10, T2
#[test]
fn bug_22_what_is_started_while_a_disposal_begins_ends_with_it() {
    let mut serve = opened(&["--max-active-per-owner", "1000", "--grace-ms", "300"]);
    for round in 0..10 {
        let command = json!({"command": "sleep 600", "run_in_background": true});
        let mut starts = Vec::new();
        let mut disposal = None;
        for n in 0..10 {
            starts.push(serve.send_call("a", "bash", command.clone()));
            if n == round {
                disposal = Some(serve.send(json!({"op": "dispose", "owner": "a"})));
            }
        }
        assert_eq!(serve.reply(&disposal.unwrap())["orphans"], json!([]));
        for start in starts {
            let reply = serve.reply(&start);
            let refused = text(&reply).contains("being disposed");
            assert_eq!(refused, reply["is_error"] == true, "{reply}");
        }
        nothing_is_left(&serve);
        serve.open("a", "s");
    }
    let id = serve.start_command("a", "true");
    assert!(status(&serve.wait_for("a", &id)).starts_with("[status: completed"));
    assert!(serve.end().success());
}

// The file that a command wrote to grew without an end, even after the harness had died.
// contract: T3, B5
#[test]
fn bug_10_when_the_harness_is_killed_its_commands_write_no_more() {
    let mut serve = opened(&["--grace-ms", "300"]);
    let write = "while :; do echo 'worker crashed, restarting' | tee -a log; sleep 0.01; done";
    let commands = [
        write.to_owned(),
        format!("trap '' TERM PIPE; {write}"),
        format!("nohup bash -c \"{write}\" >/dev/null 2>&1 & disown; echo up"),
        format!("setsid -f bash -c \"trap '' TERM PIPE; {write}\"; sleep 600"),
        format!("exec >/dev/null 2>&1; (({write}) &) ; exec sleep 600"),
    ];
    for command in &commands {
        serve.start_command("a", command);
    }
    let foreground = serve.send_call("a", "bash", json!({"command": "echo >fg; sleep 600"}));
    assert!(foreground.is_u64());
    serve.appears("fg");
    serve.appears("log");
    serve.child.kill().unwrap();
    serve.child.wait().unwrap();
    let folder = serve.folder();
    // Nobody is left who could write; a session of its own and a deaf ear help nobody.
    until("all of it has ended", || processes_in(&folder).is_empty());
    assert!(folder.join("log").metadata().unwrap().len() > 0);
}
