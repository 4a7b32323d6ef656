//! Reading YAML files with errors that say where. What the files mean is said by those who read them.

use std::path::Path;

use serde::de::DeserializeOwned;
use serde_saphyr::{DuplicateKeyPolicy, Options};

use crate::{BadLine, StorageError};

/// Reads a file that programs write; every error says that it is damaged.
pub(crate) fn parse_state<T: DeserializeOwned>(text: &str, path: &Path) -> Result<T, StorageError> {
    serde_saphyr::from_str_with_options(text, options()).map_err(|error| {
        let (line, _, problem) = explain(&error);
        StorageError::Damaged(BadLine {
            path: path.to_owned(),
            line,
            problem,
        })
    })
}

/// Returns the text of a file of the state.
pub(crate) fn utf8<'a>(content: &'a [u8], path: &Path) -> Result<&'a str, StorageError> {
    str::from_utf8(content).map_err(|error| {
        let before = &content[..error.valid_up_to()];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        StorageError::Damaged(BadLine {
            path: path.to_owned(),
            line: line as u64,
            problem: "bytes that are not UTF-8".to_owned(),
        })
    })
}

fn options() -> Options {
    serde_saphyr::options! {
        duplicate_keys: DuplicateKeyPolicy::Error,
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
        with_snippet: false,
        budget: serde_saphyr::budget! {
            // Ten thousand threads as mappings have some 80,000 nodes.
            max_nodes: 2_000_000,
            max_events: 4_000_000,
        },
    }
}

/// Returns line, column and message of an error; 0 for what is not known.
fn explain(error: &serde_saphyr::Error) -> (u64, u64, String) {
    let (line, column) = error
        .location()
        .map_or((0, 0), |location| (location.line(), location.column()));
    let message = error.without_snippet().to_string();
    let position = format!(" at line {line}, column {column}");
    (line, column, message.replace(&position, ""))
}
