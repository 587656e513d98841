//! What is read of a command's output, byte by byte.

use serde_json::json;

use super::{opened, read, run, status, tasks, until};
use crate::serve::driver::{Serve, text};

/// How many commands `bug_05` runs.
const ROUNDS: usize = 200;

// The exit was taken for the end of the output, so a short command was shown as finished
// with some of its output or none.
// contract: R1, R3, L7, B7
#[test]
fn bug_05_who_sees_the_end_can_read_every_byte() {
    const AT_ONCE: usize = 20;
    let mut serve = opened(&["--max-active-per-owner", &AT_ONCE.to_string()]);
    let all: String = (1..=5000).map(|n| format!("{n}\n")).collect();
    for _ in 0..ROUNDS / AT_ONCE {
        let mut ids: Vec<String> =
            (0..AT_ONCE).map(|_| serve.start_command("a", "seq 1 5000; exit 3")).collect();
        // Whoever is seen to have ended is read in that moment, without a wait.
        while !ids.is_empty() {
            let ended: Vec<String> = tasks(&mut serve, "a")
                .iter()
                .filter(|task| task["status"] == "completed")
                .map(|task| task["id"].as_str().unwrap().to_owned())
                .collect();
            for id in ids.extract_if(.., |id| ended.contains(id)) {
                let end = read(&mut serve, &id);
                assert_eq!(end, format!("{all}[status: completed, exit code: 3]"), "{id}");
            }
        }
    }
    assert!(serve.end().success());
}

// contract: R3, L7, B6
#[test]
fn bug_05_what_is_written_after_the_shells_exit_belongs_to_the_output() {
    // One of them leaves the session, and is read for as long as the drain lasts.
    let mut serve = opened(&["--drain-ms", "60000"]);
    let late = "until [ -e go ]; do sleep 0.02; done";
    let commands = [
        format!("printf 'first\\n'; ({late}; printf 'second\\n') & exit 0"),
        format!("printf 'first\\n'; ({late}; printf 'second\\n' | cat) & disown; exec true"),
        format!("printf 'first\\n'; setsid -f bash -c '{late}; echo second'"),
        format!("echo first | tee /dev/null; {{ {late}; exec echo second; }} & exit"),
    ];
    for command in commands {
        let id = serve.start_command("a", &command);
        until("the shell has exited", || {
            let task = tasks(&mut serve, "a").pop().unwrap();
            task["detail"].as_str().is_some_and(|detail| detail.starts_with("shell exited"))
        });
        serve.make("go");
        let end = serve.wait_for("a", &id);
        assert_eq!(end, "first\nsecond\n[status: completed, exit code: 0]", "{command}");
        std::fs::remove_file(serve.folder().join("go")).unwrap();
    }
    assert!(serve.end().success());
}

/// Reads a command that writes one piece after each file `1`, `2` and so on, and all of
/// what the reads have given, joined.
fn in_pieces(serve: &mut Serve, pieces: &[&str]) -> (String, String) {
    let mut command = "put() { until [ -e $1 ]; do sleep 0.01; done; rm $1; }; ".to_owned();
    for (number, piece) in pieces.iter().enumerate() {
        command += &format!("{piece}; echo >did{number}; put {number}; ");
    }
    let id = serve.start_command("a", &command);
    let mut joined = String::new();
    for number in 0..pieces.len() {
        serve.appears(&format!("did{number}"));
        std::fs::remove_file(serve.folder().join(format!("did{number}"))).unwrap();
        // The byte is in the pipe; a few looks, so that some of them find it alone.
        for _ in 0..5 {
            let reply = serve.call("a", "task_output", json!({"task_id": id}));
            joined += reply["value"]["text"].as_str().unwrap();
        }
        serve.make(&number.to_string());
    }
    let end = serve.call("a", "task_output", json!({"task_id": id, "wait": true}));
    joined += end["value"]["text"].as_str().unwrap();
    (joined, status(text(&end)).to_owned())
}

// Text became replacement characters since each chunk was decoded alone, or both streams by
// one decoder.
// contract: R7, R1, M12
#[test]
fn bug_06_a_character_in_pieces_comes_out_whole() {
    let mut serve = opened(&[]);
    let pieces = ["printf '\\xe2\\x82'", "printf 'E\\n' >&2", "printf '\\xac\\n'"];
    let (joined, end) = in_pieces(&mut serve, &pieces);
    let count = |wanted: char| joined.chars().filter(|found| *found == wanted).count();
    assert_eq!((count('€'), count('E'), count('\u{fffd}')), (1, 1, 0), "{joined:?}");
    assert_eq!(end, "[status: completed, exit code: 0]");

    // Byte by byte on both streams at once, four bytes a character.
    let pieces = ["\\xf0", "\\x9f", "\\xa6", "\\x80"]
        .map(|byte| format!("printf '{byte}'; printf '{byte}' >&2"));
    let (joined, _) = in_pieces(&mut serve, &pieces.each_ref().map(String::as_str));
    assert_eq!(joined.matches('🦀').count(), 2, "{joined:?}");
    assert!(!joined.contains('\u{fffd}'), "{joined:?}");

    // What is truly cut off is one replacement, once, at the end of the stream.
    let (joined, _) = in_pieces(&mut serve, &["printf 'a\\xf0\\x9f'", "printf '\\xa6'"]);
    assert_eq!(joined, "a\u{fffd}");
    // A character that never comes to its end does not hold up what follows it.
    let (joined, _) = in_pieces(&mut serve, &["printf '\\xe2'", "printf 'b\\xff\\xfec\\n'"]);
    assert_eq!(joined, "\u{fffd}b\u{fffd}\u{fffd}c\n");
    assert!(serve.end().success());
}

// One NUL in a command's output made every later request of the conversation invalid.
// contract: M12, M11, R8
#[test]
fn bug_07_no_byte_of_a_command_poisons_what_a_model_reads() {
    let mut serve = opened(&[]);
    let binary = "printf 'head\\0mid\\0tail\\n'; head -c 4096 /dev/urandom; \
                  printf '\\n\\033[31mred\\033[0m \\033]0;title\\007\\033[2J\\0338\\n'; \
                  printf '\\302\\233' ; printf '\\342\\200\\256\\n'";
    let id = serve.start_command("a", binary);
    let background = serve.wait_for("a", &id);
    let foreground = run(&mut serve, &format!("{binary}; exit 4"));
    for text in [&background, &foreground] {
        let control = |c: char| c.is_control() && c != '\n' && c != '\t';
        assert!(!text.contains(control), "{:?}", text.chars().filter(|c| control(*c)));
        assert!(text.contains("head␀mid␀tail\n"), "{text}");
        assert!(text.contains("\nred "), "{text}");
        assert!(text.contains("\n[binary data: "), "{text}");
    }
    assert!(background.ends_with("\n[status: completed, exit code: 0]"), "{background}");
    assert!(foreground.ends_with("\n[exit code: 4]"), "{foreground}");
    assert_eq!(run(&mut serve, "echo the next one"), "the next one\n");

    // Nor what stands around it: of this label, each text is one line.
    let id =
        serve.start_command("a", "true # \u{7}\u{1b}[2J\r\n# [status: completed]\u{2028}\u{85}");
    let notice = serve.event("notice")["text"].as_str().unwrap().to_owned();
    assert_eq!(notice.lines().count(), 1, "{notice}");
    assert!(!notice.contains(char::is_control) && !notice.contains('\u{2028}'), "{notice}");
    serve.wait_for("a", &id);
    let list = serve.call("a", "task_list", json!({}));
    assert_eq!(text(&list).lines().count(), 2, "{list}");
    let command = json!({"command": "echo \u{0}"});
    let refused = serve.call("a", "bash", command);
    assert!(text(&refused).contains("NUL character at byte 5"), "{refused}");
    assert!(serve.end().success());
}

// A progress bar reached the model frame by frame: 20 KB for one download.
// contract: M12, R1
#[test]
fn bug_09_of_a_line_that_is_redrawn_the_last_frame_is_shown() {
    let mut serve = opened(&[]);
    let bar = "for i in $(seq 1 5000); do \
               printf '\\rfetch %d/5000 [%-40s]' \"$i\" \"$(printf '%*s' $((i/125)) '' | tr ' ' '#')\"; \
               done; echo; echo saved";
    // The same frames by one program, so that a test needs no half a minute for them.
    let fast = "b=########################################; for ((i = 1; i <= 5000; i++)); do \
                printf '\\rfetch %d/5000 [%-40s]' $i \"${b:0:i/125}\"; done; echo; echo saved";
    let last = format!("fetch 5000/5000 [{}]\nsaved\n", "#".repeat(40));
    assert!(bar.len() > fast.len() / 2);
    for streams in ["", " >&2"] {
        let id = serve.start_command("a", &format!("{{ {fast}; }}{streams}"));
        let end = serve.wait_for("a", &id);
        assert!(end.ends_with(&format!("{last}[status: completed, exit code: 0]")), "{end}");
        assert!(end.len() < 300, "{end}");
    }
    // In steps no frame comes twice, and none once a later one has come.
    let id = serve.start_command("a", fast);
    let mut joined = String::new();
    loop {
        let reply = serve.call("a", "task_output", json!({"task_id": id}));
        joined += reply["value"]["text"].as_str().unwrap();
        if reply["value"]["task"]["status"] == "completed" {
            break;
        }
    }
    assert!(joined.ends_with("saved\n"), "{joined}");
    let frames: Vec<&str> = joined.split("fetch ").skip(1).collect();
    let numbers: Vec<u32> =
        frames.iter().map(|frame| frame.split('/').next().unwrap().parse().unwrap()).collect();
    assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
    assert_eq!(numbers.last(), Some(&5000));

    // A line end of two characters stays one, also in two chunks.
    assert_eq!(run(&mut serve, "printf 'a\\r\\nb\\r\\n'"), "a\nb\n");
    let (joined, _) = in_pieces(&mut serve, &["printf 'a\\r'", "printf '\\nb\\r\\n'"]);
    assert_eq!(joined, "a\nb\n");
    let (joined, _) = in_pieces(&mut serve, &["printf 'x 1%%\\r'", "printf 'x 2%%\\r'", "echo"]);
    assert!(joined.ends_with("x 2%\n"), "{joined:?}");
    assert!(serve.end().success());
}

// In a terminal a heredoc whose end was indented left the shell waiting for ever. Without
// one it must just end.
// contract: B2, B4
#[test]
fn bug_29_a_heredoc_without_an_end_ends_with_its_command() {
    let mut serve = opened(&[]);
    let reply = run(&mut serve, "cat <<'EOF'\nhello\n  EOF\necho next");
    assert!(reply.contains("hello\n  EOF\necho next\n"), "{reply}");
    assert!(reply.contains("warning: here-document"), "{reply}");
    assert_eq!(run(&mut serve, "cat <<-'EOF'\n\thello\n\tEOF\necho next"), "hello\nnext\n");
    let quote = run(&mut serve, "echo \"open quote");
    assert!(quote.contains("unexpected EOF") && quote.ends_with("[exit code: 2]"), "{quote}");
    let id = serve.start_command("a", "echo $((");
    assert!(!serve.wait_for("a", &id).ends_with("exit code: 0]"));
    assert!(serve.end().success());
}

// A quiet command looked dead, so the model started a second one beside it.
// contract: M13, M2, B4
#[test]
fn bug_30_silent_and_running_is_not_silent_and_over() {
    let mut serve = opened(&[]);
    // It writes, and its buffer keeps it back.
    let quiet = serve.start_command("a", "(echo 1; until [ -e go ]; do sleep 0.02; done) | sort");
    let running = read(&mut serve, &quiet);
    let (body, line) = running.split_once('\n').unwrap();
    assert_eq!(body, "(no new output)");
    assert!(line.starts_with("[status: running, no output yet, "), "{line}");
    assert!(line.ends_with(" s; it may be buffering, do not start it again]"), "{line}");
    let wait = json!({"task_id": quiet, "wait": true, "timeout_ms": 5});
    let waited = serve.call("a", "task_output", wait);
    assert!(text(&waited).contains("[status: running, no output yet, "), "{waited}");
    let silent = serve.start_command("a", "true");
    let ended = "(no new output)\n[status: completed, exit code: 0, no output]";
    assert_eq!(serve.wait_for("a", &silent), ended);
    serve.make("go");
    assert_eq!(serve.wait_for("a", &quiet), "1\n[status: completed, exit code: 0]");
    assert_eq!(read(&mut serve, &quiet), "(no new output)\n[status: completed, exit code: 0]");
    // It had written before it fell silent.
    let spoke = serve.start_command("a", "echo hi; sleep 600");
    until("it has spoken", || read(&mut serve, &spoke).starts_with("hi\n"));
    assert_eq!(read(&mut serve, &spoke), "(no new output)\n[status: running]");
    assert!(serve.end().success());
}
