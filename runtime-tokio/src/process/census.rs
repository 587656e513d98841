//! One look at `/proc` for all that ask in the same moment.
//!
//! A look costs some milliseconds on a busy machine, so it happens on a thread of its
//! own, and everybody who asked before it began shares what it saw. Who asks
//! while one is under way gets the next one: a look that began earlier could miss
//! what the asker already knows.
//!
//! Where the system has no thread left, the asker's own looks: somebody has to be seen
//! to end, or there will be no threads again.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::session::Census;

type Answer = Result<Arc<Census>, Arc<io::Error>>;

#[derive(Debug)]
struct Asker {
    /// See [`Census::take`].
    marked_since: Option<u64>,
    answer: oneshot::Sender<Answer>,
}

#[derive(Debug)]
struct Desk {
    waiting: Vec<Asker>,
    staffed: bool,
}

static DESK: Mutex<Desk> = Mutex::new(Desk { waiting: Vec::new(), staffed: false });

fn desk() -> MutexGuard<'static, Desk> {
    DESK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sees every live process, as of some moment after this was called, and the marks of
/// those that are not older than `marked_since`.
///
/// # Errors
///
/// See [`Census::take`].
pub(crate) async fn census(marked_since: Option<u64>) -> Answer {
    let answer = ask(marked_since, hire).await;
    answer.unwrap_or_else(|_| Err(Arc::new(io::Error::other("the look at /proc was broken off"))))
}

/// The last look that [`recent`] took, and when it began.
static RECENT: Mutex<Option<(Instant, Arc<Census>)>> = Mutex::new(None);

/// Every live process, as of a moment at most `age` ago and not before `earliest`. Whoever
/// finds nothing so young looks, on this thread, and the others wait for it.
///
/// # Errors
///
/// See [`Census::take`].
pub(crate) fn recent(age: Duration, earliest: Instant) -> io::Result<Arc<Census>> {
    let mut last = RECENT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((began, census)) = &*last
        && *began >= earliest
        && began.elapsed() <= age
    {
        return Ok(Arc::clone(census));
    }
    let began = Instant::now();
    let census = Arc::new(Census::take(None)?);
    *last = Some((began, Arc::clone(&census)));
    Ok(census)
}

/// Queues up, and has somebody serve the desk if nobody does.
fn ask(marked_since: Option<u64>, hire: fn() -> io::Result<()>) -> oneshot::Receiver<Answer> {
    let (answer, receiver) = oneshot::channel();
    let mut desk = desk();
    desk.waiting.push(Asker { marked_since, answer });
    let is_staffed = std::mem::replace(&mut desk.staffed, true);
    drop(desk);
    if !is_staffed && let Err(error) = hire() {
        tracing::debug!(%error, "no thread is left to look at the processes with");
        Clerk.serve();
    }
    receiver
}

/// A thread that serves until nobody waits.
fn hire() -> io::Result<()> {
    // The clerk is made in there: without a thread there is none.
    let serving = || Clerk.serve();
    thread::Builder::new().name("longrun-census".into()).spawn(serving).map(drop)
}

/// Whoever holds this serves the desk; dropping it, served or not, frees the
/// desk for another.
struct Clerk;

impl Clerk {
    fn serve(self) {
        loop {
            let mut desk = desk();
            let waiting = std::mem::take(&mut desk.waiting);
            if waiting.is_empty() {
                // Said under the same lock as the look at the queue: nobody can
                // have queued up in between.
                desk.staffed = false;
                std::mem::forget(self);
                return;
            }
            drop(desk);
            let marked_since = waiting.iter().filter_map(|asker| asker.marked_since).min();
            let answer = Census::take(marked_since).map(Arc::new).map_err(Arc::new);
            for asker in waiting {
                // An asker that has gone away needs no answer.
                drop(asker.answer.send(answer.clone()));
            }
        }
    }
}

impl Drop for Clerk {
    fn drop(&mut self) {
        let mut desk = desk();
        desk.staffed = false;
        desk.waiting.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // contract: B6, T2
    #[tokio::test]
    async fn without_a_thread_the_asker_looks_and_the_next_one_asks_again() {
        let none = || Err(io::Error::from_raw_os_error(11));
        for hire in [none, hire, none] {
            let census = ask(None, hire).await.unwrap().unwrap();
            assert!(census.len() > 0);
        }
    }
}
