//! Reads files of the state wherever they lie: those of another root, and those that another program renamed. Nothing is
//! written, and no lock is taken.

use std::path::Path;

use indexmap::IndexMap;
use uwf_protocol::ids::{CasRef, ThreadId};

use crate::heads::Heads;
use crate::history::{self, History};
use crate::{StorageError, registry};

/// Returns the threads that a `threads.yaml` names, with their heads; `None` if there is no such file.
///
/// # Errors
/// [`StorageError::Io`], [`StorageError::NotRegular`] and [`StorageError::Damaged`], as of the others.
pub fn heads(path: &Path) -> Result<Option<Vec<(ThreadId, CasRef)>>, StorageError> {
    let content = uwf_durable::read(path)?;
    let heads = content.map(|content| Heads::parse(content, path));
    Ok(heads.transpose()?.map(|heads| heads.all()))
}

/// Returns what a `history.jsonl` says; `None` if there is no such file. An unfinished last line is left out: its writer
/// was killed, and the thread is still where it was.
///
/// # Errors
/// See [`heads`].
pub fn history(path: &Path) -> Result<Option<History>, StorageError> {
    let Some(content) = uwf_durable::read(path)? else {
        return Ok(None);
    };
    let mut history = history::parse(&String::from_utf8_lossy(&content), path);
    match history.damaged.pop() {
        Some(bad) => Err(StorageError::Damaged(bad)),
        None => Ok(Some(history)),
    }
}

/// Returns the workflows that a `registry.yaml` or a `workflows.yaml` names; `None` if there is no such file.
///
/// # Errors
/// See [`heads`].
pub fn workflows(path: &Path) -> Result<Option<IndexMap<String, CasRef>>, StorageError> {
    let content = uwf_durable::read(path)?;
    let names = content.map(|content| registry::parse(&content, path));
    names.transpose()
}
