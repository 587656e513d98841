//! Starting a program so that it and everything it starts can be found again.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::fs::{Access, MemfdFlags};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions};

use super::orphans::{self, Kept};
use super::session::Kin;
use super::spill::SpillPlan;
use super::{before_exec, marker, session};

/// Everything that a process needs to start. Nothing is filled in: the
/// environment is `env` and the variable `LONGRUN_TASK`, which is always ours.
#[derive(Clone, Debug)]
pub struct ProcessSpec {
    /// The program, a path or a name to look up in the `PATH` of `env`.
    pub program: OsString,
    /// Its arguments, without the program's own name.
    pub args: Vec<OsString>,
    /// The directory it starts in; absolute.
    pub cwd: PathBuf,
    /// Its whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// What it reads from its standard input; nothing if absent.
    pub stdin: Option<Vec<u8>>,
    /// How many bytes of each output stream are kept in memory.
    pub memory_bytes: usize,
    /// Where a stream goes that is longer; nowhere if absent.
    pub spill: Option<SpillPlan>,
    /// How long what got a SIGTERM may take before it gets a SIGKILL.
    pub grace: Duration,
    /// How long a pipe may stay open after the last known process has gone.
    pub drain: Duration,
}

/// Why a process could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpawnError {
    /// There is no such directory to start in.
    #[error(
        "no working directory {path:?}: expected an existing directory; create it or name another"
    )]
    NoDirectory {
        /// What was given.
        path: PathBuf,
    },
    /// The working directory is something else.
    #[error(
        "working directory {path:?} is not a directory: expected one; name its parent or another"
    )]
    NotADirectory {
        /// What was given.
        path: PathBuf,
    },
    /// The working directory may not be entered, or its path is none.
    #[error(
        "no way into working directory {path:?}: {source}; expected a directory that may be entered"
    )]
    DirectoryRefused {
        /// What was given.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The program does not exist, or not where it was looked for.
    #[error(
        "no program {program:?}: expected an executable file{}; install it or name another",
        searched(path.as_deref())
    )]
    NoProgram {
        /// What was given.
        program: OsString,
        /// The `PATH` that was searched, if the program was a bare name.
        path: Option<OsString>,
    },
    /// The program may not be run.
    #[error("program {program:?} may not be run: expected an executable file ({source})")]
    ProgramRefused {
        /// What was given.
        program: OsString,
        /// What the system said.
        source: io::Error,
    },
    /// The arguments and the environment are more than the system takes.
    #[error(
        "arguments and environment of {program:?} are too long for the system: expected less \
         ({source}); put the text into a file"
    )]
    TooLong {
        /// What was given.
        program: OsString,
        /// What the system said.
        source: io::Error,
    },
    /// The system, or a limit of this process, had no room for one more.
    #[error("program {program:?} could not be started: {}: {source}; {}", short.what(), short.remedy())]
    Exhausted {
        /// What was given.
        program: OsString,
        /// What there was not enough of.
        short: Resource,
        /// What the system said.
        source: io::Error,
    },
    /// The system gave another reason.
    #[error("program {program:?} could not be started: {source}")]
    Failed {
        /// What was given.
        program: OsString,
        /// What the system said.
        source: io::Error,
    },
    /// Nobody could tell what the process leaves behind.
    #[error(
        "no usable /proc here ({source}): expected the one of our own pid namespace to be mounted, \
         to find the processes of a session"
    )]
    NoProc {
        /// What was seen there.
        source: io::Error,
    },
    /// There is no tokio runtime to watch the process from.
    #[error("no tokio runtime here: expected to be called inside one with I/O and time enabled")]
    NoRuntime,
}

/// Something that a start takes and of which there is an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Resource {
    /// Open files; a start takes about a dozen for a moment, a running process four.
    Descriptors,
    /// Processes and threads.
    Processes,
    /// Memory.
    Memory,
}

impl Resource {
    pub(super) fn of(error: &io::Error) -> Option<Self> {
        match Errno::from_io_error(error)? {
            Errno::MFILE | Errno::NFILE => Some(Self::Descriptors),
            Errno::AGAIN => Some(Self::Processes),
            Errno::NOMEM => Some(Self::Memory),
            _ => None,
        }
    }

    pub(super) const fn what(self) -> &'static str {
        match self {
            Self::Descriptors => "too many open files",
            Self::Processes => "too many processes",
            Self::Memory => "not enough memory",
        }
    }

    pub(super) const fn remedy(self) -> &'static str {
        match self {
            Self::Descriptors => "end other tasks, or raise the limit (`ulimit -n`)",
            Self::Processes => "end other tasks, or raise the limit (`ulimit -u`, `pids.max`)",
            Self::Memory => "end other tasks, or give it more",
        }
    }
}

fn searched(path: Option<&OsStr>) -> String {
    path.map_or_else(String::new, |path| format!(" in PATH {path:?}"))
}

/// A started process: the leader of its own session, and not reaped by anybody
/// as long as its number is needed.
#[derive(Debug)]
pub(crate) struct Spawned {
    pub(crate) kin: Kin,
    /// `None` if it ended and was reaped behind our back before we could look.
    pub(crate) pidfd: Option<OwnedFd>,
    /// Until it is reaped.
    pub(crate) kept: Kept,
    /// Of a process to talk with.
    pub(crate) stdin: Option<OwnedFd>,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
}

/// By which numbers the system knows the output pipes of a process: zero, which no pipe
/// has, if it would not say.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PipeNumbers {
    pub(crate) stdout: u64,
    pub(crate) stderr: u64,
}

impl Spawned {
    pub(crate) fn pipe_numbers(&self) -> PipeNumbers {
        let number = |pipe| rustix::fs::fstat(pipe).map_or(0, |stat| stat.st_ino);
        PipeNumbers { stdout: number(&self.stdout), stderr: number(&self.stderr) }
    }
}

/// What a process has as its standard input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// The text of the spec, or nothing.
    Given,
    /// A pipe.
    Piped,
}

/// Starts it. When this returns, the program has been executed.
pub(crate) fn spawn(spec: &ProcessSpec, input: Input) -> Result<Spawned, SpawnError> {
    check_directory(&spec.cwd)?;
    let fail = |source| failure(spec, source);
    session::own_session().map_err(|source| match Resource::of(&source) {
        Some(_) => fail(source),
        None => SpawnError::NoProc { source },
    })?;
    let serial = marker::next_serial();
    let mut command = Command::new(&spec.program);
    command
        .args(&spec.args)
        .current_dir(&spec.cwd)
        .env_clear()
        .envs(spec.env.iter().map(|(name, value)| (name, value)))
        .env(marker::NAME, marker::value(serial))
        .stdin(match input {
            Input::Given => stdin(spec.stdin.as_deref()).map_err(fail)?,
            Input::Piped => Stdio::piped(),
        })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    before_exec::detach_from_host(&mut command);
    // The standard library's handle goes out of scope here, which neither reaps
    // nor kills: whoever reaped the leader early would free its number for a
    // stranger.
    let (mut child, kept) = orphans::spawn(&mut command).map_err(fail)?;
    let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
        return Err(fail(io::Error::other("no output pipes were made")));
    };
    let stdin = child.stdin.take().map(Into::into);
    let session = Pid::from_child(&child);
    let (pidfd, started) = identify(session).map_err(|error| {
        abandon(session);
        fail(error)
    })?;
    let kin = Kin { session, started, serial };
    Ok(Spawned { kin, pidfd, kept, stdin, stdout: stdout.into(), stderr: stderr.into() })
}

/// What names a child for good. If it ended and was reaped behind our back, it has no
/// descriptor, and what it left behind may be of any age.
fn identify(pid: Pid) -> io::Result<(Option<OwnedFd>, u64)> {
    let pidfd = match rustix::process::pidfd_open(pid, PidfdFlags::empty()) {
        Ok(pidfd) => pidfd,
        Err(Errno::SRCH) => return Ok((None, 0)),
        Err(error) => return Err(error.into()),
    };
    Ok((Some(pidfd), session::start_of(pid)?.unwrap_or(0)))
}

/// Ends a child that cannot be watched (no descriptor was left for it). It is
/// unreaped, so its number is still its own.
fn abandon(pid: Pid) {
    let killed = rustix::process::kill_process_group(pid, Signal::KILL);
    let reaped = rustix::process::waitpid(Some(pid), WaitOptions::empty());
    tracing::warn!(pid = pid.as_raw_nonzero(), ?killed, ?reaped, "a process could not be watched");
}

/// The standard input: text from memory, so that nobody has to write into a pipe
/// while the process may not be reading, or nothing.
fn stdin(text: Option<&[u8]>) -> io::Result<Stdio> {
    let Some(text) = text else { return Ok(Stdio::null()) };
    let memory = rustix::fs::memfd_create("longrun-stdin", MemfdFlags::CLOEXEC)?;
    let mut file = File::from(memory);
    file.write_all(text)?;
    file.rewind()?;
    Ok(file.into())
}

/// Says in advance whether a process could start there.
///
/// # Errors
///
/// [`SpawnError::NoDirectory`], [`SpawnError::NotADirectory`] or
/// [`SpawnError::DirectoryRefused`].
pub fn check_directory(path: &Path) -> Result<(), SpawnError> {
    let refused = |source| SpawnError::DirectoryRefused { path: path.to_owned(), source };
    match path.metadata() {
        Ok(found) if found.is_dir() => {
            rustix::fs::access(path, Access::EXEC_OK).map_err(|error| refused(error.into()))
        }
        Ok(_) => Err(SpawnError::NotADirectory { path: path.to_owned() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(SpawnError::NoDirectory { path: path.to_owned() })
        }
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            Err(SpawnError::NotADirectory { path: path.to_owned() })
        }
        Err(error) => Err(refused(error)),
    }
}

/// Says in advance whether there is such a program for a process that starts in
/// `cwd`, looking up a bare name in `search`, the `PATH` that it will get.
///
/// # Errors
///
/// [`SpawnError::NoProgram`] if no executable file is found.
pub fn check_program(
    program: &OsStr,
    search: Option<&OsStr>,
    cwd: &Path,
) -> Result<(), SpawnError> {
    let found = if program.as_bytes().contains(&b'/') {
        is_executable(&cwd.join(program))
    } else {
        let search = search.unwrap_or(OsStr::new(DEFAULT_PATH));
        std::env::split_paths(search).any(|dir| is_executable(&cwd.join(dir).join(program)))
    };
    if found { Ok(()) } else { Err(no_program(program, search)) }
}

/// Where the C library looks if there is no `PATH`.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

fn is_executable(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, Access::EXEC_OK).is_ok()
}

fn no_program(program: &OsStr, search: Option<&OsStr>) -> SpawnError {
    let bare = !program.as_bytes().contains(&b'/');
    let path = bare.then(|| search.unwrap_or(OsStr::new(DEFAULT_PATH)).to_owned());
    SpawnError::NoProgram { program: program.to_owned(), path }
}

/// Why it did not start. The directory was checked before, so what is missing or
/// refused is the program.
pub(crate) fn failure(spec: &ProcessSpec, source: io::Error) -> SpawnError {
    let program = spec.program.clone();
    let kind = source.kind();
    if let Some(short) = Resource::of(&source) {
        SpawnError::Exhausted { program, short, source }
    } else if kind == io::ErrorKind::NotFound {
        let path = spec.env.iter().rev().find(|(name, _)| name == "PATH");
        no_program(&program, path.map(|(_, value)| value.as_os_str()))
    } else if kind == io::ErrorKind::PermissionDenied {
        SpawnError::ProgramRefused { program, source }
    } else if kind == io::ErrorKind::ArgumentListTooLong {
        SpawnError::TooLong { program, source }
    } else {
        SpawnError::Failed { program, source }
    }
}
