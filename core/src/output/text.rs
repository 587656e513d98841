//! Text out of a byte log, one consuming cursor per stream.
//!
//! The cursor is an offset and nothing else. The bytes of a character that has
//! not fully arrived stay in the log: the cursor simply does not move past them,
//! so the next read finds them together with their rest.

use alloc::string::String;
use core::str;

use super::log::ByteLog;

/// Where a reader of one stream has come to.
#[derive(Debug, Default)]
pub struct TextCursor {
    next: u64,
}

/// What one read brought.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamText {
    /// The new text, after whatever was dropped.
    pub text: String,
    /// How many bytes were lost in front of it, because nobody read them before
    /// they slid out of the window.
    pub dropped_bytes: u64,
}

impl StreamText {
    /// Whether there is neither text nor a loss to speak of.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.text.is_empty() && self.dropped_bytes == 0
    }
}

impl TextCursor {
    /// What came since the last read, as text. A byte sequence that is no UTF-8
    /// becomes one U+FFFD; an unfinished one is left for the next read, unless
    /// the stream has ended.
    pub fn read(&mut self, log: &ByteLog) -> StreamText {
        let chunk = log.read_from(self.next);
        let cut = if chunk.dropped > 0 { leading_continuations(&chunk.bytes) } else { 0 };
        let bytes = &chunk.bytes[cut..];
        let held = if log.ended() { 0 } else { unfinished_tail(bytes) };
        let whole = &bytes[..bytes.len() - held];
        self.next = chunk.next - held as u64;
        StreamText {
            text: String::from_utf8_lossy(whole).into_owned(),
            dropped_bytes: chunk.dropped + cut as u64,
        }
    }
}

/// How many bytes at the start belong to a character whose first byte is gone.
fn leading_continuations(bytes: &[u8]) -> usize {
    bytes.iter().take(3).take_while(|byte| **byte & 0b1100_0000 == 0b1000_0000).count()
}

/// How many bytes at the end may still become a character.
fn unfinished_tail(bytes: &[u8]) -> usize {
    // The last three bytes are enough: a fourth would have finished it.
    (1..=bytes.len().min(3))
        .rev()
        .find(|length| {
            let tail = &bytes[bytes.len() - length..];
            str::from_utf8(tail)
                .is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
        })
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use alloc::{borrow::ToOwned, string::ToString, vec, vec::Vec};

    use proptest::prelude::*;

    use super::*;

    fn feed(log: &mut ByteLog, cursor: &mut TextCursor, bytes: &[u8]) -> String {
        log.append(bytes);
        let read = cursor.read(log);
        assert_eq!(read.dropped_bytes, 0);
        read.text
    }

    // contract: R7
    #[test]
    fn a_character_split_over_reads_is_never_replaced() {
        let (mut log, mut cursor) = (ByteLog::new(100), TextCursor::default());
        assert_eq!(feed(&mut log, &mut cursor, b"a\xe2\x82"), "a");
        assert_eq!(feed(&mut log, &mut cursor, b""), "");
        assert_eq!(feed(&mut log, &mut cursor, b"\xac!"), "\u{20ac}!");
    }

    // contract: R7
    #[test]
    fn an_invalid_byte_is_replaced_once_and_at_once() {
        let (mut log, mut cursor) = (ByteLog::new(100), TextCursor::default());
        assert_eq!(feed(&mut log, &mut cursor, b"a\xff"), "a\u{fffd}");
        assert_eq!(feed(&mut log, &mut cursor, b"b"), "b");
    }

    // contract: R7
    #[test]
    fn a_character_that_the_stream_never_finished_is_replaced_once_at_its_end() {
        let (mut log, mut cursor) = (ByteLog::new(100), TextCursor::default());
        assert_eq!(feed(&mut log, &mut cursor, b"a\xf0\x9f\x98"), "a");
        log.finish();
        assert_eq!(feed(&mut log, &mut cursor, b""), "\u{fffd}");
        assert_eq!(feed(&mut log, &mut cursor, b""), "");
    }

    // contract: R8
    #[test]
    fn a_character_cut_by_the_window_counts_as_dropped() {
        let (mut log, mut cursor) = (ByteLog::new(4), TextCursor::default());
        log.append("x\u{20ac}yz".as_bytes());
        let read = cursor.read(&log);
        assert_eq!(read, StreamText { text: "\u{20ac}yz"[3..].to_owned(), dropped_bytes: 4 });
    }

    /// Bytes of which many are parts of characters.
    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            any::<char>().prop_map(|c| c.to_string().into_bytes()),
            any::<u8>().prop_map(|byte| vec![byte]),
            Just(b"\xe2\x82".to_vec()),
            Just(b"\xf0\x9f".to_vec()),
        ];
        prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        // contract: R7
        #[test]
        fn any_split_gives_the_text_of_the_whole(
            whole in bytes(),
            cuts in prop::collection::vec(0_usize..8, 0..200),
        ) {
            let (mut log, mut cursor) = (ByteLog::new(10_000), TextCursor::default());
            let (mut rest, mut text) = (whole.as_slice(), String::new());
            for cut in cuts {
                let (now, later) = rest.split_at(cut.min(rest.len()));
                text += &feed(&mut log, &mut cursor, now);
                rest = later;
            }
            log.append(rest);
            log.finish();
            text += &cursor.read(&log).text;
            prop_assert_eq!(text, String::from_utf8_lossy(&whole));
        }

        // contract: R8
        #[test]
        fn what_is_delivered_and_what_is_dropped_is_what_was_written(
            cap in 4_usize..20,
            chunks in prop::collection::vec((any::<String>(), any::<bool>()), 0..20),
        ) {
            let (mut log, mut cursor) = (ByteLog::new(cap), TextCursor::default());
            let (mut seen, mut written) = (0, String::new());
            let mut take = |cursor: &mut TextCursor, log: &ByteLog, written: &str| {
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
}
