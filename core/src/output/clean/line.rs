//! The line that is being written.

use alloc::string::String;
use core::fmt::Write;

use super::Clean;

/// The newest frame of a line that is not finished, as far as it is of use.
#[derive(Clone, Debug)]
pub(super) struct Line {
    max_bytes: usize,
    text: String,
    /// How much of the text has been given out.
    given: usize,
    /// Where the next character goes, if not to the end: it replaces what is there.
    back: Option<usize>,
    gap: Option<Gap>,
    symbols: u64,
    before: Before,
}

/// What was left out of a text that was too long.
#[derive(Clone, Copy, Debug)]
struct Gap {
    at: usize,
    bytes: usize,
}

/// What has been given out of this line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Before {
    Nothing,
    /// Its beginning. The text goes on behind it.
    Beginning,
    /// A frame that is no longer true. The text stands in its place.
    OldFrame,
}

impl Line {
    pub(super) const fn new(max_bytes: usize) -> Self {
        Self {
            max_bytes,
            text: String::new(),
            given: 0,
            back: None,
            gap: None,
            symbols: 0,
            before: Before::Nothing,
        }
    }

    pub(super) const fn max_bytes(&self) -> usize {
        self.max_bytes
    }

    pub(super) fn write(&mut self, text: &str) {
        if !text.is_empty() {
            self.erase_rest();
            self.text.push_str(text);
            self.shorten();
        }
    }

    pub(super) fn write_symbol(&mut self, symbol: char) {
        self.write(symbol.encode_utf8(&mut [0; 4]));
        self.symbols += 1;
    }

    pub(super) const fn rewind(&mut self) {
        self.back = Some(0);
    }

    /// Moves that many characters to the left, but not into what was left out.
    pub(super) fn left(&mut self, characters: u16) {
        let at = self.back.unwrap_or(self.text.len());
        let border = self.gap.map_or(0, |gap| gap.at.min(at));
        let mut before = self.text[border..at].char_indices().rev();
        let moved = before.nth(usize::from(characters).saturating_sub(1));
        self.back = Some(moved.map_or(border, |(index, _)| border + index));
    }

    pub(super) fn erase(&mut self) {
        self.rewind();
        self.erase_rest();
    }

    /// Takes away what stands to the right of where the next character goes.
    pub(super) fn erase_rest(&mut self) {
        let Some(at) = self.back.take() else { return };
        self.text.truncate(at);
        self.gap = self.gap.filter(|gap| gap.at <= at && at > 0);
        // With nothing given of the text, the beginning was too long to be kept.
        let in_given = at < self.given || (at == 0 && self.given == 0);
        if self.before == Before::Beginning && in_given {
            self.before = Before::OldFrame;
            self.given = 0;
        }
    }

    /// Gives out the finished line, and begins the next.
    pub(super) fn finish(&mut self, clean: &mut Clean) {
        self.give(clean);
        clean.text.push('\n');
        self.text.clear();
        (self.given, self.back, self.gap) = (0, None, None);
        self.before = Before::Nothing;
    }

    /// Gives out what there is of the line.
    pub(super) fn flush(&mut self, clean: &mut Clean) {
        if self.given == self.text.len() && self.gap.is_none() {
            return;
        }
        self.give(clean);
        self.before = Before::Beginning;
        self.given = self.text.len();
        if self.gap.take().is_some() || self.given > self.max_bytes {
            // Too long to be drawn again as a whole.
            self.text.clear();
            self.given = 0;
            self.back = self.back.map(|_| 0);
        }
    }

    fn give(&mut self, clean: &mut Clean) {
        if self.before == Before::OldFrame {
            clean.text.push('\n');
            clean.redraws = true;
        }
        clean.symbols += core::mem::take(&mut self.symbols);
        let new = self.text.len() - self.given;
        if self.gap.is_none() && new <= self.max_bytes {
            clean.text.push_str(&self.text[self.given..]);
            return;
        }
        let (head, tail) = self.ends();
        let hidden = tail - head + self.gap.map_or(0, |gap| gap.bytes);
        clean.text.push_str(&self.text[self.given..head]);
        // Writing into a string cannot fail.
        let _ = write!(clean.text, "… [{hidden} bytes of this line not shown] …");
        clean.text.push_str(&self.text[tail..]);
    }

    /// Leaves out the middle of what has not been given, once it is twice too long: so
    /// each byte is moved once at most.
    fn shorten(&mut self) {
        if self.text.len() - self.given > self.max_bytes.saturating_mul(2) {
            let (head, tail) = self.ends();
            let bytes = tail - head + self.gap.map_or(0, |gap| gap.bytes);
            self.gap = Some(Gap { at: head, bytes });
            self.text.drain(head..tail);
        }
    }

    /// Where the beginning that is shown ends, and where the end that is shown begins.
    fn ends(&self) -> (usize, usize) {
        let half = self.max_bytes / 2;
        let head =
            self.gap.map_or_else(|| self.text.floor_char_boundary(self.given + half), |gap| gap.at);
        let tail = self.text.ceil_char_boundary(self.text.len().saturating_sub(half));
        (head, tail.max(head))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flushed(line: &mut Line) -> String {
        let mut clean = Clean::default();
        line.flush(&mut clean);
        clean.text
    }

    fn finished(mut line: Line) -> String {
        let mut clean = Clean::default();
        line.finish(&mut clean);
        clean.text
    }

    // contract: M12
    #[test]
    fn what_was_given_does_not_count_against_the_length() {
        let mut line = Line::new(10);
        line.write("abcdefghij");
        assert_eq!(flushed(&mut line), "abcdefghij");
        line.write("klmnopqrst");
        assert_eq!(flushed(&mut line), "klmnopqrst");
    }

    // contract: M12, B7
    #[test]
    fn a_line_without_an_end_takes_no_more_than_three_times_its_length() {
        let mut line = Line::new(10);
        for _ in 0..1000 {
            line.write("1234567");
            assert!(line.text.len() <= 30, "{}", line.text.len());
        }
        assert_eq!(finished(line), "12345… [6990 bytes of this line not shown] …34567\n");
    }

    // contract: M12
    #[test]
    fn a_frame_that_was_too_long_leaves_no_mark_on_the_next() {
        let mut line = Line::new(10);
        line.write(&"a".repeat(100));
        line.rewind();
        line.write("new");
        assert_eq!(finished(line), "new\n");
        let mut line = Line::new(10);
        line.write(&"a".repeat(100));
        line.left(1);
        line.write("b");
        assert_eq!(finished(line), "aaaaa… [90 bytes of this line not shown] …aaaab\n");
    }

    // contract: M12
    #[test]
    fn what_replaces_only_what_was_not_given_goes_on_behind_it() {
        let mut line = Line::new(10);
        line.write("abc");
        assert_eq!(flushed(&mut line), "abc");
        line.write("de");
        line.left(2);
        line.write("X");
        assert_eq!(finished(line), "X\n");
        let mut line = Line::new(10);
        line.write("abc");
        assert_eq!(flushed(&mut line), "abc");
        line.left(1);
        line.write("X");
        assert_eq!(finished(line), "\nabX\n");
    }
}
