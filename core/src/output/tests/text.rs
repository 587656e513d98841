//! Text, as it is.

use alloc::borrow::ToOwned;

use super::*;

fn feed(log: &mut Log, cursor: &mut TextCursor, bytes: &[u8]) -> String {
    log.append(bytes);
    let read = cursor.read(log);
    assert_eq!(read.dropped_bytes, 0);
    read.text
}

// contract: R7
#[test]
fn a_character_split_over_reads_is_never_replaced() {
    let (mut log, mut cursor) = (Log::new(100), TextCursor::default());
    assert_eq!(feed(&mut log, &mut cursor, b"a\xe2\x82"), "a");
    assert_eq!(feed(&mut log, &mut cursor, b""), "");
    assert_eq!(feed(&mut log, &mut cursor, b"\xac!"), "\u{20ac}!");
}

// contract: R7
#[test]
fn an_invalid_byte_is_replaced_once_and_at_once() {
    let (mut log, mut cursor) = (Log::new(100), TextCursor::default());
    assert_eq!(feed(&mut log, &mut cursor, b"a\xff"), "a\u{fffd}");
    assert_eq!(feed(&mut log, &mut cursor, b"b"), "b");
}

// contract: R7
#[test]
fn a_character_that_the_stream_never_finished_is_replaced_once_at_its_end() {
    let (mut log, mut cursor) = (Log::new(100), TextCursor::default());
    assert_eq!(feed(&mut log, &mut cursor, b"a\xf0\x9f\x98"), "a");
    log.finish();
    assert_eq!(feed(&mut log, &mut cursor, b""), "\u{fffd}");
    assert_eq!(feed(&mut log, &mut cursor, b""), "");
}

// contract: R8
#[test]
fn a_character_cut_by_the_window_counts_as_dropped() {
    let (mut log, mut cursor) = (Log::new(4), TextCursor::default());
    log.append("x\u{20ac}yz".as_bytes());
    let read = cursor.read(&log);
    assert_eq!(read, StreamText { text: "\u{20ac}yz"[3..].to_owned(), dropped_bytes: 4 });
}

proptest! {
    // contract: R7
    #[test]
    fn any_split_gives_the_text_of_the_whole(
        whole in bytes(),
        cuts in cuts(),
    ) {
        let (mut log, mut cursor) = (Log::new(10_000), TextCursor::default());
        let mut text = String::new();
        for piece in divide(&whole, &cuts) {
            text += &feed(&mut log, &mut cursor, piece);
        }
        log.finish();
        text += &cursor.read(&log).text;
        prop_assert_eq!(text, String::from_utf8_lossy(&whole));
    }

    // contract: R8
    #[test]
    fn what_is_delivered_and_what_is_dropped_is_what_was_written(
        cap in 1_usize..20,
        chunks in prop::collection::vec((any::<String>(), any::<bool>()), 0..20),
    ) {
        let (mut log, mut cursor) = (Log::new(cap), TextCursor::default());
        let (mut seen, mut written) = (0, String::new());
        let mut take = |cursor: &mut TextCursor, log: &Log, written: &str| {
            let read = cursor.read(log);
            seen += read.dropped_bytes;
            let at = usize::try_from(seen).unwrap();
            assert_eq!(&written[at..at + read.text.len()], read.text);
            seen += read.text.len() as u64;
        };
        for (chunk, read) in chunks {
            log.append(chunk.as_bytes());
            written += &chunk;
            if read {
                take(&mut cursor, &log, &written);
            }
        }
        log.finish();
        take(&mut cursor, &log, &written);
        prop_assert_eq!(seen, written.len() as u64);
    }
}

// contract: R8
#[test]
fn a_loss_alone_is_something() {
    let text = |text: &str, dropped_bytes| StreamText { text: text.into(), dropped_bytes };
    assert!(text("", 0).is_empty());
    assert!(!text("", 1).is_empty() && !text("a", 0).is_empty());
}
