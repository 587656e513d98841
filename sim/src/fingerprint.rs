//! Fingerprints of 128 bits: quick to take, and two different states do not share one.

use std::{fmt, hash::Hasher};

/// Two mixers of 64 bits side by side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fingerprint(u64, u64);

impl Fingerprint {
    fn mix(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        self.1 = (self.1.rotate_left(31) ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd);
        self.1 ^= self.1 >> 33;
    }
}

impl Hasher for Fingerprint {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.mix(u64::from_le_bytes(word));
        }
        self.mix(bytes.len() as u64);
    }

    fn write_u8(&mut self, number: u8) {
        self.mix(u64::from(number));
    }

    // As a word, and not as bytes: the same on every machine.
    fn write_u32(&mut self, number: u32) {
        self.mix(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        self.mix(number);
    }

    fn write_usize(&mut self, number: usize) {
        self.mix(number as u64);
    }
}

impl Fingerprint {
    /// The fingerprint of what was written so far.
    pub(crate) const fn value(self) -> u128 {
        let Self(mut high, mut low) = self;
        high ^= high >> 32;
        low = (low ^ (low >> 29)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        ((high as u128) << 64) | low as u128
    }
}

impl fmt::Write for Fingerprint {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // Formatting writes many short pieces: each that fits is one word.
        match text.as_bytes() {
            [] => {}
            bytes if bytes.len() < 8 => {
                let word = bytes.iter().fold(1, |word: u64, byte| (word << 8) | u64::from(*byte));
                self.mix(word);
            }
            bytes => self.write(bytes),
        }
        Ok(())
    }
}
