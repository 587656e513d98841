//! Writing one stream to its file, without keeping the reader of the pipe waiting.
//!
//! What arrives is gathered, and a thread writes it until nothing is left; then the
//! thread ends. The reader waits for it for a moment, so that what it shows next is in
//! the file already; where the disk is slower, readers are told how far the file goes.
//! If the disk is so slow that too much is gathered, the reader waits longer, but for a
//! bounded time, and gives the file up then: a pipe must be read on.
//!
//! The thread is none of the runtime's pool: where that gets no thread it panics.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::timeout;

use super::store::{Entry, SpillFile};
use super::{SpillBudget, SpillPlan, SpillState, SpillStop, SpillStore};

/// How much is gathered at most before the disk is waited for.
const GATHERED_BYTES: usize = 128 * 1024;

/// For how long, and for the first write, since readers are told where it goes.
const PATIENCE: Duration = Duration::from_secs(2);

/// For how long any other write is waited for.
const MOMENT: Duration = Duration::from_millis(50);

/// What readers know of a stream's file, and what holds it. Dropping it removes the
/// file, and gives back what it had of the budget.
#[derive(Debug, Default)]
pub(crate) struct Spill(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    known: Mutex<Known>,
    /// A write has begun or ended.
    progress: Notify,
}

#[derive(Debug, Default)]
struct Known {
    /// What is still to be written.
    gathered: Vec<u8>,
    /// A thread is at work, and takes what is gathered.
    working: bool,
    /// The file between two writes; none before the first.
    file: Option<SpillFile>,
    /// Where it is, from the end of the first write on.
    place: Option<Arc<Entry>>,
    /// How much is in it.
    bytes: u64,
    /// How much readers have been shown of what has been or is to be written.
    shown: u64,
    stopped: Option<SpillStop>,
    failed: Option<Arc<str>>,
    share: Option<Share>,
}

/// What a stream has of a budget, until it is dropped.
#[derive(Debug)]
struct Share {
    budget: SpillBudget,
    bytes: u64,
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.give_back(self.bytes);
    }
}

impl Spill {
    /// Where the stream is by now. A file that somebody has removed is none.
    pub(crate) fn state(&self) -> SpillState {
        let known = self.0.lock();
        if let Some(why) = &known.failed {
            return SpillState::Failed(Arc::clone(why));
        }
        let Some(place) = known.place.clone() else { return SpillState::Unused };
        let bytes = known.bytes;
        // Only with its last bytes in it is it known where it ends.
        let stopped = known.stopped.filter(|_| known.gathered.is_empty() && !known.working);
        let behind = bytes < known.shown;
        drop(known);
        match place.check() {
            Ok(()) => SpillState::Kept { path: place.path(), bytes, stopped, behind },
            Err(error) => SpillState::Failed(self.0.fail(&error)),
        }
    }

    #[cfg(test)]
    pub(super) fn fail(&self, error: &io::Error) {
        self.0.fail(error);
    }
}

impl Drop for Spill {
    fn drop(&mut self) {
        // A write that is under way ends first, and then finds that nobody wants it.
        self.0.fail(&io::Error::other("nobody can read it any more"));
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in as much of that as may be kept; says what stands against the rest.
    fn gather(&self, plan: &SpillPlan, bytes: &[u8]) -> Option<SpillStop> {
        let mut known = self.lock();
        if known.failed.is_some() {
            return None;
        }
        let budget = plan.budget.clone();
        let share = known.share.get_or_insert(Share { budget, bytes: 0 });
        let length = bytes.len() as u64;
        let room = length.min(plan.stream_bytes.saturating_sub(share.bytes));
        let granted = plan.budget.take(room);
        share.bytes += granted;
        known.stopped = match granted < room {
            true => Some(SpillStop::OwnerCap),
            false => (room < length).then_some(SpillStop::StreamCap),
        };
        let granted = usize::try_from(granted).unwrap_or(bytes.len());
        known.gathered.extend_from_slice(&bytes[..granted]);
        known.stopped
    }

    /// Has a thread at work if there is something to write.
    fn set_to_work(self: &Arc<Self>, store: &SpillStore, hire: Hire) -> io::Result<()> {
        let mut known = self.lock();
        if known.working || known.gathered.is_empty() {
            return Ok(());
        }
        known.working = true;
        drop(known);
        let (inner, store) = (Arc::clone(self), store.clone());
        hire(Box::new(move || inner.work(&store))).map_err(|error| {
            self.lock().working = false;
            io::Error::new(error.kind(), format!("no thread could be started: {error}"))
        })
    }

    /// Writes what is gathered, until nothing is.
    fn work(&self, store: &SpillStore) {
        while let Some((file, bytes)) = self.next() {
            self.progress.notify_one();
            match write(file, store, &bytes) {
                Ok(file) => self.wrote(file, bytes.len()),
                Err(error) => drop(self.fail(&error)),
            }
            self.progress.notify_one();
        }
        // Who sees this must not find anything held by the thread.
        self.progress.notify_one();
    }

    fn next(&self) -> Option<(Option<SpillFile>, Vec<u8>)> {
        let mut known = self.lock();
        known.working = !known.gathered.is_empty();
        known.working.then(|| (known.file.take(), std::mem::take(&mut known.gathered)))
    }

    /// So many bytes more are in the file.
    fn wrote(&self, file: SpillFile, length: usize) {
        let mut known = self.lock();
        if known.failed.is_some() {
            drop(known);
            return drop(file);
        }
        known.bytes += length as u64;
        known.place.get_or_insert_with(|| Arc::clone(&file.entry));
        known.file = Some(file);
    }

    /// Gives the file up, if it is not given up yet, and says why it is.
    fn fail(&self, error: &io::Error) -> Arc<str> {
        let mut known = self.lock();
        let why = Arc::clone(known.failed.get_or_insert_with(|| error.to_string().into()));
        known.gathered = Vec::new();
        // What goes with them is done without the lock.
        let gone = (known.file.take(), known.place.take(), known.share.take());
        drop(known);
        drop(gone);
        why
    }

    /// Waits for a while for that to be so, and says whether it is.
    async fn until(&self, patience: Duration, is_so: impl Fn(&Known) -> bool) -> bool {
        let waiting = async {
            while !is_so(&self.lock()) {
                self.progress.notified().await;
            }
        };
        timeout(patience, waiting).await.is_ok()
    }
}

/// Starts a thread.
type Hire = fn(Box<dyn FnOnce() + Send>) -> io::Result<()>;

fn hire(work: Box<dyn FnOnce() + Send>) -> io::Result<()> {
    thread::Builder::new().name("longrun-spill".into()).spawn(work).map(drop)
}

/// The writing side of one stream.
#[derive(Debug)]
pub(crate) struct SpillWriter<'a> {
    spill: &'a Spill,
    plan: SpillPlan,
    stage: Stage,
    pub(super) hire: Hire,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Nothing had to be spilled yet.
    Unused,
    Writing,
    Over,
}

impl<'a> SpillWriter<'a> {
    pub(crate) fn new(spill: &'a Spill, plan: SpillPlan) -> Self {
        Self { spill, plan, stage: Stage::Unused, hire }
    }

    /// Whether its first bytes have still to come: those from the stream's beginning.
    pub(crate) fn is_unused(&self) -> bool {
        self.stage == Stage::Unused
    }

    /// Takes the next bytes of the stream, which readers are shown after this.
    pub(crate) async fn write(&mut self, bytes: &[u8]) {
        if self.stage == Stage::Over {
            return;
        }
        let is_first = self.is_unused();
        self.stage = Stage::Writing;
        let inner = &self.spill.0;
        let stopped = inner.gather(&self.plan, bytes);
        if is_first && stopped == Some(SpillStop::OwnerCap) && inner.lock().gathered.is_empty() {
            let full = "the files of its owner have as many bytes as they may";
            return self.give_up(&io::Error::other(full));
        }
        if let Err(error) = inner.set_to_work(&self.plan.store, self.hire) {
            return self.give_up(&error);
        }
        let in_time = if stopped.is_some() {
            return self.finish().await;
        } else if is_first {
            inner.until(PATIENCE, |known| !known.working).await
        } else {
            inner.until(MOMENT, |known| !known.working).await
                || inner.until(PATIENCE, |known| known.gathered.len() < GATHERED_BYTES).await
        };
        self.written(in_time);
    }

    /// Writes what is still to be written.
    pub(crate) async fn finish(&mut self) {
        if self.stage != Stage::Writing {
            return;
        }
        let inner = &self.spill.0;
        let in_time = inner.until(PATIENCE, |known| known.gathered.is_empty()).await
            && inner.until(PATIENCE, |known| !known.working).await;
        self.written(in_time);
        self.stage = Stage::Over;
    }

    /// A write was waited for, and has come far enough in time, or not.
    fn written(&mut self, in_time: bool) {
        if !in_time {
            return self.give_up(&io::Error::other("the disk takes too long"));
        }
        let mut known = self.spill.0.lock();
        known.shown = known.share.as_ref().map_or(0, |share| share.bytes);
        let failed = known.failed.clone();
        drop(known);
        if let Some(why) = failed {
            self.over(&why);
        }
    }

    fn give_up(&mut self, error: &io::Error) {
        let why = self.spill.0.fail(error);
        self.over(&why);
    }

    fn over(&mut self, why: &str) {
        tracing::warn!(why, "the whole output of a command could not be kept");
        self.stage = Stage::Over;
    }
}

/// Writes to the file, which is made if there is none yet.
fn write(file: Option<SpillFile>, store: &SpillStore, bytes: &[u8]) -> io::Result<SpillFile> {
    let mut file = match file {
        Some(open) => open,
        None => store.create()?,
    };
    file.file.write_all(bytes)?;
    // Nobody could read the rest of a file that somebody has removed.
    file.entry.check()?;
    Ok(file)
}
