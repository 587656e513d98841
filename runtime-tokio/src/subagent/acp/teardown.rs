//! The end of a child's process, and what it leaves to be told.

use std::{sync::Arc, thread, time::Duration};

use futures::{
    FutureExt as _,
    future::{BoxFuture, Shared},
};
use longrun_shared::BoxError;
use tokio::{sync::oneshot, time::timeout};

use super::{
    super::{Finish, Stop},
    talk::Over,
};
use crate::process::{Closed, Cursor, Left, Process, Signals};

/// Ends one process, once, whoever waits for it. Its input must have been closed.
#[derive(Clone)]
pub(super) struct Teardown {
    end: Shared<BoxFuture<'static, End>>,
    process: Arc<Process>,
}

/// How a process ended, and what of it would not.
#[derive(Clone, Copy)]
struct End {
    closed: Closed,
    left: usize,
}

impl Teardown {
    pub(super) fn new(process: Arc<Process>, grace: Duration) -> Self {
        let end = end(Arc::clone(&process), grace).boxed().shared();
        Self { end, process }
    }

    /// Until nothing of it is left that is known.
    pub(super) fn ended(&self) -> impl Future<Output = Result<(), BoxError>> + Send + use<> {
        let end = self.end.clone();
        async move {
            match end.await.left {
                0 => Ok(()),
                1 => Err("1 process of it did not yield to SIGKILL".into()),
                left => Err(format!("{left} processes of it did not yield to SIGKILL").into()),
            }
        }
    }

    /// What came of the conversation. Of a failure it tells how the process ended and what
    /// it wrote last, once that is certain.
    pub(super) async fn explain(&self, over: Over) -> Finish {
        let Over { mut finish, closed: expects_exit } = over;
        let Stop::Failed(reason) = &mut finish.stop else { return finish };
        let End { closed, .. } = self.end.clone().await;
        if expects_exit && closed.signals == Signals::Nothing {
            reason.push_str(&format!("; {}", closed.exit));
        }
        self.with_last_words(finish)
    }

    /// With what the process has written last to its standard error, which is known for
    /// certain once it has [`ended`](Self::ended).
    pub(super) fn with_last_words(&self, mut finish: Finish) -> Finish {
        let last = self.process.read(&mut Cursor::default()).text();
        if !last.is_empty() {
            if !finish.text.is_empty() && !finish.text.ends_with('\n') {
                finish.text.push('\n');
            }
            finish.text.push_str(&last);
        }
        finish
    }
}

async fn end(process: Arc<Process>, grace: Duration) -> End {
    // Its input is closed: it may end by itself, and take along what it has started.
    let _ = timeout(grace, process.wait_exited()).await;
    process.terminate();
    let closed = process.done().await;
    if process.left() != Left::default() {
        // It was closed before it was asked to end, and what left it goes on.
        kill_left(&process).await;
    }
    let Left { members, strays } = process.left();
    End { closed, left: members + strays }
}

/// Blocks a thread of its own, or this one where the system has none left: the runtime's
/// pool panics then.
async fn kill_left(process: &Arc<Process>) {
    let (running, ended) = oneshot::channel::<()>();
    let held = Arc::clone(process);
    let killing = move || {
        held.kill_left();
        drop((held, running));
    };
    match thread::Builder::new().name("longrun-kill".into()).spawn(killing) {
        // There is no other news than that it has ended.
        Ok(_) => drop(ended.await),
        Err(error) => {
            tracing::debug!(%error, "no thread is left to kill with");
            process.kill_left();
        }
    }
}
