//! Waiting on the descriptor of a process, which becomes readable at its end.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// A descriptor that tells the current runtime when its process ends.
#[derive(Debug)]
pub(crate) struct Watched(AsyncFd<Arc<OwnedFd>>);

impl Watched {
    // What replaces it is unsafe, for types that name another descriptor each time
    // they are asked. This type names one, and keeps it open.
    #[allow(deprecated)]
    pub(crate) fn new(pidfd: Arc<OwnedFd>) -> io::Result<Self> {
        AsyncFd::with_interest(pidfd, Interest::READABLE).map(Self)
    }

    /// The descriptor itself.
    pub(crate) fn pidfd(&self) -> &Arc<OwnedFd> {
        self.0.get_ref()
    }

    /// Whether the process has ended, or has the context woken when it has.
    pub(crate) fn poll_over(&self, context: &mut Context<'_>) -> Poll<()> {
        match self.0.poll_read_ready(context) {
            Poll::Ready(Ok(_)) => Poll::Ready(()),
            // The runtime is going down, and the task that waits here with it.
            Poll::Ready(Err(_)) | Poll::Pending => Poll::Pending,
        }
    }

    /// Until the process has ended, or may have.
    pub(crate) async fn over(&self) {
        match self.0.readable().await {
            Ok(mut ready) => ready.clear_ready(),
            // The runtime is going down, and the task that waits here with it.
            Err(_) => std::future::pending().await,
        }
    }
}

/// Blocks until the process has ended, but not beyond the deadline. Says whether
/// it has.
pub(crate) fn wait_until(pidfd: &OwnedFd, deadline: Instant) -> bool {
    ends_within(pidfd, deadline.saturating_duration_since(Instant::now()))
}

/// Whether the process has ended.
pub(crate) fn has_ended(pidfd: &OwnedFd) -> bool {
    ends_within(pidfd, Duration::ZERO)
}

fn ends_within(pidfd: &OwnedFd, longest: Duration) -> bool {
    let mut fds = [PollFd::new(pidfd, PollFlags::IN)];
    let longest = Timespec::try_from(longest).unwrap_or_default();
    matches!(rustix::event::poll(&mut fds, Some(&longest)), Ok(ready) if ready > 0)
}
