//! Reads files of the state wherever they lie: those of another root, and those that another program renamed. Nothing is
//! written, and no lock is taken.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use indexmap::IndexMap;
use uwf_protocol::ids::{CasRef, ThreadId};

use crate::heads::Heads;
use crate::history::{self, History};
use crate::{StorageError, registry};

/// The most bytes that a file may have. A stranger may have made a larger one to fill memory or disk.
pub const LARGEST: u64 = 256 << 20;

/// Opens a file; `None` if there is none.
///
/// # Errors
/// [`StorageError::TooLarge`], [`StorageError::NotRegular`], [`StorageError::Io`].
pub fn open(path: &Path) -> Result<Option<File>, StorageError> {
    let Some(file) = uwf_durable::open(path)? else {
        return Ok(None);
    };
    let found = file.metadata().map_err(StorageError::io("read", path))?;
    match found.len() {
        bytes if bytes > LARGEST => Err(StorageError::TooLarge {
            path: path.to_owned(),
            bytes,
            largest: LARGEST,
        }),
        _ => Ok(Some(file)),
    }
}

/// Reads a file; `None` if there is none. A file that grows meanwhile is cut.
fn read(path: &Path) -> Result<Option<Vec<u8>>, StorageError> {
    let Some(file) = open(path)? else {
        return Ok(None);
    };
    let mut content = Vec::new();
    let read = file.take(LARGEST).read_to_end(&mut content);
    read.map_err(StorageError::io("read", path))?;
    Ok(Some(content))
}

/// Returns the threads that a `threads.yaml` names, with their heads; `None` if there is no such file.
///
/// # Errors
/// Those of [`open`], and [`StorageError::Damaged`], as of the others.
pub fn heads(path: &Path) -> Result<Option<Vec<(ThreadId, CasRef)>>, StorageError> {
    let content = read(path)?;
    let heads = content.map(|content| Heads::parse(content, path));
    Ok(heads.transpose()?.map(|heads| heads.all()))
}

/// Returns what a `history.jsonl` says; `None` if there is no such file. An unfinished last line is left out: its writer
/// was killed, and the thread is still where it was.
///
/// # Errors
/// See [`heads`].
pub fn history(path: &Path) -> Result<Option<History>, StorageError> {
    let Some(content) = read(path)? else {
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
    let content = read(path)?;
    let names = content.map(|content| registry::parse(&content, path));
    names.transpose()
}
