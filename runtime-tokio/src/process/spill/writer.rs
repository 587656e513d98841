//! Writing one stream to its file, without keeping the reader of the pipe waiting.
//!
//! What arrives is gathered, and one write at a time is made of it on a blocking thread.
//! If the disk is so slow that too much is gathered, the reader waits for it, for a
//! bounded time, and gives the file up then: a pipe must be read on.

use std::fs::File;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::timeout;

use super::store::Entry;
use super::{SpillBudget, SpillPlan, SpillState, SpillStop, SpillStore};

/// How much is gathered at most before the disk is waited for.
const GATHERED_BYTES: usize = 128 * 1024;

/// For how long.
const PATIENCE: Duration = Duration::from_secs(2);

/// What readers know of a stream's file, and what holds it. Dropping it removes the
/// file, and gives back what it had of the budget.
#[derive(Debug, Default)]
pub(crate) struct Spill(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    state: SpillState,
    file: Option<Arc<Entry>>,
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
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where the stream is by now.
    pub(crate) fn state(&self) -> SpillState {
        self.lock().state.clone()
    }

    /// Of so many bytes more, as many as may be kept, and what stands against the rest.
    fn admit(&self, plan: &SpillPlan, length: u64) -> (u64, Option<SpillStop>) {
        let mut known = self.lock();
        let budget = plan.budget.clone();
        let share = known.share.get_or_insert(Share { budget, bytes: 0 });
        let room = length.min(plan.stream_bytes.saturating_sub(share.bytes));
        let granted = plan.budget.take(room);
        share.bytes += granted;
        let stopped = match granted < room {
            true => Some(SpillStop::OwnerCap),
            false => (room < length).then_some(SpillStop::StreamCap),
        };
        (granted, stopped)
    }

    /// So many bytes more are in the file.
    fn wrote(&self, entry: &Arc<Entry>, length: usize, stopped: Option<SpillStop>) {
        let mut known = self.lock();
        let before = if let SpillState::Kept { bytes, .. } = known.state { bytes } else { 0 };
        let bytes = before + length as u64;
        known.state = SpillState::Kept { path: entry.path(), bytes, stopped };
        known.file.get_or_insert_with(|| Arc::clone(entry));
    }

    pub(super) fn fail(&self, error: &io::Error) {
        let mut known = self.lock();
        known.state = SpillState::Failed(error.to_string().into());
        // What goes with them is done without the lock.
        let gone = (known.file.take(), known.share.take());
        drop(known);
        drop(gone);
    }
}

/// The writing side of one stream.
#[derive(Debug)]
pub(crate) struct SpillWriter<'a> {
    spill: &'a Spill,
    plan: SpillPlan,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    /// Nothing had to be spilled yet.
    Unused,
    Writing(Writing),
    Over,
}

#[derive(Debug, Default)]
struct Writing {
    gathered: Vec<u8>,
    /// The file between two writes; none before the first.
    file: Option<(File, Arc<Entry>)>,
    job: Option<JoinHandle<Written>>,
    stopped: Option<SpillStop>,
}

/// What one write brought.
type Written = io::Result<(File, Arc<Entry>, usize)>;

impl<'a> SpillWriter<'a> {
    pub(crate) const fn new(spill: &'a Spill, plan: SpillPlan) -> Self {
        Self { spill, plan, stage: Stage::Unused }
    }

    /// Whether its first bytes have still to come: those from the stream's beginning.
    pub(crate) const fn is_unused(&self) -> bool {
        matches!(self.stage, Stage::Unused)
    }

    /// Takes the next bytes of the stream.
    pub(crate) async fn write(&mut self, bytes: &[u8]) {
        if self.is_unused() {
            self.stage = Stage::Writing(Writing::default());
        }
        let Stage::Writing(writing) = &mut self.stage else { return };
        let (granted, stopped) = self.spill.admit(&self.plan, bytes.len() as u64);
        let granted = usize::try_from(granted).unwrap_or(bytes.len());
        writing.gathered.extend_from_slice(&bytes[..granted]);
        writing.stopped = stopped;
        if stopped.is_some() {
            return self.finish().await;
        }
        let patience = (writing.gathered.len() >= GATHERED_BYTES).then_some(PATIENCE);
        if let Err(error) = writing.advance(self.spill, &self.plan.store, patience).await {
            self.give_up(&error);
        }
    }

    /// Writes what is still to be written.
    pub(crate) async fn finish(&mut self) {
        let Stage::Writing(writing) = &mut self.stage else { return };
        while !writing.gathered.is_empty() || writing.job.is_some() {
            let advanced = writing.advance(self.spill, &self.plan.store, Some(PATIENCE));
            if let Err(error) = advanced.await {
                return self.give_up(&error);
            }
        }
        self.stage = Stage::Over;
    }

    fn give_up(&mut self, error: &io::Error) {
        tracing::warn!(%error, "the whole output of a command could not be kept");
        self.stage = Stage::Over;
        self.spill.fail(error);
    }
}

impl Writing {
    /// Takes in a write that is over, and begins the next one. With `patience`, one that
    /// goes on is waited for that long.
    async fn advance(
        &mut self,
        spill: &Spill,
        store: &SpillStore,
        patience: Option<Duration>,
    ) -> io::Result<()> {
        if let Some(job) = &mut self.job {
            if patience.is_none() && !job.is_finished() {
                return Ok(());
            }
            let waited = timeout(patience.unwrap_or(PATIENCE), job).await;
            let written = waited.map_err(|_| io::Error::other("the disk takes too long"))?;
            self.job = None;
            let (file, entry, length) = written.map_err(io::Error::other)??;
            // Only with its last bytes in it is it known where it ends.
            let stopped = self.stopped.filter(|_| self.gathered.is_empty());
            spill.wrote(&entry, length, stopped);
            self.file = Some((file, entry));
        }
        if !self.gathered.is_empty() {
            let bytes = std::mem::take(&mut self.gathered);
            let (file, store) = (self.file.take(), store.clone());
            self.job = Some(spawn_blocking(move || write(file, &store, &bytes)));
        }
        Ok(())
    }
}

/// Writes to the file, which is made if there is none yet.
fn write(file: Option<(File, Arc<Entry>)>, store: &SpillStore, bytes: &[u8]) -> Written {
    let (mut file, entry) = match file {
        Some(open) => open,
        None => store.create().map(|made| (made.file, made.entry))?,
    };
    file.write_all(bytes)?;
    Ok((file, entry, bytes.len()))
}
