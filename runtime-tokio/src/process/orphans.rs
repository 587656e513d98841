//! The dead of whom only we can be rid: processes that lost their parent, and whom the
//! system gave to us.
//!
//! Who of our zombies is such an orphan is known by exclusion: whoever we started ourselves
//! is *kept* from its fork until it was reaped by the one who started it. So nobody is
//! reaped while somebody forks, whose child is not known yet.
//!
//! They are found by a look at every process, which the reaper shares with all that look in
//! that moment. (`/proc/<pid>/task/<tid>/children` needs an option of the kernel, and leaves
//! some out while others go.) There is no look unless some child of ours is a zombie.

use std::io;
use std::process::{Child, Command};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, WaitId, WaitIdOptions};
use tokio::runtime::Handle;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Notify;
use tokio::task::{AbortHandle, yield_now};
use tokio::time::sleep;

use super::census::census;

/// How many are reaped before others get to run.
const AT_ONCE: usize = 32;

/// When to look again where the system had no descriptor left for a look.
const RETRY: Duration = Duration::from_millis(100);

static CHILDREN: Mutex<Children> =
    Mutex::new(Children { forking: 0, awaited: false, kept: Vec::new() });

/// Somebody could be reaped now who could not be before, and no signal tells it.
static NEWS: Notify = Notify::const_new();

#[derive(Debug)]
struct Children {
    /// How many are being started.
    forking: usize,
    /// A reaper waits until there are none.
    awaited: bool,
    /// Twice the same where one who was just reaped left its number to the next.
    kept: Vec<Pid>,
}

fn children() -> MutexGuard<'static, Children> {
    CHILDREN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A child that is reaped by whoever holds this, and by nobody else. To be dropped after the
/// reaping.
#[derive(Debug)]
pub(crate) struct Kept(Pid);

/// Starts a child, and keeps it.
pub(crate) fn spawn(command: &mut Command) -> io::Result<(Child, Kept)> {
    let _forking = Forking::begin();
    let child = command.spawn()?;
    let pid = Pid::from_child(&child);
    children().kept.push(pid);
    Ok((child, Kept(pid)))
}

impl Drop for Kept {
    fn drop(&mut self) {
        let mut children = children();
        if let Some(place) = children.kept.iter().position(|pid| *pid == self.0) {
            children.kept.swap_remove(place);
        }
        drop(children);
        if wait(WaitId::Pid(self.0), WaitIdOptions::NOWAIT) {
            // It was given up, and its end may have been told already.
            NEWS.notify_one();
        }
    }
}

/// While this is held a child may exist that is not kept yet.
struct Forking;

impl Forking {
    fn begin() -> Self {
        children().forking += 1;
        Self
    }
}

impl Drop for Forking {
    fn drop(&mut self) {
        let mut children = children();
        children.forking -= 1;
        if children.forking == 0 && std::mem::take(&mut children.awaited) {
            NEWS.notify_one();
        }
    }
}

/// Whether there is an ended child such as that. It is reaped by this, or left with `NOWAIT`.
fn wait(which: WaitId<'_>, more: WaitIdOptions) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | more;
    matches!(rustix::process::waitid(which, options), Ok(Some(_)))
}

/// Whether the processes that lose their parent become children of this one: it is the first
/// process of its pid namespace, as of a container, or a child subreaper. Does not block.
///
/// Nobody but us can reap those. For one who does not, see [`reap_orphans`].
#[must_use]
pub fn inherits_orphans() -> bool {
    let is_subreaper = || matches!(rustix::process::child_subreaper(), Ok(Some(_)));
    rustix::process::getpid() == Pid::INIT || is_subreaper()
}

/// Reaps, from now until what it returns is dropped, every child of this process that has
/// ended and was not started by this module. That keeps a host that
/// [inherits orphans](inherits_orphans) from being the keeper of ever more zombies, until the
/// container has no room for another process: a command such as `(true &)` leaves it one.
///
/// What a [`Process`](super::Process) leads is spared, and so is the guardian. **A host
/// that has other children must not use this**, unless it can do without their exit status:
/// whoever waits for one of them, as [`std::process::Child`] and `tokio::process::Child` do,
/// may find it gone.
///
/// Returns at once. The work is done by a task of the current runtime, which ends with it; it
/// is woken by `SIGCHLD`, which must not be blocked, and waits for no process.
///
/// # Errors
///
/// If there is no runtime here, or `SIGCHLD` could not be listened to.
///
/// # Panics
///
/// If the current runtime has no I/O driver, as tokio itself does.
///
/// # Examples
///
/// ```
/// use longrun_tokio::process;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let reaper = process::inherits_orphans().then(process::reap_orphans).transpose()?;
/// // Run tasks here, for as long as the host lives.
/// drop(reaper);
/// # Ok(())
/// # }
/// ```
pub fn reap_orphans() -> io::Result<OrphanReaper> {
    let runtime = Handle::try_current().map_err(io::Error::other)?;
    let ended = signal(SignalKind::child())?;
    Ok(OrphanReaper(runtime.spawn(reap_on(ended)).abort_handle()))
}

/// Reaps orphans until it is dropped. See [`reap_orphans`].
#[derive(Debug)]
#[must_use = "dropping it ends the reaping"]
pub struct OrphanReaper(AbortHandle);

impl Drop for OrphanReaper {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn reap_on(mut ended: Signal) {
    loop {
        let began = Instant::now();
        match reap().await {
            // A storm of ends keeps us looking half of the time, at most.
            Ok(()) => sleep(began.elapsed()).await,
            Err(error) => {
                tracing::debug!(%error, "orphans could not be looked for");
                sleep(RETRY).await;
                continue;
            }
        }
        tokio::select! {
            Some(()) = ended.recv() => {}
            () = NEWS.notified() => {}
        }
    }
}

/// Reaps who has ended by now and is kept by nobody.
async fn reap() -> io::Result<()> {
    if !wait(WaitId::All, WaitIdOptions::NOWAIT) {
        return Ok(());
    }
    let census = census(None).await.map_err(|error| io::Error::new(error.kind(), error))?;
    for zombies in census.zombies().chunks(AT_ONCE) {
        reap_unkept(zombies);
        yield_now().await;
    }
    Ok(())
}

fn reap_unkept(zombies: &[Pid]) {
    // Under the lock: nobody may fork, or keep a number, in between.
    let mut children = children();
    if children.forking > 0 {
        children.awaited = true;
        return;
    }
    for pid in zombies.iter().filter(|pid| !children.kept.contains(pid)) {
        wait(WaitId::Pid(*pid), WaitIdOptions::empty());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A child of this process that has ended.
    fn zombie(child: &Child) -> Pid {
        let pid = Pid::from_child(child);
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        rustix::process::waitid(WaitId::Pid(pid), options).unwrap();
        pid
    }

    fn is_unreaped(pid: Pid) -> bool {
        wait(WaitId::Pid(pid), WaitIdOptions::NOWAIT)
    }

    /// Until nobody forks, in another test.
    fn reap_at_last(pid: Pid) {
        let began = Instant::now();
        while is_unreaped(pid) {
            assert!(began.elapsed() < Duration::from_secs(60), "it is not reaped");
            reap_unkept(&[pid]);
            std::thread::yield_now();
        }
    }

    // contract: B4
    #[test]
    fn nobody_is_reaped_while_somebody_forks() {
        let pid = zombie(&Command::new("true").spawn().unwrap());
        let forking = Forking::begin();
        reap_unkept(&[pid]);
        assert!(is_unreaped(pid));
        drop(forking);
        reap_at_last(pid);
    }

    // contract: B4, B5
    #[test]
    fn who_is_kept_is_not_reaped_even_if_its_number_was_anothers_before() {
        let (child, kept) = spawn(&mut Command::new("true")).unwrap();
        let pid = zombie(&child);
        children().kept.push(pid);
        drop(Kept(pid));
        // Nobody who forks may be the reason.
        assert!(children().kept.contains(&pid));
        reap_unkept(&[pid]);
        assert!(is_unreaped(pid));
        drop(kept);
        reap_at_last(pid);
    }
}
