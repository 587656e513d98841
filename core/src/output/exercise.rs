//! Every property of the output, on any bytes: what the fuzzer and the replay of its corpus
//! call.

use alloc::{string::String, vec::Vec};

use super::{
    Capture, Clean, Cleaner, Cursor, Decoder, Delta, JointCursor, Piece, Stream, TextCursor,
};

/// More than any input.
const PLENTY: usize = 1 << 30;

/// A reader of everything, and what it has been given.
struct Reader {
    cursor: Cursor,
    texts: [TextCursor; 2],
    /// Per stream: clean text with each old frame replaced, decoded text, losses.
    folded: [String; 2],
    decoded: [String; 2],
    dropped: [u64; 2],
    joint: JointReader,
}

/// An observer of both streams.
struct JointReader {
    cursor: JointCursor,
    from: u64,
    next: u64,
    dropped: u64,
    texts: [String; 2],
}

struct World {
    cap: usize,
    capture: Capture,
    written: [Vec<u8>; 2],
}

/// Checks each property of the output on what these bytes spell.
///
/// # Panics
///
/// If one does not hold.
pub fn exercise(bytes: &[u8]) {
    let [cap, max_line, steps @ ..] = bytes else { return };
    // Every other world loses nothing, and cuts no line.
    let small = |byte: u8| if byte.is_multiple_of(2) { PLENTY } else { usize::from(byte) };
    let mut world = World::new(small(*cap));
    let mut readers = [0, 1, 9].map(|from| Reader::new(small(*max_line), from));
    let mut steps = steps;
    while let [what, rest @ ..] = steps {
        let length = usize::from(what >> 3).min(rest.len());
        let (piece, rest) = rest.split_at(length);
        steps = rest;
        match what % 8 {
            0..=2 => world.append(Stream::Stdout, piece),
            3..=5 => world.append(Stream::Stderr, piece),
            // The third reads at the end alone.
            reader => readers[usize::from(reader - 6)].read(&world),
        }
    }
    for stream in Stream::ALL {
        // A line that was erased is drawn anew when it is finished, if not before.
        world.append(stream, b"\n");
        world.capture.finish(stream);
        check_decoder(&world.written[stream as usize]);
    }
    for reader in &mut readers {
        reader.read(&world);
        assert!(reader.cursor.read(&world.capture).is_empty(), "the end came twice");
        if world.cap == PLENTY {
            reader.check_all(&world, max_line.is_multiple_of(2));
        }
    }
}

impl World {
    fn new(cap: usize) -> Self {
        Self { cap, capture: Capture::new(cap), written: [Vec::new(), Vec::new()] }
    }

    fn append(&mut self, stream: Stream, bytes: &[u8]) {
        self.capture.append(stream, bytes);
        self.written[stream as usize].extend_from_slice(bytes);
    }

    /// A read of raw bytes is exact: what is kept, and the number of what is not.
    fn check_bytes(&self, stream: Stream, from: u64) -> u64 {
        let written = &self.written[stream as usize];
        let kept = written.len().min(self.cap);
        let chunk = self.capture.log(stream).read_from(from);
        let start = (written.len() - kept) as u64;
        assert_eq!(chunk.dropped, start.saturating_sub(from), "dropped bytes are miscounted");
        let first = usize::try_from(from + chunk.dropped).unwrap_or(usize::MAX);
        assert_eq!(chunk.bytes, written[first..], "not the bytes that were written");
        assert_eq!(chunk.next, written.len() as u64);
        chunk.dropped
    }
}

impl Reader {
    fn new(max_line: usize, from: u64) -> Self {
        Self {
            cursor: Cursor::new(max_line),
            texts: Default::default(),
            folded: Default::default(),
            decoded: Default::default(),
            dropped: [0; 2],
            joint: JointReader::new(from),
        }
    }

    fn read(&mut self, world: &World) {
        let mut lost = [0; 2];
        for stream in Stream::ALL {
            lost[stream as usize] = world.check_bytes(stream, self.cursor.offset(stream));
            let read = self.texts[stream as usize].read(world.capture.log(stream));
            self.decoded[stream as usize].push_str(&read.text);
            // Besides the bytes themselves: a character cut in two, on either side.
            let cut = read.dropped_bytes - lost[stream as usize];
            assert!(cut <= 6, "{cut} bytes dropped without need");
        }
        self.joint.read(world);
        let delta = self.cursor.read(&world.capture);
        self.check_delta(&delta);
        for stream in Stream::ALL {
            let written = world.written[stream as usize].len() as u64;
            assert_eq!(self.cursor.offset(stream), written, "a cursor counts raw bytes");
            let cut = delta.of(stream).dropped_bytes - lost[stream as usize];
            assert!(cut <= 6, "{cut} bytes of clean text dropped without need");
        }
    }

    fn check_delta(&mut self, delta: &Delta) {
        for section in &delta.sections {
            assert!(section.dropped_bytes > 0 || !section.clean.text.is_empty(), "empty section");
            fold(&mut self.folded[section.stream as usize], &section.clean);
            self.dropped[section.stream as usize] += section.dropped_bytes;
        }
        let text = delta.text();
        let raw = text.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\t'));
        assert_eq!(raw, None, "a control character for a model");
        assert_eq!(delta.is_empty(), text.is_empty());
    }

    /// Where nothing was lost, many reads are as good as one.
    fn check_all(&self, world: &World, whole_lines: bool) {
        for stream in Stream::ALL {
            let index = stream as usize;
            let text = String::from_utf8_lossy(&world.written[index]);
            assert_eq!(self.decoded[index], text, "decoded in pieces");
            assert_eq!(self.dropped[index], 0, "a loss where nothing is ever lost");
            if self.joint.from == 0 {
                assert_eq!(self.joint.texts[index], text, "observed in pieces");
                assert_eq!(self.joint.dropped, 0, "a loss where nothing is ever lost");
            }
            if whole_lines {
                assert_eq!(self.folded[index], at_once(&text), "cleaned in pieces");
            }
        }
    }
}

impl JointReader {
    fn new(from: u64) -> Self {
        let cursor = JointCursor::with_pieces_of(from, 5);
        Self { cursor, from, next: from, dropped: 0, texts: Default::default() }
    }

    /// What is told of both streams has no gaps and no overlaps.
    fn read(&mut self, world: &World) {
        while let Some(piece) = self.cursor.read(&world.capture) {
            let Piece { stream, offset, dropped, text, next } = piece;
            assert_eq!(offset, self.next + dropped, "a gap between pieces, or an overlap");
            assert!(next > offset - dropped, "a piece of nothing");
            (self.next, self.dropped) = (next, self.dropped + dropped);
            if let Some(stream) = stream {
                self.texts[stream as usize].push_str(&text);
            }
        }
        let written: u64 = world.written.iter().map(|written| written.len() as u64).sum();
        if world.capture.ended() {
            assert_eq!(self.next, written.max(self.from), "not told to the end");
        }
    }
}

/// Appends a text, or puts it in the place of the line that it draws anew.
pub(super) fn fold(folded: &mut String, clean: &Clean) {
    if clean.redraws {
        folded.truncate(folded.rfind('\n').map_or(0, |at| at + 1));
        folded.push_str(&clean.text[1..]);
    } else {
        folded.push_str(&clean.text);
    }
}

/// The clean text of a whole stream.
pub(super) fn at_once(text: &str) -> String {
    let (mut cleaner, mut clean) = (Cleaner::new(PLENTY), Clean::default());
    cleaner.clean(text, &mut clean);
    cleaner.flush(&mut clean);
    assert!(!clean.redraws, "nothing was there to draw anew");
    clean.text
}

/// Byte by byte is as good as at once.
fn check_decoder(bytes: &[u8]) {
    let (mut decoder, mut text) = (Decoder::default(), String::new());
    for byte in bytes {
        decoder.decode(&[*byte], &mut text);
    }
    decoder.finish(&mut text);
    assert_eq!(text, String::from_utf8_lossy(bytes), "decoded byte by byte");
}
