//! A background command as the work of a task.

use std::sync::Arc;

use longrun_shared::{BoxError, Hooks, StreamReader, core::output::Cursor};

use super::BashProcess;

/// The reads of the task: they move the command's own cursor, once they are committed.
struct Reader {
    process: Arc<BashProcess>,
    peeked: Option<Cursor>,
}

impl StreamReader for Reader {
    fn peek(&mut self) -> Result<String, BoxError> {
        let (text, cursor) = self.process.peek();
        self.peeked = Some(cursor);
        Ok(text)
    }

    fn commit(&mut self) {
        if let Some(cursor) = self.peeked.take() {
            self.process.pass(cursor);
        }
    }
}

impl BashProcess {
    /// The hooks of a task that is this command: killing the one kills the other, reads
    /// are the output as it comes, which can be observed as well, and while it lives it says
    /// what there is to know.
    #[must_use]
    pub fn hooks(self) -> Hooks {
        Arc::new(self).shared_hooks()
    }

    /// The same of a command that somebody else holds too. The hooks alone keep it alive
    /// once that one has let go.
    pub(crate) fn shared_hooks(self: Arc<Self>) -> Hooks {
        let (done, reader) = (self.done(), Reader { process: Arc::clone(&self), peeked: None });
        let (observed, told) = (Arc::clone(&self), Arc::clone(&self));
        Hooks::new(async { done.await.outcome() })
            .on_cancel(move |_reason| {
                // One that has ended meanwhile needs no asking.
                let _ = self.kill();
                Ok(())
            })
            .stream_with(reader)
            .observe(move |from| observed.observe(from))
            .live_detail(move || told.live_detail())
    }
}
