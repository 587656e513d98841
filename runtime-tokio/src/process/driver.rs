//! The task that accompanies one process from its start until it is closed.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use super::pidfd::Watched;
use super::pipes::{self, Pipe};
use super::shared::Shared;
use super::watch::Watch;

/// Ends everything if the driver ends early: its runtime was shut down, or it
/// panicked.
#[derive(Debug)]
pub(crate) struct Guard(pub(crate) Arc<Shared>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

/// What the driver works with; all of it made before the task is spawned, so
/// that a task that never runs cleans up as well.
#[derive(Debug)]
pub(crate) struct Driver {
    pub(crate) guard: Guard,
    pub(crate) leader: Option<Watched>,
    pub(crate) stdout: Pipe,
    pub(crate) stderr: Pipe,
    pub(crate) grace: Duration,
    pub(crate) drain: Duration,
}

impl Driver {
    /// Runs until the process is closed, and nobody writes who left it or the handle is
    /// dropped.
    pub(crate) async fn run(self) {
        let Self { guard, leader, mut stdout, mut stderr, grace, drain } = self;
        let shared = &guard.0;
        Self::run_until_closed(shared, leader, &mut stdout, &mut stderr, grace, drain).await;
        tokio::select! {
            () = pipes::discard(stdout, stderr) => {}
            () = shared.is_let_go() => {}
        }
    }

    async fn run_until_closed(
        shared: &Shared,
        leader: Option<Watched>,
        stdout: &mut Pipe,
        stderr: &mut Pipe,
        grace: Duration,
        drain: Duration,
    ) {
        let mut reading = pin!(pipes::drain(stdout, stderr, &shared.output, &shared.spills.0));
        let mut watch = Watch::new(shared, leader, grace);
        // Whether the output has ended, and whether it has only just.
        let (mut drained, mut just) = (false, false);
        {
            let mut empty = pin!(watch.until_empty());
            loop {
                tokio::select! {
                    () = &mut reading, if !drained => drained = true,
                    () = &mut empty => break,
                }
            }
        }
        if !drained {
            // Something that left the session may hold a pipe for ever, or until somebody
            // asks for its end.
            drained = tokio::select! {
                read = timeout(drain, &mut reading) => read.is_ok(),
                () = watch.until_asked_and_empty() => timeout(drain, &mut reading).await.is_ok(),
            };
            just = drained;
        }
        // The last look may have begun before the output ended.
        watch.recount(just).await;
        let released = shared.custody.release();
        while !shared.close(released, drained, watch.fulfilled()) {
            watch.until_asked_and_empty().await;
        }
    }
}
