//! Two streams, and readers of both.

use super::super::capture::MAX_TURNS;
use super::*;

fn capture(cap: usize, pieces: &[(Stream, &str)]) -> Capture {
    let mut capture = Capture::new(cap);
    for (stream, piece) in pieces {
        capture.append(*stream, piece.as_bytes());
    }
    capture
}

fn read(pieces: &[(Stream, &str)]) -> String {
    Cursor::default().read(&capture(1000, pieces)).text()
}

use Stream::{Stderr, Stdout};

// contract: R1
#[test]
fn sections_stand_in_order_of_arrival_below_their_marks() {
    assert_eq!(read(&[]), "");
    assert_eq!(read(&[(Stdout, "a")]), "a");
    assert_eq!(read(&[(Stderr, "b")]), "[stderr]\nb");
    assert_eq!(read(&[(Stdout, "a"), (Stderr, "b")]), "a\n[stderr]\nb");
    assert_eq!(read(&[(Stderr, "b\n"), (Stdout, "a\n")]), "[stderr]\nb\n[stdout]\na\n");
    let pieces =
        [(Stdout, "1\n"), (Stderr, "2\n"), (Stderr, "3\n"), (Stdout, "4\n"), (Stderr, "5\n")];
    assert_eq!(read(&pieces), "1\n[stderr]\n2\n3\n[stdout]\n4\n[stderr]\n5\n");
}

// contract: R1
#[test]
fn a_line_stands_where_it_was_finished_and_is_not_torn() {
    let pieces = [(Stdout, "one"), (Stderr, "no\n"), (Stdout, " line\n")];
    assert_eq!(read(&pieces), "[stderr]\nno\n[stdout]\none line\n");
    // Unfinished at the end of the read: the one that moved last is last.
    let pieces = [(Stdout, "a"), (Stderr, "b"), (Stdout, "c")];
    assert_eq!(read(&pieces), "[stderr]\nb\n[stdout]\nac");
    // A bar on one stream, while lines come on the other.
    let pieces = [(Stderr, "\r1%"), (Stdout, "x\n"), (Stderr, "\r2%"), (Stdout, "y\n")];
    assert_eq!(read(&pieces), "x\ny\n[stderr]\n2%");
}

// contract: R7
#[test]
fn each_stream_has_a_decoder_of_its_own() {
    let (mut capture, mut cursor) = (Capture::new(1000), Cursor::default());
    let mut texts = Vec::new();
    for (stream, bytes) in [(Stdout, &b"\xe2\x82"[..]), (Stderr, b"E\n"), (Stdout, b"\xac\n")] {
        capture.append(stream, bytes);
        texts.push(cursor.read(&capture).text());
    }
    assert_eq!(texts, ["", "[stderr]\nE\n", "\u{20ac}\n"]);
    let once = Cursor::default().read(&capture).text();
    assert_eq!(once, "[stderr]\nE\n[stdout]\n\u{20ac}\n");
}

// contract: R7
#[test]
fn a_character_begun_at_the_end_of_a_stream_is_replaced_once() {
    let (mut capture, mut cursor) = (Capture::new(1000), Cursor::default());
    capture.append(Stdout, b"a\xf0\x9f");
    assert_eq!(cursor.read(&capture).text(), "a");
    capture.finish(Stdout);
    assert_eq!(cursor.read(&capture).text(), "\u{fffd}");
    assert!(cursor.read(&capture).is_empty());
}

// contract: R8, B2
#[test]
fn noise_on_one_stream_pushes_out_nothing_of_the_other() {
    let mut capture = capture(64_000, &[(Stdout, "kept\n")]);
    for _ in 0..10_000 {
        capture.append(Stderr, &[b'x'; 100]);
    }
    let delta = Cursor::default().read(&capture);
    assert_eq!(delta.of(Stdout), StreamText { text: "kept\n".into(), dropped_bytes: 0 });
    let noise = delta.of(Stderr);
    assert_eq!((noise.text.len(), noise.dropped_bytes), (64_000, 936_000));
}

// contract: R8
#[test]
fn a_loss_is_told_once_in_front_of_its_stream() {
    let pieces = [(Stdout, "0123456789\n"), (Stderr, "no\n"), (Stdout, "abcdef\n")];
    let (capture, mut cursor) = (capture(7, &pieces), Cursor::default());
    assert_eq!(
        cursor.read(&capture).text(),
        "[stderr]\nno\n[stdout]\n[11 bytes of stdout were dropped]\nabcdef\n"
    );
    assert!(cursor.read(&capture).is_empty());
    let both = super::streams::capture(1, &[(Stdout, "abc"), (Stderr, "defg")]);
    assert_eq!(
        Cursor::default().read(&both).text(),
        "[2 bytes of stdout were dropped]\nc\n[stderr]\n[3 bytes of stderr were dropped]\ng"
    );
}

// contract: R8, M12
#[test]
fn after_a_loss_nothing_is_left_of_what_stood_before() {
    let (mut capture, mut cursor) = (Capture::new(6), Cursor::default());
    capture.append(Stdout, b"10%\x1b]");
    assert_eq!(cursor.read(&capture).text(), "10%");
    capture.append(Stdout, b"0;title\x07\rab\n");
    // Neither is the sequence still open nor is the bar drawn anew.
    assert_eq!(cursor.read(&capture).text(), "[6 bytes of stdout were dropped]\nab\n");
}

// contract: M12
#[test]
fn binary_data_is_said_once_at_the_end() {
    let pieces = [(Stdout, "a\0\n"), (Stderr, "b\x01\n")];
    assert_eq!(
        read(&pieces),
        "a\u{2400}\n[stderr]\nb\u{2401}\n\
         [binary data: 2 control characters are shown as symbols]\n"
    );
}

// contract: B7
#[test]
fn the_order_takes_a_bounded_place_and_what_is_older_is_read_stream_by_stream() {
    let mut capture = Capture::new(64_000);
    for n in 0..MAX_TURNS * 2 {
        capture.append(Stdout, alloc::format!("o{n}\n").as_bytes());
        capture.append(Stderr, alloc::format!("e{n}\n").as_bytes());
    }
    assert_eq!(capture.turns().count(), MAX_TURNS + 2);
    let sections = Cursor::default().read(&capture).sections;
    // Half a turn was left of the unordered ones when the ordered ones begin.
    let lines: Vec<usize> =
        sections.iter().map(|section| section.clean.text.lines().count()).collect();
    let old = MAX_TURNS * 3 / 2;
    assert_eq!(lines[..2], [old, old]);
    assert!(lines[2..].iter().all(|count| *count == 1));
}

/// Whole lines of one stream each.
fn chunks() -> impl Strategy<Value = Vec<(Stream, String, bool)>> {
    let stream = prop_oneof![Just(Stdout), Just(Stderr)];
    prop::collection::vec((stream, "[a-c\u{20ac}]{0,4}\n?", any::<bool>()), 0..40)
}

proptest! {
    // contract: R1, R8
    #[test]
    fn any_number_of_readers_each_get_every_line_once_in_order(chunks in chunks()) {
        let (mut often, mut rarely) = (Cursor::default(), Cursor::default());
        let mut capture = Capture::new(1000);
        let (mut lines, mut begun) = (Vec::new(), [String::new(), String::new()]);
        let mut seen = [Vec::new(), Vec::new()];
        for (stream, text, read) in &chunks {
            capture.append(*stream, text.as_bytes());
            begun[*stream as usize] += text;
            if text.ends_with('\n') {
                lines.push((*stream, core::mem::take(&mut begun[*stream as usize])));
            }
            if *read {
                seen[0].extend(often.read(&capture).sections);
            }
        }
        seen[0].extend(often.read(&capture).sections);
        seen[1].extend(rarely.read(&capture).sections);
        let got: Vec<(Stream, String)> = seen[1].iter().flat_map(|section| {
            let lines = section.clean.text.split_inclusive('\n');
            lines.filter(|line| line.ends_with('\n')).map(|line| (section.stream, line.to_string()))
        }).collect();
        prop_assert_eq!(got, lines);
        for stream in Stream::ALL {
            let of = |sections: &[Section]| {
                Delta { sections: sections.to_vec() }.of(stream).text
            };
            prop_assert_eq!(of(&seen[0]), of(&seen[1]));
        }
    }

    // contract: R8
    #[test]
    fn what_is_shown_and_what_is_dropped_is_what_was_written(
        cap in 1_usize..30,
        chunks in chunks(),
    ) {
        let (mut capture, mut cursor) = (Capture::new(cap), Cursor::default());
        let (mut written, mut seen) = ([String::new(), String::new()], [0, 0]);
        for (stream, text, read) in chunks.iter().cloned().chain([(Stdout, String::new(), true)]) {
            capture.append(stream, text.as_bytes());
            written[stream as usize] += &text;
            if read {
                for section in cursor.read(&capture).sections {
                    let (index, text) = (section.stream as usize, section.clean.text);
                    seen[index] += usize::try_from(section.dropped_bytes).unwrap();
                    prop_assert_eq!(&written[index][seen[index]..seen[index] + text.len()], text.as_str());
                    seen[index] += text.len();
                }
            }
        }
        prop_assert_eq!(seen, [written[0].len(), written[1].len()]);
    }
}
