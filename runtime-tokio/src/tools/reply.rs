//! What a call comes to.

use std::fmt;

use longrun_shared::core::controls::line_within;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

/// The longest end of an error's text that is kept, and the longest beginning, in bytes: it
/// may repeat what a model sent. What was expected, and what to do, comes last.
const MAX_END_BYTES: usize = 1000;

/// One block of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Text.
    Text(String),
    /// Anything else (an image, a resource), as the harness's model takes it. It is passed
    /// on as it is.
    Other(Value),
}

/// As `{"type": "text", "text": …}`, and anything else as it is.
impl Serialize for Content {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => json!({"type": "text", "text": text}).serialize(serializer),
            Self::Other(value) => value.serialize(serializer),
        }
    }
}

/// The text of a result, if that is all there is: one block of it.
#[must_use]
pub fn single_text(content: &mut [Content]) -> Option<&mut String> {
    match content {
        [Content::Text(text)] => Some(text),
        [] | [Content::Other(_)] | [_, _, ..] => None,
    }
}

/// What a call came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolReply {
    /// What the model reads: of our own tools, one block of text.
    pub content: Vec<Content>,
    /// The same for code, never cut; null if the call failed.
    pub value: Value,
    /// Whether the call failed.
    pub is_error: bool,
}

impl ToolReply {
    /// A success.
    #[must_use]
    pub fn new(text: impl Into<String>, value: Value) -> Self {
        Self { content: vec![Content::Text(text.into())], value, is_error: false }
    }

    /// A failure, or a denial: one line that says what was expected, what came, and what
    /// to do. Control characters are shown escaped, and of a text of more than 2,000 bytes
    /// the middle is left out.
    #[must_use]
    pub fn error(text: impl fmt::Display) -> Self {
        let text = both_ends(line_within(&text.to_string(), usize::MAX));
        Self { content: vec![Content::Text(text)], value: Value::Null, is_error: true }
    }

    /// All its text, each block from a line of its own on.
    #[must_use]
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter_map(|block| match block {
            Content::Text(text) => Some(text.as_str()),
            Content::Other(_) => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

fn both_ends(text: String) -> String {
    if text.len() <= 2 * MAX_END_BYTES {
        return text;
    }
    let head = text.floor_char_boundary(MAX_END_BYTES);
    let tail = text.ceil_char_boundary(text.len() - MAX_END_BYTES);
    format!("{}…{}", &text[..head], &text[tail..])
}

/// A result on its way to the model, with what it will have been told once it is there.
///
/// Whoever holds it may change its [`reply`](Self::reply), to redact it say. Whoever
/// returns another one instead, or drops it, takes care that the model is told nothing of
/// it: then nothing was read.
#[must_use = "an outcome that is dropped was never delivered"]
#[derive(Debug)]
pub struct Undelivered {
    /// The result.
    pub reply: ToolReply,
    delivery: Option<Delivery>,
}

impl Undelivered {
    /// A result that is to be committed when it is delivered.
    pub fn new(reply: ToolReply, delivery: Delivery) -> Self {
        Self { reply, delivery: Some(delivery) }
    }

    /// A failure, or a denial; see [`ToolReply::error`].
    pub fn error(text: impl fmt::Display) -> Self {
        ToolReply::error(text).into()
    }

    /// Commits it: from here on the model has been told.
    #[must_use]
    pub fn deliver(self) -> ToolReply {
        if let Some(Delivery(commit)) = self.delivery {
            commit();
        }
        self.reply
    }
}

/// A result that nothing follows from.
impl From<ToolReply> for Undelivered {
    fn from(reply: ToolReply) -> Self {
        Self { reply, delivery: None }
    }
}

/// What follows from a result once it is delivered: that its output was read, say. Dropped,
/// it is as if nobody had asked.
pub struct Delivery(Box<dyn FnOnce() + Send>);

impl Delivery {
    /// `commit` is called once if the result is delivered, and dropped if it is not. It
    /// must not block.
    #[must_use]
    pub fn new(commit: impl FnOnce() + Send + 'static) -> Self {
        Self(Box::new(commit))
    }
}

impl fmt::Debug for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Delivery")
    }
}
