//! The lock between those who are about to refer to nodes that were there before, and the collector of garbage.
//!
//! Writers share it for an instant; the collector has it alone while it decides and removes. A node that is new, or
//! was put again, needs no lock: the collector removes nothing that is young.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use uwf_durable::{FileError, FileLock};

use crate::error::StoreError;

/// The file that is locked, in the directory of the store.
const NAME: &str = ".gc.lock";
/// How long the last use of a node may be ago until putting it again makes it young.
const FRESH_MS: i64 = 30 * 60 * 1000;

/// Keeps nodes in their place: while it lives, no garbage is removed.
#[derive(Debug)]
#[must_use = "the nodes are kept only while it lives"]
pub struct Hold {
    _lock: Option<FileLock>,
}

/// Takes the lock together with others. A directory that is not there has no garbage.
pub(crate) fn share(dir: &Path) -> Result<Hold, StoreError> {
    let lock = FileLock::share(&dir.join(NAME))?;
    Ok(Hold { _lock: lock })
}

/// Takes the lock together with others, if there is one. A store in which nobody ever collected or held anything has
/// none, and who only looks does not make it.
pub(crate) fn share_existing(dir: &Path) -> Result<Hold, StoreError> {
    match dir.join(NAME).exists() {
        true => share(dir),
        false => Ok(Hold { _lock: None }),
    }
}

/// Takes the lock alone, and waits for it as long as it takes.
pub(crate) fn own(dir: &Path) -> Result<Hold, StoreError> {
    let lock = FileLock::acquire(&dir.join(NAME))?;
    Ok(Hold { _lock: Some(lock) })
}

/// Makes the file of a node young that is put again, if it is not, and tells whether it is there at all.
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
    // Who may not do that may still read.
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
