//! A harness's say in each call.

use futures::future::BoxFuture;
use longrun_shared::BoxError;

use super::{Call, ToolDescription, ToolReply, Undelivered, pipeline::Next};

/// A harness's say in each call: before it, around it, after it. Each default lets the
/// call be.
///
/// A stage that fails, or panics, makes the result an error that says so; the call goes no
/// further, or its result is withheld. A stage that waits is cut by the call's abort, but
/// for [`around`](Self::around), since what it holds may have to be ended in good order:
/// it has [`Call::abort`].
///
/// ```
/// use futures::future::BoxFuture;
/// use longrun_tokio::BoxError;
/// use longrun_tokio::tools::{Call, Policy, ToolDescription, ToolReply, Verdict};
///
/// struct ReadOnly;
///
/// impl Policy for ReadOnly {
///     fn before<'a>(
///         &'a self,
///         tool: &'a ToolDescription,
///         _call: &'a Call<'a>,
///     ) -> BoxFuture<'a, Result<Verdict, BoxError>> {
///         let denied = || Verdict::Answer(ToolReply::error("this session only looks"));
///         let verdict = if tool.name == "bash" { denied() } else { Verdict::Go };
///         Box::pin(async { Ok(verdict) })
///     }
/// }
/// ```
pub trait Policy: Send + Sync {
    /// Asked before the arguments are checked and anything is done, in the order in which
    /// the policies were added. The first answer ends it.
    fn before<'a>(
        &'a self,
        _tool: &'a ToolDescription,
        _call: &'a Call<'a>,
    ) -> BoxFuture<'a, Result<Verdict, BoxError>> {
        Box::pin(async { Ok(Verdict::Go) })
    }

    /// Wrapped around the check of the arguments and the tool's work: the policy that was
    /// added first is the outermost.
    fn around<'a>(
        &'a self,
        _tool: &'a ToolDescription,
        _call: &'a Call<'a>,
        next: Next<'a>,
    ) -> BoxFuture<'a, Result<Undelivered, BoxError>> {
        Box::pin(async { Ok(next.run().await) })
    }

    /// Given each result, whatever it came from (a denial, an abort, a panic), in the order
    /// in which the policies were added; what it returns takes its place. To change the
    /// text, change that of the outcome; another outcome withholds it. Until then a task
    /// that was read is held: whoever reads it here waits for itself.
    fn after<'a>(
        &'a self,
        _tool: &'a ToolDescription,
        _call: &'a Call<'a>,
        outcome: Undelivered,
    ) -> BoxFuture<'a, Result<Undelivered, BoxError>> {
        Box::pin(async { Ok(outcome) })
    }
}

/// What [`Policy::before`] says of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It goes on.
    Go,
    /// This is its result, and nothing is done: a denial, or an answer that is known.
    Answer(ToolReply),
}
