//! Running a command while the caller waits.

use std::future::{Future, ready};
use std::pin::pin;
use std::time::Duration;

use tokio::time::sleep;

use crate::process::{Cursor, Delta, Exit, Process};

use super::request::{BashError, BashSpec};

/// What came first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The shell exited by itself, or somebody else ended it.
    Exited,
    /// The time was over.
    TimedOut,
    /// The caller gave up.
    Aborted,
}

/// A foreground command at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForegroundResult {
    /// How the shell ended.
    pub exit: Exit,
    /// Why it did.
    pub cause: Cause,
    /// The time that it had.
    pub timeout: Duration,
    /// The last part of what it wrote, fit for a model, and how much was lost before it.
    pub output: Delta,
    /// How many processes outlived the shell's own exit and were ended.
    pub leftovers_ended: usize,
    /// Whether the output was read to its end. If not, a process that left the
    /// session still holds a pipe.
    pub drained: bool,
}

pub(super) async fn run(
    spec: BashSpec,
    abort: impl Future<Output = ()>,
) -> Result<ForegroundResult, BashError> {
    let mut abort = pin!(abort);
    tokio::select! {
        biased;
        () = &mut abort => return Err(BashError::Aborted),
        () = ready(()) => {}
    }
    let process = Process::spawn(&spec.process)?;
    let cause = tokio::select! {
        // What has happened goes before what is wished for.
        biased;
        _ = process.wait_exited() => Cause::Exited,
        () = &mut abort => Cause::Aborted,
        () = sleep(spec.timeout) => Cause::TimedOut,
    };
    let leftovers_ended = match cause {
        Cause::Exited => end_leftovers(&process, spec.process.drain, abort).await,
        Cause::TimedOut | Cause::Aborted => {
            process.terminate();
            0
        }
    };
    let closed = process.done().await;
    Ok(ForegroundResult {
        exit: closed.exit,
        cause,
        timeout: spec.timeout,
        output: process.read(&mut Cursor::new(spec.process.memory_bytes)),
        leftovers_ended,
        drained: closed.drained,
    })
}

/// Lets what outlived the shell go on for a while, unless the caller gives up, and then
/// ends it. Says how many processes that were.
async fn end_leftovers(
    process: &Process,
    patience: Duration,
    abort: impl Future<Output = ()>,
) -> usize {
    tokio::select! {
        biased;
        _ = process.done() => return 0,
        () = abort => {}
        () = sleep(patience) => {}
    }
    match process.live_members() {
        // Only an output pipe is still held, by something outside the session.
        Ok(0) => 0,
        Ok(left) => {
            process.terminate();
            left
        }
        Err(error) => {
            tracing::warn!(%error, "leftovers are ended without being counted");
            process.terminate();
            0
        }
    }
}
