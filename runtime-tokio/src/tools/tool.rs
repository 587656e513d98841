//! What a tool is to the pipeline.

use futures::future::BoxFuture;
use serde_json::Value;

use super::{Call, Content, ToolDescription, Undelivered};

/// A tool. Only the first and the last method have to be written.
pub trait Tool: Send + Sync {
    /// What a model is offered. Asked once, when the tool is added.
    fn description(&self) -> ToolDescription;

    /// Asked first of all, before any policy: what the tool does to the result last of all,
    /// whatever that came from.
    fn finalizer(&self, _call: &Call<'_>) -> Finalizer {
        Finalizer::none()
    }

    /// Whether the arguments are what the schema says. Asked after the policies; if not,
    /// nothing is done.
    ///
    /// # Errors
    ///
    /// All that is wrong with them, for the model.
    fn check(&self, _args: &Value) -> Result<(), String> {
        Ok(())
    }

    /// Does it. The arguments have been [checked](Self::check), and the call was not aborted
    /// until now; an abort that comes later is the tool's to heed.
    ///
    /// A call that makes a background task returns it at once as the `taskId` of its
    /// [value](super::ToolReply::value): whatever becomes of the result, the model is told that id.
    fn call<'a>(&'a self, call: &'a Call<'a>) -> BoxFuture<'a, Undelivered>;
}

type Finish = Box<dyn FnOnce(&mut Vec<Content>, &Value) + Send>;

/// The last stage of one call: it may change what the model reads, and nothing else.
pub struct Finalizer(Option<Finish>);

impl Finalizer {
    /// Leaves the result as it is.
    #[must_use]
    pub fn none() -> Self {
        Self(None)
    }

    /// Called once, with the content and the value of whatever the result is.
    #[must_use]
    pub fn new(finish: impl FnOnce(&mut Vec<Content>, &Value) + Send + 'static) -> Self {
        Self(Some(Box::new(finish)))
    }

    pub(super) fn finish(self, content: &mut Vec<Content>, value: &Value) {
        if let Some(finish) = self.0 {
            finish(content, value);
        }
    }
}

impl std::fmt::Debug for Finalizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Finalizer").field("is_some", &self.0.is_some()).finish()
    }
}
