//! What a producer's work writes: a bounded log of bytes, and text out of it.

mod log;
mod text;

pub use log::{ByteLog, LogChunk};
pub use text::{StreamText, TextCursor};
