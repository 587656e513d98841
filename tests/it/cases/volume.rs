//! Output without end that nobody reads.

use serde_json::json;

use super::{kill, nothing_is_left, opened, status};
use crate::serve::driver::{Serve, text};

/// What the server has used at most, in KiB.
fn peak_kib(serve: &Serve) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", serve.child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

// A flood killed the harness: one path had no cap, and the work for each chunk grew, so
// that not even the timeout that was to stop it came. (`longrun serve` runs on one thread;
// how fast it reads, and how soon it ends, `benches/flood.rs` measures.)
// contract: B7, R8, K2
#[test]
fn bug_08_a_flood_costs_no_memory_and_holds_up_nobody() {
    let mut serve = opened(&["--spill-bytes", "1000000"]);
    // Up to here it has met everything that it needs memory for.
    let id = serve.start_command("a", "head -c 2M /dev/zero; echo warm >&2");
    serve.wait_for("a", &id);
    let before = peak_kib(&serve);
    let line = "yes \"$(head -c 200 /dev/zero | tr '\\0' x)\"";
    let floods = [
        line.to_owned(),
        format!("{line} >&2"),
        "cat /dev/zero".to_owned(),
        "while :; do printf '\\r%d' $RANDOM; done".to_owned(),
        "tr '\\0' '\\n' </dev/zero | tee /dev/stderr".to_owned(),
    ];
    let floods: Vec<String> = floods.iter().map(|flood| serve.start_command("a", flood)).collect();
    // It is drained for ever, so it comes to its end by itself.
    let finite = "head -c 20M /dev/zero | tr '\\0' a; echo; echo done";
    let finite = serve.start_command("a", finite);
    assert_eq!(text(&serve.call("a", "bash", json!({"command": "echo ok"}))), "ok\n");
    let end = serve.wait_for("a", &finite);
    assert!(
        end.ends_with("a\ndone\n[status: completed, exit code: 0]"),
        "{}",
        &end[end.len() - 99..]
    );
    let loss = "[20907526 bytes of stdout were dropped; the first 1000000 bytes are in ";
    assert!(end.starts_with(loss), "{}", &end[..99]);
    for id in &floods {
        kill(&mut serve, id);
        let end = serve.wait_for("a", id);
        assert_eq!(status(&end), "[status: killed, signal: SIGTERM]");
        assert!(end.len() < 3 * 2 * 64_000, "a symbol is three bytes: {}", end.len());
    }
    nothing_is_left(&serve);
    // Six commands with two windows of 64 kB each, the texts of what was read, and 4 MiB.
    let grown = peak_kib(&serve) - before;
    assert!(grown < 4_096 + 6 * 2 * 64 + 1_024, "{grown} KiB more");
    assert!(serve.end().success());
}

// contract: B7, R1
#[test]
fn bug_08_a_line_without_an_end_is_read_like_any_other() {
    let mut serve = opened(&["--memory-bytes", "5000"]);
    let command = "head -c 1M /dev/zero | tr '\\0' b; printf end; exit 2";
    let id = serve.start_command("a", command);
    let end = serve.wait_for("a", &id);
    let loss = "[1043579 bytes of stdout were dropped; all of it is in ";
    assert!(end.starts_with(loss), "{}", &end[..80]);
    assert!(end.ends_with("bend\n[status: completed, exit code: 2]"), "{}", &end[end.len() - 80..]);
    let foreground = serve.call("a", "bash", json!({"command": command}));
    assert_eq!(foreground["value"]["stdout"]["droppedBytes"], 1_043_579);
    assert!(serve.end().success());
}
