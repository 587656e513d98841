//! Numbers that nobody can guess.

use std::hash::{BuildHasher, Hasher, RandomState};

/// How many digits [`hex`] has.
pub(crate) const HEX_DIGITS: usize = 16;

/// Sixteen hexadecimal digits. The keys of the standard library's hash maps come from the
/// system's random numbers.
pub(crate) fn hex() -> String {
    format!("{:0HEX_DIGITS$x}", RandomState::new().build_hasher().finish())
}
