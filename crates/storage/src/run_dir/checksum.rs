//! Records with a checksum. It is the last member of the object, and covers the bytes before it.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh64::xxh64;

use super::records::json;

/// The bytes between a record and its checksum.
const SUM: &str = ",\"sum\":";

/// What the checksum of a record says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Checksum {
    /// The record is what was written.
    Fits,
    /// There is none, as in records of older versions and of other programs.
    Absent,
    /// The record was changed.
    Differs,
}

/// The record as it is in its file.
#[derive(Deserialize)]
struct Summed<T> {
    #[serde(flatten)]
    record: T,
    #[serde(default)]
    sum: Option<String>,
}

/// Returns the content of the file for a record, with its checksum.
pub(super) fn with_checksum<T: Serialize>(record: &T) -> String {
    let record = json(record);
    let rest = record.strip_suffix('}').expect("a record is an object");
    format!("{rest}{SUM}\"{}\"}}", sum_of(rest.as_bytes()))
}

/// Parses the content of a file, and compares it with its checksum.
pub(super) fn parse<T: DeserializeOwned>(
    content: &[u8],
) -> Result<(T, Checksum), serde_json::Error> {
    let Summed { record, sum } = serde_json::from_slice(content)?;
    let checksum = match sum {
        None => Checksum::Absent,
        Some(sum) if fits(content, &sum) => Checksum::Fits,
        Some(_) => Checksum::Differs,
    };
    Ok((record, checksum))
}

/// Tells whether the content of a file ends with this checksum, and the checksum fits the bytes before it.
fn fits(content: &[u8], sum: &str) -> bool {
    let member = format!("{SUM}\"{sum}\"}}");
    let rest = content.trim_ascii_end().strip_suffix(member.as_bytes());
    rest.is_some_and(|rest| sum == sum_of(rest))
}

/// Returns the checksum of the bytes of a record: XXH64 with the seed 0, as 16 hexadecimal digits.
fn sum_of(bytes: &[u8]) -> String {
    format!("{:016x}", xxh64(bytes, 0))
}
