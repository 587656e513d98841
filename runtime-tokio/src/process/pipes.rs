//! Reading what a process writes, for as long as it writes.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, MutexGuard, PoisonError};

use longrun_core::output::Log;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;

/// As much as a pipe holds by default, so one read empties it.
const BUFFER_BYTES: usize = 64 * 1024;

/// How many full reads in a row before others get their turn: a flood must not
/// keep the timers of a single-threaded runtime waiting.
const READS_PER_TURN: u32 = 8;

/// The log of one output stream, shared by who fills it and who reads it.
#[derive(Debug)]
pub(crate) struct SharedLog(Mutex<Log>);

impl SharedLog {
    pub(crate) const fn new(cap: usize) -> Self {
        Self(Mutex::new(Log::new(cap)))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Log> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes the reading end of a pipe readable from the current runtime.
pub(crate) fn receiver(pipe: OwnedFd) -> io::Result<Receiver> {
    Receiver::from_owned_fd(pipe)
}

/// Reads until nobody holds the writing end any more. Never stops before: a full
/// pipe would stop the process.
pub(crate) async fn drain(mut pipe: Receiver, log: &SharedLog) {
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut reads = 0;
    loop {
        match pipe.read(&mut buffer).await {
            Ok(0) => break,
            Ok(length) => log.lock().append(&buffer[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                tracing::warn!(%error, "an output pipe could not be read to its end");
                break;
            }
        }
        reads += 1;
        if reads % READS_PER_TURN == 0 {
            tokio::task::yield_now().await;
        }
    }
    log.lock().finish();
}
