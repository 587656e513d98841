//! Talking with a process.

use std::io;
use std::os::fd::OwnedFd;

use tokio::net::unix::pipe;

/// The near ends of the standard input and output of a process. Dropping the one closes
/// its input; dropping the other makes its next write fail.
#[derive(Debug)]
pub struct Conversation {
    /// What is written here it reads.
    pub stdin: pipe::Sender,
    /// What it writes is read here; while nobody does, it has to wait.
    pub stdout: pipe::Receiver,
}

impl Conversation {
    /// Makes them usable from the current runtime.
    pub(crate) fn new(stdin: OwnedFd, stdout: OwnedFd) -> io::Result<Self> {
        Ok(Self {
            stdin: pipe::Sender::from_owned_fd(stdin)?,
            stdout: pipe::Receiver::from_owned_fd(stdout)?,
        })
    }
}
