//! What the handle of a process and its driver have in common.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use longrun_core::output::Stream;
use tokio::sync::{Notify, watch};

use super::closed::{Closed, Left};
use super::custody::Custody;
use super::exit::Exit;
use super::guardian::Charge;
use super::pipes::SharedOutput;
use super::spawn::ProcessSpec;
use super::spill::{SpillFiles, Spills};

/// What somebody wants of the driver; a later one includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Want {
    Nothing,
    /// SIGTERM, and after the grace SIGKILL.
    Terminate,
    /// SIGKILL.
    Kill,
}

/// The facts about a process.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Facts {
    pub(crate) exited: Option<Exit>,
    /// Somebody was found in the session after the leader's exit.
    pub(crate) outlived: bool,
    /// Somebody was found alive well after SIGKILL.
    pub(crate) resists: bool,
    pub(crate) closed: Option<Closed>,
}

#[derive(Debug)]
struct Requests {
    want: Want,
    closed: bool,
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) custody: Custody,
    /// Shared with observers, who hold nothing else of the process.
    pub(crate) output: Arc<SharedOutput>,
    pub(crate) spills: SpillFiles,
    pub(crate) facts: watch::Sender<Facts>,
    /// Until nothing of it is left.
    charge: Mutex<Option<Charge>>,
    /// Under one lock, so that a request is either accepted before the process
    /// is closed, and then counts, or refused.
    requests: Mutex<Requests>,
    wake: Notify,
    /// The handle was dropped.
    dropped: Notify,
}

impl Shared {
    pub(crate) fn new(custody: Custody, charge: Charge, spec: &ProcessSpec) -> Self {
        Self {
            custody,
            output: Arc::new(SharedOutput::new(spec.memory_bytes)),
            spills: SpillFiles(Arc::new(Spills::new(spec.spill.clone()))),
            charge: Mutex::new(Some(charge)),
            facts: watch::Sender::new(Facts::default()),
            requests: Mutex::new(Requests { want: Want::Nothing, closed: false }),
            wake: Notify::new(),
            dropped: Notify::new(),
        }
    }

    pub(crate) fn is_silent(&self) -> bool {
        let output = self.output.lock();
        Stream::ALL.into_iter().all(|stream| output.log(stream).written() == 0)
    }

    fn requests(&self) -> MutexGuard<'_, Requests> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for something. Says whether it was in time.
    pub(crate) fn request(&self, want: Want) -> bool {
        let mut requests = self.requests();
        if requests.closed {
            return false;
        }
        requests.want = requests.want.max(want);
        drop(requests);
        // There is one driver; if it is not waiting now, it finds the permit.
        self.wake.notify_one();
        true
    }

    /// Waits for a request that goes further than the one already handled.
    pub(crate) async fn next_want(&self, handled: Want) -> Want {
        loop {
            let want = self.requests().want;
            if want > handled {
                return want;
            }
            self.wake.notified().await;
        }
    }

    pub(crate) fn exited(&self, exit: Exit) {
        // Before it is told: who is told may ask.
        self.custody.note_exit();
        self.facts.send_modify(|facts| facts.exited = Some(exit));
    }

    pub(crate) fn outlived(&self) {
        self.facts.send_modify(|facts| facts.outlived = true);
    }

    pub(crate) fn resists(&self) {
        self.facts.send_modify(|facts| facts.resists = true);
    }

    /// Says that all is over, unless a request has come that goes further than the one
    /// that was `fulfilled`. The exit is what the reaping brought, for the case that it was not seen
    /// before.
    pub(crate) fn close(
        &self,
        (exit, reaped): (Exit, bool),
        drained: bool,
        fulfilled: Want,
    ) -> bool {
        let mut requests = self.requests();
        if requests.want > fulfilled {
            return false;
        }
        requests.closed = true;
        let (terminated, silent) = (requests.want > Want::Nothing, self.is_silent());
        let left = self.custody.left();
        let (empty, signals) = (self.custody.is_empty(), self.custody.sent());
        if left == Left::default() {
            // Before the end is told: then nothing of ours is left, the guardian included.
            self.charge.lock().unwrap_or_else(PoisonError::into_inner).take();
        }
        for stream in Stream::ALL {
            self.output.ended(stream);
        }
        self.facts.send_modify(|facts| {
            let exit = *facts.exited.get_or_insert(exit);
            let closed = Closed { exit, terminated, drained, silent, reaped, empty, left, signals };
            facts.closed = Some(closed);
        });
        true
    }

    /// The handle goes away.
    pub(crate) fn let_go(&self) {
        self.dropped.notify_one();
    }

    /// Waits until the handle has gone.
    pub(crate) async fn is_let_go(&self) {
        self.dropped.notified().await;
    }

    /// The driver goes away. Whatever it has not ended ends now, on this thread.
    pub(crate) fn abandon(&self) {
        if !self.requests().closed {
            self.custody.kill_until_gone();
            let released = self.custody.release();
            self.close(released, false, Want::Kill);
        }
    }
}
