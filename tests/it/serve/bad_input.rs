use serde_json::{Value, json};

use super::driver::{Serve, text};

fn code(reply: &Value) -> String {
    format!("{}: {}", reply["error"]["code"], reply["error"]["message"])
}

#[test]
fn a_bad_line_is_answered_with_what_was_expected_and_the_next_one_is_served() {
    let mut serve = Serve::start(&[]);
    let long = format!("{{\"op\": \"open\", \"owner\": \"{}\"}}", "x".repeat(16 << 20));
    let lines: [(&[u8], &str); 8] = [
        (b"not JSON", "invalid_json"),
        (b"\xff\xfe", "expected UTF-8"),
        (b"7", "expected a JSON object"),
        (b"{\"tag\": 1}", "expected an `op`"),
        (b"{\"op\": \"fly\"}", "expected one of `open`"),
        (b"{\"op\": \"state\", \"owner\": [], \"busy\": true}", "expected a string"),
        (b"", "expected one JSON object"),
        (long.as_bytes(), "line_too_long"),
    ];
    for (line, expected) in lines {
        serve.send_line(line);
        let reply = serve.next("an error", |value| value.get("error").is_some());
        assert!(code(&reply).contains(expected), "{expected}: {reply}");
    }
    assert_eq!(serve.open("a", "s")["ok"], true);
    assert!(serve.end().success());
}

#[test]
fn a_request_that_names_what_is_not_there_changes_nothing() {
    let mut serve = Serve::start(&[]);
    serve.open("a", "s");
    let cases = [
        (json!({"op": "dispose", "owner": "b"}), "unknown_owner"),
        (json!({"op": "call", "owner": "b", "tool": "bash", "args": {}}), "unknown_owner"),
        (
            json!({"op": "call", "owner": "a", "tool": "dance", "args": {}}),
            "expected one of `bash`",
        ),
        (json!({"op": "abort", "call": "nothing"}), "unknown_call"),
        (json!({"op": "open", "owner": "", "session": "s"}), "not empty"),
        (json!({"op": "open", "owner": "c", "session": "s", "cwd": "here"}), "absolute path"),
    ];
    for (request, expected) in cases {
        let reply = serve.ask(request);
        assert!(code(&reply).contains(expected), "{expected}: {reply}");
    }
    let tasks = serve.ask(json!({"op": "tasks", "owner": "a"}));
    assert_eq!(tasks["tasks"], json!([]));
    assert!(serve.end().success());
}

// contract: W2, M3, M5, A5, A6
#[test]
fn bad_arguments_of_a_tool_are_an_error_that_says_what_was_expected() {
    let mut serve = Serve::start(&[]);
    serve.open("a", "s");
    let id = serve.start_command("a", "sleep 60");
    let wait = |timeout: Value| json!({"task_id": id, "wait": true, "timeout_ms": timeout});
    let cases = [
        ("task_output", wait(json!(0)), "above 0"),
        ("task_output", wait(json!(-5)), "above 0"),
        ("task_output", wait(json!(1e300)), "at most 2147483647"),
        ("task_output", wait(json!("soon")), "a number of milliseconds"),
        ("task_output", json!({"task_id": ""}), "a non-empty string"),
        ("task_output", json!({"task_id": id, "tail": 3}), "unknown `tail`"),
        ("task_output", json!({"task_id": "bash-99"}), "unknown task `bash-99`"),
        ("task_output", json!({"task_id": "../../etc/passwd"}), "unknown task"),
        ("task_kill", json!({"task_id": 1}), "`task_id`"),
        ("task_kill", json!({"task_id": "bash-2"}), "unknown task `bash-2`"),
        ("task_list", json!({"all": true}), "expected no arguments"),
        ("bash", json!({}), "`command`"),
        ("bash", json!({"command": "true", "workdir": "/nowhere/at/all"}), "/nowhere/at/all"),
        ("bash", json!({"command": "true", "timeout_ms": 0}), "above 0"),
        ("bash", json!([]), "expected an object"),
    ];
    for (tool, args, expected) in cases {
        let reply = serve.call("a", tool, args);
        assert_eq!(reply["is_error"], true, "{reply}");
        assert_eq!(reply["value"], Value::Null, "{reply}");
        assert!(text(&reply).contains(expected), "{expected}: {reply}");
    }
    let tasks = serve.ask(json!({"op": "tasks", "owner": "a"}));
    assert_eq!(tasks["tasks"].as_array().unwrap().len(), 1, "{tasks}");
    assert_eq!(tasks["tasks"][0]["status"], "running");
    assert!(serve.end().success());
}

// contract: A2, A5
#[test]
fn a_foreign_id_and_an_invented_one_get_the_same_answer() {
    let mut serve = Serve::start(&[]);
    serve.open("a", "s");
    serve.open("b", "t");
    let id = serve.start_command("a", "sleep 60");
    for tool in ["task_output", "task_kill"] {
        let foreign = serve.call("b", tool, json!({"task_id": id}));
        let invented = serve.call("b", tool, json!({"task_id": "bash-7"}));
        assert_eq!(text(&foreign).replace(&id, "bash-7"), text(&invented));
        assert_eq!(foreign["is_error"], true);
    }
    let nobody =
        json!({"op": "call", "owner": null, "tool": "task_output", "args": {"task_id": id}});
    assert!(text(&serve.ask(nobody)).contains("unknown task"));
    assert!(serve.end().success());
}
