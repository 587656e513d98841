//! Children that are futures of this process.

use std::{
    fmt,
    future::Future,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures::{
    FutureExt as _,
    future::{BoxFuture, Either, select},
};
use longrun_shared::{BoxError, panics};
use tokio::time::sleep;

use super::{AbortHandle, Finish, Provider, Request, Run, Startup, Stop, transcript::Transcript};

/// Runs a future as a child.
///
/// The future is polled on the runtime of the service. Its end is asked for through
/// [`Child::abort`], and it should obey. One that does not is dropped after a while, at the
/// next place where it waits: what never waits cannot be ended, and would hold up the
/// thread that it runs on. What it panics with becomes the reason of its failure.
pub struct InProcess {
    child: Box<dyn Fn(Child) -> BoxFuture<'static, Finish> + Send + Sync>,
    drop_after: Duration,
    memory_bytes: usize,
}

/// What the future of a child has at hand.
#[derive(Clone, Debug)]
pub struct Child {
    /// What it is to do.
    pub request: Request,
    /// Tells it to stop.
    pub abort: AbortHandle,
    transcript: Arc<Mutex<Transcript>>,
}

impl Child {
    /// Says something on the way. It is kept for the case that the child ends without an
    /// answer; nobody can read it before. Of too much only the end is kept.
    pub fn say(&self, text: &str) {
        self.transcript.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }
}

impl InProcess {
    /// Children that are what this function returns: a string, a result with one, or a
    /// [`Finish`]. The function is called inside the task's starter and should return at
    /// once.
    pub fn new<F>(child: impl Fn(Child) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output: Into<Finish>> + Send + 'static,
    {
        let child = move |context| child(context).map(Into::into).boxed();
        Self { child: Box::new(child), drop_after: Duration::from_secs(5), memory_bytes: 64_000 }
    }

    /// How long after its abort a child may go on before it is dropped; five seconds by
    /// default.
    #[must_use]
    pub fn drop_after(self, drop_after: Duration) -> Self {
        Self { drop_after, ..self }
    }

    /// How much of what a child [says](Child::say) is kept, in bytes; 64,000 by default.
    #[must_use]
    pub fn memory_bytes(self, memory_bytes: usize) -> Self {
        Self { memory_bytes, ..self }
    }
}

impl Provider for InProcess {
    fn start(&self, request: Request, abort: AbortHandle) -> Result<Startup, BoxError> {
        let transcript = Arc::new(Mutex::new(Transcript::new(self.memory_bytes)));
        let said = Arc::clone(&transcript);
        let child = (self.child)(Child { request, abort: abort.clone(), transcript });
        let drop_after = self.drop_after;
        let run = Run::new(async move {
            let finish = contained(child, abort, drop_after).await;
            said.lock().unwrap_or_else(PoisonError::into_inner).complete(finish)
        });
        Ok(async { Ok(run) }.boxed())
    }
}

/// Until the child ends, panics, or has ignored its abort for that long.
async fn contained(
    child: BoxFuture<'static, Finish>,
    abort: AbortHandle,
    drop_after: Duration,
) -> Finish {
    let late = Box::pin(async move {
        abort.aborted().await;
        sleep(drop_after).await;
    });
    let (finish, child) = match select(AssertUnwindSafe(child).catch_unwind(), late).await {
        Either::Left((Ok(finish), _)) => return finish,
        Either::Left((Err(panic), _)) => return Finish::failed(panics::message(&*panic)),
        Either::Right(((), child)) => {
            let note = format!("ignored that and was dropped after {drop_after:?}");
            (Finish::new(Stop::Aborted, "").with_note(note), child)
        }
    };
    match panics::caught(|| drop(child)) {
        Ok(()) => finish,
        Err(panic) => finish.with_note(format!("ignored that, and when it was dropped {panic}")),
    }
}

impl fmt::Debug for InProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InProcess").field("drop_after", &self.drop_after).finish_non_exhaustive()
    }
}
