//! Reading what a process writes, for as long as it writes.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, MutexGuard, PoisonError};

use longrun_core::output::{Capture, JointCursor, Piece, Stream};
use tokio::net::unix::pipe::Receiver;
use tokio::sync::Notify;

use super::spill::{SpillWriter, Spills};

/// As much as a pipe holds by default, so one read empties it.
const BUFFER_BYTES: usize = 64 * 1024;

/// How many looks at the pipes in a row before others get their turn: a flood must not
/// keep the timers of a single-threaded runtime waiting.
const LOOKS_PER_TURN: u32 = 8;

/// The output of one process, shared by who fills it and who reads it.
#[derive(Debug)]
pub(crate) struct SharedOutput {
    capture: Mutex<Capture>,
    /// For observers.
    more: Notify,
}

impl SharedOutput {
    pub(crate) fn new(cap_bytes: usize) -> Self {
        Self { capture: Mutex::new(Capture::new(cap_bytes)), more: Notify::new() }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Capture> {
        self.capture.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Files what a stream brought. Every byte of both streams passes here, once, in the
    /// order in which readers will see it.
    fn arrived(&self, stream: Stream, bytes: &[u8]) {
        self.lock().append(stream, bytes);
        self.more.notify_waiters();
    }

    /// All that a stream has brought, if with so many bytes more it is no longer here.
    fn before_loss(&self, stream: Stream, more: usize) -> Option<Vec<u8>> {
        let output = self.lock();
        let log = output.log(stream);
        log.would_lose_first(more).then(|| log.read_from(0).bytes)
    }

    /// Says that a stream brings nothing more. May be repeated.
    pub(crate) fn ended(&self, stream: Stream) {
        self.lock().finish(stream);
        self.more.notify_waiters();
    }

    /// Waits for what that cursor has not told yet; none is left once both streams have
    /// ended.
    pub(crate) async fn next_piece(&self, cursor: &mut JointCursor) -> Option<Piece> {
        loop {
            // Made before the look, so that nothing is missed between the two.
            let more = self.more.notified();
            {
                let capture = self.lock();
                let piece = cursor.read(&capture);
                if piece.is_some() || capture.ended() {
                    return piece;
                }
            }
            more.await;
        }
    }
}

/// The reading end of a pipe, and what was read from it and not yet filed.
#[derive(Debug)]
pub(crate) struct Pipe {
    stream: Stream,
    /// Until its end, or that of the reading.
    receiver: Option<Receiver>,
    buffer: Vec<u8>,
    filled: usize,
}

impl Pipe {
    /// Makes the reading end of a pipe readable from the current runtime. Without one
    /// somebody else reads it.
    pub(crate) fn new(stream: Stream, pipe: Option<OwnedFd>) -> io::Result<Self> {
        let receiver = pipe.map(Receiver::from_owned_fd).transpose()?;
        Ok(Self { stream, receiver, buffer: Vec::new(), filled: 0 })
    }

    fn is_open(&self) -> bool {
        self.receiver.is_some()
    }

    /// Waits until a look is worth while.
    async fn readable(&self) -> io::Result<()> {
        match &self.receiver {
            Some(receiver) => receiver.readable().await,
            None => std::future::pending().await,
        }
    }

    /// Reads what is there.
    fn look(&mut self) {
        self.filled = 0;
        let Some(receiver) = &self.receiver else { return };
        self.buffer.resize(BUFFER_BYTES, 0);
        match receiver.try_read(&mut self.buffer) {
            Ok(0) => self.receiver = None,
            Ok(length) => self.filled = length,
            Err(error) => self.failed(&error),
        }
    }

    fn failed(&mut self, error: &io::Error) {
        use io::ErrorKind::{Interrupted, WouldBlock};
        if !matches!(error.kind(), Interrupted | WouldBlock) {
            tracing::warn!(%error, "an output pipe could not be read to its end");
            self.receiver = None;
        }
    }

    async fn file(&self, output: &SharedOutput, spill: Option<&mut SpillWriter<'_>>) {
        let bytes = &self.buffer[..self.filled];
        if let Some(spill) = spill {
            if spill.is_unused()
                && let Some(before) = output.before_loss(self.stream, bytes.len())
            {
                spill.write(&before).await;
            }
            if !spill.is_unused() {
                spill.write(bytes).await;
            }
            if !self.is_open() {
                spill.finish().await;
            }
        }
        if !bytes.is_empty() {
            output.arrived(self.stream, bytes);
        }
        if !self.is_open() {
            output.ended(self.stream);
        }
    }
}

/// Reads both pipes until nobody holds a writing end any more. Never stops before: a
/// full pipe would stop the process.
pub(crate) async fn drain(
    stdout: &mut Pipe,
    stderr: &mut Pipe,
    output: &SharedOutput,
    spills: &Spills,
) {
    let mut spilled = [spills.writer(Stream::Stdout), spills.writer(Stream::Stderr)];
    let mut looks = 0;
    for pipe in [&*stdout, &*stderr].into_iter().filter(|pipe| !pipe.is_open()) {
        output.ended(pipe.stream);
    }
    while stdout.is_open() || stderr.is_open() {
        either_readable(stdout, stderr).await;
        // Two pipes have no common order. Standard error is read first and filed last:
        // what was written to standard output before it is in hand then as well.
        stderr.look();
        stdout.look();
        stdout.file(output, spilled[0].as_mut()).await;
        stderr.file(output, spilled[1].as_mut()).await;
        looks += 1;
        if looks % LOOKS_PER_TURN == 0 {
            tokio::task::yield_now().await;
        }
    }
}

/// Reads on and keeps nothing, so that whoever left the session does not die of writing.
pub(crate) async fn discard(mut stdout: Pipe, mut stderr: Pipe) {
    while stdout.is_open() || stderr.is_open() {
        either_readable(&mut stdout, &mut stderr).await;
        stdout.look();
        stderr.look();
        tokio::task::yield_now().await;
    }
}

async fn either_readable(stdout: &mut Pipe, stderr: &mut Pipe) {
    tokio::select! {
        ready = stdout.readable(), if stdout.is_open() => {
            if let Err(error) = ready { stdout.failed(&error) }
        }
        ready = stderr.readable(), if stderr.is_open() => {
            if let Err(error) = ready { stderr.failed(&error) }
        }
    }
}
