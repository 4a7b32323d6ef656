//! The lock between the garbage collector and everybody who is about to refer to old nodes.
//!
//! Writers share the lock for an instant. The collector has it exclusively while it decides and removes. A node that is
//! new, or was put again, needs no lock: the collector removes no young node.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use uwf_durable::{FileError, FileLock};

use crate::error::StoreError;

/// The file that is locked, in the directory of the store.
const NAME: &str = ".gc.lock";
/// A node that is put again within this time after its last use keeps the time of that use.
const FRESH_MS: i64 = 30 * 60 * 1000;

/// A guard that keeps all nodes: while it lives, no garbage is removed.
#[derive(Debug)]
#[must_use = "the nodes are kept only while it lives"]
pub struct Hold {
    _lock: Option<FileLock>,
}

/// Takes the shared lock. A missing directory has no garbage, and needs no lock.
pub(crate) fn share(dir: &Path) -> Result<Hold, StoreError> {
    let lock = FileLock::share(&dir.join(NAME))?;
    Ok(Hold { _lock: lock })
}

/// Takes the shared lock if its file exists. Without the file nobody has ever collected or held anything, and a reader
/// must not make it.
pub(crate) fn share_existing(dir: &Path) -> Result<Hold, StoreError> {
    if dir.join(NAME).exists() {
        return share(dir);
    }
    Ok(Hold { _lock: None })
}

/// Takes the exclusive lock, and waits for it without limit.
pub(crate) fn own(dir: &Path) -> Result<Hold, StoreError> {
    let lock = FileLock::acquire(&dir.join(NAME))?;
    Ok(Hold { _lock: Some(lock) })
}

/// Makes the file of a node young, because the node is put again. Returns whether the file still exists.
pub(crate) fn refresh(dir: &Path, path: &Path, now_ms: i64) -> Result<bool, StoreError> {
    let used = fs::metadata(path).and_then(|found| found.modified());
    match used.map(ms_since_epoch) {
        Ok(used_ms) if used_ms >= now_ms.saturating_sub(FRESH_MS) => return Ok(true),
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(FileError::io("look at", path)(error).into()),
    }
    // Where no lock can be made, nobody collects.
    let Ok(_hold) = share(dir) else {
        return Ok(true);
    };
    // A user without the permission to change the time may still read the node.
    Ok(!uwf_durable::touch(path).is_err_and(|error| error.is_not_found()))
}

/// Returns a time of a file in milliseconds since 1970.
pub(crate) fn ms_since_epoch(time: SystemTime) -> i64 {
    let ms = |length: Duration| i64::try_from(length.as_millis()).unwrap_or(i64::MAX);
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => ms(after),
        Err(before) => -ms(before.duration()),
    }
}
