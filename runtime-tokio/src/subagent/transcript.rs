//! What a child says, as far as it is kept: the last of it.

use longrun_core::output::{Clean, Cleaner, Log, TextCursor};

use super::Finish;

/// What a child has said so far.
#[derive(Debug)]
pub(super) struct Transcript(Log);

impl Transcript {
    /// Nothing yet; the last so many bytes will be kept.
    pub(super) const fn new(bytes: usize) -> Self {
        Self(Log::new(bytes))
    }

    pub(super) fn push(&mut self, text: &str) {
        self.0.append(text.as_bytes());
    }

    /// Whether the next thing begins a line.
    #[cfg(feature = "acp")]
    pub(super) fn is_at_line_start(&self) -> bool {
        let last = self.0.written().saturating_sub(1);
        self.0.written() == 0 || self.0.read_from(last).bytes == b"\n"
    }

    /// A finish with all that is kept as its text, unless it has one.
    pub(super) fn complete(&self, finish: Finish) -> Finish {
        if !finish.text.is_empty() {
            return finish;
        }
        let kept = TextCursor::default().read(&self.0);
        Finish { text: kept.text, dropped_bytes: kept.dropped_bytes, ..finish }
    }
}

/// A child's text as a model may read it.
pub(super) fn readable(text: &str, dropped_bytes: u64) -> String {
    let (mut cleaner, mut clean) = (Cleaner::new(text.len().max(1)), Clean::default());
    cleaner.clean(text, &mut clean);
    cleaner.flush(&mut clean);
    match dropped_bytes {
        0 => clean.text,
        1 => format!("[1 byte before this was dropped]\n{}", clean.text),
        bytes => format!("[{bytes} bytes before this were dropped]\n{}", clean.text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subagent::Stop;

    // contract: U2, M12, R8
    #[test]
    fn of_too_much_the_end_is_kept_and_the_rest_is_counted() {
        let mut transcript = Transcript::new(4);
        let finish = || Finish::new(Stop::Completed, "");
        assert_eq!(transcript.complete(finish()).text, "");
        transcript.push("one, ");
        transcript.push("t\u{20ac}o");
        let finish = transcript.complete(finish());
        assert_eq!((finish.text.as_str(), finish.dropped_bytes), ("\u{20ac}o", 6));
        let own = transcript.complete(Finish::new(Stop::Completed, "42"));
        assert_eq!((own.text.as_str(), own.dropped_bytes), ("42", 0));
        assert_eq!(readable("\u{1b}[31mred\u{1b}[0m\n", 0), "red\n");
        assert_eq!(readable("end", 7), "[7 bytes before this were dropped]\nend");
        assert_eq!(readable("", 0), "");
    }
}
