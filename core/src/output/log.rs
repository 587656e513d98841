//! The last bytes of a stream, addressed by where they stood in it.
//!
//! A reader names the offset it has come to and gets everything from there on,
//! together with the number of bytes that slid out of the window before it came.

use alloc::{collections::VecDeque, vec::Vec};

/// The last `cap` bytes of one stream. Memory: the cap, and no more.
#[derive(Debug)]
pub struct Log {
    kept: VecDeque<u8>,
    cap: usize,
    /// How many bytes were ever written; the offset one past the last kept byte.
    written: u64,
    ended: bool,
}

/// What a reader of bytes gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogChunk {
    /// Every kept byte from the reader's offset on.
    pub bytes: Vec<u8>,
    /// The offset to read from next time.
    pub next: u64,
    /// How many bytes between the reader's offset and `bytes` are gone.
    pub dropped: u64,
}

impl Log {
    /// An empty log that keeps the last `cap` bytes.
    #[must_use]
    pub const fn new(cap: usize) -> Self {
        Self { kept: VecDeque::new(), cap, written: 0, ended: false }
    }

    /// Adds what the stream brought. The cost is that of copying the bytes that
    /// are kept, whatever the log held before.
    pub fn append(&mut self, bytes: &[u8]) {
        self.written += bytes.len() as u64;
        let tail = &bytes[bytes.len().saturating_sub(self.cap)..];
        let excess = (self.kept.len() + tail.len()).saturating_sub(self.cap);
        self.kept.drain(..excess);
        self.make_room(tail.len());
        self.kept.extend(tail);
    }

    /// Doubles the room when it runs out, but never beyond the cap: left to
    /// itself, the queue could take nearly twice the memory it was promised.
    fn make_room(&mut self, more: usize) {
        let needed = self.kept.len() + more;
        if needed > self.kept.capacity() {
            let target = needed.max(self.kept.capacity() * 2).min(self.cap);
            self.kept.reserve_exact(target - self.kept.len());
        }
    }

    /// Says that nothing more will come.
    pub const fn finish(&mut self) {
        self.ended = true;
    }

    /// Whether the stream has ended.
    #[must_use]
    pub const fn ended(&self) -> bool {
        self.ended
    }

    /// How many bytes the stream has brought so far.
    #[must_use]
    pub const fn written(&self) -> u64 {
        self.written
    }

    /// The offset of the first byte that is still kept.
    #[must_use]
    pub fn start(&self) -> u64 {
        self.written - self.kept.len() as u64
    }

    /// Whether so many bytes more would push out the first byte of all that the stream
    /// has brought: up to then all of it is here.
    #[must_use]
    pub const fn would_lose_first(&self, more: usize) -> bool {
        self.written <= self.cap as u64 && self.written + more as u64 > self.cap as u64
    }

    /// Everything kept from `offset` on. An offset beyond the end reads nothing
    /// and stays where it is.
    ///
    /// ```
    /// use longrun_core::output::Log;
    ///
    /// let mut log = Log::new(4);
    /// log.append(b"abcdef");
    /// let chunk = log.read_from(1);
    /// assert_eq!((chunk.dropped, chunk.bytes.as_slice(), chunk.next), (1, &b"cdef"[..], 6));
    /// ```
    #[must_use]
    pub fn read_from(&self, offset: u64) -> LogChunk {
        LogChunk {
            bytes: self.pieces(offset, self.written).concat(),
            next: offset.max(self.written),
            dropped: self.dropped_since(offset).unwrap_or(0),
        }
    }

    /// How many bytes from `offset` on are gone, if any.
    pub(super) fn dropped_since(&self, offset: u64) -> Option<u64> {
        self.start().checked_sub(offset).filter(|dropped| *dropped > 0)
    }

    /// What is kept between two offsets, where it lies.
    pub(super) fn pieces(&self, from: u64, to: u64) -> [&[u8]; 2] {
        let from = self.index(from);
        let to = self.index(to).max(from);
        let (front, back) = self.kept.as_slices();
        let split = front.len();
        [
            &front[from.min(split)..to.min(split)],
            &back[from.max(split) - split..to.max(split) - split],
        ]
    }

    fn index(&self, offset: u64) -> usize {
        let index = usize::try_from(offset.saturating_sub(self.start())).unwrap_or(usize::MAX);
        index.min(self.kept.len())
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    // contract: B8
    #[test]
    fn the_first_byte_is_lost_once_and_not_before_the_cap_is_full() {
        let mut log = Log::new(4);
        assert!(!log.would_lose_first(4) && log.would_lose_first(5));
        log.append(b"ab");
        assert!(!log.would_lose_first(2) && log.would_lose_first(3));
        log.append(b"cd");
        assert!(!log.would_lose_first(0) && log.would_lose_first(1));
        log.append(b"e");
        assert!(!log.would_lose_first(0) && !log.would_lose_first(9), "it is gone");
    }

    // contract: B7
    #[test]
    fn exactly_the_cap_is_kept_whole() {
        let mut log = Log::new(4);
        log.append(b"abcd");
        assert_eq!(log.read_from(0), LogChunk { bytes: b"abcd".to_vec(), next: 4, dropped: 0 });
        log.append(b"e");
        assert_eq!(log.read_from(0), LogChunk { bytes: b"bcde".to_vec(), next: 5, dropped: 1 });
    }

    // contract: B7
    #[test]
    fn the_memory_never_exceeds_the_cap() {
        let mut log = Log::new(64_000);
        for _ in 0..1_000 {
            log.append(&[b'x'; 777]);
            assert!(log.kept.capacity() <= 64_000);
        }
    }

    // contract: R1
    #[test]
    fn an_offset_beyond_the_end_reads_nothing_and_stays() {
        let mut log = Log::new(4);
        log.append(b"ab");
        assert_eq!(log.read_from(9), LogChunk { bytes: Vec::new(), next: 9, dropped: 0 });
    }

    fn chunk() -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(any::<u8>(), 0..50)
    }

    proptest! {
        // contract: R1
        // contract: R8
        #[test]
        fn delivered_and_dropped_bytes_are_all_that_was_written(
            cap in 1_usize..40,
            steps in prop::collection::vec((chunk(), any::<bool>()), 0..30),
        ) {
            let mut log = Log::new(cap);
            let mut whole: Vec<u8> = Vec::new();
            let mut at = 0;
            for (bytes, read) in steps {
                log.append(&bytes);
                whole.extend(&bytes);
                prop_assert_eq!(log.written(), whole.len() as u64);
                if read {
                    let chunk = log.read_from(at);
                    let from = usize::try_from(at + chunk.dropped).unwrap();
                    prop_assert_eq!(&chunk.bytes, &whole[from..]);
                    prop_assert_eq!(chunk.next, whole.len() as u64);
                    prop_assert!(chunk.dropped == 0 || chunk.bytes.len() == cap);
                    at = chunk.next;
                }
            }
        }
    }
}
