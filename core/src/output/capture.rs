//! The two streams of one command, and the order in which they came.

use alloc::collections::VecDeque;

use super::Log;

/// One of the two output streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stream {
    /// Descriptor 1.
    Stdout,
    /// Descriptor 2.
    Stderr,
}

impl Stream {
    /// Both, standard output first.
    pub const ALL: [Self; 2] = [Self::Stdout, Self::Stderr];

    /// What a model knows it by.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        }
    }

    pub(super) const fn other(self) -> Self {
        match self {
            Self::Stdout => Self::Stderr,
            Self::Stderr => Self::Stdout,
        }
    }
}

/// How many changes from one stream to the other are remembered. What came before the
/// oldest of them is read as standard output first, then standard error.
pub(super) const MAX_TURNS: usize = 1024;

/// Everything that one command writes, as far as it is kept.
///
/// Each stream has a window of its own, so that noise on one never pushes out the other.
/// Memory: twice the cap, and a constant for the order.
#[derive(Debug)]
pub struct Capture {
    stdout: Log,
    stderr: Log,
    /// Where each turn of a stream ends, as an offset in that stream, oldest first. Two
    /// neighbours are of different streams.
    turns: VecDeque<Turn>,
    /// The ends of the newest turns that are not remembered, per stream.
    unordered: [u64; 2],
}

/// A stretch of one stream that nothing of the other interrupted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    pub(super) stream: Stream,
    pub(super) end: u64,
}

impl Capture {
    /// Nothing yet; the last `cap_bytes` of each stream will be kept.
    #[must_use]
    pub const fn new(cap_bytes: usize) -> Self {
        Self {
            stdout: Log::new(cap_bytes),
            stderr: Log::new(cap_bytes),
            turns: VecDeque::new(),
            unordered: [0; 2],
        }
    }

    /// Adds what a stream brought. The cost is that of copying the bytes that are kept.
    pub fn append(&mut self, stream: Stream, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        self.log_mut(stream).append(bytes);
        let end = self.log(stream).written();
        match self.turns.back_mut() {
            Some(turn) if turn.stream == stream => turn.end = end,
            Some(_) | None => self.turns.push_back(Turn { stream, end }),
        }
        if self.turns.len() > MAX_TURNS
            && let Some(turn) = self.turns.pop_front()
        {
            self.unordered[turn.stream as usize] = turn.end;
        }
    }

    /// Says that a stream has ended.
    pub const fn finish(&mut self, stream: Stream) {
        self.log_mut(stream).finish();
    }

    /// Whether both streams have ended.
    #[must_use]
    pub const fn ended(&self) -> bool {
        self.stdout.ended() && self.stderr.ended()
    }

    /// The log of one stream.
    #[must_use]
    pub const fn log(&self, stream: Stream) -> &Log {
        match stream {
            Stream::Stdout => &self.stdout,
            Stream::Stderr => &self.stderr,
        }
    }

    const fn log_mut(&mut self, stream: Stream) -> &mut Log {
        match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        }
    }

    /// The stretches of both streams in the order in which they came.
    pub(super) fn turns(&self) -> impl Iterator<Item = Turn> {
        let unordered = Stream::ALL
            .into_iter()
            .map(|stream| Turn { stream, end: self.unordered[stream as usize] });
        unordered.chain(self.turns.iter().copied())
    }

    /// The stream that brought something last.
    pub(super) fn latest(&self) -> Stream {
        self.turns.back().map_or(Stream::Stdout, |turn| turn.stream)
    }
}
