//! What a model is told about the three tools, and how they are configured.

use alloc::{format, string::String};

use super::MAX_TASK_IDS;
use crate::MAX_WAIT;

/// How long `task_output` waits, and what it takes. Only ranges that work can be built.
///
/// ```
/// use longrun_core::controls::ControlsConfig;
///
/// let config = ControlsConfig::new(5_000, 60_000).unwrap();
/// assert_eq!((config.wait_timeout_ms(), config.max_wait_timeout_ms()), (5_000, 60_000));
/// assert_eq!(
///     ControlsConfig::new(60_000, 5_000).unwrap_err().to_string(),
///     "`wait_timeout_ms` (60000) must not be above `max_wait_timeout_ms` (5000)",
/// );
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlsConfig {
    wait_timeout_ms: u64,
    max_wait_timeout_ms: u64,
    task_ids: bool,
}

impl Default for ControlsConfig {
    /// 30 seconds, and 10 minutes at the most.
    fn default() -> Self {
        Self { wait_timeout_ms: 30_000, max_wait_timeout_ms: 600_000, task_ids: false }
    }
}

impl ControlsConfig {
    /// The wait of a `task_output` that names none, and the longest that one may
    /// ask for.
    ///
    /// # Errors
    ///
    /// [`InvalidConfig`](InvalidControlsConfig) unless both are from 1 to
    /// [`MAX_WAIT`] and the first is not above the second.
    pub fn new(
        wait_timeout_ms: u64,
        max_wait_timeout_ms: u64,
    ) -> Result<Self, InvalidControlsConfig> {
        check_range("wait_timeout_ms", wait_timeout_ms)?;
        check_range("max_wait_timeout_ms", max_wait_timeout_ms)?;
        if wait_timeout_ms > max_wait_timeout_ms {
            return Err(InvalidControlsConfig::DefaultAboveCap {
                wait_timeout_ms,
                max_wait_timeout_ms,
            });
        }
        Ok(Self { wait_timeout_ms, max_wait_timeout_ms, task_ids: false })
    }

    /// The same, and `task_output` also takes `task_ids` and `until`, so that one call
    /// waits for and reads several tasks.
    #[must_use]
    pub const fn with_task_ids(self) -> Self {
        Self { task_ids: true, ..self }
    }

    /// Whether `task_output` takes `task_ids` and `until`.
    #[must_use]
    pub const fn offers_task_ids(&self) -> bool {
        self.task_ids
    }

    /// How long a wait lasts that names no time.
    #[must_use]
    pub const fn wait_timeout_ms(&self) -> u64 {
        self.wait_timeout_ms
    }

    /// What longer waits are lowered to.
    #[must_use]
    pub const fn max_wait_timeout_ms(&self) -> u64 {
        self.max_wait_timeout_ms
    }
}

fn check_range(field: &'static str, value: u64) -> Result<(), InvalidControlsConfig> {
    let max = u64::try_from(MAX_WAIT.as_millis()).unwrap_or(u64::MAX);
    if (1..=max).contains(&value) {
        Ok(())
    } else {
        Err(InvalidControlsConfig::OutOfRange { field, value, max })
    }
}

/// Times that no wait can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidControlsConfig {
    /// A time is zero, or longer than any wait.
    #[error("`{field}` must be from 1 to {max} milliseconds, not {value}")]
    OutOfRange {
        /// Which time.
        field: &'static str,
        /// What it was.
        value: u64,
        /// The longest wait there is.
        max: u64,
    },
    /// A wait that names no time would be longer than one is allowed to be.
    #[error(
        "`wait_timeout_ms` ({wait_timeout_ms}) must not be above \
         `max_wait_timeout_ms` ({max_wait_timeout_ms})"
    )]
    DefaultAboveCap {
        /// The default.
        wait_timeout_ms: u64,
        /// The cap.
        max_wait_timeout_ms: u64,
    },
}

/// One tool as it is offered to a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolSpec {
    /// What it is called by.
    pub name: &'static str,
    /// What it does, for the model.
    pub description: &'static str,
    /// Its arguments: a JSON Schema (2020-12) as JSON text.
    pub input_schema: String,
    /// How a user interface shows its calls.
    pub card: Card,
}

/// How a user interface shows a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Card {
    /// It looks at something.
    Read,
    /// It does something.
    Execute,
}

/// The three tools: `task_output`, `task_list`, `task_kill`. They serve tasks of
/// every kind.
///
/// ```
/// use longrun_core::controls::{ControlsConfig, tool_specs};
///
/// let names = tool_specs(&ControlsConfig::default()).map(|tool| tool.name);
/// assert_eq!(names, ["task_output", "task_list", "task_kill"]);
/// ```
#[must_use]
pub fn tool_specs(config: &ControlsConfig) -> [ToolSpec; 3] {
    [output_spec(config), list_spec(), kill_spec()]
}

const TASK_ID: &str = r#""task_id":{"type":"string","minLength":1,"description":"The id of a background task, such as bash-1."}"#;

fn output_spec(config: &ControlsConfig) -> ToolSpec {
    let (default, cap) = (config.wait_timeout_ms, config.max_wait_timeout_ms);
    let longest = MAX_WAIT.as_millis();
    let wait = if config.task_ids {
        r#""wait":{"type":"boolean","description":"Block until a task ends (any or all of them, see until) or the time is up. Default: false."}"#
    } else {
        r#""wait":{"type":"boolean","description":"Block until the task ends or the time is up. Default: false."}"#
    };
    let timeout_ms = format!(
        r#""timeout_ms":{{"type":"number","exclusiveMinimum":0,"maximum":{longest},"description":"With wait: true, how many milliseconds to wait. Default: {default}; longer than {cap} counts as {cap}."}}"#
    );
    let (description, input_schema) = if config.task_ids {
        let properties = format!("{TASK_ID},{},{wait},{timeout_ms}", several());
        (OUTPUT_OF_SEVERAL, object_with(&properties, TASK_ID_OR_IDS))
    } else {
        (OUTPUT, object(&format!("{TASK_ID},{wait},{timeout_ms}"), r#""task_id""#))
    };
    ToolSpec { name: "task_output", description, input_schema, card: Card::Read }
}

const OUTPUT: &str = "Read a background task. A stream gives what is new since your last read; \
    a task with a final result gives it once it has ended. The last line is always the status. \
    Returns at once unless wait is true; a wait that times out is not an error and stops nothing.";

const OUTPUT_OF_SEVERAL: &str = "Read a background task, or several. A stream gives what is new \
    since your last read; a task with a final result gives it once it has ended. The last line \
    is always the status; of several tasks each that has something new has a block of its own, \
    which ends in its id and its status. Returns at once unless wait is true; a wait that times \
    out is not an error and stops nothing.";

fn several() -> String {
    let ids = format!(
        r#""task_ids":{{"type":"array","items":{{"type":"string","minLength":1}},"minItems":1,"maxItems":{MAX_TASK_IDS},"description":"The ids of several background tasks, instead of task_id."}}"#
    );
    let until = r#""until":{"type":"string","enum":["any","all"],"description":"With wait: true, whether to wait for the first of task_ids to end, or for all. Default: any."}"#;
    format!("{ids},{until}")
}

/// One of the two is needed. Said without the keywords that some providers refuse at the
/// top of a schema (`anyOf`, `oneOf`, `allOf`).
const TASK_ID_OR_IDS: &str = r#""if":{"required":["task_ids"]},"else":{"required":["task_id"]}"#;

fn list_spec() -> ToolSpec {
    ToolSpec {
        name: "task_list",
        description: "List your background tasks, one a line: <id> [<kind>] <status> — <label>.",
        input_schema: object("", ""),
        card: Card::Read,
    }
}

fn kill_spec() -> ToolSpec {
    let reason = r#""reason":{"type":"string","description":"Why it is no longer needed; logged and passed on."}"#;
    ToolSpec {
        name: "task_kill",
        description: "Ask a background task to stop. Returns at once, while the task may take a \
            moment to end; what it has written can still be read. Killing a task that has ended \
            changes nothing and is not an error.",
        input_schema: object(&format!("{TASK_ID},{reason}"), r#""task_id""#),
        card: Card::Execute,
    }
}

fn object(properties: &str, required: &str) -> String {
    object_with(properties, &format!(r#""required":[{required}]"#))
}

fn object_with(properties: &str, required: &str) -> String {
    format!(
        r#"{{"type":"object","properties":{{{properties}}},{required},"additionalProperties":false}}"#
    )
}
