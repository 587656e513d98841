use alloc::{format, string::String};

use proptest::prelude::*;

use super::{any_task, hostile, live, task};
use crate::TaskSnapshot;
use crate::controls::cut::{head, tail};
use crate::controls::{
    OUTPUT_TRUNCATED, RESULT_TRUNCATED, capped_output_text, capped_text, fit_output, fit_read,
    fit_text, output_text, status_line,
};

fn status_of(task: &TaskSnapshot) -> String {
    status_line(task.status, task.detail.as_deref())
}

// contract: M8, M9
#[test]
fn a_read_keeps_the_tail_the_marker_and_the_status_as_long_as_they_fit() {
    let task = live("pty-1");
    let ladder: [(usize, &str); 7] = [
        (39, "yz\n[output truncated]\n[status: running]"),
        (37, "[output truncated]\n[status: running]"),
        (36, "[output truncated]\n[status: running]"),
        (35, "output truncated]\n[status: running]"),
        (17, "[status: running]"),
        (16, "status: running]"),
        (0, ""),
    ];
    for (limit, text) in ladder {
        assert_eq!(
            fit_output("0123456789\nabcdefghijklmnopqrstuvwxyz\n", &task, limit),
            text,
            "at {limit}"
        );
    }
}

// contract: M9
#[test]
fn a_marker_that_the_producer_put_at_the_end_is_not_said_twice() {
    let task = live("pty-1");
    let body = format!("{}\n{OUTPUT_TRUNCATED}\n", "x".repeat(60));
    assert_eq!(
        fit_output(&body, &task, 50),
        "xxxxxxxxxxxxx\n[output truncated]\n[status: running]"
    );
    assert_eq!(fit_text(&body, 24), "xxxxx\n[result truncated]");
}

// contract: M8
#[test]
fn a_read_of_nothing_is_not_called_truncated() {
    let task = live("pty-1");
    assert_eq!(fit_output("", &task, 33), "(no new output)\n[status: running]");
    assert_eq!(fit_output("", &task, 32), "[status: running]");
    assert_eq!(fit_output("", &task, 8), "running]");
    for limit in [33, 32, 8] {
        let fitted = fit_read("(no new output)\n[status: running]", "[status: running]", limit);
        assert_eq!(fitted, fit_output("", &task, limit));
    }
}

// contract: M8
#[test]
fn the_answer_to_a_kill_stays_within_the_cap() {
    let task = TaskSnapshot { output_limit_bytes: Some(8), ..task("pty-1") };
    assert_eq!(capped_text("requested cancellation of task pty-1", &task), "uncated]");
}

// contract: M8
#[test]
fn a_producer_without_a_cap_leaves_texts_unbounded() {
    let text = "x".repeat(100_000);
    assert_eq!(capped_text(&text, &task("bash-1")), text);
    assert_eq!(capped_output_text(&text, &task("bash-1")), output_text(&text, &task("bash-1")));
}

// contract: M8
#[test]
fn a_cap_beyond_memory_is_no_cap() {
    let task = TaskSnapshot { output_limit_bytes: Some(u64::MAX), ..task("bash-1") };
    assert_eq!(capped_output_text("x", &task), "x\n[status: completed]");
}

/// The kept part of `content`, if the fitted text is made as it should be.
fn kept<'a>(fitted: &'a str, last_lines: &str) -> &'a str {
    let before = fitted.strip_suffix(last_lines).unwrap();
    before.strip_suffix('\n').unwrap_or(before)
}

/// The output itself: the last newline and a marker at the end are said anew.
fn without_marker(content: &str) -> &str {
    let content = content.strip_suffix('\n').unwrap_or(content);
    for marker in [OUTPUT_TRUNCATED, RESULT_TRUNCATED] {
        if let Some(before) = content.strip_suffix(marker) {
            return before.strip_suffix('\n').unwrap_or(before);
        }
    }
    content
}

/// Nothing was dropped that there was room for: one more character is too much.
fn is_longest_tail(kept: &str, content: &str, last_lines: &str, limit: usize) -> bool {
    let dropped = content.strip_suffix(kept).unwrap();
    let more = dropped.chars().next_back().map_or(usize::MAX, char::len_utf8);
    more.saturating_add(kept.len() + 1 + last_lines.len()) > limit
}

proptest! {
    // contract: M8, M9
    #[test]
    fn a_fitted_read_is_within_its_cap_and_drops_nothing_it_has_room_for(
        body in hostile(), task in any_task(), limit in prop_oneof![0..200_usize, 0..2000_usize],
    ) {
        let (fitted, whole) = (fit_output(&body, &task, limit), output_text(&body, &task));
        prop_assert!(fitted.len() <= limit);
        let status = status_of(&task);
        let last_lines = format!("{OUTPUT_TRUNCATED}\n{status}");
        if whole.len() <= limit {
            prop_assert_eq!(&fitted, &whole);
        } else if body.is_empty() {
            prop_assert_eq!(&fitted, tail(&status, limit));
        } else if last_lines.len() > limit {
            prop_assert_eq!(&fitted, tail(&last_lines, limit));
        } else {
            prop_assert!(is_longest_tail(kept(&fitted, &last_lines), without_marker(&body), &last_lines, limit));
        }
    }

    // contract: M2, M8, M11
    #[test]
    fn the_last_line_of_a_read_is_the_real_status_wherever_it_fits(
        body in hostile(), task in any_task(), limit in 0..2000_usize,
    ) {
        let status = status_of(&task);
        let read = fit_output(&body, &task, limit);
        if status.len() <= limit {
            prop_assert_eq!(read.lines().next_back(), Some(status.as_str()));
        } else {
            prop_assert!(status.ends_with(&read));
        }
    }

    // contract: M9, M10
    #[test]
    fn a_read_fitted_at_the_end_is_as_one_fitted_at_once(
        body in hostile(), task in any_task(), limit in 0..2000_usize,
    ) {
        prop_assume!(body.trim_end_matches('\n') != "(no new output)");
        let fitted = fit_read(&output_text(&body, &task), &status_of(&task), limit);
        prop_assert_eq!(fitted, fit_output(&body, &task, limit));
    }

    // contract: M9, M10, M11
    #[test]
    fn a_read_that_was_changed_is_within_its_cap_and_keeps_a_status_line_that_is_still_there(
        text in hostile(), task in any_task(), limit in 0..2000_usize, ends in any::<bool>(),
    ) {
        let status = status_of(&task);
        let text = if ends { format!("{text}{status}") } else { text };
        let fitted = fit_read(&text, &status, limit);
        prop_assert!(fitted.len() <= limit);
        if ends && status.len() <= limit {
            prop_assert!(fitted.ends_with(&status));
        } else if !text.ends_with(&status) {
            prop_assert_eq!(fitted, fit_text(&text, limit));
        }
    }

    // contract: M8
    #[test]
    fn any_other_text_is_within_its_cap_and_drops_nothing_it_has_room_for(
        text in hostile(), limit in prop_oneof![0..200_usize, 0..2000_usize],
    ) {
        let fitted = fit_text(&text, limit);
        prop_assert!(fitted.len() <= limit);
        if text.len() <= limit {
            prop_assert_eq!(&fitted, &text);
        } else if RESULT_TRUNCATED.len() > limit {
            prop_assert_eq!(&fitted, tail(RESULT_TRUNCATED, limit));
        } else {
            let kept = kept(&fitted, RESULT_TRUNCATED);
            prop_assert!(is_longest_tail(kept, without_marker(&text), RESULT_TRUNCATED, limit));
        }
    }

    // contract: M9
    #[test]
    fn fitting_twice_says_truncated_once(text in "[a-zé界\n]{0,80}", first in 0..100_usize, less in 0..100_usize) {
        let twice = fit_text(&fit_text(&text, first), first.saturating_sub(less));
        prop_assert!(twice.matches("truncated]").count() <= 1);
    }

    // contract: M8
    #[test]
    fn head_and_tail_are_the_longest_whole_characters_within_the_limit(text in hostile(), limit in 0..300_usize) {
        let (head, tail) = (head(&text, limit), tail(&text, limit));
        prop_assert!(head.len() <= limit && tail.len() <= limit);
        prop_assert!(text.starts_with(head) && text.ends_with(tail));
        let after = text[head.len()..].chars().next().map_or(usize::MAX, char::len_utf8);
        prop_assert!(head.len().saturating_add(after) > limit);
        let before = text[..text.len() - tail.len()].chars().next_back().map_or(usize::MAX, char::len_utf8);
        prop_assert!(tail.len().saturating_add(before) > limit);
    }
}
