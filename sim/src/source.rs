//! One source of choices behind everything.
//!
//! Whatever decides (a seed, a proptest vector, the input of a fuzzer) is read as a
//! stream of bytes. Every choice takes from that stream, so equal bytes give equal
//! runs, and fewer or smaller bytes give smaller ones: past the end, each choice is
//! zero, which by convention is the plainest, and the run stops.

/// A stream of bytes, read as choices.
#[derive(Clone, Debug)]
pub struct Source {
    bytes: Vec<u8>,
    next: usize,
    /// What goes on where the bytes end.
    rest: Option<Generator>,
}

/// Expands a seed: xoshiro256**, set up with splitmix64.
#[derive(Clone, Debug)]
struct Generator([u64; 4]);

impl Generator {
    fn new(seed: u64) -> Self {
        let mut state = seed;
        let mut split_mix = || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = state;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^ (mixed >> 31)
        };
        Self([split_mix(), split_mix(), split_mix(), split_mix()])
    }

    fn draw(&mut self) -> u64 {
        let Self(s) = self;
        let drawn = s[1].wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let shifted = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= shifted;
        s[3] = s[3].rotate_left(45);
        drawn
    }
}

impl Source {
    /// The endless stream of a seed.
    #[must_use]
    pub fn from_seed(seed: u64) -> Self {
        Self { bytes: Vec::new(), next: 0, rest: Some(Generator::new(seed)) }
    }

    /// Those bytes, then the end.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self { bytes: bytes.to_vec(), next: 0, rest: None }
    }

    /// Whether every choice from here on is zero.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rest.is_none() && self.next >= self.bytes.len()
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        if self.next >= self.bytes.len() {
            let Some(generator) = &mut self.rest else { return 0 };
            self.bytes.clear();
            for _ in 0..8 {
                self.bytes.extend_from_slice(&generator.draw().to_le_bytes());
            }
            self.next = 0;
        }
        self.next += 1;
        self.bytes[self.next - 1]
    }

    /// A number below `bound`, which is at least 1; takes two bytes if one is not
    /// enough.
    pub fn below(&mut self, bound: usize) -> usize {
        match bound {
            0 | 1 => 0,
            2..=256 => (usize::from(self.byte()) * bound) >> 8,
            _ => {
                let wide = u16::from_le_bytes([self.byte(), self.byte()]);
                (usize::from(wide) * bound) >> 16
            }
        }
    }

    /// Yes with a probability of `part` in 256; no once the bytes have run out.
    pub fn chance(&mut self, part: u8) -> bool {
        // The largest bytes say yes, so that zero says no.
        usize::from(self.byte()) + usize::from(part) >= 256
    }

    /// One of those.
    pub fn pick<T: Copy>(&mut self, among: &[T]) -> T {
        among[self.below(among.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn past_the_end_every_choice_is_zero_and_the_source_says_so() {
        let mut source = Source::from_bytes(&[255, 255]);
        assert!(source.chance(1));
        assert!(!source.is_empty());
        assert_eq!(source.below(10), 9);
        assert!(source.is_empty());
        assert_eq!((source.below(10), source.below(1000), source.chance(255)), (0, 0, false));
    }

    #[test]
    fn a_seed_gives_the_same_stream_each_time_and_another_seed_another() {
        let draw = |seed| {
            let mut source = Source::from_seed(seed);
            (0..100).map(|_| source.byte()).collect::<Vec<u8>>()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }

    #[test]
    fn a_choice_is_below_its_bound_and_reaches_each_value() {
        let mut source = Source::from_seed(1);
        for bound in [1, 2, 3, 7, 256, 1000] {
            let mut seen = vec![false; bound];
            (0..bound * 40).for_each(|_| seen[source.below(bound)] = true);
            assert!(seen.into_iter().all(|seen| seen), "some value below {bound} never came");
        }
    }
}
