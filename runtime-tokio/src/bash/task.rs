//! A background command as the work of a task.

use std::sync::Arc;

use longrun_shared::Hooks;

use super::BashProcess;

impl BashProcess {
    /// The hooks of a task that is this command: killing the one kills the other, and
    /// reads are the output as it comes.
    #[must_use]
    pub fn hooks(self) -> Hooks {
        let process = Arc::new(self);
        let (done, reader) = (process.done(), Arc::clone(&process));
        Hooks::new(async { done.await.outcome() })
            .on_cancel(move |_reason| {
                // One that has ended meanwhile needs no asking.
                let _ = process.kill();
                Ok(())
            })
            .stream(move || Ok(reader.read()))
    }
}
