//! Terminal text, made fit for a model.

use super::super::exercise::{at_once, fold};
use super::*;

/// The texts of reads that each bring one of these.
fn reads<const N: usize>(texts: [&str; N]) -> [String; N] {
    let mut cleaner = Cleaner::new(1000);
    texts.map(|text| {
        let mut clean = Clean::default();
        cleaner.clean(text, &mut clean);
        cleaner.flush(&mut clean);
        clean.text
    })
}

/// The same with short lines, in one read.
fn short(max_line_bytes: usize, text: &str) -> String {
    let (mut cleaner, mut clean) = (Cleaner::new(max_line_bytes), Clean::default());
    cleaner.clean(text, &mut clean);
    cleaner.flush(&mut clean);
    clean.text
}

// contract: M12
#[test]
fn escape_sequences_go() {
    assert_eq!(at_once("\x1b[1;31mred\x1b[0m \x1b(Bplain\x1b[m"), "red plain");
    assert_eq!(at_once("\x1b]8;;http://x\x1b\\link\x1b]8;;\x07 \x1b]0;title\u{9c}."), "link .");
    assert_eq!(at_once("\u{9b}31mred\u{9b}m \u{9d}0;title\x07."), "red .");
    assert_eq!(at_once("\x1bPq#0;2;0\x1b\\a\x1bXs\x1b\\b\x1b^p\x1b\\c\x1b_Gi=1\x1b\\d"), "abcd");
    assert_eq!(at_once("\x1b[?25l\x1b[2J\x1b[H\x1b7\x1b8\x1bc\x1b=ok\x1b[>0c\x1b[5 q"), "ok");
    assert_eq!(at_once("\x1b%G\x1b#8\x1b(Eok"), "ok");
}

// contract: M12
#[test]
fn escape_sequences_go_when_they_are_split_over_reads() {
    assert_eq!(
        reads(["a\x1b", "[3", "1", "mb\x1b]0;ti", "tle\x1b", "\\c"]),
        ["a", "", "", "b", "", "c"]
    );
    assert_eq!(reads(["\u{9b}", "1m\x1b(", "Bx"]), ["", "", "x"]);
}

// contract: M12
#[test]
fn what_is_no_sequence_takes_nothing_with_it() {
    // Cancelled, begun anew, or interrupted by what cannot be part of one.
    assert_eq!(at_once("\x1b[3\x18a \x1b]0;t\x1ab \x1b[3\x1b[1mc"), "a b c");
    assert_eq!(at_once("\x1b[31\u{e9}t\u{e9} \x1b\u{e9}"), "\u{e9}t\u{e9} \u{e9}");
    assert_eq!(at_once("\x1b[\nnext \x1b\nlast"), "\nnext \nlast");
    assert_eq!(at_once("a\x1b"), "a");
}

// contract: M12
#[test]
fn a_sequence_that_never_ends_does_not_swallow_the_output() {
    assert_eq!(at_once("\x1b]0;no end\nnext line\n"), "\nnext line\n");
    let endless = "\x1bP".to_string() + &"x".repeat(100_000);
    assert_eq!(at_once(&endless).len(), 100_000 - MAX_SEQUENCE_BYTES);
    let endless = "\x1b[".to_string() + &"1".repeat(100_000);
    assert_eq!(at_once(&endless).len(), 100_000 - MAX_SEQUENCE_BYTES);
}

// contract: M12
#[test]
fn control_characters_are_shown_and_counted_or_mean_nothing() {
    assert_eq!(at_once("head\0mid\0tail\x7f\x01"), "head\u{2400}mid\u{2400}tail\u{2421}\u{2401}");
    assert_eq!(at_once("\x07ding\x0e\x0f\u{80}\u{99}"), "ding");
    assert_eq!(at_once("\ttab\n\x0bv\x0cf\u{85}n\x1bEn"), "\ttab\n\nv\nf\nn\nn");
    let (mut cleaner, mut clean) = (Cleaner::new(1000), Clean::default());
    cleaner.clean("a\0b\x01\n\x02", &mut clean);
    assert_eq!(clean.symbols, 2);
    cleaner.flush(&mut clean);
    assert_eq!(clean.symbols, 3);
}

// contract: M12
#[test]
fn all_else_is_left_as_it_is() {
    let text = "na\u{ef}ve \u{2014} \u{754c} \u{1f600}\u{200d} \u{202e}x \u{a0} \u{ad} [status: x]";
    assert_eq!(at_once(text), text);
}

// contract: M12
#[test]
fn line_ends_of_other_systems_are_line_ends() {
    assert_eq!(at_once("a\r\nb\r\r\n\r\nc"), "a\nb\n\nc");
    assert_eq!(reads(["a\r", "\nb\r", "\n"]), ["a", "\nb", "\n"]);
}

// contract: M12
#[test]
fn of_a_line_redrawn_the_last_frame_is_shown() {
    let frames: String = (0..=5000).map(|n| alloc::format!("\rfetch {n}/5000")).collect();
    assert_eq!(at_once(&(frames + "\n\nsaved\n")), "fetch 5000/5000\n\nsaved\n");
    assert_eq!(at_once("1%\r2%\r"), "2%");
    assert_eq!(at_once("downloading\rdone\n"), "done\n");
    assert_eq!(at_once("\r\x1b[K1%\r\x1b[K2%\r\x1b[Kdone\n"), "done\n");
    assert_eq!(at_once("1%\x1b[2K\x1b[1G2%\x1b[2K\x1b[Gdone\n"), "done\n");
    assert_eq!(at_once("1%\x1b[1000D2%\x1b[1000D\x1b[Jdone\n"), "done\n");
    assert_eq!(at_once("gone\r\x1b[K\nnext"), "\nnext");
    // Erasing to the right of the end, or to the left, is not redrawing.
    assert_eq!(at_once("a\x1b[Kb\x1b[1Kc\x1b[3Gd\x1b[?2Ke"), "abcde");
}

// contract: M12
#[test]
fn a_backspace_replaces_what_stands_before_it() {
    assert_eq!(at_once("N\x08NA\x08AM\x08ME\x08E _\x08f_\x08n"), "NAME fn");
    assert_eq!(at_once("work |\x08/\x08-\x08\\\n"), "work \\\n");
    assert_eq!(at_once(" 10%\x08\x08\x08\x08 20%"), " 20%");
    assert_eq!(at_once("\x08\x08a\x08\n\x08b"), "a\nb");
    assert_eq!(at_once("\u{20ac}\u{754c}\x08x"), "\u{20ac}x");
    assert_eq!(at_once("ab\r\x08c"), "c");
}

// contract: M12
#[test]
fn a_frame_that_was_read_is_followed_by_the_newest_on_a_line_of_its_own() {
    assert_eq!(
        reads(["1%\r2%", "\r3%\r4%", "\r", "5%\n", "6%"]),
        ["2%", "\n4%", "", "\n5%\n", "6%"]
    );
    assert_eq!(reads(["work |", "\x08/", "\x08-\n"]), ["work |", "\nwork /", "\nwork -\n"]);
    assert_eq!(reads(["a", "b", "\rc"]), ["a", "b", "\nc"]);
    assert_eq!(reads(["1%", "\r\x1b[K", "\ndone\n"]), ["1%", "", "\n\ndone\n"]);
    // What is behind the part that was read is still replaced in silence.
    assert_eq!(reads(["ab", "cd\x08e"]), ["ab", "ce"]);
}

// contract: M12
#[test]
fn a_line_longer_than_the_view_is_cut_inside_with_a_count() {
    assert_eq!(short(10, "0123456789\n"), "0123456789\n");
    assert_eq!(
        short(10, "a\n0123456789x\nb"),
        "a\n01234… [1 bytes of this line not shown] …6789x\nb"
    );
    assert_eq!(
        short(10, &("\u{20ac}".repeat(1000) + "\r\n")),
        "\u{20ac}… [2994 bytes of this line not shown] …\u{20ac}\n"
    );
    assert_eq!(short(10, &("x".repeat(5000) + "\rshort")), "short");
    assert_eq!(short(0, "abc\n"), "… [3 bytes of this line not shown] …\n");
}

// contract: M12
#[test]
fn a_line_without_end_is_given_out_in_every_read_and_not_kept() {
    let (mut cleaner, mut shown) = (Cleaner::new(100), 0);
    for _ in 0..1000 {
        let mut clean = Clean::default();
        cleaner.clean(&"x".repeat(1000), &mut clean);
        cleaner.flush(&mut clean);
        assert!(clean.text.contains("[900 bytes of this line not shown]"), "{}", clean.text);
        shown += clean.text.matches('x').count();
    }
    assert_eq!(shown, 100_000);
    let mut clean = Clean::default();
    cleaner.clean("\rend", &mut clean);
    cleaner.flush(&mut clean);
    assert_eq!(clean, Clean { text: "\nend".into(), redraws: true, symbols: 0 });
}

fn terminal_text() -> impl Strategy<Value = String> {
    prop::collection::vec(terminal(), 0..60).prop_map(|pieces| pieces.concat())
}

/// Text and sequences, but nothing that redraws a line.
fn without_redraws() -> impl Strategy<Value = String> {
    terminal_text().prop_map(|text| {
        let moves = |c| matches!(c, '\r' | '\x08' | 'G' | 'K' | 'D');
        text.chars().filter(|c| !moves(*c)).collect()
    })
}

/// One read per piece.
fn read_pieces(text: &str, cuts: &[usize], max_line_bytes: usize) -> Vec<Clean> {
    let mut cleaner = Cleaner::new(max_line_bytes);
    let chars: Vec<String> = text.chars().map(|c| c.to_string()).collect();
    let mut rest = chars.as_slice();
    let mut pieces = Vec::new();
    for cut in cuts.iter().copied().chain([usize::MAX]) {
        let (now, later) = rest.split_at(cut.min(rest.len()));
        let mut clean = Clean::default();
        cleaner.clean(&now.concat(), &mut clean);
        cleaner.flush(&mut clean);
        pieces.push(clean);
        rest = later;
    }
    pieces
}

proptest! {
    // contract: M12
    #[test]
    fn no_control_character_is_ever_left(text in any::<String>(), more in terminal_text()) {
        let clean = at_once(&(text + &more));
        prop_assert!(!clean.contains(|c: char| c.is_control() && c != '\n' && c != '\t'));
    }

    // contract: M12
    #[test]
    fn text_without_controls_is_unchanged(text in "[\\PC\n\t]*") {
        prop_assert_eq!(at_once(&text), text);
    }

    // contract: M12
    #[test]
    fn many_reads_joined_are_one_read_where_no_line_is_redrawn(
        text in without_redraws(),
        cuts in cuts(),
    ) {
        let joined: String =
            read_pieces(&text, &cuts, 1000).into_iter().map(|clean| clean.text).collect();
        prop_assert_eq!(joined, at_once(&text));
    }

    // contract: M12
    #[test]
    fn many_reads_with_old_frames_replaced_are_one_read(
        text in terminal_text(),
        cuts in cuts(),
    ) {
        // A line that was erased is drawn anew when it is finished, if not before.
        let text = text + "\n";
        let mut folded = String::new();
        for clean in read_pieces(&text, &cuts, 1000) {
            fold(&mut folded, &clean);
        }
        prop_assert_eq!(folded, at_once(&text));
    }

    // contract: M12
    #[test]
    fn long_lines_lose_exactly_what_they_say(
        max_line_bytes in 0_usize..30,
        lines in prop::collection::vec("[a-z\u{e9}\u{20ac}]{0,90}", 0..8),
        cuts in cuts(),
    ) {
        let text = lines.join("\n");
        let (mut shown, mut hidden) = (String::new(), 0);
        for clean in read_pieces(&text, &cuts, max_line_bytes) {
            for line in clean.text.split_inclusive('\n') {
                let Some((head, rest)) = line.split_once("… [") else {
                    prop_assert!(line.trim_end().len() <= max_line_bytes);
                    shown += line;
                    continue;
                };
                let (count, tail) = rest.split_once(" bytes of this line not shown] …").unwrap();
                prop_assert!(head.len() + tail.trim_end().len() <= max_line_bytes);
                hidden += count.parse::<usize>().unwrap();
                shown = shown + head + tail;
            }
        }
        prop_assert_eq!(shown.len() + hidden, text.len());
    }
}

// contract: M12
#[test]
fn the_first_column_is_the_start_of_the_line_and_a_tab_is_text() {
    assert_eq!(at_once("fetch 1\x1b[Gfetch 2\x1b[1Gfetch 3\x1b[0Gfetch 4"), "fetch 4");
    assert_eq!(at_once("fetch 1\x1b[5G."), "fetch 1.", "others are not followed");
    assert_eq!(at_once("a\tb \x1b[3\tmc"), "a\tb \tmc", "no sequence has one in it");
}
