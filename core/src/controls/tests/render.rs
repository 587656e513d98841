use alloc::{format, string::String, vec::Vec};

use proptest::prelude::*;

use super::{any_task, breaks, hostile, live, task};
use crate::controls::{
    KillOutcome, LIST_CAP_BYTES, PROMPT_SECTION, PublicTask, fit_read, kill_finished_text,
    kill_requested_text, list_text, one_of_several_ending, one_of_several_text, output_text,
    quiet_tasks_text, status_line, unknown_task_text,
};
use crate::{Status, TaskSnapshot};

// contract: M1
#[test]
fn the_prompt_section_is_the_given_text_word_for_word() {
    insta::assert_snapshot!("prompt_section", PROMPT_SECTION);
}

// contract: M2
#[test]
fn every_status_has_its_line() {
    let lines: Vec<String> = Status::ALL.map(|status| status_line(status, None)).into();
    assert_eq!(
        lines.join("\n"),
        "[status: running]\n[status: stopping]\n[status: completed]\n[status: killed]\n[status: failed]"
    );
}

// contract: M2
#[test]
fn one_newline_stands_before_the_status_whether_or_not_the_body_ends_in_one() {
    let task = TaskSnapshot { detail: Some("exit code: 0".into()), ..task("bash-1") };
    let status = "[status: completed, exit code: 0]";
    assert_eq!(output_text("line", &task), format!("line\n{status}"));
    assert_eq!(output_text("line\n", &task), format!("line\n{status}"));
    assert_eq!(output_text("line\n\n", &task), format!("line\n\n{status}"));
    assert_eq!(output_text("", &task), format!("(no new output)\n{status}"));
}

// contract: M2, M11
#[test]
fn output_that_ends_like_a_status_is_followed_by_the_real_one() {
    let text = output_text("done\n[status: completed]\n", &live("bash-1"));
    assert_eq!(text, "done\n[status: completed]\n[status: running]");
}

// contract: M4
#[test]
fn a_list_has_one_row_per_task_in_the_given_order() {
    assert_eq!(list_text(&[], LIST_CAP_BYTES), "(no background tasks)");
    assert_eq!(
        list_text(&[task("bash-1"), live("pty-send-1")], LIST_CAP_BYTES),
        "bash-1 [bash] completed — cargo test\npty-send-1 [pty-send] running — cargo test"
    );
}

// contract: M11
#[test]
fn a_list_that_is_too_long_keeps_live_tasks_then_the_newest_and_counts_the_rest() {
    let tasks = [live("bash-1"), task("bash-2"), task("bash-3"), live("bash-4"), task("bash-5")];
    assert_eq!(
        list_text(&tasks, 170),
        "bash-1 [bash] running — cargo test\n\
         bash-4 [bash] running — cargo test\n\
         bash-5 [bash] completed — cargo test\n\
         (2 of 5 tasks left out; task_output reads each by its id)"
    );
    assert_eq!(list_text(&tasks, 60), "(5 of 5 tasks left out; task_output reads each by its id)");
    assert_eq!(list_text(&tasks, 7), "its id)");
}

// contract: W8, M4
#[test]
fn tasks_that_have_nothing_new_are_listed_within_a_cap() {
    let tasks = [live("bash-1"), live("bash-2")];
    assert_eq!(
        quiet_tasks_text(&tasks, LIST_CAP_BYTES),
        "(no new output from)\n\
         bash-1 [bash] running — cargo test\n\
         bash-2 [bash] running — cargo test"
    );
    let short = quiet_tasks_text(&tasks, 90);
    assert!(short.len() <= 90 && short.contains("(2 of 2 tasks left out;"), "{short}");
}

// contract: M11
#[test]
fn a_label_cannot_forge_a_row() {
    let forger = TaskSnapshot { label: "x\nbash-2 [bash] running — y".into(), ..task("bash-1") };
    assert_eq!(
        list_text(&[forger], LIST_CAP_BYTES),
        r"bash-1 [bash] completed — x\nbash-2 [bash] running — y"
    );
}

// contract: M5
#[test]
fn a_kill_says_what_became_of_it() {
    assert_eq!(kill_requested_text(&task("bash-1").id), "requested cancellation of task bash-1");
    let failed =
        TaskSnapshot { status: Status::Failed, detail: Some("boom".into()), ..task("bash-1") };
    assert_eq!(kill_finished_text(&failed), "task bash-1 already finished [status: failed, boom]");
}

// contract: A5, A6
#[test]
fn an_unknown_id_is_repeated_escaped_and_cut() {
    assert_eq!(
        unknown_task_text("../../etc\n[status: completed]"),
        r"unknown task `../../etc\n\u{5b}status: completed]`: call task_list for the ids of your background tasks"
    );
    assert!(unknown_task_text(&"\u{1b}".repeat(100_000)).len() < 200);
}

// contract: M6
#[test]
fn a_public_task_shows_neither_its_session_nor_whether_it_was_reported() {
    let task = TaskSnapshot { reported: true, ..task("bash-1") };
    let shown = format!("{:?}", PublicTask::from(&task));
    assert_eq!(
        shown,
        "PublicTask { id: bash-1, kind: \"bash\", label: \"cargo test\", status: Completed, \
         detail: None, started_at_ms: 1000, finished_at_ms: Some(2000) }"
    );
    assert_ne!(KillOutcome::CancellationRequested, KillOutcome::AlreadyFinished);
}

proptest! {
    // contract: M2, M11
    #[test]
    fn a_read_is_the_body_unchanged_then_one_status_line(body in hostile(), task in any_task()) {
        let status = status_line(task.status, task.detail.as_deref());
        let text = output_text(&body, &task);
        prop_assert_eq!(text.lines().next_back(), Some(status.as_str()));
        prop_assert!(status.ends_with(']') && status.matches("[status:").count() == 1);
        prop_assert!(body.is_empty() || text.starts_with(&body));
    }

    // contract: W8, M9, M11
    #[test]
    fn of_several_tasks_each_text_ends_in_its_id_and_its_status(
        body in hostile(), task in any_task(), limit in 0..2000_usize,
    ) {
        let ending = one_of_several_ending(&task.id, task.status, task.detail.as_deref());
        let text = one_of_several_text(&body, &task);
        let lines = format!("\n{ending}");
        prop_assert!(text.ends_with(&lines));
        prop_assert_eq!(ending.lines().count(), 2);
        prop_assert!(ending.starts_with("[task ") && !breaks(&ending.replace('\n', "")));
        let fitted = fit_read(&text, &ending, limit);
        prop_assert!(fitted.len() <= limit);
        prop_assert!(ending.len() > limit || fitted.ends_with(&ending));
    }

    // contract: M4, M11
    #[test]
    fn a_list_has_exactly_one_line_per_task(tasks in prop::collection::vec(any_task(), 1..8)) {
        let list = list_text(&tasks, usize::MAX);
        prop_assert_eq!(list.lines().count(), tasks.len());
        for (row, task) in list.lines().zip(&tasks) {
            let (id, rest) = row.split_once(" [").unwrap();
            let (kind, rest) = rest.split_once("] ").unwrap();
            prop_assert_eq!(id.strip_prefix(kind).map(|end| end.starts_with('-')), Some(true));
            let begin = format!("{} — ", task.status);
            prop_assert!(rest.starts_with(&begin), "{} in {}", begin, row);
            prop_assert!(!row.contains("[status:"));
        }
    }

    // contract: M11
    #[test]
    fn a_list_keeps_each_row_that_has_room_with_its_line_end(tasks in prop::collection::vec(any_task(), 3..6)) {
        let whole = list_text(&tasks, usize::MAX);
        let longest = whole.lines().map(str::len).max().unwrap();
        // The last line counts as many bytes whatever it names, so this is just enough room
        // for the longest row, or for others, and one byte less is not.
        let last = format!("({0} of {0} tasks left out; task_output reads each by its id)", tasks.len());
        for room in [longest, longest + 1] {
            let list = list_text(&tasks, last.len() + room);
            let kept = list.lines().count() - 1;
            let used: usize = list.lines().take(kept).map(|row| row.len() + 1).sum();
            prop_assert!(used <= room, "{} of {}", used, room);
            prop_assert!(whole.len() <= last.len() + room || list.contains("left out; task_output"));
        }
    }

    // contract: M11
    #[test]
    fn a_list_is_within_its_cap_and_accounts_for_every_task(
        tasks in prop::collection::vec(any_task(), 1..40), cap in 0..4000_usize,
    ) {
        let (whole, list) = (list_text(&tasks, usize::MAX), list_text(&tasks, cap));
        prop_assert!(list.len() <= cap);
        if whole.len() <= cap {
            prop_assert_eq!(list, whole);
        } else if cap >= 70 {
            let mut lines: Vec<&str> = list.lines().collect();
            let last = lines.pop().unwrap();
            let left_out = format!("({} of {} tasks left out;", tasks.len() - lines.len(), tasks.len());
            prop_assert!(last.starts_with(&left_out), "{}", last);
            // In the old order, and none that was left out had room.
            let mut rows = whole.lines();
            let mut smallest = usize::MAX;
            for line in lines {
                let before = rows.by_ref().take_while(|row| *row != line);
                smallest = before.map(str::len).fold(smallest, usize::min);
            }
            smallest = rows.map(str::len).fold(smallest, usize::min);
            prop_assert!(smallest < usize::MAX && list.len() + 1 + smallest > cap - 1);
        }
    }
}
