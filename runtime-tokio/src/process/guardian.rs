//! Who ends our processes when the host cannot: it was killed, or it aborted.
//!
//! The *guardian* is a shell in a session of its own that waits at the end of a socket.
//! Only the host holds the other end, so the kernel closes it when the host is gone,
//! whatever it died of. Then the guardian does to every process of the host what the host
//! would have done. (`PR_SET_PDEATHSIG` alone would not do: it follows the *thread* that
//! forked, and does not reach grandchildren.)
//!
//! There is one for a host. It is started before the first process, so that nothing ever
//! lives unguarded, and ended with the last: when a service has shut down, no process of
//! it is left, this one included. It is told the session of each process; what it has not
//! been told of yet, or what left its session, it finds by the mark in the environment.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Poll;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::SendFlags;
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

use super::orphans::{self, Kept};
use super::pidfd::{self, Watched};
use super::session::Kin;
use super::spawn::{PipeNumbers, Resource};
use super::{before_exec, marker};

const SHELL: &str = "/bin/sh";

/// A guardian that was ended must not end the host with a SIGPIPE.
const TELLING: SendFlags = SendFlags::NOSIGNAL.union(SendFlags::DONTWAIT);
pub(crate) const SCRIPT: &str = include_str!("guardian.sh");

/// How long a guardian may leave what it is told unread before another takes its place.
const PATIENCE: Duration = Duration::from_secs(1);

/// One that dies sooner died young, and so many young deaths in a row are not answered by
/// another guardian until the next process starts.
const YOUNG: Duration = Duration::from_secs(1);
const YOUNG_DEATHS: u32 = 3;

static POST: Mutex<Post> = Mutex::new(Post {
    disabled: false,
    warned: false,
    charges: 0,
    grace_seconds: 0,
    young_deaths: 0,
    known: BTreeMap::new(),
    guardian: None,
});

/// Does without the guardian from now on, for the rest of the life of this host: for one
/// whose children end with it anyway, because it is the first process of a container, or
/// a service that is stopped with its whole control group. A guardian at work is ended.
pub fn disable_guardian() {
    let mut post = post();
    post.disabled = true;
    post.dismiss();
}

fn post() -> MutexGuard<'static, Post> {
    POST.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Debug)]
struct Post {
    disabled: bool,
    /// That there is none was said, and since then there was none.
    warned: bool,
    /// How many processes are to be guarded.
    charges: usize,
    /// The longest of theirs.
    grace_seconds: u64,
    young_deaths: u32,
    /// What it was told of each session.
    known: BTreeMap<i32, String>,
    guardian: Option<Guardian>,
}

#[derive(Debug)]
struct Guardian {
    /// Closed with this, whatever the task that waits for it is doing: when the end of the
    /// last process is told, no descriptor is left.
    watched: Watched,
    /// Until it is reaped.
    _kept: Kept,
    watch: AbortHandle,
    socket: UnixStream,
    began: Instant,
}

/// One process that is guarded until this is dropped.
#[derive(Debug)]
pub(crate) struct Charge {
    grace_seconds: u64,
    session: Option<i32>,
}

impl Charge {
    /// Has a guardian at its post before a process with that grace starts. Blocks while
    /// one starts.
    pub(crate) fn take(runtime: &Handle, grace: Duration) -> Self {
        // Whole seconds are all that a shell counts in.
        let grace_seconds = grace.as_secs() + u64::from(grace.subsec_nanos() > 0);
        let mut post = post();
        post.charges += 1;
        post.grace_seconds = post.grace_seconds.max(grace_seconds);
        post.man(runtime);
        Self { grace_seconds, session: None }
    }

    /// Says which process it is, and which pipes are to be read on after our death.
    pub(crate) fn of(mut self, kin: &Kin, pipes: PipeNumbers) -> Self {
        let session = kin.session.as_raw_nonzero().get();
        let PipeNumbers { stdout, stderr } = pipes;
        let (started, grace) = (kin.started, self.grace_seconds);
        let line = format!("+ {session} {started} {grace} {stdout} {stderr}\n");
        let mut post = post();
        post.tell(&line);
        post.known.insert(session, line);
        drop(post);
        self.session = Some(session);
        self
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        let mut post = post();
        post.charges -= 1;
        if let Some(session) = self.session {
            post.known.remove(&session);
        }
        if post.charges == 0 {
            post.grace_seconds = 0;
            post.dismiss();
        } else if let Some(session) = self.session {
            post.tell(&format!("- {session}\n"));
        }
    }
}

impl Post {
    /// Sees to it that there is a guardian, and somebody who notices its death.
    fn man(&mut self, runtime: &Handle) {
        if self.disabled {
            return;
        }
        if self.guardian.as_ref().is_some_and(|guardian| pidfd::has_ended(guardian.watched.pidfd()))
        {
            self.dismiss();
        }
        match &mut self.guardian {
            None => {
                let all: String = self.known.values().map(String::as_str).collect();
                match Guardian::start(runtime, self.grace_seconds, &all) {
                    Ok((guardian, told)) => {
                        self.guardian = Some(guardian);
                        self.warned = false;
                        self.tell(&all[told..]);
                    }
                    Err(error) => self.warn(&error),
                }
            }
            // The runtime that watched it is gone.
            Some(guardian) if guardian.watch.is_finished() => {
                if let Err(error) = guardian.watch_from(runtime) {
                    tracing::warn!(%error, "the guardian is not watched: should it end, the next \
                                            start replaces it");
                }
            }
            Some(_) => {}
        }
    }

    /// Says that there is none, once until there is one again.
    fn warn(&mut self, error: &io::Error) {
        if !self.warned {
            self.warned = true;
            tracing::warn!("{}", unguarded(error));
        }
    }

    fn tell(&mut self, lines: &str) {
        let Some(guardian) = &self.guardian else { return };
        if let Err(error) = guardian.tell(lines.as_bytes()) {
            // The watch replaces it, or the next process that starts.
            tracing::warn!(%error, "the guardian does not listen and is ended");
            guardian.kill();
        }
    }

    /// Ends the guardian, if there is one, and reaps it.
    fn dismiss(&mut self) {
        if let Some(guardian) = self.guardian.take() {
            guardian.watch.abort();
            guardian.kill();
            guardian.reap();
        }
    }
}

/// Why there is no guardian, and what follows from that.
pub(crate) fn unguarded(error: &io::Error) -> String {
    let (what, remedy) = match Resource::of(error) {
        Some(short) => (short.what(), short.remedy()),
        None => ("it did not start", "a shell is expected there"),
    };
    format!(
        "no guardian ({SHELL}): {what}: {error}; {remedy}. Should this process be killed, what it \
         started lives on; the next start tries again"
    )
}

impl Guardian {
    /// Starts one. Says how much of `known` it was told before it began, which is all that
    /// fits into a socket: a host that dies now has a guardian that knows.
    fn start(runtime: &Handle, grace_seconds: u64, known: &str) -> io::Result<(Self, usize)> {
        let (socket, far_end) = UnixStream::pair()?;
        let told = rustix::net::send(&socket, known.as_bytes(), TELLING).unwrap_or(0);
        let mut command = Command::new(SHELL);
        command
            .args(["-c", SCRIPT, "longrun-guardian", marker::nonce()])
            .arg(grace_seconds.to_string())
            .env_clear()
            .current_dir("/")
            .stdin(OwnedFd::from(far_end))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        before_exec::detach_from_host(&mut command);
        let (mut child, ours) = orphans::spawn(&mut command)?;
        let pid = Pid::from_child(&child);
        let kept = rustix::process::pidfd_open(pid, PidfdFlags::empty())
            .map_err(io::Error::from)
            .and_then(|pidfd| Watched::new(Arc::new(pidfd)));
        match kept {
            Ok(watched) => {
                let watch = watch(runtime, watched.pidfd());
                let began = Instant::now();
                Ok((Self { watched, _kept: ours, watch, socket, began }, told))
            }
            Err(error) => {
                // It ends by itself when nobody holds the other end.
                drop(socket);
                let _ = child.wait();
                Err(error)
            }
        }
    }

    fn watch_from(&mut self, runtime: &Handle) -> io::Result<()> {
        self.watched = Watched::new(Arc::clone(self.watched.pidfd()))?;
        self.watch = watch(runtime, self.watched.pidfd());
        Ok(())
    }

    fn tell(&self, mut lines: &[u8]) -> io::Result<()> {
        let deadline = Instant::now() + PATIENCE;
        while !lines.is_empty() {
            match rustix::net::send(&self.socket, lines, TELLING) {
                Ok(sent) => lines = &lines[sent..],
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) if Instant::now() < deadline => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    let left = Timespec::try_from(left).unwrap_or_default();
                    let mut fds = [PollFd::new(&self.socket, PollFlags::OUT)];
                    // Whatever comes of it, the next turn tells.
                    let _ = rustix::event::poll(&mut fds, Some(&left));
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn kill(&self) {
        // It fails on one that has ended, which is as good.
        let _ = rustix::process::pidfd_send_signal(self.watched.pidfd(), Signal::KILL);
    }

    fn reap(&self) {
        pidfd::wait_until(self.watched.pidfd(), Instant::now() + PATIENCE);
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        // It fails where the host has its children reaped by the system.
        let _ = rustix::process::waitid(WaitId::PidFd(self.watched.pidfd().as_fd()), options);
    }
}

/// Has the runtime notice the end of the guardian with that descriptor.
fn watch(runtime: &Handle, pidfd: &Arc<OwnedFd>) -> AbortHandle {
    let (on, watched) = (runtime.clone(), Arc::downgrade(pidfd));
    let over = poll_fn(move |context| match post().guardian.as_ref() {
        Some(guardian) if is_same(guardian, &watched) => guardian.watched.poll_over(context),
        _ => Poll::Ready(()),
    });
    let watched = Arc::downgrade(pidfd);
    let task = runtime.spawn(async move {
        over.await;
        replace(&on, &watched);
    });
    task.abort_handle()
}

fn is_same(guardian: &Guardian, pidfd: &Weak<OwnedFd>) -> bool {
    std::ptr::eq(Arc::as_ptr(guardian.watched.pidfd()), pidfd.as_ptr())
}

/// Puts another guardian in the place of the one that has ended, unless it was dismissed.
fn replace(runtime: &Handle, ended: &Weak<OwnedFd>) {
    let mut post = post();
    let Some(guardian) = post.guardian.as_ref().filter(|guardian| is_same(guardian, ended)) else {
        return;
    };
    let lived = guardian.began.elapsed();
    tracing::warn!(?lived, "the guardian was ended by somebody");
    post.dismiss();
    post.young_deaths = if lived < YOUNG { post.young_deaths + 1 } else { 0 };
    if post.young_deaths < YOUNG_DEATHS {
        post.man(runtime);
    }
}
