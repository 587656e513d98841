//! One text out of two streams.

use std::fmt::Write;

use crate::process::StreamText;

/// What divides the one from the other.
const STDERR_HEADER: &str = "[stderr]\n";

/// What came on both streams since the last read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BashDelta {
    /// Of descriptor 1.
    pub stdout: StreamText,
    /// Of descriptor 2.
    pub stderr: StreamText,
}

impl BashDelta {
    /// Standard output, then standard error under a header of its own. Losses are
    /// told in front of the stream they belong to. In which order the two were
    /// written is not known.
    #[must_use]
    pub fn merged(&self) -> String {
        let mut text = String::new();
        push(&mut text, "stdout", &self.stdout);
        if !self.stderr.is_empty() {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(STDERR_HEADER);
            push(&mut text, "stderr", &self.stderr);
        }
        text
    }
}

fn push(text: &mut String, stream: &str, delta: &StreamText) {
    if delta.dropped_bytes > 0 {
        // Writing into a string cannot fail.
        let _ = writeln!(text, "[{} bytes of {stream} were dropped]", delta.dropped_bytes);
    }
    text.push_str(&delta.text);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(stdout: (&str, u64), stderr: (&str, u64)) -> String {
        let stream =
            |(text, dropped_bytes): (&str, u64)| StreamText { text: text.into(), dropped_bytes };
        BashDelta { stdout: stream(stdout), stderr: stream(stderr) }.merged()
    }

    // contract: R1
    #[test]
    fn the_streams_are_joined_by_a_header_on_its_own_line() {
        assert_eq!(merged(("", 0), ("", 0)), "");
        assert_eq!(merged(("a", 0), ("", 0)), "a");
        assert_eq!(merged(("a", 0), ("b", 0)), "a\n[stderr]\nb");
        assert_eq!(merged(("a\n", 0), ("b\n", 0)), "a\n[stderr]\nb\n");
        assert_eq!(merged(("", 0), ("b", 0)), "[stderr]\nb");
    }

    // contract: R8
    #[test]
    fn losses_are_told_in_front_of_their_stream() {
        assert_eq!(
            merged(("a", 5), ("b", 7)),
            "[5 bytes of stdout were dropped]\na\n[stderr]\n[7 bytes of stderr were dropped]\nb"
        );
        assert_eq!(merged(("", 5), ("", 0)), "[5 bytes of stdout were dropped]\n");
        assert_eq!(merged(("", 0), ("", 7)), "[stderr]\n[7 bytes of stderr were dropped]\n");
    }
}
