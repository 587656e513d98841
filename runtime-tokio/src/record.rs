//! The event trace of a live service, as it goes on.
//!
//! [`Builder::record`](crate::Builder::record) writes it, in the format of
//! [`longrun_core::trace`]: the limits of the service, then each event with its time, one
//! JSON object a line. Whatever the service did follows from it, and `longrun-sim replay`
//! and `longrun-sim explain` run and draw it again, with every invariant checked after
//! every event.
//!
//! A record holds what the service is told: the labels of tasks, which for commands are the
//! commands, their details, their final outputs, sessions, and reasons of kills. There may
//! be secrets among them. What a stream task writes is not in it.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write},
    path::Path,
};

use longrun_core::{
    Config, Event, Now,
    trace::{Header, Line},
};
use serde::Serialize;

/// Creates the file for a record. Only its owner may read and write it (mode 0600, where
/// files have modes), since a record may hold secrets.
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// use longrun_tokio::record;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("record.jsonl");
/// record::create(&path)?;
/// let again = record::create(&path).expect_err("a record is never overwritten");
/// assert_eq!(again.kind(), std::io::ErrorKind::AlreadyExists);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// That of the file system. What is there already is left as it is, and is an error.
pub fn create(path: impl AsRef<Path>) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Writes a trace line by line.
pub(crate) struct Recorder(Box<dyn Write + Send>);

impl Recorder {
    /// Begins a trace.
    pub(crate) fn start(writer: Box<dyn Write + Send>, config: Config) -> io::Result<Self> {
        let mut recorder = Self(writer);
        recorder.write(&Header::new(config))?;
        Ok(recorder)
    }

    pub(crate) fn event(&mut self, now: Now, event: &Event) -> io::Result<()> {
        self.write(&Line { now, event })
    }

    /// One whole line at once: what dies in between leaves a trace up to there.
    fn write(&mut self, line: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(line)?;
        line.push(b'\n');
        self.0.write_all(&line)?;
        self.0.flush()
    }
}
