//! Where an observer of both streams, as one row of bytes, has come to.

use alloc::string::String;
use core::mem;

use super::{Capture, Decoder, Log, Stream, capture::Turn};

/// The most bytes of output that one [`Piece`] is made of.
pub const MAX_PIECE_BYTES: usize = 16 * 1024;

/// Where an observer has come to. It reads both streams as one row of bytes, in the order
/// in which they came, as text but otherwise as it was written. A plain value.
///
/// Offsets count the bytes of both streams together. They are exact wherever the order is
/// remembered, see [`Capture`]; of what came before that, standard output counts as first.
/// Each byte is told once in any case: as text, or as dropped. A character whose bytes are
/// interrupted by the other stream stands where its last byte does.
///
/// ```
/// use longrun_core::output::{Capture, JointCursor, Stream};
///
/// let mut capture = Capture::new(5);
/// capture.append(Stream::Stdout, b"one\ntwo\n");
/// capture.append(Stream::Stderr, b"no\n");
/// let mut cursor = JointCursor::new(1);
/// let piece = cursor.read(&capture).unwrap();
/// assert_eq!((piece.dropped, piece.offset, piece.text.as_str()), (2, 3, "\ntwo\n"));
/// let piece = cursor.read(&capture).unwrap();
/// assert_eq!((piece.stream, piece.offset, piece.next), (Some(Stream::Stderr), 8, 11));
/// assert_eq!(cursor.read(&capture), None);
/// ```
#[derive(Clone, Debug)]
pub struct JointCursor {
    places: [Place; 2],
    /// How many bytes are still in front of where it begins.
    ahead: u64,
    /// The offset behind all that was told.
    told: u64,
    /// How many bytes behind that are lost.
    lost: u64,
    max_bytes: usize,
}

/// Where it has come to in one stream.
#[derive(Clone, Debug, Default)]
struct Place {
    next: u64,
    decoder: Decoder,
}

/// A stretch of output, as an observer is told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Whose it is, if there is more than one stream. None if it tells of a loss alone.
    pub stream: Option<Stream>,
    /// Where the text begins, in bytes from the beginning of all output.
    pub offset: u64,
    /// How many bytes right in front of it are missing: they were gone before this
    /// observer came to them.
    pub dropped: u64,
    /// Text as it was written, escape sequences and all.
    pub text: String,
    /// The offset behind the text, to go on from. What is no UTF-8 takes more room in the
    /// text than it did, so this is not always `offset` and the length.
    pub next: u64,
}

impl JointCursor {
    /// At that offset. One that nothing has reached yet is waited for: what comes before
    /// it is passed over.
    #[must_use]
    pub fn new(from: u64) -> Self {
        Self::with_pieces_of(from, MAX_PIECE_BYTES)
    }

    pub(super) fn with_pieces_of(from: u64, max_bytes: usize) -> Self {
        Self { places: Default::default(), ahead: from, told: from, lost: 0, max_bytes }
    }

    /// The next piece, if something has come that was not told. A character that has not
    /// fully come is left for later, unless its stream has ended. A loss that no text
    /// follows is told when both have.
    pub fn read(&mut self, capture: &Capture) -> Option<Piece> {
        for Turn { stream, end } in capture.turns() {
            let log = capture.log(stream);
            while self.places[stream as usize].next < end {
                self.pass_over(stream, log, end);
                let (text, bytes) = self.decode(stream, log, end);
                if !text.is_empty() {
                    return Some(self.piece(Some(stream), text, bytes));
                }
            }
        }
        for stream in Stream::ALL.into_iter().filter(|stream| capture.log(*stream).ended()) {
            let decoder = &mut self.places[stream as usize].decoder;
            let (mut text, bytes) = (String::new(), decoder.held());
            decoder.finish(&mut text);
            if !text.is_empty() {
                return Some(self.piece(Some(stream), text, bytes));
            }
        }
        let is_told = self.lost == 0 || !capture.ended();
        (!is_told).then(|| self.piece(None, String::new(), 0))
    }

    /// Goes on, in a stream up to that offset at most, behind what is in front of where it
    /// begins, and behind what is lost.
    fn pass_over(&mut self, stream: Stream, log: &Log, end: u64) {
        let place = &mut self.places[stream as usize];
        let ahead = self.ahead.min(end - place.next);
        let lost = log.start().min(end).saturating_sub(place.next + ahead);
        if ahead + lost > 0 {
            self.lost += lost + place.decoder.skip();
        }
        self.ahead -= ahead;
        place.next += ahead + lost;
    }

    /// The text of what is kept up to that offset, or of a part of it, and of how many bytes
    /// it is.
    fn decode(&mut self, stream: Stream, log: &Log, end: u64) -> (String, u64) {
        let place = &mut self.places[stream as usize];
        let to = end.min(place.next + self.max_bytes as u64);
        let (mut text, mut bytes) = (String::new(), place.decoder.held() + to - place.next);
        for piece in log.pieces(place.next, to) {
            let orphans = place.decoder.decode(piece, &mut text);
            self.lost += orphans;
            bytes -= orphans;
        }
        place.next = to;
        (text, bytes - place.decoder.held())
    }

    fn piece(&mut self, stream: Option<Stream>, text: String, bytes: u64) -> Piece {
        let dropped = mem::take(&mut self.lost);
        let offset = self.told + dropped;
        self.told = offset + bytes;
        Piece { stream, offset, dropped, text, next: self.told }
    }
}
