//! The format of a trace: what a registry was sent and when, one JSON object a line.
//!
//! Whoever writes or reads one does the JSON; here is only what its lines hold. The first
//! line is a [`Header`], each further one a [`Line`]:
//!
//! ```text
//! {"longrun_trace":1,"config":{"max_active_per_owner":10}}
//! {"now":{"at":1000000,"wall_ms":1001},"event":"tick"}
//! ```

use serde::{Deserialize, Serialize};

use crate::{Config, Event, Now};

/// The version of the format.
pub const FORMAT: u32 = 1;

/// The first line of a trace.
///
/// ```
/// use longrun_core::{Config, trace::{FORMAT, Header}};
///
/// let header = Header::new(Config { max_active_per_owner: 4, ..Config::default() });
/// assert_eq!((header.longrun_trace, header.config.max_active_per_owner), (FORMAT, 4));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The version of the format; what has another than [`FORMAT`] cannot be read here.
    pub longrun_trace: u32,
    /// The limits of the registry.
    pub config: Config,
}

impl Header {
    /// That of a trace in this format.
    #[must_use]
    pub const fn new(config: Config) -> Self {
        Self { longrun_trace: FORMAT, config }
    }
}

/// Each further line. It is written with a borrowed event and read with an owned one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line<E = Event> {
    /// When.
    pub now: Now,
    /// What was sent.
    pub event: E,
}
