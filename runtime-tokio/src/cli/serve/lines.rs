//! Standard input, line by line, and standard output likewise, each on a thread of its
//! own: neither can be read or written without blocking.
//!
//! Whoever has started us may share its ends of them with us, and set them to be
//! non-blocking at any time. Then we wait until they are ready.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    os::fd::{AsFd, BorrowedFd},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    thread,
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// The longest request, in bytes. A longer line is read to its end and refused.
pub(super) const MAX_LINE_BYTES: usize = 1024 * 1024;

/// How many requests may be read ahead of the one that is being started.
const AHEAD: usize = 64;

/// A line of input, or why it is none.
pub(super) enum Line {
    Text(String),
    TooLong { bytes: usize },
    NotUtf8,
}

/// The lines of standard input, until its end or an error, which is the last thing then.
pub(super) fn input() -> mpsc::Receiver<io::Result<Line>> {
    let (sender, receiver) = mpsc::channel(AHEAD);
    thread::spawn(move || {
        let stdin = io::stdin();
        let mut stdin = BufReader::new(Patient(stdin.as_fd()));
        while let Some(line) = next_line(&mut stdin).transpose() {
            let is_last = line.is_err();
            if sender.blocking_send(line).is_err() || is_last {
                return;
            }
        }
    });
    receiver
}

/// Reads and writes a descriptor. Where that would fail because it is non-blocking, waits
/// until it is ready.
struct Patient<'a>(BorrowedFd<'a>);

impl Patient<'_> {
    fn again<T>(
        &self,
        ready: PollFlags,
        mut attempt: impl FnMut() -> rustix::io::Result<T>,
    ) -> io::Result<T> {
        loop {
            match attempt() {
                Err(Errno::AGAIN) => match poll(&mut [PollFd::new(&self.0, ready)], None) {
                    Ok(_) | Err(Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                },
                Err(Errno::INTR) => {}
                result => return Ok(result?),
            }
        }
    }
}

impl Read for Patient<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.again(PollFlags::IN, || rustix::io::read(self.0, &mut *buffer))
    }
}

impl Write for Patient<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.again(PollFlags::OUT, || rustix::io::write(self.0, bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn next_line(input: &mut impl BufRead) -> io::Result<Option<Line>> {
    let mut line = Vec::new();
    let mut bytes = 0;
    loop {
        let chunk = input.fill_buf()?;
        if chunk.is_empty() {
            let line = (bytes > 0).then(|| finish(line, bytes));
            return Ok(line);
        }
        let end = chunk.iter().position(|&byte| byte == b'\n');
        let part = &chunk[..end.unwrap_or(chunk.len())];
        bytes += part.len();
        if bytes <= MAX_LINE_BYTES {
            line.extend_from_slice(part);
        }
        let used = part.len() + usize::from(end.is_some());
        input.consume(used);
        if end.is_some() {
            return Ok(Some(finish(line, bytes)));
        }
    }
}

fn finish(line: Vec<u8>, bytes: usize) -> Line {
    if bytes > MAX_LINE_BYTES {
        return Line::TooLong { bytes };
    }
    String::from_utf8(line).map_or(Line::NotUtf8, Line::Text)
}

enum Message {
    Line(String),
    Flushed(oneshot::Sender<()>),
}

/// How much may wait to be read, in bytes. A client that lets more pile up is not reading.
const MAX_UNREAD_BYTES: usize = 256 * 1024 * 1024;

/// Standard output. Clones write to the same.
#[derive(Clone)]
pub(super) struct Output {
    sender: Sender<Message>,
    unread: Arc<AtomicUsize>,
    /// Cancelled when nobody reads any more.
    pub(super) gone: CancellationToken,
}

impl Output {
    pub(super) fn start() -> Self {
        let (sender, receiver) = channel();
        let gone = CancellationToken::new();
        let unread = Arc::new(AtomicUsize::new(0));
        let output = Self { sender, unread: Arc::clone(&unread), gone: gone.clone() };
        thread::spawn(move || {
            if let Err(error) = write_all(&receiver, &unread) {
                if !is_of_a_reader_that_left(&error) {
                    tracing::error!("standard output cannot be written: {error}");
                }
                gone.cancel();
            }
        });
        output
    }

    /// Writes one object, on one line.
    pub(super) fn send(&self, value: &Value) {
        let line = value.to_string();
        let unread = self.unread.fetch_add(line.len(), Ordering::Relaxed);
        if unread > MAX_UNREAD_BYTES && !self.gone.is_cancelled() {
            tracing::error!("standard output is not read: more than {MAX_UNREAD_BYTES} bytes wait");
            self.gone.cancel();
        }
        if !self.gone.is_cancelled() {
            // An error means that nobody reads any more, which `gone` tells.
            let _ = self.sender.send(Message::Line(line));
        }
    }

    /// Waits until all that was sent so far is written, or nobody reads it.
    pub(super) async fn flushed(&self) {
        let (sender, receiver) = oneshot::channel();
        let _ = self.sender.send(Message::Flushed(sender));
        let _ = receiver.await;
    }
}

fn write_all(messages: &Receiver<Message>, unread: &AtomicUsize) -> io::Result<()> {
    let stdout = io::stdout();
    let mut stdout = Patient(stdout.as_fd());
    for message in messages {
        match message {
            Message::Line(mut line) => {
                unread.fetch_sub(line.len(), Ordering::Relaxed);
                line.push('\n');
                stdout.write_all(line.as_bytes())?;
            }
            Message::Flushed(done) => {
                let _ = done.send(());
            }
        }
    }
    Ok(())
}

/// Nobody is left to be told of anything, and to end then is what is expected.
fn is_of_a_reader_that_left(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_at_newlines_and_at_the_end_and_a_long_one_is_passed_over() {
        let long = "x".repeat(MAX_LINE_BYTES + 1);
        let input = format!("one\n\n{long}\n{}\nlast", "y".repeat(MAX_LINE_BYTES));
        let mut input = io::BufReader::with_capacity(7, input.as_bytes());
        let mut next = || match next_line(&mut input).unwrap() {
            Some(Line::Text(text)) => format!("{} {}", text.len(), &text[..text.len().min(4)]),
            Some(Line::TooLong { bytes }) => format!("too long: {bytes}"),
            Some(Line::NotUtf8) => "not UTF-8".to_owned(),
            None => "end".to_owned(),
        };
        assert_eq!(next(), "3 one");
        assert_eq!(next(), "0 ");
        assert_eq!(next(), format!("too long: {}", MAX_LINE_BYTES + 1));
        assert_eq!(next(), format!("{MAX_LINE_BYTES} yyyy"));
        assert_eq!(next(), "4 last");
        assert_eq!(next(), "end");
    }
}
