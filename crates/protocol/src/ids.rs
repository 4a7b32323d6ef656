//! Hashes, thread ids and names: parsed at the edge, trusted inside.

use std::str::FromStr;

use uwf_util::{base32, ulid};

/// How many characters of an id or a hash a prefix needs at least.
pub const LEAST_PREFIX: usize = 4;

/// Returns the text in upper case if it can be the beginning of an id or a hash, or the whole of one.
#[must_use]
pub fn id_prefix(text: &str) -> Option<String> {
    let upper = text.to_ascii_uppercase();
    let is_prefix = upper.len() >= LEAST_PREFIX && upper.bytes().all(base32::is_digit);
    is_prefix.then_some(upper)
}

/// Why a text is not an id or a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// The text is not a hash.
    #[error(
        "`{0}` is not a hash: 13 upper-case characters of Crockford Base32 (no I, L, O, U) are expected"
    )]
    Hash(String),
    /// The text is not a thread id.
    #[error(
        "`{0}` is not a thread id: 26 characters of Crockford Base32 (no I, L, O, U) are expected"
    )]
    Thread(String),
    /// The text is not a role name.
    #[error("`{0}` is not a role name: {1}")]
    Role(String, &'static str),
}

/// The name of a node in the content-addressed store: 13 upper-case Crockford digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CasRef([u8; base32::U64_DIGITS]);

impl CasRef {
    /// Returns the name of a 64-bit hash.
    #[must_use]
    pub fn from_u64(hash: u64) -> Self {
        Self(base32::encode_u64(hash))
    }

    /// Returns the 64-bit hash, or nothing if the digits are too large for one: then no node has this name.
    #[must_use]
    pub fn to_u64(self) -> Option<u64> {
        base32::decode_u64(&self.0)
    }

    /// Returns the reference that these digits spell; fails to compile, or panics, on any other text.
    #[must_use]
    pub const fn from_digits(digits: &[u8; base32::U64_DIGITS]) -> Self {
        let mut index = 0;
        while index < digits.len() {
            assert!(
                base32::is_digit(digits[index]),
                "a hash has Crockford digits only"
            );
            index += 1;
        }
        Self(*digits)
    }

    /// Returns the 13 digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("the digits are ASCII by construction")
    }
}

impl FromStr for CasRef {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        match <[u8; base32::U64_DIGITS]>::try_from(text.as_bytes()) {
            Ok(digits) if digits.iter().copied().all(base32::is_digit) => Ok(Self(digits)),
            _ => Err(IdError::Hash(text.to_owned())),
        }
    }
}

/// How many digits of a thread's id are its time.
const TIME_DIGITS: usize = ulid::DIGITS - 16;

/// The id of a thread: 26 upper-case Crockford digits, a ULID by default.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ThreadId([u8; ulid::DIGITS]);

impl ThreadId {
    /// Returns a new id for a time (milliseconds since 1970) and 80 bits of randomness.
    #[must_use]
    pub fn new(time_ms: u64, random: u128) -> Self {
        ulid::encode(time_ms, random)
            .parse()
            .expect("a ULID is a thread id")
    }

    /// Returns the id of a child thread, given a hash of what tells it from all others. It has the time of this thread, so
    /// both stand together in lists.
    #[must_use]
    pub fn of_child(&self, hash: CasRef) -> Self {
        let mut digits = self.0;
        let (of_hash, mark) = digits[TIME_DIGITS..].split_at_mut(base32::U64_DIGITS);
        of_hash.copy_from_slice(&hash.0);
        mark.fill(b'0');
        Self(digits)
    }

    /// Tells whether the thread may be a child thread: the ids of all children end like this, and those of few other threads.
    #[must_use]
    pub fn may_be_child(&self) -> bool {
        self.0.ends_with(b"000")
    }

    /// Tells whether the thread may be a child of another one: it has the time of that one, too.
    #[must_use]
    pub fn may_be_child_of(&self, parent: &Self) -> bool {
        self.may_be_child() && self.has_time_of(parent)
    }

    /// Tells whether two threads have the same time, as all threads of a family have.
    #[must_use]
    pub fn has_time_of(&self, other: &Self) -> bool {
        self.0[..TIME_DIGITS] == other.0[..TIME_DIGITS]
    }

    /// Returns the 26 digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("the digits are ASCII by construction")
    }

    /// Returns when the thread was made, in milliseconds since 1970; see [`ulid::time_ms`] for `now_ms`.
    #[must_use]
    pub fn time_ms(&self, now_ms: i64) -> Option<i64> {
        ulid::time_ms(self.as_str(), now_ms)
    }
}

impl FromStr for ThreadId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let upper = text.to_ascii_uppercase();
        match <[u8; ulid::DIGITS]>::try_from(upper.as_bytes()) {
            Ok(digits) if digits.iter().copied().all(base32::is_digit) => Ok(Self(digits)),
            _ => Err(IdError::Thread(text.to_owned())),
        }
    }
}

/// The name of a role in a workflow.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RoleName(String);

impl RoleName {
    /// Returns the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the key of a step of a pipeline with empty brackets: `Loop[].Inner` for `Loop[2].Inner`. There are no more of
    /// these than steps in the file.
    #[must_use]
    pub fn without_indices(&self) -> Self {
        let mut parts = self.0.split('[');
        let mut key = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            key.push('[');
            key.push_str(part.trim_start_matches(|digit: char| digit.is_ascii_digit()));
        }
        Self(key)
    }
}

impl FromStr for RoleName {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let problem = if text.trim().is_empty() {
            "it is empty"
        } else if text.starts_with('$') {
            "names that start with `$` are reserved"
        } else if text.starts_with('-') {
            "it starts with `-`, which agents would take for an option"
        } else if text.len() > 200 {
            "it is longer than 200 bytes"
        } else if text.chars().any(char::is_control) {
            "it has control characters"
        } else {
            return Ok(Self(text.to_owned()));
        };
        Err(IdError::Role(text.to_owned(), problem))
    }
}

/// The value that an answer routes by: the key of an edge in a status map.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Status(String);

impl Status {
    /// The key of the only edge of a role or of `$START`.
    pub const UNIT: &'static str = "_";
    /// The status by which any role may suspend its thread.
    pub const SUSPEND: &'static str = "$SUSPEND";

    /// Returns the status with this text; every text is one.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the unit status, `_`.
    #[must_use]
    pub fn unit() -> Self {
        Self::new(Self::UNIT)
    }

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Status {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self::new(text))
    }
}

/// Gives a parsed name its text forms: `Display`, `Debug` and serde as a plain string.
macro_rules! text_forms {
    ($type:ty) => {
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }
        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <String as serde::Deserialize>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

pub(crate) use text_forms;

text_forms!(CasRef);
text_forms!(ThreadId);
text_forms!(RoleName);
text_forms!(Status);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_upper_case_crockford_is_a_hash() {
        let check = |text: &str, ok: bool| assert_eq!(text.parse::<CasRef>().is_ok(), ok, "{text}");
        check("CTS5P6RD8HMCS", true);
        check("ZZZZZZZZZZZZZ", true);
        check("cts5p6rd8hmcs", false);
        check("CTS5P6RD8HMC", false);
        check("CTS5P6RD8HMCSS", false);
        check("CTS5P6RD8HMCU", false);
        check("../x", false);
        check("", false);
    }

    #[test]
    fn thread_ids_are_read_in_any_case_and_kept_in_upper_case() {
        let id: ThreadId = "01j7k9z0000000000000000004".parse().unwrap();
        assert_eq!(id.as_str(), "01J7K9Z0000000000000000004");
        assert!("../../../../../../../../x".parse::<ThreadId>().is_err());
    }

    #[test]
    fn role_names_cannot_be_mistaken_for_options_or_reserved_names() {
        let check =
            |text: &str, ok: bool| assert_eq!(text.parse::<RoleName>().is_ok(), ok, "{text:?}");
        check("reviewer", true);
        check("code review", true);
        check("$START", false);
        check("--yolo", false);
        check(" ", false);
        check("a\nb", false);
    }

    #[test]
    fn keys_of_steps_lose_the_numbers_of_items() {
        let check = |key: &str, expected: &str| {
            let key: RoleName = key.parse().unwrap();
            assert_eq!(key.without_indices().as_str(), expected);
        };
        check("A[1].B[22].C7", "A[].B[].C7");
        check("Loop[3]", "Loop[]");
        check("Step 1", "Step 1");
    }
}
