//! The life of one child, from its startup to the end of its disposal.

use std::{
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures::FutureExt as _;
use longrun_shared::panics;
use tokio::time::{Instant, timeout};

use super::{AbortHandle, Ended, Finish, Run, Startup, Stop};

/// How far a child has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Starting,
    AtWork,
    Ending,
}

/// What there is to say of a child while it lives.
#[derive(Clone, Debug)]
pub(super) struct Progress {
    began: Instant,
    phase: Arc<Mutex<Phase>>,
}

impl Progress {
    fn new() -> Self {
        Self { began: Instant::now(), phase: Arc::new(Mutex::new(Phase::Starting)) }
    }

    fn enter(&self, phase: Phase) {
        *self.phase.lock().unwrap_or_else(PoisonError::into_inner) = phase;
    }

    pub(super) fn detail(&self) -> String {
        let phase = match *self.phase.lock().unwrap_or_else(PoisonError::into_inner) {
            Phase::Starting => "starting",
            Phase::AtWork => "at work",
            Phase::Ending => "ending",
        };
        format!("{phase}, {} s", self.began.elapsed().as_secs())
    }
}

/// A child, about to be accompanied.
pub(super) struct Life {
    startup: Startup,
    abort: AbortHandle,
    deadline: Duration,
    progress: Progress,
}

impl Life {
    pub(super) fn new(startup: Startup, abort: AbortHandle, deadline: Duration) -> Self {
        Self { startup, abort, deadline, progress: Progress::new() }
    }

    pub(super) fn progress(&self) -> Progress {
        self.progress.clone()
    }

    /// To the end of its disposal.
    pub(super) async fn live(self) -> Ended {
        let Self { startup, abort, deadline, progress } = self;
        let run = match started(startup, &abort, deadline).await {
            Ok(run) => run,
            Err(ended) => return ended,
        };
        progress.enter(Phase::AtWork);
        let Run { result, dispose } = run;
        let result = AssertUnwindSafe(result).catch_unwind().await;
        let finish = result.unwrap_or_else(|panic| Finish::failed(panics::message(&*panic)));
        // Who asks from here on is too late to change what came of it.
        let asked = abort.is_aborted();
        progress.enter(Phase::Ending);
        Ended::after_run(&finish, asked, disposed(&dispose).await)
    }
}

/// Waits for the run, or for the end of a startup that brings none.
async fn started(startup: Startup, abort: &AbortHandle, deadline: Duration) -> Result<Run, Ended> {
    let mut startup = AssertUnwindSafe(startup).catch_unwind();
    let mut late = None;
    let started = match timeout(deadline, &mut startup).await {
        Ok(started) => started,
        Err(_) => {
            if !abort.is_aborted() {
                late = Some(format!("it was not ready after {deadline:?}"));
                abort.abort(late.as_deref());
            }
            startup.await
        }
    };
    let started = started.unwrap_or_else(|panic| Err(Finish::failed(panics::message(&*panic))));
    match (started, late) {
        (Ok(run), None) => Ok(run),
        (Err(finish), None) => Err(Ended::in_startup(&finish, abort.is_aborted())),
        (Err(finish), Some(late)) => {
            let finish = Finish { stop: Stop::Failed(late), ..finish };
            Err(Ended::in_startup(&finish, false))
        }
        (Ok(Run { result, dispose }), Some(late)) => {
            drop(result);
            let late = match disposed(&dispose).await {
                Ok(()) => late,
                Err(failure) => format!("{late}; its disposal failed: {failure}"),
            };
            Err(Ended::in_startup(&Finish::failed(late), false))
        }
    }
}

async fn disposed(dispose: &super::Dispose) -> Result<(), String> {
    let disposal = panics::caught(dispose)?;
    match AssertUnwindSafe(disposal).catch_unwind().await {
        Ok(disposed) => disposed.map_err(|error| error.to_string()),
        Err(panic) => Err(panics::message(&*panic)),
    }
}
