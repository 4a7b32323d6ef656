//! Workflow files of a project: reads one with its includes, and finds one by its name.
//!
//! `uwf_protocol::workflow_yaml` parses the files; this module reads them from the disk. It writes nothing.

mod includes;
pub(crate) mod search;
#[cfg(test)]
mod tests;

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};

use uwf_durable::FileError;
use uwf_protocol::workflow_yaml::{
    self, Check, Diagnostic, LoadedWorkflow, MAX_FILE_BYTES, Position, Source, Statuses,
};
use uwf_storage::StorageError;
use uwf_util::text::counted;

pub use includes::FsIncludes;
pub use search::{LocalWorkflow, discover, discover_all, list_local};

/// Why a workflow file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file cannot be opened or read.
    #[error(transparent)]
    File(#[from] StorageError),
    /// The file has mistakes: at least one, in the order of files and lines.
    #[error("the workflow has {}", counted(.0.len(), "error"))]
    Workflow(Vec<Diagnostic>),
}

/// Reads a workflow file with its includes. Messages show the file as `shown`, for example as the user typed it, and
/// included files relative to that. `statuses` knows how other workflows end, and `check` finds
/// mistakes in the meaning of the workflow.
///
/// # Errors
/// [`ReadError::File`] if the file cannot be read, [`ReadError::Workflow`] with all mistakes in it.
pub fn read_workflow_file(
    path: &Path,
    shown: &Path,
    statuses: &Statuses<'_>,
    check: &Check<'_>,
) -> Result<LoadedWorkflow, ReadError> {
    let content = read_limited(path).map_err(StorageError::io("read", shown))?;
    read_workflow_text(content, path, shown, statuses, check)
}

/// Reads the content of a workflow file, as [`read_workflow_file`] does. Includes are beside `path`, which need not exist.
///
/// # Errors
/// See [`read_workflow_file`].
pub fn read_workflow_text(
    content: Vec<u8>,
    path: &Path,
    shown: &Path,
    statuses: &Statuses<'_>,
    check: &Check<'_>,
) -> Result<LoadedWorkflow, ReadError> {
    let name = shown.to_string_lossy();
    let text = text(content).map_err(|(line, message)| {
        let position = Position {
            file: name.clone().into_owned(),
            line,
            column: 1,
        };
        ReadError::Workflow(vec![Diagnostic {
            position: Some(position),
            message,
            hint: None,
            excerpt: None,
        }])
    })?;
    let includes = FsIncludes::beside(path, shown)?;
    let source = Source {
        name: &name,
        text: &text,
    };
    let include = |from: &str, path: &str| includes.read(from, path);
    workflow_yaml::load(source, &include, statuses, check).map_err(ReadError::Workflow)
}

/// Tells whether a reference to a workflow means a file rather than a name: it has a slash, or the
/// extension of a workflow file.
#[must_use]
pub fn looks_like_path(text: &str) -> bool {
    text.contains(['/', '\\']) || without_extension(text) != text
}

/// Returns the name that the workflow in this file must have: the stem of the file, or the name of the
/// folder around an `index.yaml`. Returns `None` if the path does not end in a name.
#[must_use]
pub fn expected_name(path: &Path) -> Option<String> {
    let file = path.file_name()?.to_string_lossy();
    let stem = without_extension(&file);
    if stem != search::INDEX {
        return Some(stem.to_owned());
    }
    let folder = match path.parent()? {
        parent if parent.as_os_str().is_empty() => Path::new("."),
        parent => parent,
    };
    // The name as typed has priority, so that a link to a folder is known by the link's name.
    if let Some(Component::Normal(name)) = folder.components().next_back() {
        return Some(name.to_string_lossy().into_owned());
    }
    let folder: PathBuf = fs::canonicalize(folder).ok()?;
    Some(folder.file_name()?.to_string_lossy().into_owned())
}

fn without_extension(file: &str) -> &str {
    let stem = file
        .strip_suffix(".yaml")
        .or_else(|| file.strip_suffix(".yml"));
    stem.unwrap_or(file)
}

/// Returns the content of a file. If the file is too large, the content is cut after one byte more than is allowed.
///
/// # Errors
/// When there is no such file, it is no regular file, or it cannot be read.
pub fn read_limited(path: &Path) -> io::Result<Vec<u8>> {
    match uwf_durable::read_start(path, MAX_FILE_BYTES + 1) {
        Ok(Some(content)) => Ok(content),
        Ok(None) => Err(uwf_durable::not_found(path)),
        Err(FileError::Io { source, .. }) => Err(source),
        // The user named the file, so this is a mistake in the request, and not damage of the storage.
        Err(FileError::NotRegular { kind, .. }) => {
            let problem = format!("it is {kind}, not a regular file");
            Err(io::Error::new(ErrorKind::InvalidInput, problem))
        }
        Err(error @ FileError::Link { .. }) => Err(io::Error::other(error)),
    }
}

/// Returns the text of a file, or the line from which it is not valid text and why.
fn text(content: Vec<u8>) -> Result<String, (u64, String)> {
    if content.len() > MAX_FILE_BYTES {
        let message = format!("the file is larger than {} MiB", MAX_FILE_BYTES >> 20);
        return Err((1, message));
    }
    String::from_utf8(content).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + good.iter().filter(|byte| **byte == b'\n').count();
        (line as u64, "the file is not UTF-8 text".to_owned())
    })
}
