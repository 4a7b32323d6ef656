//! Random marks, which tell a write, an object or a remote from all others.

use std::hash::BuildHasher;

/// Returns a random number, which serves as a unique mark.
#[must_use]
pub fn random() -> u64 {
    // Each of these hashers has a random start.
    std::hash::RandomState::new().hash_one(0_u8)
}
