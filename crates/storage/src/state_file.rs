//! Reading the YAML files of the state. Programs write them, so whatever cannot be read is damage. The error names its
//! line. What the entries of a file mean is known by the module of the file.

use std::path::Path;
use std::str::FromStr;

use uwf_protocol::ids::IdError;
use uwf_yaml::{At, Data, Dialect, Key, Node};

use crate::{BadLine, StorageError};

/// Returns the text of a file.
pub(crate) fn utf8<'a>(content: &'a [u8], path: &Path) -> Result<&'a str, StorageError> {
    str::from_utf8(content).map_err(|error| {
        let before = &content[..error.valid_up_to()];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        damaged(path, line, "bytes that are not UTF-8".to_owned())
    })
}

/// Returns the entries of the mapping that a file holds. An empty file has none.
pub(crate) fn entries(text: &str, path: &Path) -> Result<Vec<(Key, Node)>, StorageError> {
    let root = uwf_yaml::parse(text, Dialect::Tolerant)
        .map_err(|problem| damaged(path, problem.at.line, problem.message))?;
    let Some(root) = root else {
        return Ok(Vec::new());
    };
    match root.data {
        Data::Map(entries) => Ok(entries),
        Data::Null => Ok(Vec::new()),
        _ => {
            let problem = format!("{}, where a mapping is needed", root.kind());
            Err(damaged(path, root.at.line, problem))
        }
    }
}

/// Reads a scalar as an id or a hash.
pub(crate) fn scalar<T: FromStr<Err = IdError>>(
    node: &Node,
    path: &Path,
) -> Result<T, StorageError> {
    match node.as_written() {
        Some(text) => parse(text, node.at, path),
        None => {
            let problem = format!("{}, where a single value is needed", node.kind());
            Err(damaged(path, node.at.line, problem))
        }
    }
}

/// Reads a text of the file as an id or a hash.
pub(crate) fn parse<T: FromStr<Err = IdError>>(
    text: &str,
    at: At,
    path: &Path,
) -> Result<T, StorageError> {
    text.parse::<T>()
        .map_err(|error| damaged(path, at.line, error.to_string()))
}

/// Returns the error of a line, counted from 1.
pub(crate) fn damaged(path: &Path, line: usize, problem: String) -> StorageError {
    StorageError::Damaged(BadLine {
        path: path.to_owned(),
        line: line as u64,
        problem,
    })
}
