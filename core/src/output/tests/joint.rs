//! Observers of both streams as one row of bytes.

use super::super::capture::MAX_TURNS;
use super::*;
use Stream::{Stderr, Stdout};

/// Everything that there is to be told now.
fn pieces(cursor: &mut JointCursor, capture: &Capture) -> Vec<Piece> {
    core::iter::from_fn(|| cursor.read(capture)).collect()
}

fn piece(stream: Stream, offset: u64, dropped: u64, text: &str) -> Piece {
    let next = offset + text.len() as u64;
    Piece { stream: Some(stream), offset, dropped, text: text.into(), next }
}

// contract: R6
#[test]
fn pieces_come_as_they_were_written_in_the_order_of_arrival() {
    let (mut capture, mut cursor) = (Capture::new(1000), JointCursor::new(0));
    capture.append(Stdout, b"\x1b[32m10%\r");
    capture.append(Stderr, b"no\n");
    capture.append(Stdout, b"20%");
    let expected = [
        piece(Stdout, 0, 0, "\x1b[32m10%\r"),
        piece(Stderr, 9, 0, "no\n"),
        piece(Stdout, 12, 0, "20%"),
    ];
    assert_eq!(pieces(&mut cursor, &capture), expected);
    assert_eq!(cursor.read(&capture), None);
    capture.append(Stdout, b"!");
    assert_eq!(pieces(&mut cursor, &capture), [piece(Stdout, 15, 0, "!")]);
    assert_eq!(pieces(&mut JointCursor::new(10), &capture)[0], piece(Stderr, 10, 0, "o\n"));
}

// contract: R6
#[test]
fn an_offset_that_nothing_has_reached_is_waited_for() {
    let (mut capture, mut cursor) = (Capture::new(2), JointCursor::new(5));
    capture.append(Stdout, b"abc");
    capture.append(Stderr, b"d");
    assert_eq!(cursor.read(&capture), None);
    capture.append(Stdout, b"efgh");
    // Of what it waited for a byte is lost; what is lost in front of that is nothing to it.
    assert_eq!(pieces(&mut cursor, &capture), [piece(Stdout, 6, 1, "gh")]);
    capture.finish(Stdout);
    capture.finish(Stderr);
    assert_eq!(pieces(&mut JointCursor::new(100), &capture), []);
}

// contract: R6, R7
#[test]
fn a_character_is_whole_or_dropped_and_a_begun_one_is_replaced_at_the_end() {
    let (mut capture, mut cursor) = (Capture::new(1000), JointCursor::new(0));
    capture.append(Stdout, b"a\xe2\x82");
    assert_eq!(pieces(&mut cursor, &capture), [piece(Stdout, 0, 0, "a")]);
    capture.append(Stderr, b"x");
    capture.append(Stdout, b"\xac\xf0\x9f");
    let rest = pieces(&mut cursor, &capture);
    assert_eq!(rest, [piece(Stderr, 1, 0, "x"), piece(Stdout, 2, 0, "\u{20ac}")]);
    capture.finish(Stdout);
    let end = Piece { next: 7, ..piece(Stdout, 5, 0, "\u{fffd}") };
    assert_eq!(pieces(&mut cursor, &capture), [end]);
    // Begun in the middle of a character.
    let mut capture = Capture::new(1000);
    capture.append(Stdout, "\u{20ac}!".as_bytes());
    assert_eq!(pieces(&mut JointCursor::new(1), &capture), [piece(Stdout, 3, 2, "!")]);
}

// contract: R6, R8
#[test]
fn a_loss_that_nothing_follows_is_told_at_the_end() {
    let (mut capture, mut cursor) = (Capture::new(0), JointCursor::new(1));
    capture.append(Stdout, b"abc");
    capture.finish(Stdout);
    assert_eq!(cursor.read(&capture), None);
    capture.finish(Stderr);
    let lost = Piece { stream: None, offset: 3, dropped: 2, text: String::new(), next: 3 };
    assert_eq!(pieces(&mut cursor, &capture), [lost]);
}

// contract: R6
#[test]
fn a_piece_is_bounded_and_the_order_forgotten_loses_and_repeats_nothing() {
    let mut capture = Capture::new(1_000_000);
    capture.append(Stdout, &[b'x'; 2 * MAX_PIECE_BYTES + 1]);
    let lengths = pieces(&mut JointCursor::new(0), &capture).into_iter().map(|p| p.text.len());
    assert_eq!(lengths.collect::<Vec<_>>(), [MAX_PIECE_BYTES, MAX_PIECE_BYTES, 1]);

    let (mut early, mut got) = (JointCursor::new(0), [String::new(), String::new()]);
    let mut capture = Capture::new(1_000_000);
    let mut written = [String::new(), String::new()];
    let mut next = 0;
    for n in 0..MAX_TURNS * 3 {
        for stream in Stream::ALL {
            let text = alloc::format!("{n} ");
            capture.append(stream, text.as_bytes());
            written[stream as usize] += &text;
        }
        // It falls behind by more than the order that is remembered.
        if n == 10 || n == MAX_TURNS * 3 - 1 {
            for piece in pieces(&mut early, &capture) {
                assert_eq!((piece.offset, piece.dropped), (next, 0));
                next = piece.next;
                got[piece.stream.unwrap() as usize] += &piece.text;
            }
        }
    }
    assert_eq!(got, written);
}

/// What is written: by whom, what, and which of two observers look then.
fn steps() -> impl Strategy<Value = Vec<(Stream, String, [bool; 2])>> {
    let stream = prop_oneof![Just(Stdout), Just(Stderr)];
    prop::collection::vec((stream, "[a-z]{0,9}", any::<[bool; 2]>()), 0..40)
}

proptest! {
    // contract: R6, R8
    #[test]
    fn what_any_observer_is_told_and_what_it_missed_is_what_was_written_each_byte_once(
        cap in 0_usize..60,
        max_bytes in 1_usize..9,
        froms in any::<[u8; 2]>(),
        steps in steps(),
    ) {
        let mut capture = Capture::new(cap);
        let mut row = Vec::new();
        let froms = froms.map(u64::from);
        let mut next = froms;
        let mut cursors = froms.map(|from| JointCursor::with_pieces_of(from, max_bytes));
        let last = (Stdout, "end".to_string(), [true; 2]);
        for (stream, text, look) in steps.into_iter().chain([last]) {
            capture.append(stream, text.as_bytes());
            row.extend(text.bytes().map(|byte| (stream, char::from(byte))));
            if row.ends_with(&[(Stdout, 'e'), (Stdout, 'n'), (Stdout, 'd')]) {
                capture.finish(Stdout);
                capture.finish(Stderr);
            }
            for index in (0..2).filter(|index| look[*index]) {
                for piece in pieces(&mut cursors[index], &capture) {
                    prop_assert_eq!(piece.offset, next[index] + piece.dropped);
                    next[index] = piece.next;
                    let place = |offset| usize::try_from(offset).unwrap();
                    let told = &row[place(piece.offset)..place(piece.next)];
                    prop_assert!(told.len() <= max_bytes);
                    prop_assert!(told.iter().all(|(stream, _)| Some(*stream) == piece.stream));
                    prop_assert!(told.iter().map(|(_, char)| *char).eq(piece.text.chars()));
                    // Only what had left its stream's window is missing.
                    let lost = &row[place(piece.offset - piece.dropped)..place(piece.offset)];
                    for (number, (stream, _)) in lost.iter().enumerate() {
                        let at = place(piece.offset - piece.dropped) + number;
                        let newer = row[at + 1..].iter().filter(|(other, _)| other == stream);
                        prop_assert!(newer.count() >= cap);
                    }
                }
            }
        }
        let written = row.len() as u64;
        prop_assert_eq!(next, froms.map(|from| from.max(written)));
    }
}

// contract: R6
#[test]
fn a_piece_is_made_of_sixteen_kibibytes_at_most() {
    let mut capture = Capture::new(100_000);
    capture.append(Stream::Stdout, &[b'x'; 40_000]);
    let mut cursor = JointCursor::new(0);
    let lengths = core::iter::from_fn(|| cursor.read(&capture).map(|piece| piece.text.len()));
    assert!(lengths.eq([16_384, 16_384, 7_232]));
}
