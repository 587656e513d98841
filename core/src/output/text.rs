//! Text out of one log.

use alloc::string::String;

use super::{Decoder, Log};

/// Where a reader of one stream's text has come to. It reads text as it is, escape
/// sequences and all; a [`Cursor`](super::Cursor) reads it cleaned.
#[derive(Clone, Debug, Default)]
pub struct TextCursor {
    next: u64,
    decoder: Decoder,
}

/// What one read brought of one stream.
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
    /// What came since the last read, as text. A character that has not fully come is
    /// left for the next read, unless the stream has ended.
    ///
    /// ```
    /// use longrun_core::output::{Log, TextCursor};
    ///
    /// let (mut log, mut cursor) = (Log::new(4), TextCursor::default());
    /// log.append("x\u{20ac}yz".as_bytes());
    /// let read = cursor.read(&log);
    /// // Of the euro sign's bytes two are still there: all three count as dropped.
    /// assert_eq!((read.text.as_str(), read.dropped_bytes), ("yz", 4));
    /// ```
    pub fn read(&mut self, log: &Log) -> StreamText {
        let mut read = StreamText::default();
        if let Some(dropped) = log.dropped_since(self.next) {
            read.dropped_bytes = dropped + self.decoder.skip();
        }
        for piece in log.pieces(self.next, log.written()) {
            read.dropped_bytes += self.decoder.decode(piece, &mut read.text);
        }
        if log.ended() {
            self.decoder.finish(&mut read.text);
        }
        self.next = self.next.max(log.written());
        read
    }
}
