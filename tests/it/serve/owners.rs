use serde_json::{Value, json};

use super::driver::{Serve, text};

// contract: A4, N5, O8
#[test]
fn a_replaced_owner_goes_on_under_another_name_and_keeps_its_notices() {
    let mut serve = Serve::start(&[]);
    serve.open("a", "s");
    let id = serve.start_command("a", "until [ -e go ]; do sleep 0.02; done; echo went");
    let replaced = serve.open("a", "s");
    assert_eq!(replaced, json!({"tag": replaced["tag"], "ok": true, "replaced": "a#1"}));

    let refused = serve.call("a#1", "bash", json!({"command": "true", "run_in_background": true}));
    assert!(text(&refused).contains("no longer the live one"), "{refused}");
    std::fs::write(serve.folder().join("go"), "").unwrap();
    let notice = serve.event("notice");
    assert_eq!((&notice["owner"], &notice["task"]), (&json!("a#1"), &json!(id)));
    let claim = |owner: &str| json!({"op": "claim", "owner": owner, "source": "inbox"});
    assert_eq!(serve.ask(claim("a"))["messages"], json!([]), "not the replacement's");
    assert_eq!(serve.ask(claim("a#1"))["messages"][0]["task"], id);
    let read = serve.call("a", "task_output", json!({"task_id": id}));
    assert!(text(&read).starts_with("went\n"), "the session grants access: {read}");

    let kept = serve.start_command("a", "sleep 60");
    assert_eq!(serve.ask(json!({"op": "dispose", "owner": "a#1"}))["ok"], true);
    let tasks = serve.ask(json!({"op": "tasks", "owner": "a"}));
    let ids: Vec<&Value> = tasks["tasks"].as_array().unwrap().iter().map(|t| &t["id"]).collect();
    assert_eq!(ids, [&json!(kept)], "only the old instance's task is gone");
    assert!(serve.end().success());
}

#[test]
fn a_session_that_moves_to_another_name_replaces_its_owner() {
    let mut serve = Serve::start(&[]);
    serve.open("a", "s");
    assert_eq!(serve.open("b", "s")["replaced"], "a#1");
    for name in ["a", "a#1"] {
        let reply = serve.call(name, "bash", json!({"command": "true", "run_in_background": true}));
        assert!(text(&reply).contains("no longer the live one"), "{reply}");
    }
    serve.start_command("b", "true");
    assert!(serve.end().success());
}

// contract: O1, O2, O4
#[test]
fn a_disposed_owner_has_no_tasks_and_starts_none() {
    let mut serve = Serve::start(&[]);
    serve.open("a", "s");
    serve.start_command("a", "sleep 60");
    let first = serve.send(json!({"op": "dispose", "owner": "a"}));
    let second = serve.send(json!({"op": "dispose", "owner": "a"}));
    for tag in [first, second] {
        let reply = serve.reply(&tag);
        assert_eq!((&reply["ok"], &reply["orphans"]), (&json!(true), &json!([])), "{reply}");
    }
    assert_eq!(serve.ask(json!({"op": "tasks", "owner": "a"}))["tasks"], json!([]));
    let command = json!({"command": "true", "run_in_background": true});
    let refused = serve.call("a", "bash", command);
    assert!(text(&refused).contains("being disposed"), "{refused}");
    assert!(serve.end().success());
}

// contract: O1, O2
#[test]
fn a_disposed_owner_is_not_replaced_and_in_the_end_it_is_forgotten() {
    let mut serve = Serve::start(&[]);
    let dispose = |owner: &str| json!({"op": "dispose", "owner": owner});
    let disposed =
        |reply: Value| assert_eq!((&reply["ok"], &reply["orphans"]), (&json!(true), &json!([])));
    let command = json!({"command": "true", "run_in_background": true});
    for _ in 0..3 {
        let opened = serve.open("a", "s");
        assert_eq!(opened, json!({"tag": opened["tag"], "ok": true}), "nothing was open");
        disposed(serve.ask(dispose("a")));
    }
    for number in 1..=99 {
        let name = format!("b{number}");
        serve.open(&name, &name);
        disposed(serve.ask(dispose(&name)));
        assert!(text(&serve.call(&name, "bash", command.clone())).contains("being disposed"));
    }
    assert!(text(&serve.call("a", "bash", command.clone())).contains("being disposed"));
    disposed(serve.ask(dispose("a")));
    assert_eq!(serve.ask(json!({"op": "tasks", "owner": "a"}))["tasks"], json!([]));
    serve.open("c", "c");
    disposed(serve.ask(dispose("c")));
    assert_eq!(serve.ask(dispose("a"))["error"]["code"], "unknown_owner");
    assert!(text(&serve.call("b1", "bash", command)).contains("being disposed"));
    assert_eq!(serve.open("a", "s").get("replaced"), None);
    assert!(serve.end().success());
}

// contract: O1, O2
#[test]
fn one_that_is_being_disposed_goes_on_under_another_name_until_it_has_ended() {
    let mut serve = Serve::start(&["--grace-ms", "60000"]);
    serve.open("a", "s");
    let command = "trap '' TERM; echo ready >ready; until [ -e go ]; do sleep 0.02; done";
    serve.start_command("a", command);
    serve.appears("ready");
    let first = serve.send(json!({"op": "dispose", "owner": "a"}));
    assert_eq!(serve.open("a", "t")["replaced"], "a#1");
    let second = serve.send(json!({"op": "dispose", "owner": "a#1"}));
    serve.start_command("a", "sleep 600");
    serve.make("go");
    for tag in [first, second] {
        assert_eq!(serve.reply(&tag)["orphans"], json!([]));
    }
    let tasks = serve.ask(json!({"op": "tasks", "owner": "a"}));
    assert_eq!(tasks["tasks"][0]["status"], "running", "the other one's");
    assert!(serve.end().success());
}

#[test]
fn a_command_runs_in_its_owners_directory() {
    let mut serve = Serve::start(&[]);
    let below = serve.folder().join("below");
    std::fs::create_dir(&below).unwrap();
    serve.ask(json!({"op": "open", "owner": "a", "session": "s", "cwd": below}));
    let reply = serve.call("a", "bash", json!({"command": "pwd"}));
    assert_eq!(text(&reply), format!("{}\n", below.display()));
    let reply = serve.call("a", "bash", json!({"command": "pwd", "workdir": ".."}));
    assert_eq!(text(&reply), format!("{}\n", serve.folder().display()));
    assert!(serve.end().success());
}

#[test]
fn what_was_replaced_lives_on_when_its_new_name_is_used_too() {
    let mut serve = Serve::start(&["--events"]);
    serve.open("a", "s");
    serve.start_command("a", "sleep 60");
    assert_eq!(serve.open("a", "s")["replaced"], "a#1");
    assert_eq!(serve.open("a#1", "t")["replaced"], "a#2");
    let tasks = serve.ask(json!({"op": "tasks", "owner": "a#2"}));
    assert_eq!(tasks["tasks"][0]["status"], "running");
    assert!(serve.end().success());
}

#[test]
fn an_owner_that_replaces_one_by_name_and_another_by_session_names_both() {
    let mut serve = Serve::start(&[]);
    serve.open("x", "s1");
    serve.open("y", "s2");
    let reply = serve.open("x", "s2");
    assert_eq!((&reply["replaced"], &reply["also_replaced"]), (&json!("x#1"), &json!("y#1")));
    serve.start_command("x#1", "true");
    let command = json!({"command": "true", "run_in_background": true});
    assert!(text(&serve.call("y#1", "bash", command)).contains("no longer the live one"));
    assert!(serve.end().success());
}

// contract: W1, W4, R3, L7
#[test]
fn a_wait_in_flight_is_told_the_end_and_the_last_output_when_its_owner_is_disposed() {
    let mut serve = Serve::start(&[]);
    serve.open("a", "s");
    let command = "exec 2>&-; trap 'echo last words; exit 4' TERM; echo ready; \
                   while :; do sleep 0.02; done";
    let id = serve.start_command("a", command);
    while !text(&serve.call("a", "task_output", json!({"task_id": id}))).contains("ready") {}
    let args = json!({"task_id": id, "wait": true});
    let waits = [(); 2].map(|()| serve.send_call("a", "task_output", args.clone()));
    let dispose = serve.send(json!({"op": "dispose", "owner": "a"}));
    let replies = waits.map(|tag| serve.reply(&tag));
    for reply in &replies {
        assert_eq!(reply["is_error"], false, "{reply}");
        assert!(text(reply).ends_with("[status: killed, exit code: 4]"), "{reply}");
    }
    let read: String =
        replies.iter().map(|reply| reply["value"]["text"].as_str().unwrap()).collect();
    assert_eq!(read, "last words\n", "once");
    assert_eq!(serve.reply(&dispose)["ok"], true);
    assert!(serve.end().success());
}

// contract: O2
#[test]
fn a_disposal_ends_the_owners_foreground_command_too() {
    let mut serve = Serve::start(&["--grace-ms", "300"]);
    serve.open("a", "s");
    let call = serve.send_call("a", "bash", json!({"command": "sleep 60"}));
    assert_eq!(serve.ask(json!({"op": "dispose", "owner": "a"}))["ok"], true);
    let left = super::driver::processes_in(&serve.folder());
    assert_eq!(left, [serve.child.id()], "only the server itself is left");
    assert_eq!(serve.reply(&call)["value"]["aborted"], true);
    let refused = serve.call("a", "bash", json!({"command": "true"}));
    assert!(text(&refused).contains("being disposed"), "{refused}");
    assert!(serve.end().success());
}
