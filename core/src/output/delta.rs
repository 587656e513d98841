//! What one read of both streams brought.

use alloc::{format, string::String, vec::Vec};
use core::fmt::Write;

use super::{Clean, Stream, StreamText};

/// Clean text of both streams, in order. Empty if nothing came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delta {
    /// The sections, none of them empty.
    pub sections: Vec<Section>,
}

/// A stretch of one stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Whose it is.
    pub stream: Stream,
    /// How many raw bytes of the stream were lost in front of it, because nobody read
    /// them before they slid out of the window.
    pub dropped_bytes: u64,
    /// What follows the loss.
    pub clean: Clean,
}

impl Section {
    fn is_empty(&self) -> bool {
        self.dropped_bytes == 0 && self.clean.text.is_empty()
    }
}

impl Delta {
    /// Whether there is neither text nor a loss to speak of.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sections.is_empty()
    }

    /// All of it as one text. Standard error stands below a line `[stderr]`, standard
    /// output that follows it below `[stdout]`. A loss is told in front of the section
    /// that it belongs to, and whether there was binary data at the end.
    ///
    /// ```
    /// use longrun_core::output::{Capture, Cursor, Stream};
    ///
    /// let mut capture = Capture::new(5);
    /// capture.append(Stream::Stdout, b"one\ntwo\n");
    /// capture.append(Stream::Stderr, b"no\0\n");
    /// assert_eq!(
    ///     Cursor::default().read(&capture).text(),
    ///     "[3 bytes of stdout were dropped]\n\ntwo\n[stderr]\nno␀\n\
    ///      [binary data: 1 control character is shown as a symbol]\n",
    /// );
    /// ```
    #[must_use]
    pub fn text(&self) -> String {
        self.text_telling(|_| None)
    }

    /// The same; where something was lost, it is also said what `whereabouts` tells of
    /// the stream: where the whole of it is, if it is anywhere.
    ///
    /// ```
    /// use longrun_core::output::{Capture, Cursor, Stream};
    ///
    /// let mut capture = Capture::new(4);
    /// capture.append(Stream::Stdout, b"one\ntwo\n");
    /// let text = Cursor::default().read(&capture).text_telling(|_| Some("ask the log".into()));
    /// assert_eq!(text, "[4 bytes of stdout were dropped; ask the log]\ntwo\n");
    /// ```
    #[must_use]
    pub fn text_telling(&self, whereabouts: impl Fn(Stream) -> Option<String>) -> String {
        let mut text = String::new();
        let mut current = Stream::Stdout;
        for Section { stream, dropped_bytes, clean } in &self.sections {
            if *stream != current {
                line(&mut text, format_args!("[{}]", stream.name()));
                current = *stream;
            }
            if *dropped_bytes > 0 {
                let place = whereabouts(*stream).map(|place| format!("; {place}"));
                let (stream, place) = (stream.name(), place.unwrap_or_default());
                line(
                    &mut text,
                    format_args!("[{dropped_bytes} bytes of {stream} were dropped{place}]"),
                );
            }
            text.push_str(&clean.text);
        }
        match self.sections.iter().map(|section| section.clean.symbols).sum() {
            0_u64 => {}
            1 => line(
                &mut text,
                format_args!("[binary data: 1 control character is shown as a symbol]"),
            ),
            many => line(
                &mut text,
                format_args!("[binary data: {many} control characters are shown as symbols]"),
            ),
        }
        text
    }

    /// What came of one stream, and how much of it was lost.
    #[must_use]
    pub fn of(&self, stream: Stream) -> StreamText {
        let mut all = StreamText::default();
        for section in self.sections.iter().filter(|section| section.stream == stream) {
            all.text.push_str(&section.clean.text);
            all.dropped_bytes += section.dropped_bytes;
        }
        all
    }

    pub(super) fn add(&mut self, section: Section) {
        if section.is_empty() {
            return;
        }
        match self.sections.last_mut() {
            Some(last) if last.stream == section.stream && section.dropped_bytes == 0 => {
                last.clean.text.push_str(&section.clean.text);
                last.clean.redraws |= section.clean.redraws;
                last.clean.symbols += section.clean.symbols;
            }
            Some(_) | None => self.sections.push(section),
        }
    }
}

/// On a line of its own.
fn line(text: &mut String, line: core::fmt::Arguments<'_>) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    // Writing into a string cannot fail.
    let _ = writeln!(text, "{line}");
}
