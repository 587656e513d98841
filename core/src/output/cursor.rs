//! Where a reader of clean text has come to.

use alloc::string::String;
use core::mem;

use super::capture::Turn;
use super::{Capture, Clean, Cleaner, Decoder, Delta, Log, MAX_LINE_BYTES, Section, Stream};

/// Where a reader of both streams has come to: an offset, a decoder and a cleaner for
/// each. A plain value; see [`output`](crate::output) for an example.
#[derive(Clone, Debug)]
pub struct Cursor {
    stdout: Reader,
    stderr: Reader,
}

#[derive(Clone, Debug)]
struct Reader {
    next: u64,
    /// How many bytes were lost in front of the text that comes next.
    lost: u64,
    decoder: Decoder,
    cleaner: Cleaner,
}

impl Default for Cursor {
    /// At the beginning of both streams, with lines of at most [`MAX_LINE_BYTES`].
    fn default() -> Self {
        Self::new(MAX_LINE_BYTES)
    }
}

impl Cursor {
    /// At the beginning of both streams. Of a line longer than `max_line_bytes` a read
    /// shows that much.
    #[must_use]
    pub fn new(max_line_bytes: usize) -> Self {
        let reader = Reader {
            next: 0,
            lost: 0,
            decoder: Decoder::default(),
            cleaner: Cleaner::new(max_line_bytes),
        };
        Self { stdout: reader.clone(), stderr: reader }
    }

    /// How far in a stream's raw bytes the reader has come.
    #[must_use]
    pub const fn offset(&self, stream: Stream) -> u64 {
        match stream {
            Stream::Stdout => self.stdout.next,
            Stream::Stderr => self.stderr.next,
        }
    }

    /// What came since the last read.
    ///
    /// Lines stand in the order in which they were finished, none is torn by one of the
    /// other stream. What is not finished comes at the end, so that nothing is ever held
    /// back; the next read goes on behind it.
    pub fn read(&mut self, capture: &Capture) -> Delta {
        let mut delta = Delta::default();
        for Turn { stream, end } in capture.turns() {
            let clean = self.reader(stream).advance(capture.log(stream), end);
            if !clean.text.is_empty() {
                let dropped_bytes = mem::take(&mut self.reader(stream).lost);
                delta.add(Section { stream, dropped_bytes, clean });
            }
        }
        let latest = capture.latest();
        for stream in [latest.other(), latest] {
            let clean = self.reader(stream).rest(capture.log(stream));
            let dropped_bytes = mem::take(&mut self.reader(stream).lost);
            delta.add(Section { stream, dropped_bytes, clean });
        }
        delta
    }

    const fn reader(&mut self, stream: Stream) -> &mut Reader {
        match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        }
    }
}

impl Reader {
    /// Reads on to that offset: the lines that were finished there.
    fn advance(&mut self, log: &Log, end: u64) -> Clean {
        let mut clean = Clean::default();
        if end <= self.next {
            return clean;
        }
        if let Some(lost) = log.dropped_since(self.next) {
            self.pass_over(log, lost);
        }
        let mut text = String::new();
        for piece in log.pieces(self.next, end) {
            self.lost += self.decoder.decode(piece, &mut text);
        }
        self.cleaner.clean(&text, &mut clean);
        self.next = self.next.max(end);
        clean
    }

    /// Goes on behind what was lost, and behind the rest of a character cut in two.
    fn pass_over(&mut self, log: &Log, lost: u64) {
        self.lost += lost + self.decoder.skip();
        self.cleaner.skip();
        self.next = log.start();
        for piece in log.pieces(self.next, log.written()) {
            let orphans = self.decoder.pass_orphans(piece) as u64;
            self.lost += orphans;
            self.next += orphans;
        }
    }

    /// What is there of the unfinished line.
    fn rest(&mut self, log: &Log) -> Clean {
        let mut clean = Clean::default();
        if log.ended() {
            let mut text = String::new();
            self.decoder.finish(&mut text);
            self.cleaner.clean(&text, &mut clean);
        }
        self.cleaner.flush(&mut clean);
        clean
    }
}
