//! Which machine a record is from.

use std::str::FromStr;

use uwf_util::base32;

use crate::ids::text_forms;

/// The id of a machine. Records that mean something on one machine only carry it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MachineId([u8; base32::U64_DIGITS]);

impl MachineId {
    /// Returns the id with this hash of what the machine calls itself.
    #[must_use]
    pub fn from_u64(hash: u64) -> Self {
        Self(base32::encode_u64(hash))
    }

    /// Returns the 13 digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("the digits are ASCII by construction")
    }
}

/// The text is not the id of a machine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not the id of a machine: 13 characters of Crockford Base32 are expected")]
pub struct NotAMachine(String);

impl FromStr for MachineId {
    type Err = NotAMachine;

    fn from_str(text: &str) -> Result<Self, NotAMachine> {
        match <[u8; base32::U64_DIGITS]>::try_from(text.as_bytes()) {
            Ok(digits) if digits.iter().copied().all(base32::is_digit) => Ok(Self(digits)),
            _ => Err(NotAMachine(text.to_owned())),
        }
    }
}

text_forms!(MachineId);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_as_it_is_written_and_nothing_else_is_one() {
        let id = MachineId::from_u64(u64::MAX);
        assert_eq!(id.to_string().parse(), Ok(id));
        for text in ["", "laptop", "0000000000000000"] {
            assert!(text.parse::<MachineId>().is_err(), "{text}");
        }
    }
}
