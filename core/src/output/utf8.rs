//! Bytes to text, piece by piece.

use alloc::string::String;
use core::str;

/// A decoder of UTF-8 that is fed in pieces. However the bytes are divided, the text is
/// that of [`String::from_utf8_lossy`] on the whole.
///
/// ```
/// use longrun_core::output::Decoder;
///
/// let (mut decoder, mut text) = (Decoder::default(), String::new());
/// decoder.decode(b"5 \xe2\x82", &mut text);
/// assert_eq!(text, "5 ");
/// decoder.decode(b"\xac \xff", &mut text);
/// assert_eq!(text, "5 \u{20ac} \u{fffd}");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Decoder {
    /// The beginning of a character whose rest has not come.
    held: [u8; 3],
    held_len: usize,
    /// How many bytes may still belong to a character whose beginning was lost.
    orphans: u8,
}

impl Decoder {
    /// Appends the text of the next bytes. The beginning of a character is held until its
    /// rest comes; what can be no character becomes one U+FFFD, once.
    ///
    /// Returns how many bytes were passed over, see [`skip`](Self::skip).
    pub fn decode(&mut self, bytes: &[u8], text: &mut String) -> u64 {
        let passed = self.pass_orphans(bytes);
        let mut rest = self.complete(&bytes[passed..], text);
        while !rest.is_empty() {
            match str::from_utf8(rest) {
                Ok(valid) => {
                    text.push_str(valid);
                    break;
                }
                Err(error) => {
                    let (valid, after) = rest.split_at(error.valid_up_to());
                    // Just found to be valid.
                    text.push_str(str::from_utf8(valid).unwrap_or_default());
                    let Some(invalid) = error.error_len() else {
                        self.hold(after);
                        break;
                    };
                    text.push(char::REPLACEMENT_CHARACTER);
                    rest = &after[invalid..];
                }
            }
        }
        passed as u64
    }

    /// Says that nothing more will come: a character that was begun becomes one U+FFFD.
    pub fn finish(&mut self, text: &mut String) {
        if self.held_len > 0 {
            text.push(char::REPLACEMENT_CHARACTER);
            self.held_len = 0;
        }
    }

    /// How many bytes of a character are held that has not fully come.
    pub(super) const fn held(&self) -> u64 {
        self.held_len as u64
    }

    /// Says that bytes were lost here. A character that they cut in two is not shown: the
    /// number returned is that of its bytes in front of the gap, those behind it are
    /// passed over by the next [`decode`](Self::decode).
    pub fn skip(&mut self) -> u64 {
        let forgotten = self.held_len as u64;
        self.held_len = 0;
        self.orphans = 3;
        forgotten
    }

    /// How many bytes at the start belong to a character whose beginning was lost.
    pub(super) fn pass_orphans(&mut self, bytes: &[u8]) -> usize {
        let mut passed = 0;
        while self.orphans > 0 && passed < bytes.len() {
            if bytes[passed] & 0b1100_0000 != 0b1000_0000 {
                self.orphans = 0;
                break;
            }
            self.orphans -= 1;
            passed += 1;
        }
        passed
    }

    /// Goes on with the character that is held. Returns the bytes behind it.
    fn complete<'b>(&mut self, mut bytes: &'b [u8], text: &mut String) -> &'b [u8] {
        while self.held_len > 0
            && let Some((&byte, rest)) = bytes.split_first()
        {
            let mut tried = [0; 4];
            tried[..self.held_len].copy_from_slice(&self.held[..self.held_len]);
            tried[self.held_len] = byte;
            let tried = &tried[..=self.held_len];
            match str::from_utf8(tried) {
                Ok(character) => {
                    text.push_str(character);
                    self.held_len = 0;
                }
                Err(error) if error.error_len().is_none() => self.hold(tried),
                Err(_) => {
                    // The byte belongs to no character begun before; it is looked at anew.
                    text.push(char::REPLACEMENT_CHARACTER);
                    self.held_len = 0;
                    break;
                }
            }
            bytes = rest;
        }
        bytes
    }

    /// Keeps the beginning of a character: three bytes at most, a fourth completes it.
    fn hold(&mut self, begun: &[u8]) {
        self.held[..begun.len()].copy_from_slice(begun);
        self.held_len = begun.len();
    }
}
