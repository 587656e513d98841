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

#[cfg(test)]
mod tests {
    use std::{convert::Infallible, time::Duration};

    use longrun_shared::{TaskId, TaskService, TaskSpec};
    use tokio::time::timeout;

    use super::*;
    use crate::{
        Builder,
        bash::{BashConfig, BashExecutor, BashRequest},
    };

    /// Longer than anything here takes on a busy machine.
    const PATIENCE: Duration = Duration::from_secs(60);

    fn run(command: &str) -> BashProcess {
        let executor = BashExecutor::new(BashConfig::new("/")).unwrap();
        executor.start(executor.resolve(BashRequest::new(command)).unwrap()).unwrap()
    }

    /// The task of a command that has ended, and a service that has it.
    async fn ended(command: &str) -> (TaskService, TaskId) {
        let service = Builder::new().build().unwrap();
        let guard = service.attach_controller().unwrap();
        let process = run(command);
        let spec = TaskSpec::new("bash", command);
        let id = service.start_unowned(spec, || Ok::<_, Infallible>(process.hooks())).unwrap();
        drop(guard);
        service.wait(&id, &None, PATIENCE).await.unwrap();
        (service, id)
    }

    // contract: R1, R7, M12
    #[tokio::test]
    async fn what_was_not_delivered_of_a_command_is_read_again_as_it_was() {
        // An escape sequence, a redrawn line, and the first byte of a character.
        let (service, id) = ended(r"printf 'a\033[1mb\n10%%\r20%%\n\303'; printf e >&2").await;
        let read = || timeout(PATIENCE, service.read_held(&id, &None));
        let first = read().await.unwrap().unwrap();
        assert!(first.text.starts_with("ab\n20%\n"), "{:?}", first.text);
        let text = first.text.clone();
        drop(first);
        let again = read().await.unwrap().unwrap();
        assert_eq!(again.text, text);
        again.commit();
        assert_eq!(read().await.unwrap().unwrap().text, "");
        assert_eq!(service.read(&id, &None).unwrap().text, "");
    }

    // contract: R1
    #[tokio::test]
    async fn a_commit_does_not_move_back_a_cursor_that_another_reader_has_moved_on() {
        let process = Arc::new(run("echo one"));
        timeout(PATIENCE, process.done()).await.unwrap();
        let mut reader = Reader { process: Arc::clone(&process), peeked: None };
        let before = process.peek();
        assert_eq!(reader.peek().unwrap(), "one\n");
        assert_eq!(process.read(), "one\n");
        process.pass(Cursor::default());
        reader.commit();
        reader.commit();
        assert_eq!((before.0.as_str(), process.read().as_str()), ("one\n", ""));
    }
}
