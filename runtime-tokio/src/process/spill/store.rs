//! The private directory that spill files lie in.
//!
//! Everybody may write to a directory for temporary files, so nothing in it is trusted:
//! what we make there we make under a name that nobody can guess, exclusively, for
//! ourselves alone, and from then on we refer to it by its descriptor.
//!
//! As long as a directory is in use its descriptor holds a lock. The lock ends with the
//! process, however it ends; so who finds a directory that is not locked may remove it.
//!
//! Somebody may remove a directory or a file all the same, one who tidies up say. A file
//! is told of only where it is still there, and the next one gets a new directory.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError, Weak};

use longrun_core::controls::line_within;
use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use crate::process::random;

/// What the names of our directories begin with.
const PREFIX: &str = "longrun-spill-";

/// What the names of our files end with, after a number.
const SUFFIX: &str = ".out";

/// What others may do with our directories and files: nothing.
const DIR_MODE: Mode = Mode::RWXU;
const FILE_MODE: Mode = Mode::RUSR.union(Mode::WUSR);

/// How often a directory is made anew where somebody swept it between its making and
/// its locking.
const TRIES: u32 = 8;

/// Makes spill files, in a private directory below a given one. The private one is made
/// with the first file and removed with the last; with the first, what dead harnesses
/// left beside it is removed, too. Clones share it.
///
/// The name of the directory has to be one line of plain text, since texts for a model
/// tell it; nothing is kept otherwise. Nor is anything kept of a stream that would exceed a
/// limit on the size of files (`ulimit -f`). Where there is one, the host should ignore or
/// catch `SIGXFSZ`, as `longrun serve` does: by default the system ends it at such a write.
#[derive(Clone, Debug)]
pub struct SpillStore(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    parent: PathBuf,
    current: Mutex<Weak<PrivateDir>>,
    numbers: AtomicU64,
    swept: Once,
}

impl SpillStore {
    /// A store below that directory. Nothing is made or looked at before it is needed.
    #[must_use]
    pub fn new(parent: impl Into<PathBuf>) -> Self {
        Self(Arc::new(Inner {
            parent: parent.into(),
            current: Mutex::default(),
            numbers: AtomicU64::new(1),
            swept: Once::new(),
        }))
    }

    /// Removes what harnesses of this user that are dead have left there, once for all
    /// clones. The first file does that by itself. Blocks for as long as it takes.
    pub fn sweep(&self) {
        self.0.swept.call_once(|| sweep(&self.0.parent));
    }

    /// Makes an empty file. Blocks for some system calls.
    pub(super) fn create(&self) -> io::Result<SpillFile> {
        if !is_tellable(&self.0.parent) {
            let why = "the name of its directory is no line of plain text";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        // Before the first file: what is left over may be what fills the disk.
        self.sweep();
        let dir = self.dir()?;
        let name = format!("{}{SUFFIX}", self.0.numbers.fetch_add(1, Ordering::Relaxed));
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&dir.fd, &name, flags, FILE_MODE)?;
        let identity = identity(&file)?;
        let entry = Arc::new(Entry { dir, name, identity });
        set_mode(&file, FILE_MODE)?;
        Ok(SpillFile { file: File::from(file), entry })
    }

    fn dir(&self) -> io::Result<Arc<PrivateDir>> {
        let mut current = self.0.current.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(dir) = current.upgrade().filter(|dir| dir.is_there()) {
            return Ok(dir);
        }
        let dir = Arc::new(PrivateDir::create(&self.0.parent)?);
        *current = Arc::downgrade(&dir);
        Ok(dir)
    }
}

/// Whether a text for a model can name that path as it is, in one line.
pub(crate) fn is_tellable(path: &Path) -> bool {
    path.to_str().is_some_and(|text| line_within(text, usize::MAX) == text)
}

/// A file that is being written.
#[derive(Debug)]
pub(super) struct SpillFile {
    pub(super) file: File,
    pub(super) entry: Arc<Entry>,
}

/// A file's place in its directory. Dropping it removes the file.
pub(super) struct Entry {
    dir: Arc<PrivateDir>,
    name: String,
    identity: Identity,
}

impl Entry {
    pub(super) fn path(&self) -> PathBuf {
        self.dir.path.join(&self.name)
    }

    /// Fails if its path leads to something else by now, or to nothing.
    pub(super) fn check(&self) -> io::Result<()> {
        if is_at(self.identity, &self.path()) {
            return Ok(());
        }
        Err(io::Error::new(io::ErrorKind::NotFound, "somebody has removed its file"))
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Entry").field(&self.path()).finish()
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        match rustix::fs::unlinkat(&self.dir.fd, &self.name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => {
                tracing::warn!(path = %self.path().display(), %error, "a spill file is left");
            }
        }
    }
}

#[derive(Debug)]
struct PrivateDir {
    path: PathBuf,
    fd: OwnedFd,
}

impl PrivateDir {
    fn create(parent: &Path) -> io::Result<Self> {
        Self::create_with(parent, Self::enter)
    }

    /// What `enter` fails to enter is removed again.
    fn create_with(
        parent: &Path,
        enter: impl Fn(&Path) -> io::Result<Option<Self>>,
    ) -> io::Result<Self> {
        for _ in 0..TRIES {
            let path = parent.join(format!("{PREFIX}{}", random::hex()));
            match fs::DirBuilder::new().mode(DIR_MODE.bits()).create(&path) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(error),
            }
            match enter(&path) {
                Ok(Some(dir)) => return Ok(dir),
                Ok(None) => {}
                Err(error) => {
                    // The first error says what is wrong.
                    let _ = fs::remove_dir(&path);
                    return Err(error);
                }
            }
        }
        Err(io::Error::other("every directory that is made is removed by somebody else"))
    }

    /// Opens and locks a directory that was just made, unless somebody who sweeps was
    /// quicker: then it is gone.
    fn enter(path: &Path) -> io::Result<Option<Self>> {
        // To be opened like that, it need not be readable.
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let made = match rustix::fs::open(path, flags, Mode::empty()) {
            Err(Errno::NOENT) => return Ok(None),
            made => made?,
        };
        set_mode(&made, DIR_MODE)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = match rustix::fs::openat(&made, ".", flags, Mode::empty()) {
            Err(Errno::NOENT) => return Ok(None),
            fd => fd?,
        };
        let locked = rustix::fs::flock(&fd, FlockOperation::NonBlockingLockExclusive).is_ok();
        let dir = Self { path: path.to_owned(), fd };
        Ok((locked && dir.is_there()).then_some(dir))
    }

    fn is_there(&self) -> bool {
        identity(&self.fd).is_ok_and(|identity| is_at(identity, &self.path))
    }
}

impl Drop for PrivateDir {
    fn drop(&mut self) {
        if self.is_there()
            && let Err(error) = fs::remove_dir(&self.path)
        {
            tracing::warn!(path = %self.path.display(), %error, "a spill directory is left");
        }
    }
}

/// Gives a file or directory of ours that mode, of which the umask may have taken away.
fn set_mode(fd: &OwnedFd, mode: Mode) -> io::Result<()> {
    let stat = rustix::fs::fstat(fd)?;
    if stat.st_mode & 0o777 == mode.bits() {
        return Ok(());
    }
    if stat.st_uid != rustix::process::geteuid().as_raw() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "somebody else has made it"));
    }
    // A descriptor that is for the path only can be changed by its name alone.
    let name = format!("/proc/self/fd/{}", fd.as_raw_fd());
    Ok(rustix::fs::chmod(name, mode)?)
}

fn open_dir(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

/// The device and the inode: what tells a file from all others while it is held.
type Identity = (u64, u64);

fn identity(fd: impl AsFd) -> io::Result<Identity> {
    let stat = rustix::fs::fstat(fd)?;
    Ok((stat.st_dev, stat.st_ino))
}

/// Whether that file is what that path leads to.
fn is_at(identity: Identity, path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|there| (there.dev(), there.ino()) == identity)
}

fn sweep(parent: &Path) {
    // If the directory cannot be read, making one in it will say so.
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        if entry.file_name().to_str().is_some_and(is_name_of_ours) {
            let path = entry.path();
            match sweep_one(&path) {
                Ok(true) => tracing::info!(path = %path.display(), "a stale directory is removed"),
                Ok(false) => {}
                Err(error) => {
                    tracing::warn!(path = %path.display(), %error, "it could not be removed");
                }
            }
        }
    }
}

/// Whether one of our directories may have that name.
fn is_name_of_ours(name: &str) -> bool {
    let is_hex = |digits: &str| {
        digits.len() == random::HEX_DIGITS
            && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    name.strip_prefix(PREFIX).is_some_and(is_hex)
}

/// Whether one of our files may have that name.
fn is_file_of_ours(name: &[u8]) -> bool {
    name.strip_suffix(SUFFIX.as_bytes())
        .is_some_and(|number| !number.is_empty() && number.iter().all(u8::is_ascii_digit))
}

/// Removes our files from a directory that is ours and that nobody holds, and then the
/// directory. It stays if anything else is in it.
fn sweep_one(path: &Path) -> io::Result<bool> {
    let Ok(fd) = open_dir(path) else { return Ok(false) };
    if rustix::fs::fstat(&fd)?.st_uid != rustix::process::geteuid().as_raw() {
        return Ok(false);
    }
    if rustix::fs::flock(&fd, FlockOperation::NonBlockingLockExclusive).is_err() {
        return Ok(false);
    }
    for entry in rustix::fs::Dir::read_from(&fd)? {
        let entry = entry?;
        let name = entry.file_name();
        if is_file_of_ours(name.to_bytes()) {
            let stat = rustix::fs::statat(&fd, name, AtFlags::SYMLINK_NOFOLLOW)?;
            if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile {
                rustix::fs::unlinkat(&fd, name, AtFlags::empty())?;
            }
        }
    }
    if !is_at(identity(&fd)?, path) {
        return Ok(false);
    }
    match rustix::fs::rmdir(path) {
        Ok(()) => Ok(true),
        Err(Errno::NOTEMPTY) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // contract: B8
    #[test]
    fn a_directory_that_cannot_be_entered_is_removed_again() {
        let folder = tempfile::tempdir().unwrap();
        let too_many = |path: &Path| {
            assert!(path.is_dir());
            Err(Errno::MFILE.into())
        };
        let error = PrivateDir::create_with(folder.path(), too_many).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(Errno::MFILE.raw_os_error()));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
