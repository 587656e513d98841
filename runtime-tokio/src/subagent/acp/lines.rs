//! The lines between us and a child, one message each.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicI64, Ordering},
    },
    task::{Context, Poll},
};

use agent_client_protocol::{Lines, RawJsonRpcMessage, TransportFrame};
use futures::{Sink, SinkExt, Stream, StreamExt as _, future::ready};
use longrun_core::controls::one_line;
use tokio::io::AsyncWrite;
use tokio_util::codec::{FramedRead, FramedWrite, LinesCodec, LinesCodecError};

use crate::process::Conversation;

/// The longest line that a child may write, in bytes.
pub const MAX_LINE_BYTES: usize = 4 * 1024 * 1024;

/// How many questions of a child may wait for the answers to the earlier ones to be read.
const MAX_UNANSWERED: i64 = 1_000;

/// Why the lines ended early, if they did.
#[derive(Clone, Debug, Default)]
pub(super) struct Broken(Arc<Mutex<Option<String>>>);

impl Broken {
    pub(super) fn reason(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes it, and gives the error that ends the connection.
    fn because(&self, reason: String) -> io::Error {
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        io::Error::other(noted.get_or_insert(reason).clone())
    }
}

/// The lines over these pipes.
pub(super) fn over(
    conversation: Conversation,
    broken: Broken,
) -> Lines<
    impl Sink<String, Error = io::Error> + Send + 'static,
    impl Stream<Item = io::Result<String>> + Send + 'static,
> {
    let Conversation { stdin, stdout } = conversation;
    // It falls with each line that was written, and rises with each question.
    let unanswered = Arc::new(AtomicI64::new(0));
    let written = Arc::clone(&unanswered);
    let outgoing = FramedWrite::new(Unheard(stdin), LinesCodec::new());
    let outgoing = SinkExt::<String>::sink_map_err(outgoing, io::Error::other);
    let outgoing = outgoing.with(move |line: String| {
        written.fetch_sub(1, Ordering::Relaxed);
        ready(Ok::<_, io::Error>(line))
    });
    let incoming = FramedRead::new(stdout, LinesCodec::new_with_max_length(MAX_LINE_BYTES));
    let incoming = incoming.filter_map(move |line| {
        ready(match line {
            Ok(line) if line.trim().is_empty() => None,
            Ok(line) => Some(checked(line, &unanswered).map_err(|why| broken.because(why))),
            Err(error) => Some(Err(broken.because(unreadable(&error)))),
        })
    });
    Lines::new(outgoing, incoming)
}

/// Loses what nobody reads any more. A child that exits closes its input and its output at
/// once, and which of the two is noticed first is chance: its output tells.
struct Unheard<W>(W);

impl<W> Unheard<W> {
    fn or_lost<T>(result: Poll<io::Result<T>>, lost: T) -> Poll<io::Result<T>> {
        match result {
            Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
                Poll::Ready(Ok(lost))
            }
            other => other,
        }
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for Unheard<W> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Self::or_lost(Pin::new(&mut self.0).poll_write(context, bytes), bytes.len())
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Self::or_lost(Pin::new(&mut self.0).poll_flush(context), ())
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Self::or_lost(Pin::new(&mut self.0).poll_shutdown(context), ())
    }
}

fn checked(line: String, unanswered: &AtomicI64) -> Result<String, String> {
    match TransportFrame::parse_json(&line) {
        TransportFrame::Single(RawJsonRpcMessage::Request(_)) => {
            if unanswered.fetch_add(1, Ordering::Relaxed) >= MAX_UNANSWERED {
                return Err(format!(
                    "it asked more than {MAX_UNANSWERED} times and read no answer"
                ));
            }
            Ok(line)
        }
        TransportFrame::Single(_) => Ok(line),
        // Malformed, or of a form that is not known here.
        _ => {
            let start = line.floor_char_boundary(80);
            let more = if start < line.len() { "…" } else { "" };
            let quoted = one_line(&line[..start]);
            Err(format!("it wrote a line that is no message of the protocol: {quoted}{more}"))
        }
    }
}

fn unreadable(error: &LinesCodecError) -> String {
    match error {
        LinesCodecError::MaxLineLengthExceeded => {
            format!("it wrote a line of more than {MAX_LINE_BYTES} bytes")
        }
        LinesCodecError::Io(error) if error.kind() == io::ErrorKind::InvalidData => {
            "it wrote a line that is not UTF-8".to_owned()
        }
        LinesCodecError::Io(error) => format!("its output could not be read: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // contract: U4
    #[test]
    fn what_is_no_message_is_quoted_and_questions_have_a_limit() {
        let unanswered = AtomicI64::new(0);
        let long = format!("one\u{7} {}", "x".repeat(300));
        let refused = checked(long, &unanswered).unwrap_err();
        assert!(refused.contains("no message of the protocol: one\\u{7} xxx"), "{refused}");
        assert!(refused.ends_with("x…") && refused.len() < 200, "{refused}");
        assert!(checked("[]".to_owned(), &unanswered).is_err());
        let note = r#"{"jsonrpc": "2.0", "method": "session/update"}"#;
        let question = r#"{"jsonrpc": "2.0", "id": 1, "method": "fs/read"}"#;
        for _ in 0..MAX_UNANSWERED {
            checked(note.to_owned(), &unanswered).unwrap();
            checked(question.to_owned(), &unanswered).unwrap();
        }
        let refused = checked(question.to_owned(), &unanswered).unwrap_err();
        assert_eq!(refused, "it asked more than 1000 times and read no answer");
        checked(note.to_owned(), &unanswered).unwrap();
    }
}
