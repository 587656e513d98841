//! Numbers that nobody can guess.

use std::hash::{BuildHasher, Hasher, RandomState};

/// Sixteen hexadecimal digits. The keys of the standard library's hash maps come from the
/// system's random numbers.
pub(crate) fn hex() -> String {
    format!("{:016x}", RandomState::new().build_hasher().finish())
}
