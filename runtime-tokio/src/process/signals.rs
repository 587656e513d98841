//! The only two calls that send a signal, so that a test can count them.

use std::fmt::Debug;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::process::{Pid, Signal};

/// Sends signals.
pub(crate) trait Signaller: Debug + Send + Sync {
    /// To the process that the descriptor names, and to no other.
    fn to_process(&self, pidfd: &OwnedFd, signal: Signal) -> Result<(), Errno>;

    /// To a process group whose number cannot have been given to another one.
    fn to_group(&self, group: Pid, signal: Signal) -> Result<(), Errno>;
}

/// Sends them indeed.
#[derive(Debug)]
pub(crate) struct Kernel;

impl Signaller for Kernel {
    fn to_process(&self, pidfd: &OwnedFd, signal: Signal) -> Result<(), Errno> {
        rustix::process::pidfd_send_signal(pidfd, signal)
    }

    fn to_group(&self, group: Pid, signal: Signal) -> Result<(), Errno> {
        rustix::process::kill_process_group(group, signal)
    }
}
