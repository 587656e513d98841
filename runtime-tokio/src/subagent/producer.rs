//! Children as the work of tasks, and in the foreground.

use std::{future::Future, pin::pin, sync::Arc};

use futures::future::{Either, select};
use longrun_shared::{BoxError, Hooks, TaskSpec, panics};

use super::{AbortHandle, Ended, Provider, Request, life::Life};

/// Makes tasks of a provider's children.
#[derive(Clone)]
pub struct Subagents {
    provider: Arc<dyn Provider>,
    kind: Arc<str>,
}

impl Subagents {
    /// Children of that provider; their tasks are of the kind `subagent`.
    pub fn new(provider: impl Provider) -> Self {
        Self { provider: Arc::new(provider), kind: "subagent".into() }
    }

    /// The same with tasks of another kind, which is the first part of their ids.
    #[must_use]
    pub fn kind(self, kind: &str) -> Self {
        Self { kind: kind.into(), ..self }
    }

    /// The task of a child: its label is the description.
    #[must_use]
    pub fn spec(&self, request: &Request) -> TaskSpec {
        TaskSpec::new(&*self.kind, &request.description)
    }

    /// What a starter returns: begins to start a child, and gives the hooks of its task.
    /// Killing the task aborts the child, in its startup as well as later; the task ends
    /// when the child has ended and is disposed.
    ///
    /// # Errors
    ///
    /// The provider's, if the child is known to be impossible.
    pub fn start(&self, request: Request) -> Result<Hooks, BoxError> {
        let abort = AbortHandle::new();
        let life = self.begin(request, &abort)?;
        let progress = life.progress();
        let hooks = Hooks::new(async move { life.live().await.outcome() })
            .on_cancel(move |reason| {
                abort.abort(reason);
                Ok(())
            })
            .live_detail(move || Some(progress.detail()));
        Ok(hooks)
    }

    /// Runs a child until nothing of it is left. When `abort` is ready, the child is asked
    /// to stop, and still awaited. Dropping the future drops the child.
    ///
    /// # Errors
    ///
    /// The provider's, if the child is known to be impossible.
    pub async fn run(
        &self,
        request: Request,
        abort: impl Future<Output = ()>,
    ) -> Result<Ended, BoxError> {
        let handle = AbortHandle::new();
        let life = pin!(self.begin(request, &handle)?.live());
        match select(pin!(abort), life).await {
            Either::Left(((), life)) => {
                handle.abort(Some("the call was aborted"));
                Ok(life.await)
            }
            Either::Right((ended, _)) => Ok(ended),
        }
    }

    fn begin(&self, request: Request, abort: &AbortHandle) -> Result<Life, BoxError> {
        let deadline = self.provider.startup_deadline();
        let startup = panics::caught(|| self.provider.start(request, abort.clone()))??;
        Ok(Life::new(startup, abort.clone(), deadline))
    }
}

impl std::fmt::Debug for Subagents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Subagents").field("kind", &self.kind).finish_non_exhaustive()
    }
}
