//! Names and keys.
//!
//! A *name* ([`TaskId`], [`SessionId`]) is text that a person or a model sees. A
//! *key* ([`TaskKey`], [`OwnerKey`], …) is how the registry and whoever drives it
//! refer to one exact thing: a key is never reused, so a late fact about
//! something that is gone finds nothing.

use alloc::{format, string::String, sync::Arc};
use core::fmt;

/// The longest kind, in bytes.
pub const MAX_KIND_BYTES: usize = 64;

/// The longest task id, in bytes: the longest kind, a dash and twenty digits.
pub const MAX_TASK_ID_BYTES: usize = MAX_KIND_BYTES + 1 + 20;

/// The public name of a task: `<kind>-<N>`, where `N` counts that kind's
/// registrations from 1. Predictable on purpose; access is what is checked.
///
/// ```
/// use longrun_core::TaskId;
///
/// let id = TaskId::parse("pty-send-12").unwrap();
/// assert_eq!((id.kind(), id.number()), ("pty-send", 12));
/// assert!(TaskId::parse("../../etc/passwd").is_err());
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct TaskId(Arc<str>);

impl TaskId {
    pub(crate) fn mint(kind: &str, number: u64) -> Self {
        Self(format!("{kind}-{number}").into())
    }

    /// Reads an id that came from outside, most of all from a model.
    ///
    /// # Errors
    ///
    /// [`InvalidTaskId`] unless the text is a kind, a dash and a number from 1 on
    /// without leading zeros, is no longer than [`MAX_TASK_ID_BYTES`], and holds no
    /// control characters, white space or brackets.
    pub fn parse(text: &str) -> Result<Self, InvalidTaskId> {
        let well_formed = text.len() <= MAX_TASK_ID_BYTES
            && split(text).is_some_and(|(kind, digits)| {
                kind_is_valid(kind)
                    && !digits.starts_with('0')
                    && digits.bytes().all(|byte| byte.is_ascii_digit())
                    && digits.parse::<u64>().is_ok()
            });
        if well_formed { Ok(Self(text.into())) } else { Err(InvalidTaskId) }
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What kind of work it is: all before the last dash.
    #[must_use]
    pub fn kind(&self) -> &str {
        split(&self.0).map_or("", |(kind, _)| kind)
    }

    /// Which one of its kind it is, from 1 on.
    #[must_use]
    pub fn number(&self) -> u64 {
        split(&self.0).and_then(|(_, digits)| digits.parse().ok()).unwrap_or(0)
    }
}

fn split(text: &str) -> Option<(&str, &str)> {
    text.rsplit_once('-')
}

/// Whether a kind can be registered: 1 to [`MAX_KIND_BYTES`] bytes, none of them a
/// control character, white space or a bracket. It becomes part of an id, which a
/// model is shown and has to type back.
pub(crate) fn kind_is_valid(kind: &str) -> bool {
    let unfit = |c: char| c.is_control() || c.is_whitespace() || matches!(c, '[' | ']');
    !kind.is_empty() && kind.len() <= MAX_KIND_BYTES && !kind.chars().any(unfit)
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for TaskId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

/// The text is not a task id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a task id: expected a kind, a dash and a number, such as `bash-1`")]
pub struct InvalidTaskId;

/// The identity that grants access. Several owners may carry one session id over
/// time; each of them can reach what the others started.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct SessionId(Arc<str>);

impl SessionId {
    /// The session of that name.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self(name.into())
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for SessionId {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

impl From<String> for SessionId {
    fn from(name: String) -> Self {
        Self(name.into())
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

/// One exact task. Keys grow in the order of registration.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct TaskKey(pub(crate) u64);

impl fmt::Debug for TaskKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "task#{}", self.0)
    }
}

macro_rules! keys {
    ($($(#[$doc:meta])* $name:ident = $word:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        pub struct $name {
            pub(crate) index: u32,
            pub(crate) generation: u32,
        }

        impl crate::registry::arena::Key for $name {
            fn new(index: u32, generation: u32) -> Self {
                Self { index, generation }
            }

            fn parts(self) -> (u32, u32) {
                (self.index, self.generation)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($word, "#{}.{}"), self.index, self.generation)
            }
        }
    )*};
}

keys! {
    /// One exact owner: a live agent. A replacement under the same session id has
    /// another key.
    OwnerKey = "owner";
    /// A node of the scope tree.
    ScopeKey = "scope";
    /// An attached controller.
    ControllerKey = "controller";
    /// A registered completion listener.
    ListenerKey = "listener";
    /// A registered change observer.
    ObserverKey = "observer";
    /// A start that was admitted and whose starter has not answered yet.
    ReservationKey = "reservation";
    /// A wait that has not ended yet.
    WaiterKey = "waiter";
    /// A kill whose cancel has not answered yet.
    KillKey = "kill";
    /// A read whose drain has not ended yet.
    ReadKey = "read";
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    // contract: A6
    #[test]
    fn the_longest_id_is_read_and_a_longer_one_is_not() {
        let kind = "k".repeat(MAX_KIND_BYTES);
        let longest = format!("{kind}-{}", u64::MAX);
        assert_eq!(longest.len(), MAX_TASK_ID_BYTES);
        let id = TaskId::parse(&longest).unwrap();
        assert_eq!((id.kind(), id.number()), (kind.as_str(), u64::MAX));
        assert_eq!((id.as_str(), id.to_string()), (longest.as_str(), longest.clone()));
        assert_eq!(TaskId::parse(&format!("k{longest}")), Err(InvalidTaskId), "its kind");
        assert_eq!(TaskId::parse(&format!("{longest}0")), Err(InvalidTaskId), "its number");
        assert_eq!(MAX_TASK_ID_BYTES, 85, "what the documentation counts together");
    }

    // contract: A6
    #[test]
    fn only_what_the_registry_would_name_is_an_id() {
        for id in ["bash-1", "pty-send-12", "a-b-c-3", "\u{e9}-9"] {
            assert_eq!(TaskId::parse(id).unwrap().as_str(), id);
        }
        let unfit = ["", "-", "bash", "bash-", "-1", "bash-0", "bash-01", "bash-1x", "bash-x1"];
        let forged = ["bash -1", "ba\nsh-1", "[bash-1", "bash]-1", "ba\u{0}sh-1", "bash-+1"];
        for id in unfit.into_iter().chain(forged) {
            assert_eq!(TaskId::parse(id), Err(InvalidTaskId), "{id:?}");
        }
        assert_eq!(TaskId::parse("bash-18446744073709551616"), Err(InvalidTaskId), "too large");
    }

    // contract: A6
    #[test]
    fn a_name_is_shown_as_it_is_and_escaped_where_it_is_looked_into() {
        let session = SessionId::new("ann\n");
        assert_eq!((session.as_str(), session.to_string().as_str()), ("ann\n", "ann\n"));
        assert_eq!(format!("{session:?} {:?}", TaskKey(7)), "\"ann\\n\" task#7");
    }
}
