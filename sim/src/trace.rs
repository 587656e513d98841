//! Traces: what was sent and when, as lines of JSON.
//!
//! The first line holds the format and the configuration, each further line one
//! event with its time:
//!
//! ```text
//! {"longrun_trace":1,"config":{"max_active_per_owner":10}}
//! {"now":{"at":1000000,"wall_ms":1001},"event":"tick"}
//! ```

use longrun_core::{Config, Event, InvalidConfig, Now};
use serde::{Deserialize, Serialize};

/// The version of the format.
const FORMAT: u32 = 1;

/// A recorded or made-up run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The limits of the registry.
    pub config: Config,
    /// What it was sent, and when.
    pub events: Vec<(Now, Event)>,
}

#[derive(Serialize, Deserialize)]
struct Header {
    longrun_trace: u32,
    config: Config,
}

#[derive(Serialize, Deserialize)]
struct Line {
    now: Now,
    event: Event,
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
        let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let (number, first) = lines.next().ok_or(Unfit::Empty)?;
        let header: Header = serde_json::from_str(first).map_err(|error| Unfit::Line {
            line: number + 1,
            expected: "the header of a trace",
            error,
        })?;
        if header.longrun_trace != FORMAT {
            return Err(Unfit::Format { found: header.longrun_trace });
        }
        header.config.check().map_err(Unfit::Config)?;
        let events = lines.map(|(number, line)| {
            let parsed: Result<Line, _> = serde_json::from_str(line);
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
        let header = Header { longrun_trace: FORMAT, config: self.config };
        let mut text = serde_json::to_string(&header).unwrap_or_default();
        text.push('\n');
        for (now, event) in &self.events {
            let line = Line { now: *now, event: event.clone() };
            text.push_str(&serde_json::to_string(&line).unwrap_or_default());
            text.push('\n');
        }
        text
    }
}
