//! Traces: what was sent and when, as lines of JSON.
//!
//! The format is that of [`longrun_core::trace`]: the first line holds it and the
//! configuration, each further line one event with its time. A live service writes the
//! same.

use longrun_core::{
    Config, Event, InvalidConfig, Now,
    trace::{FORMAT, Header, Line},
};

/// A recorded or made-up run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The limits of the registry.
    pub config: Config,
    /// What it was sent, and when.
    pub events: Vec<(Now, Event)>,
}

/// Why a text is not a trace.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unfit {
    /// A line is not what it should be.
    #[error("line {line} is not {expected}: {error}")]
    Line {
        /// Which line, from 1 on.
        line: usize,
        /// What it should be.
        expected: &'static str,
        /// What is wrong with it.
        error: serde_json::Error,
    },
    /// It was written by another version.
    #[error("this trace has format {found}, and format {FORMAT} is understood here")]
    Format {
        /// The format that it has.
        found: u32,
    },
    /// It is empty.
    #[error("a trace begins with a line that holds its format, and there is none")]
    Empty,
    /// Nothing can work within its configuration.
    #[error("the configuration is of no use: {0}")]
    Config(InvalidConfig),
}

impl Trace {
    /// An empty trace.
    #[must_use]
    pub const fn new(config: Config) -> Self {
        Self { config, events: Vec::new() }
    }

    /// Reads a trace.
    ///
    /// # Errors
    ///
    /// [`Unfit`] says which line is not what it should be.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        Self::read(text.as_bytes())
    }

    /// Reads a trace that may end in the middle of a line, as the record of a harness that
    /// was killed may. Such a line is left out, and its number is returned: what has no
    /// newline behind it, and is no event. Anywhere else it is an error as in
    /// [`parse`](Self::parse).
    ///
    /// ```
    /// use longrun_sim::Trace;
    ///
    /// let whole = "{\"longrun_trace\":1,\"config\":{}}\n";
    /// let (trace, torn) = Trace::recover(format!("{whole}{{\"now\":{{\"at").as_bytes())?;
    /// assert_eq!((trace.events.len(), torn), (0, Some(2)));
    /// assert_eq!(Trace::recover(whole.as_bytes())?, (trace, None));
    /// # Ok::<(), longrun_sim::trace::Unfit>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Unfit`] says which line is not what it should be.
    pub fn recover(bytes: &[u8]) -> Result<(Self, Option<usize>), Unfit> {
        let after_last = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
        let (whole, rest) = bytes.split_at(after_last);
        let is_torn = !whole.is_empty()
            && !rest.trim_ascii().is_empty()
            && serde_json::from_slice::<Line>(rest).is_err();
        if is_torn {
            let number = whole.iter().filter(|&&byte| byte == b'\n').count() + 1;
            return Ok((Self::read(whole)?, Some(number)));
        }
        Ok((Self::read(bytes)?, None))
    }

    fn read(bytes: &[u8]) -> Result<Self, Unfit> {
        let lines = bytes.split(|&byte| byte == b'\n').enumerate();
        let mut lines = lines.filter(|(_, line)| !line.trim_ascii().is_empty());
        let (number, first) = lines.next().ok_or(Unfit::Empty)?;
        let header: Header = serde_json::from_slice(first).map_err(|error| Unfit::Line {
            line: number + 1,
            expected: "the header of a trace",
            error,
        })?;
        if header.longrun_trace != FORMAT {
            return Err(Unfit::Format { found: header.longrun_trace });
        }
        header.config.check().map_err(Unfit::Config)?;
        let events = lines.map(|(number, line)| {
            let parsed: Result<Line, _> = serde_json::from_slice(line);
            let line = parsed.map_err(|error| Unfit::Line {
                line: number + 1,
                expected: "an event with its time",
                error,
            })?;
            Ok((line.now, line.event))
        });
        Ok(Self { config: header.config, events: events.collect::<Result<_, Unfit>>()? })
    }

    /// Writes it, so that [`parse`](Self::parse) reads it.
    #[must_use]
    pub fn print(&self) -> String {
        let header = Header::new(self.config);
        let mut text = serde_json::to_string(&header).unwrap_or_default();
        text.push('\n');
        for (now, event) in &self.events {
            let line = Line { now: *now, event };
            text.push_str(&serde_json::to_string(&line).unwrap_or_default());
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{bench::Depth, run::run, source::Source};

    /// The first events of a run, with a letter of several bytes.
    fn sample() -> Trace {
        let mut trace = run(&mut Source::from_seed(7), Depth::Sampled).trace;
        trace.events.truncate(20);
        let open = Event::OpenOwner { session: "né".into(), scope: None, busy: false };
        trace.events.push((Now::default(), open));
        trace
    }

    #[test]
    fn a_trace_cut_off_anywhere_after_its_header_is_read_up_to_its_last_whole_event() {
        let trace = sample();
        let text = trace.print();
        let header = text.find('\n').expect("a header") + 1;
        for end in header..=text.len() {
            let cut = &text.as_bytes()[..end];
            let (read, torn) = Trace::recover(cut).expect("a trace");
            let newlines = cut.iter().filter(|&&byte| byte == b'\n').count();
            // A whole event counts also where only its newline is missing.
            let lacks_newline = text.as_bytes().get(end) == Some(&b'\n');
            let events = newlines - 1 + usize::from(lacks_newline);
            assert_eq!(read.events, trace.events[..events], "cut off at {end}");
            assert_eq!(read.config, trace.config);
            let is_whole = cut.ends_with(b"\n") || lacks_newline;
            assert_eq!(torn, (!is_whole).then_some(newlines + 1), "cut off at {end}");
        }
    }

    #[test]
    fn a_torn_line_in_the_middle_or_with_a_newline_and_a_torn_header_are_errors() {
        let text = sample().print();
        let error = |text: &str| Trace::recover(text.as_bytes()).expect_err("torn").to_string();
        // One line without its last bracket.
        let with_torn = |torn: usize| -> String {
            let lines = text.lines().enumerate();
            let cut = |(number, line): (usize, &str)| {
                let end = line.len() - usize::from(number == torn);
                line[..end].to_owned() + "\n"
            };
            lines.map(cut).collect()
        };
        assert!(error(&with_torn(0)).starts_with("line 1 is not the header of a trace"));
        assert!(error(&with_torn(3)).starts_with("line 4 is not an event with its time"));
        let last = text.lines().count() - 1;
        let says = format!("line {} is not an event with its time", last + 1);
        assert!(error(&with_torn(last)).starts_with(&says));
        let header = text.lines().next().expect("a header");
        let says = "line 1 is not the header of a trace";
        assert!(error(&header[..header.len() - 1]).starts_with(says));
        assert_eq!(error(""), Unfit::Empty.to_string());
        assert!(Trace::parse(text.trim_end_matches("}\n")).is_err(), "parse takes nothing torn");
    }
}
