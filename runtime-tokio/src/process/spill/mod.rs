//! Output beyond what memory keeps, in files.
//!
//! A stream is spilled from the moment that its window would lose a byte, from its first
//! byte on: up to then nothing touches the disk. The file ends at the stream's cap, at
//! the end of what its owner may have in all, or with the stream. Whoever reads the
//! output is told where the file is and how far it goes; a file that lacks something in
//! its middle, or could not be written, is removed and never named.
//!
//! Files lie in a directory that the runtime makes for itself ([`SpillStore`]), and go
//! with the record of their task.

mod store;
#[cfg(test)]
mod tests;
mod writer;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use longrun_core::output::Stream;

pub use self::store::SpillStore;
#[cfg(feature = "cli")]
pub(crate) use self::store::is_tellable;
use self::writer::Spill;
pub(crate) use self::writer::SpillWriter;

/// Where the streams of one process are spilled to, and how much of them.
#[derive(Clone, Debug)]
pub struct SpillPlan {
    /// Makes the files.
    pub store: SpillStore,
    /// How many bytes of each stream are kept.
    pub stream_bytes: u64,
    /// What several processes may take together.
    pub budget: SpillBudget,
}

/// How many bytes the files of several processes (of one owner) may have together.
/// Clones share it. What a removed file had is free again.
#[derive(Clone, Debug)]
pub struct SpillBudget(Arc<AtomicU64>);

impl SpillBudget {
    /// A budget of that many bytes.
    #[must_use]
    pub fn new(bytes: u64) -> Self {
        Self(Arc::new(AtomicU64::new(bytes)))
    }

    /// How many bytes are left.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Takes as much of what is asked for as there is.
    fn take(&self, asked: u64) -> u64 {
        let rest = |left: u64| Some(left - asked.min(left));
        let (Ok(left) | Err(left)) =
            self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, rest);
        asked.min(left)
    }

    fn give_back(&self, bytes: u64) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// Where the whole of a stream is, if it is anywhere but in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SpillState {
    /// It was not needed so far, or is off.
    #[default]
    Unused,
    /// In this file, from its first byte on.
    Kept {
        /// Where it is, until the task's record goes.
        path: PathBuf,
        /// How many bytes of the stream are in it by now.
        bytes: u64,
        /// Whether readers may have been shown more than that: the rest is still to be
        /// written.
        behind: bool,
        /// Why it does not go on, if it does not.
        stopped: Option<SpillStop>,
    },
    /// Nowhere: it could not be written, or somebody has removed the file. Says why.
    Failed(Arc<str>),
}

/// Why a file does not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpillStop {
    /// It has as many bytes as one stream may have.
    StreamCap,
    /// All files of the owner together have as many as they may.
    OwnerCap,
}

impl SpillState {
    /// For the mark of a loss: where what is lost can be read, or why it cannot. Nothing
    /// where spilling is off.
    #[must_use]
    pub fn whereabouts(&self) -> Option<String> {
        match self {
            Self::Unused => None,
            Self::Kept { path, stopped: None, behind: false, .. } => {
                Some(format!("all of it is in {}", path.display()))
            }
            Self::Kept { path, bytes, stopped: None, behind: true } => {
                Some(format!("by now the first {bytes} bytes are in {}", path.display()))
            }
            Self::Kept { path, bytes, stopped: Some(_), .. } => {
                Some(format!("the first {bytes} bytes are in {}", path.display()))
            }
            Self::Failed(why) => Some(format!("the whole could not be kept: {why}")),
        }
    }
}

/// The files of both streams of a process.
#[derive(Debug, Default)]
pub(crate) struct Spills {
    plan: Option<SpillPlan>,
    stdout: Spill,
    stderr: Spill,
}

impl Spills {
    pub(crate) fn new(plan: Option<SpillPlan>) -> Self {
        Self { plan, ..Self::default() }
    }

    const fn of(&self, stream: Stream) -> &Spill {
        match stream {
            Stream::Stdout => &self.stdout,
            Stream::Stderr => &self.stderr,
        }
    }

    pub(crate) fn writer(&self, stream: Stream) -> Option<SpillWriter<'_>> {
        Some(SpillWriter::new(self.of(stream), self.plan.clone()?))
    }
}

/// The files that the output of a process is in. They are there for as long as the
/// process's handle is, or one of these.
#[derive(Clone, Debug, Default)]
pub struct SpillFiles(pub(crate) Arc<Spills>);

impl SpillFiles {
    /// Where a stream is by now. Looks whether the file is still there.
    #[must_use]
    pub fn state(&self, stream: Stream) -> SpillState {
        self.0.of(stream).state()
    }

    /// Whether there is a file.
    #[must_use]
    pub fn any(&self) -> bool {
        let is_kept = |stream| matches!(self.state(stream), SpillState::Kept { .. });
        Stream::ALL.into_iter().any(is_kept)
    }
}

/// They are equal if the same is known of both.
impl PartialEq for SpillFiles {
    fn eq(&self, other: &Self) -> bool {
        Stream::ALL.into_iter().all(|stream| self.state(stream) == other.state(stream))
    }
}

impl Eq for SpillFiles {}
