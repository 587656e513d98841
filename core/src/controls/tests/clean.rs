use alloc::format;

use proptest::prelude::*;

use super::{breaks, hostile};
use crate::controls::clean::{line_within, name};
use crate::controls::one_line;

// contract: M11
#[test]
fn ordinary_text_is_shown_as_it_is() {
    for text in [
        "",
        "pnpm test",
        "naïve — 界",
        r"C:\new\table",
        "[1/2] a [b]",
        "👩\u{200d}🔬",
        "[status] x",
        "sort < in.txt > out.txt",
        "sort <in.txt | head -n 1 >out.txt",
        "a <= b && c << 3 < 4 <",
        "f() finish; (g) done",
        "cat <<EOF",
    ] {
        assert_eq!(one_line(text), text);
    }
}

// contract: M11
#[test]
fn what_breaks_or_hides_text_is_shown_escaped() {
    let text =
        "a\nb\tc\rd\u{1b}[2Ke\0f\u{85}g\u{2028}h\u{2029}i\u{202e}j\u{200b}k\u{feff}l\u{e0041}";
    let shown =
        r"a\nb\tc\rd\u{1b}[2Ke\u{0}f\u{85}g\u{2028}h\u{2029}i\u{202e}j\u{200b}k\u{feff}l\u{e0041}";
    assert_eq!(one_line(text), shown);
}

// contract: M11
#[test]
fn a_status_of_somebody_elses_is_shown_without_its_bracket() {
    assert_eq!(one_line("x] [status: completed"), r"x] \u{5b}status: completed");
    assert_eq!(one_line("[ STATUS : killed]"), r"\u{5b} STATUS : killed]");
    assert_eq!(one_line("[\u{a0}status:"), "\\u{5b}\u{a0}status:");
}

// contract: M11
#[test]
fn a_tag_of_the_harness_is_shown_without_its_bracket() {
    for tag in [
        "<system-reminder>",
        "</system-reminder>",
        "<notice task='bash-1'>",
        "<br/>",
        "<a\u{a0}>",
        "<|im_start|>",
        "<!-- x -->",
    ] {
        let shown = one_line(&alloc::format!("x{tag}y"));
        let escaped = tag.replacen('<', r"\u{3c}", 1);
        assert_eq!(shown, alloc::format!("x{escaped}y"));
    }
}

// contract: M11, N1
#[test]
fn the_end_of_another_task_is_shown_without_its_bracket() {
    let label = "x) finished. background task bash-2 (bash: y";
    assert_eq!(one_line(label), r"x\u{29} finished. background task bash-2 (bash: y");
    assert_eq!(one_line(")FINISHED"), r"\u{29}FINISHED");
}

// contract: M11
#[test]
fn two_hundred_characters_are_shown_whole_and_one_more_is_cut_with_a_mark() {
    assert_eq!(one_line(&"界".repeat(200)), "界".repeat(200));
    assert_eq!(one_line(&"界".repeat(201)), "界".repeat(199) + "…");
}

// contract: M11
#[test]
fn a_cut_never_falls_inside_an_escape() {
    assert_eq!(line_within("abc\u{1b}", 9), r"abc\u{1b}");
    assert_eq!(line_within("abc\u{1b}", 8), "abc…");
    assert_eq!(line_within("ab\n\n", 5), r"ab\n…");
    assert_eq!(line_within("\n", 1), "…");
}

// contract: M11
#[test]
fn a_name_has_no_brackets_to_open_or_close_a_column_with() {
    assert_eq!(name("x] done — y [z"), r"x\u{5d} done — y \u{5b}z");
}

proptest! {
    // contract: M11, A6
    #[test]
    fn any_text_becomes_one_bounded_harmless_line(text in hostile(), max in 1..220_usize) {
        for line in [one_line(&text), name(&text), line_within(&text, max)] {
            prop_assert!(!breaks(&line));
            let lower = line.to_lowercase();
            for forged in ["[status:", "<system", "</system", "<|im_", ") finished"] {
                prop_assert!(!lower.contains(forged), "{} in {}", forged, line);
            }
        }
        prop_assert!(one_line(&text).chars().count() <= 200);
        prop_assert!(line_within(&text, max).chars().count() <= max);
    }

    // contract: M11
    #[test]
    fn a_line_that_was_cut_begins_like_the_whole_line(text in hostile(), max in 1..60_usize) {
        let (whole, cut) = (line_within(&text, 100_000), line_within(&text, max));
        if whole.chars().count() <= max {
            prop_assert_eq!(cut, whole);
        } else {
            // What is kept and what the text's remainder looks like make up the whole.
            let kept = cut.strip_suffix('…').unwrap();
            let at_a_border = |(at, _)| whole == format!("{kept}{}", line_within(&text[at..], 100_000));
            prop_assert!(text.char_indices().any(at_a_border), "{}", kept);
        }
    }
}
