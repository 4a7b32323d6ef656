//! Names that follow from a run: of its logs, of itself, and the checksum of its file.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};
use uwf_util::time::format_iso;

/// The variables by which the engine tells a program about its run.
pub mod env {
    /// The id of the run.
    pub const RUN_ID: &str = "ORCHESTRATE_RUN_ID";
    /// The key of the step.
    pub const STEP: &str = "ORCHESTRATE_STEP";
    /// The entry of the step: it stays the same when the step is done again after a kill, a retry or a failure.
    pub const ENTRY: &str = "ORCHESTRATE_ENTRY";
    /// The folder of the run.
    pub const RUN_ROOT: &str = "ORCHESTRATE_RUN_ROOT";
}

/// How long the name of a log may be, without its end.
const MAX_NAME: usize = 200;

/// Returns the name of the logs of a visit, without its end: the key of the step, with `%XX` for what is not safe in a file
/// name. Logs of later visits have the number of the visit at the end.
#[must_use]
pub fn log_name(key: &str, visit: u64) -> String {
    let mut name = String::new();
    for (at, byte) in key.bytes().enumerate() {
        let is_plain = byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
        if is_plain || (byte == b'.' && at > 0) {
            name.push(char::from(byte));
        } else {
            let _ = write!(name, "%{byte:02X}");
        }
    }
    if name.len() > MAX_NAME {
        let hash = hex(&Sha256::digest(key.as_bytes())[..4]);
        name.truncate(MAX_NAME - hash.len());
        name.push_str(&hash);
    }
    if visit > 1 {
        let _ = write!(name, "~{visit}");
    }
    name
}

/// Returns the checksum of a workflow file.
#[must_use]
pub fn checksum(text: &[u8]) -> String {
    format!("sha256:{}", hex(&Sha256::digest(text)))
}

/// Returns a time as the variable `run.timestamp_utc` has it: `YYYYMMDDTHHMMSSZ`.
#[must_use]
pub fn timestamp_utc(ms: i64) -> String {
    let iso = format_iso(ms);
    let whole = iso.split('.').next().unwrap_or_default();
    let digits: String = whole.chars().filter(|c| !"-:".contains(*c)).collect();
    digits + "Z"
}

/// Returns the time of a run (`YYYYMMDDTHHMMSSZ`) as other times are written. Another text stays as it is.
#[must_use]
pub fn timestamp_iso(timestamp_utc: &str) -> String {
    let parts = [0..4, 4..6, 6..8, 9..11, 11..13, 13..15].map(|part| timestamp_utc.get(part));
    match parts {
        [
            Some(year),
            Some(month),
            Some(day),
            Some(hour),
            Some(minute),
            Some(second),
        ] => {
            format!("{year}-{month}-{day}T{hour}:{minute}:{second}Z")
        }
        _ => timestamp_utc.to_owned(),
    }
}

/// Returns the id of the run that a thread is: its time, and the end of its id.
#[must_use]
pub fn run_id(timestamp_utc: &str, thread: &str) -> String {
    let end = thread.len().saturating_sub(6);
    format!("{timestamp_utc}-{}", thread[end..].to_ascii_lowercase())
}

/// Returns what is wrong with the id that a person gives to a run.
#[must_use]
pub fn run_id_problem(id: &str) -> Option<&'static str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    if id.is_empty() || id.len() > 100 {
        return Some("it has no character, or more than 100");
    }
    if !id.as_bytes()[0].is_ascii_alphanumeric() || !id.bytes().all(is_plain) {
        return Some(
            "it must have letters, digits, `.`, `_` and `-` only, and begin with a letter or digit",
        );
    }
    None
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_have_safe_names_of_their_own() {
        assert_eq!(log_name("Build", 1), "Build");
        assert_eq!(log_name("L[0].a b", 2), "L%5B0%5D.a%20b~2");
        assert_eq!(log_name(".hidden", 1), "%2Ehidden");
        let long = log_name(&"[".repeat(200), 3);
        assert_eq!(long.len(), MAX_NAME + 2);
        assert_ne!(long, log_name(&("[".repeat(199) + "]"), 3));
    }

    #[test]
    fn a_run_is_named_after_its_thread() {
        let time = timestamp_utc(1_795_253_400_123);
        assert_eq!(time, "20261121T093000Z");
        let id = run_id(&time, "01KAHQ7B5Y3V0000000K7M2QX");
        assert_eq!(id, "20261121T093000Z-k7m2qx");
        assert_eq!(run_id_problem(&id), None);
        for bad in ["", "../x", ".a", "a/b", "a b"] {
            assert!(run_id_problem(bad).is_some(), "{bad}");
        }
    }

    #[test]
    fn a_checksum_is_that_of_sha256sum() {
        let empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(checksum(b""), empty);
    }
}
