use alloc::{format, string::String, vec::Vec};

use proptest::prelude::*;

use super::{any_task, breaks, task};
use crate::TaskSnapshot;
use crate::controls::cut::tail;
use crate::controls::{NOTICES_CAP_BYTES, notice_text, notices_text};

fn limited(id: &str, limit: u64) -> TaskSnapshot {
    TaskSnapshot {
        output_limit_bytes: Some(limit),
        detail: Some("exit code: 0".into()),
        ..task(id)
    }
}

// contract: N1
#[test]
fn a_notice_says_what_ended_and_how_to_read_it() {
    assert_eq!(
        notice_text(&TaskSnapshot { detail: Some("naïve — 界".into()), ..task("bash-1") }),
        "background task bash-1 (bash: cargo test) finished [status: completed, naïve — 界]. \
         Read its output with task_output.",
    );
    assert_eq!(
        notice_text(&task("pty-send-12")),
        "background task pty-send-12 (pty-send: cargo test) finished [status: completed]. \
         Read its output with task_output.",
    );
}

// contract: N4, M8
#[test]
fn under_a_cap_the_id_and_the_instruction_come_first() {
    let ladder: [(u64, &str); 9] = [
        (
            115,
            "background task pty-send-1 (pty-send: cargo test) finished \
             [status: completed, exit code: 0] done. Use task_output.",
        ),
        (
            114,
            "background task pty-send-1 (pty-send: cargo test) finished \
             [status: completed,  [truncated] done. Use task_output.",
        ),
        (80, "background task pty-send-1 (pty-send: cargo t [truncated] done. Use task_output."),
        (64, "background task pty-send-1 (p [truncated] done. Use task_output."),
        (60, "background task pty-send-1 done. Use task_output."),
        (49, "background task pty-send-1 done. Use task_output."),
        (48, "background task pty-se… done. Use task_output."),
        (24, "b done. Use task_output."),
        (8, "_output."),
    ];
    for (limit, text) in ladder {
        assert_eq!(notice_text(&limited("pty-send-1", limit)), text, "at {limit}");
    }
}

// contract: N4
#[test]
fn at_64_bytes_every_id_of_up_to_12_bytes_survives_with_the_instruction() {
    for id in
        ["a-1", "pty-1", "bash-12", "pty-send-1", "pty-send-99", "pty-send-100", "abcdefghij-1"]
    {
        let notice = notice_text(&limited(id, 64));
        assert!(notice.starts_with(&format!("background task {id} ")), "{notice}");
        assert!(notice.ends_with(" [truncated] done. Use task_output."), "{notice}");
    }
}

// contract: N4
#[test]
fn an_id_that_is_cut_does_not_name_another_task() {
    let notice = notice_text(&limited("bash-12", 45));
    assert_eq!(notice, "background task bas… done. Use task_output.");
}

proptest! {
    // contract: N4, M8
    #[test]
    fn a_notice_is_within_its_cap_and_keeps_what_comes_first(
        task in any_task(), limit in prop_oneof![1..200_u64, 1..2000_u64],
    ) {
        let whole = notice_text(&task);
        let notice = notice_text(&TaskSnapshot { output_limit_bytes: Some(limit), ..task });
        let limit = usize::try_from(limit).unwrap();
        prop_assert!(notice.len() <= limit);
        if whole.len() <= limit {
            prop_assert_eq!(notice, whole);
        } else {
            let short = " done. Use task_output.";
            prop_assert!(notice.ends_with(tail(short, limit)));
            // What is kept is the beginning of the whole, and there was no room for more:
            // a middle with its marker, an id with its mark, and borders of characters.
            let kept = notice.strip_suffix(short).unwrap_or("");
            let kept = kept.strip_suffix(" [truncated]").or(kept.strip_suffix('…')).unwrap_or(kept);
            prop_assert!(whole.starts_with(kept));
            prop_assert!(limit - notice.len() < " [truncated]".len() + 1);
        }
    }

    // contract: M11, N1
    #[test]
    fn no_name_or_detail_forges_a_notice(task in any_task()) {
        let notice = notice_text(&task);
        prop_assert_eq!(notice.matches("[status:").count(), 1);
        prop_assert_eq!(notice.matches(") finished").count(), 1);
        prop_assert!(!notice.to_lowercase().contains("<system-reminder>"));
        prop_assert!(!breaks(&notice));
        prop_assert!(notice.ends_with("]. Read its output with task_output."));
    }
}

/// Some tasks that have ended, told within that cap.
fn told(caps: &[Option<u64>], cap_bytes: usize) -> String {
    let tasks: Vec<TaskSnapshot> = (1..)
        .zip(caps)
        .map(|(number, &cap)| TaskSnapshot {
            output_limit_bytes: cap,
            ..task(&format!("bash-{number}"))
        })
        .collect();
    notices_text(&tasks, cap_bytes)
}

// contract: N1, N4, M8
#[test]
fn several_ends_share_a_message_that_names_each_id() {
    let line = |number: u64| {
        format!(
            "background task bash-{number} (bash: cargo test) finished [status: completed]. \
             Read its output with task_output."
        )
    };
    let three = [None; 3];
    let whole = format!("{}\n{}\n{}", line(1), line(2), line(3));
    assert_eq!(told(&[], 100), "");
    assert_eq!(told(&[None], NOTICES_CAP_BYTES), line(1));
    assert_eq!(told(&three, NOTICES_CAP_BYTES), whole);
    assert_eq!(told(&three, whole.len()), whole);
    let one_short =
        format!("{}\n{}\nbackground task bash-3 done. Use task_output.", line(1), line(2));
    assert_eq!(told(&three, whole.len() - 1), one_short);
    let ids = "background tasks bash-1, bash-2, bash-3 done. Use task_output.";
    assert_eq!(told(&three, ids.len()), ids);
    let more = "background tasks bash-1 and 2 more done. Use task_output.";
    assert_eq!(told(&three, ids.len() - 1), more);
    assert_eq!(told(&three, 41), "3 background tasks done. Use task_output.");
    assert_eq!(told(&three, 40), " done. Use task_output.");
    assert_eq!(told(&three, 8), "_output.");
    // The caps of their own producers, one of which leaves no room for its id.
    let capped = format!(
        "background task bash-1 (bas [truncated] done. Use task_output.\n{}\n\
         background task bash-2 done. Use task_output.",
        line(3)
    );
    assert_eq!(told(&[Some(62), Some(8), None], NOTICES_CAP_BYTES), capped);
}

proptest! {
    // contract: N4, M8, M11
    #[test]
    fn one_message_for_several_is_within_its_cap_and_names_each_where_the_ids_fit(
        tasks in proptest::collection::vec(any_task(), 2..12), cap in 0..1500_usize,
    ) {
        let tasks: Vec<TaskSnapshot> = (1..)
            .zip(tasks)
            .map(|(number, ended)| TaskSnapshot { id: task(&format!("pty-{number}")).id, ..ended })
            .collect();
        let text = notices_text(&tasks, cap);
        prop_assert!(text.len() <= cap);
        let named = |task: &&TaskSnapshot| {
            let id = task.id.as_str();
            [format!(" {id} "), format!(" {id},")].iter().any(|named| text.contains(named))
        };
        let ids: Vec<&str> = tasks.iter().map(|task| task.id.as_str()).collect();
        if cap >= format!("background tasks {} done. Use task_output.", ids.join(", ")).len() {
            prop_assert_eq!(tasks.iter().filter(named).count(), tasks.len(), "{}", text);
        }
        prop_assert!(!breaks(&text.replace('\n', "")));
        prop_assert!(text.lines().count() <= tasks.len());
        prop_assert!(text.ends_with(tail(" task_output.", cap)));
    }
}
