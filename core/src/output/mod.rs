//! What a producer's work writes: kept within a bound, read by anybody, shown to a model.
//!
//! The model: a stream is an endless row of bytes, and a [`Log`] is a window on its end.
//! A [`Capture`] holds the two streams of a command, each in a window of its own, and the
//! order in which they came. Nothing here knows its readers. A reader holds a cursor,
//! a plain value, and there may be any number of them; none moves another, and none is
//! ever made invalid. What slid out of the window before a reader came is counted for it.
//!
//! Three kinds of reading, from raw to fit for a model:
//!
//! 1. bytes: [`Log::read_from`] an offset;
//! 2. text: a [`TextCursor`] on one log. A character split over chunks or reads comes
//!    whole, what is no UTF-8 is replaced once ([`Decoder`]);
//! 3. clean text: a [`Cursor`] on a capture. No escape sequences, no control characters,
//!    of a line redrawn in place the last frame ([`Cleaner`]), the streams as sections in
//!    the order of their lines ([`Delta`]).
//!
//! An observer, a screen say, reads text of both streams as they came, with one offset over
//! both: a [`JointCursor`].
//!
//! All cursors count raw bytes, whatever is made of them.
//!
//! ```
//! use longrun_core::output::{Capture, Cursor, Stream};
//!
//! let mut capture = Capture::new(64_000);
//! let (mut model, mut screen) = (Cursor::default(), Cursor::default());
//! capture.append(Stream::Stdout, b"\x1b[32mok\x1b[0m\n10%\r20");
//! capture.append(Stream::Stderr, b"careful\n");
//! capture.append(Stream::Stdout, b"%\r\n");
//! assert_eq!(model.read(&capture).text(), "ok\n[stderr]\ncareful\n[stdout]\n20%\n");
//! assert!(model.read(&capture).is_empty());
//! assert_eq!(screen.read(&capture).sections.len(), 3);
//! assert_eq!(capture.log(Stream::Stdout).read_from(16).bytes, b"20%\r\n");
//! ```

mod capture;
mod clean;
mod cursor;
mod delta;
#[cfg(any(test, feature = "check"))]
mod exercise;
mod joint;
mod log;
#[cfg(test)]
mod tests;
mod text;
mod utf8;

pub use capture::{Capture, Stream};
pub use clean::{Clean, Cleaner, MAX_LINE_BYTES, MAX_SEQUENCE_BYTES};
pub use cursor::Cursor;
pub use delta::{Delta, Section};
#[cfg(any(test, feature = "check"))]
pub use exercise::exercise;
pub use joint::{JointCursor, MAX_PIECE_BYTES, Piece};
pub use log::{Log, LogChunk};
pub use text::{StreamText, TextCursor};
pub use utf8::Decoder;
