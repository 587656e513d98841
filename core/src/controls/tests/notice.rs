use alloc::format;

use proptest::prelude::*;

use super::{any_task, breaks, task};
use crate::TaskSnapshot;
use crate::controls::cut::tail;
use crate::controls::notice_text;

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
        prop_assert!(!breaks(&notice));
        prop_assert!(notice.ends_with("]. Read its output with task_output."));
    }
}
