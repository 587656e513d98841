//! Running a command while the caller waits.

use std::future::{Future, pending, ready};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::process::{Delta, Exit, Signals, SpillFiles};

use super::BashProcess;
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
    /// Whether anything of it was sent a signal. If not, it had ended by itself before what
    /// the cause says could be acted on.
    pub signalled: bool,
    /// The time that it had.
    pub timeout: Duration,
    /// The last part of what it wrote, fit for a model, and how much was lost before it.
    pub output: Delta,
    /// The files that hold what `output` has lost, for as long as this is kept.
    pub files: SpillFiles,
    /// How many processes outlived the shell's own exit and were ended.
    pub leftovers_ended: usize,
    /// Whether the output was read to its end. If not, a process that left the
    /// session still holds a pipe, or what is left goes on as a background task.
    pub drained: bool,
    /// How many processes are known to have left the session and to have lived at its end.
    /// They were ended then: nobody could stop them later.
    pub left_session: usize,
    /// How many processes lived on in spite of SIGKILL: they hang in the kernel, or run as
    /// somebody whom we may not signal. They are not waited for any longer.
    pub resisting: usize,
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
    let mut run = Foreground::start(spec)?;
    let turn = run.next_turn(abort, pending()).await;
    Ok(run.end(turn).await)
}

/// What comes next for a command in the foreground.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// The shell has exited and nothing is left in its session.
    Over,
    /// The shell has exited, and the drain did not suffice for what it left behind: so
    /// many processes, if that could be seen.
    Outlived(Option<usize>),
    /// The time is over.
    TimedOut,
    /// The caller gave up.
    Aborted,
    /// The caller wants it to go on in the background.
    Asked,
}

/// A command in the foreground. Dropping it kills the command, unless a task holds it
/// by then.
pub(crate) struct Foreground {
    pub(crate) process: Arc<BashProcess>,
    timeout: Duration,
    deadline: Instant,
    drain: Duration,
    /// From the exit of the shell on: how long what is left may go on.
    patience: Option<Instant>,
}

impl Foreground {
    pub(crate) fn start(spec: BashSpec) -> Result<Self, BashError> {
        let (timeout, drain) = (spec.timeout, spec.process.drain);
        let process = Arc::new(BashProcess::start(&spec)?);
        let deadline = Instant::now() + timeout;
        Ok(Self { process, timeout, deadline, drain, patience: None })
    }

    /// Waits for what comes next; after [`Turn::Asked`] it can be asked again. What
    /// outlives the shell is waited for from its exit on and no longer, whatever it
    /// writes meanwhile.
    pub(crate) async fn next_turn(
        &mut self,
        abort: impl Future<Output = ()>,
        background: impl Future<Output = ()>,
    ) -> Turn {
        let (mut abort, mut background) = (pin!(abort), pin!(background));
        let patience = match self.patience {
            Some(patience) => patience,
            None => {
                let exit = self.process.shell_exited();
                let over = sleep_until(self.deadline);
                let turn = first(exit, abort.as_mut(), background.as_mut(), over, Turn::TimedOut);
                let turn = turn.await;
                if turn != Turn::Over {
                    return turn;
                }
                *self.patience.insert(Instant::now() + self.drain)
            }
        };
        let (done, over) = (self.process.done(), sleep_until(patience));
        match first(done, abort, background, over, Turn::Outlived(None)).await {
            Turn::Outlived(_) => self.leftovers().await,
            // Where nothing is left, there is nothing to move.
            Turn::Asked => match self.leftovers().await {
                Turn::Outlived(_) => Turn::Asked,
                turn => turn,
            },
            turn => turn,
        }
    }

    /// What is left of it.
    async fn leftovers(&self) -> Turn {
        match self.process.live_processes() {
            // At most an output pipe is held, by something outside the session, and that
            // is waited for no longer than a drain.
            Ok(0) => {
                self.process.done().await;
                Turn::Over
            }
            Ok(left) => Turn::Outlived(Some(left)),
            Err(error) => {
                tracing::warn!(%error, "the leftovers of a command could not be counted");
                Turn::Outlived(None)
            }
        }
    }

    /// How the shell ended, if it was seen to; what comes next is about what is left.
    #[cfg(feature = "tools")]
    pub(crate) fn exit(&self) -> Option<Exit> {
        self.patience.and_then(|_| self.process.shell_exit())
    }

    /// The output so far, which is not given again, of a command whose shell ended so.
    pub(crate) fn so_far(&self, exit: Exit) -> ForegroundResult {
        ForegroundResult {
            exit,
            cause: Cause::Exited,
            signalled: self.process.process.signals() != Signals::Nothing,
            timeout: self.timeout,
            output: self.process.read_delta(),
            files: self.process.files(),
            leftovers_ended: 0,
            drained: false,
            left_session: 0,
            resisting: 0,
        }
    }

    /// Ends what is left of it after that turn, and gives all of its output. It takes a
    /// grace and a drain, and two seconds more where something does not yield to SIGKILL.
    pub(crate) async fn end(self, turn: Turn) -> ForegroundResult {
        let exited = self.patience.is_some();
        let leftovers_ended = match turn {
            Turn::Outlived(left) => left.unwrap_or(0),
            Turn::Aborted if exited => self.process.live_processes().unwrap_or(0),
            Turn::Over | Turn::TimedOut | Turn::Aborted | Turn::Asked => 0,
        };
        if turn != Turn::Over {
            self.process.kill();
        }
        let ended = tokio::select! {
            biased;
            closed = self.process.done() => Ok(closed),
            resisting = self.process.resists() => Err(resisting),
        };
        let cause = match turn {
            Turn::TimedOut => Cause::TimedOut,
            Turn::Aborted if !exited => Cause::Aborted,
            Turn::Over | Turn::Outlived(_) | Turn::Aborted | Turn::Asked => Cause::Exited,
        };
        match ended {
            Ok(closed) => ForegroundResult {
                cause,
                leftovers_ended,
                drained: closed.drained,
                left_session: closed.left_session,
                ..self.so_far(closed.exit)
            },
            Err(resisting) => ForegroundResult {
                cause,
                resisting,
                ..self.so_far(self.process.shell_exit().unwrap_or(Exit::Unavailable))
            },
        }
    }
}

/// What comes first. What has happened goes before what is wished for, the wish to give
/// up before the wish to go on, and a wish before the time.
async fn first<T>(
    over: impl Future<Output = T>,
    abort: impl Future<Output = ()>,
    background: impl Future<Output = ()>,
    late: impl Future<Output = ()>,
    lateness: Turn,
) -> Turn {
    tokio::select! {
        biased;
        _ = over => Turn::Over,
        () = abort => Turn::Aborted,
        () = background => Turn::Asked,
        () = late => lateness,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tokio::time::sleep;

    use super::*;
    use std::sync::{Mutex, atomic::AtomicBool};

    use longrun_core::output::Cursor;

    use crate::{
        bash::{BashConfig, BashExecutor, BashRequest},
        process::tests::signalling::Sparing,
    };

    /// Happens at that millisecond, or never.
    async fn at(ms: Option<u64>) {
        match ms {
            // What is there from the beginning needs no timer.
            Some(0) => {}
            Some(ms) => sleep(Duration::from_millis(ms)).await,
            None => pending().await,
        }
    }

    fn moment() -> impl Strategy<Value = Option<u64>> {
        prop::option::of(0_u64..4)
    }

    // A call waited for ever for a process that did not yield.
    // contract: B3
    // contract: B5
    // contract: O2
    #[tokio::test]
    async fn what_does_not_yield_to_sigkill_is_told_and_not_waited_for() {
        let executor = BashExecutor::new(BashConfig::new("/")).unwrap();
        let mut spec = executor.resolve(BashRequest::new("echo up; exec sleep 1000")).unwrap();
        spec.process.grace = Duration::ZERO;
        let (process, obey) = Sparing::leader_of(&spec.process);
        let cursor = Mutex::new(Cursor::new(spec.process.memory_bytes));
        let (started, stopping) = (Instant::now(), AtomicBool::new(false));
        let process = Arc::new(BashProcess { process, cursor, started, stopping });
        let (timeout, deadline) = (Duration::ZERO, Instant::now());
        let mut run = Foreground {
            process: Arc::clone(&process),
            timeout,
            deadline,
            drain: Duration::ZERO,
            patience: None,
        };
        let turn = run.next_turn(pending(), pending()).await;
        assert_eq!(turn, Turn::TimedOut);
        let result = run.end(turn).await;
        assert_eq!((result.cause, result.exit), (Cause::TimedOut, Exit::Unavailable));
        assert_eq!((result.resisting, result.drained), (1, false));
        let detail = "1 process could not be ended, not by SIGKILL either";
        assert_eq!(process.live_detail().as_deref(), Some(detail));
        obey();
        process.process.kill_left();
        process.done().await;
    }

    proptest! {
        // contract: B3, B10
        #[test]
        fn the_first_cause_decides_and_of_two_at_once_the_stronger(
            over in moment(),
            abort in moment(),
            background in moment(),
            late in 0_u64..5,
        ) {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_time()
                .start_paused(true)
                .build()
                .unwrap();
            let turn = runtime.block_on(async {
                first(at(over), at(abort), at(background), at(Some(late)), Turn::TimedOut).await
            });
            let strongest_first = [
                (over, Turn::Over),
                (abort, Turn::Aborted),
                (background, Turn::Asked),
                (Some(late), Turn::TimedOut),
            ];
            let moments = strongest_first.into_iter().filter_map(|(at, turn)| Some((at?, turn)));
            // Of several that are the least, this is the first.
            let expected = moments.min_by_key(|(at, _)| *at).unwrap().1;
            prop_assert_eq!(turn, expected);
        }
    }
}
