//! Existing files: syncs, touches and removes them.

use std::path::Path;

use crate::dir::directory_of;
use crate::{FileError, calls, not_found, open};

/// Makes the content of an existing file durable.
///
/// # Errors
/// [`FileError::NotRegular`], [`FileError::Io`].
pub fn sync_file(path: &Path) -> Result<(), FileError> {
    let io = FileError::io("make durable", path);
    let file = open(path)?.ok_or_else(|| io(not_found(path)))?;
    calls::sync(&file).map_err(io)
}

/// Sets the time of a file's last change to now, by the clock of its file system.
///
/// # Errors
/// [`FileError::Io`].
pub fn touch(path: &Path) -> Result<(), FileError> {
    calls::touch(path).map_err(FileError::io("make young", path))
}

/// Removes a file, if it is there.
///
/// # Errors
/// [`FileError::Io`].
pub fn remove(path: &Path) -> Result<(), FileError> {
    calls::remove(path).map_err(FileError::io("remove", path))
}

/// Gives a file, or whatever else has the name, another name, durably. The caller knows that the new name is not taken.
///
/// # Errors
/// [`FileError::Io`].
pub fn move_file(from: &Path, to: &Path) -> Result<(), FileError> {
    calls::rename_over(from, to).map_err(FileError::io("move", from))?;
    // The new name comes first: after a power cut the file has both names or one, but never none.
    crate::sync_dir(directory_of(to))?;
    crate::sync_dir(directory_of(from))
}
