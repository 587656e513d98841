//! Terminal text made fit for a model.

mod escape;
mod line;

use alloc::string::String;

use self::escape::{Effect, Escape};
use self::line::Line;

pub use self::escape::MAX_SEQUENCE_BYTES;

/// The most that one read shows of one line, unless told otherwise, in bytes.
pub const MAX_LINE_BYTES: usize = 64_000;

/// Makes terminal text fit for a model, piece by piece. However a text is divided, the
/// lines are the same.
///
/// - Escape sequences go, also those divided over pieces. One that never ends takes at
///   most [`MAX_SEQUENCE_BYTES`] with it, and no line break.
/// - `\r\n`, form feeds, vertical tabs and the like become `\n`. Bells and changes of
///   character set go; other control characters are shown as symbols (`␀`), and counted.
///   Tabs stay, and so does everything that is not a control character.
/// - Of a line redrawn in place the last frame is shown: what is written after a carriage
///   return, a backspace or a move to the left replaces what stood from there on. Moves
///   to other lines are not followed.
/// - A line longer than a given number of bytes loses its middle, and says how much.
///
/// A line is given out when it is finished. [`flush`](Self::flush) gives out what there
/// is of an unfinished one; so far it need not be held by anybody. It cannot be taken back
/// then: what follows is either its continuation or, when the line was redrawn meanwhile,
/// the newest frame as a whole, on a new line, with [`Clean::redraws`] set.
///
/// So: the texts of all flushes joined are the text without them, exactly, where no line
/// is redrawn or too long. Where lines are redrawn, the finished lines are, once each text
/// that redraws took the place of the unfinished line before it; a line erased in the
/// meantime counts as redrawn when something is written on it, or it is finished.
///
/// ```
/// use longrun_core::output::{Clean, Cleaner};
///
/// let mut cleaner = Cleaner::new(1000);
/// let mut clean = Clean::default();
/// cleaner.clean("\x1b[1mget\x1b[0m\r\n10%\r20%\r3", &mut clean);
/// cleaner.clean("0%", &mut clean);
/// assert_eq!(clean.text, "get\n");
/// cleaner.flush(&mut clean);
/// assert_eq!(clean.text, "get\n30%");
///
/// let mut more = Clean::default();
/// cleaner.clean("\r40%\r50%", &mut more);
/// cleaner.flush(&mut more);
/// assert_eq!(more, Clean { text: "\n50%".into(), redraws: true, symbols: 0 });
/// ```
#[derive(Clone, Debug)]
pub struct Cleaner {
    escape: Escape,
    line: Line,
}

/// Text without control characters, but for tabs and line breaks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clean {
    /// The text.
    pub text: String,
    /// Whether it begins with a line break of our own, since it draws anew the line that
    /// an earlier text left unfinished.
    pub redraws: bool,
    /// How many control characters became symbols, in frames that were replaced too.
    pub symbols: u64,
}

impl Cleaner {
    /// A cleaner that shows at most `max_line_bytes` of a line at once.
    #[must_use]
    pub const fn new(max_line_bytes: usize) -> Self {
        Self { escape: Escape::new(), line: Line::new(max_line_bytes) }
    }

    /// Takes text in, and gives out the lines that it finishes.
    pub fn clean(&mut self, text: &str, clean: &mut Clean) {
        let mut rest = text;
        while !rest.is_empty() {
            if self.escape.outside() {
                let plain = plain_length(rest);
                self.line.write(&rest[..plain]);
                rest = &rest[plain..];
            }
            let mut chars = rest.chars();
            if let Some(character) = chars.next() {
                self.step(character, clean);
            }
            rest = chars.as_str();
        }
    }

    /// Gives out what there is of the unfinished line.
    pub fn flush(&mut self, clean: &mut Clean) {
        self.line.flush(clean);
    }

    /// Says that text was lost here: what comes next is neither the rest of a sequence
    /// nor that of a line.
    pub fn skip(&mut self) {
        self.escape = Escape::new();
        self.line = Line::new(self.line.max_bytes());
    }

    fn step(&mut self, character: char, clean: &mut Clean) {
        match self.escape.step(character) {
            Effect::Nothing => {}
            Effect::Text => self.line.write(character.encode_utf8(&mut [0; 4])),
            Effect::Symbol => self.line.write_symbol(symbol(character)),
            Effect::NewLine => self.line.finish(clean),
            Effect::Return => self.line.rewind(),
            Effect::Left(columns) => self.line.left(columns),
            Effect::EraseRest => self.line.erase_rest(),
            Effect::EraseLine => self.line.erase(),
        }
    }
}

/// How many bytes at the start are shown as they are.
fn plain_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            0..0x20 | 0x7f if bytes[at] != b'\t' => break,
            // U+0080 to U+009F.
            0xc2 if bytes[at + 1] < 0xa0 => break,
            _ => at += 1,
        }
    }
    at
}

/// The picture of a control character.
fn symbol(control: char) -> char {
    match control {
        '\x7f' => '\u{2421}',
        _ => char::from_u32(0x2400 + u32::from(control)).unwrap_or(char::REPLACEMENT_CHARACTER),
    }
}
