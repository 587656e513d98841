//! The end of a child's process, and what it leaves to be told.

use std::{sync::Arc, time::Duration};

use futures::{
    FutureExt as _,
    future::{BoxFuture, Shared},
};
use longrun_shared::BoxError;
use tokio::time::timeout;

use super::{
    super::{Finish, Stop},
    talk::Over,
};
use crate::process::{Closed, Cursor, Left, Process, Signals};

/// Ends one process, once, whoever waits for it. Its input must have been closed.
#[derive(Clone)]
pub(super) struct Teardown {
    closed: Shared<BoxFuture<'static, Closed>>,
    process: Arc<Process>,
}

impl Teardown {
    pub(super) fn new(process: Arc<Process>, grace: Duration) -> Self {
        let ending = Arc::clone(&process);
        let closed = async move {
            // Its input is closed: it may end by itself, and take along what it has started.
            let _ = timeout(grace, ending.wait_exited()).await;
            ending.terminate();
            ending.done().await
        };
        Self { closed: closed.boxed().shared(), process }
    }

    /// Until nothing of it is left that is known.
    pub(super) fn ended(&self) -> impl Future<Output = Result<(), BoxError>> + Send + use<> {
        let closed = self.closed.clone();
        async move {
            match closed.await.left {
                Left { members: 0, strays: 0 } => Ok(()),
                Left { members, strays } => {
                    let left = members + strays;
                    let processes = if left == 1 { "process" } else { "processes" };
                    Err(format!("{left} {processes} of it did not yield to SIGKILL").into())
                }
            }
        }
    }

    /// What came of the conversation. Of a failure it tells how the process ended and what
    /// it wrote last, once that is certain.
    pub(super) async fn explain(&self, over: Over) -> Finish {
        let Over { mut finish, closed: expects_exit } = over;
        let Stop::Failed(reason) = &mut finish.stop else { return finish };
        let closed = self.closed.clone().await;
        if expects_exit && closed.signals == Signals::Nothing {
            reason.push_str(&format!("; {}", closed.exit));
        }
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
