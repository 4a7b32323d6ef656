//! Reserved disk space, for what must be written when the disk is full.

use std::error::Error;
use std::fs::OpenOptions;
use std::io::{self, ErrorKind};
use std::path::Path;

use crate::dir::{create_dir, directory_of};
use crate::open::open_own;
use crate::{FileError, calls};

/// Reserves disk space by a file of so many bytes, unless it exists. A file system that cannot reserve is not an error.
///
/// # Errors
/// [`FileError::Io`] when the disk is full, or the file cannot be made.
pub fn set_aside(path: &Path, bytes: u64) -> Result<(), FileError> {
    if path.metadata().is_ok_and(|file| file.len() >= bytes) {
        return Ok(());
    }
    create_dir(directory_of(path))?;
    let file = open_own(OpenOptions::new().write(true).create(true), path)
        .map_err(|error| error.about("make", path))?;
    match calls::allocate(&file, bytes) {
        Err(error) if is_full(&error) => {
            let _ = calls::remove(path);
            // How much is missing says more than that the disk is full.
            need_free(directory_of(path), bytes)?;
            Err(FileError::io("set room aside in", path)(error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Checks that so many bytes are free on the disk of a directory, for users without privileges. A file system that does not
/// tell is not an error.
///
/// # Errors
/// [`FileError::Io`] for a full disk when they are not.
pub fn need_free(directory: &Path, bytes: u64) -> Result<(), FileError> {
    let Ok(disk) = rustix::fs::statvfs(directory) else {
        return Ok(());
    };
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    if disk.f_blocks == 0 || free >= bytes {
        return Ok(());
    }
    let problem = format!("{free} bytes are free, and {bytes} are needed");
    let error = io::Error::new(ErrorKind::StorageFull, problem);
    Err(FileError::io("find enough room on the disk of", directory)(
        error,
    ))
}

/// Frees the reserved space. It is best effort: the caller retries its write in any case.
pub fn give_back(path: &Path) {
    let _ = calls::remove(path);
}

/// Tells whether an error, or one of its causes, says that the disk is full or the user's quota is used up.
#[must_use]
pub fn is_of_full_disk(error: &(dyn Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if error.downcast_ref().is_some_and(is_full) {
            return true;
        }
        cause = error.source();
    }
    false
}

fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_set_aside_once_and_given_back() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("locks/room");
        set_aside(&path, 8192).unwrap();
        assert_eq!(path.metadata().unwrap().len(), 8192);
        set_aside(&path, 8192).unwrap();
        give_back(&path);
        assert!(!path.exists());
        give_back(&path);
    }

    #[test]
    fn more_than_any_disk_has_is_not_free() {
        let temp = tempfile::tempdir().unwrap();
        need_free(temp.path(), 1).unwrap();
        let error = need_free(temp.path(), u64::MAX).unwrap_err();
        assert!(is_of_full_disk(&error), "{error}");
        need_free(&temp.path().join("gone"), u64::MAX).unwrap();
    }
}
