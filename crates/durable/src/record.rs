//! Small records that are overwritten in place, without a new file and without waiting for the disk.

use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::path::Path;

use crate::open::open_own;
use crate::{Durability, FileError, calls, remove, replace};

/// The largest record that is overwritten in place, in bytes.
const OVERWRITTEN: usize = 4096;

/// Overwrites a small record in place, padded with blanks. A larger record replaces the file.
///
/// A process that dies leaves the whole record or none, and never an empty file: the first record is renamed into place
/// when it is written, and each further one is a single system call. A power cut, or a read at the same instant, may
/// see a torn record.
///
/// # Errors
/// [`FileError::Link`], [`FileError::NotRegular`], [`FileError::Io`].
pub fn overwrite(path: &Path, content: &[u8]) -> Result<(), FileError> {
    if content.len() > OVERWRITTEN || !path.exists() {
        return replace(path, content, Durability::Volatile);
    }
    let file = open_own(OpenOptions::new().write(true), path)
        .map_err(|error| error.about("write", path))?;
    let before = file
        .metadata()
        .map_err(FileError::io("look at", path))?
        .len();
    if before > OVERWRITTEN as u64 {
        return replace(path, content, Durability::Volatile);
    }
    let mut padded = content.to_vec();
    padded.resize(content.len().max(before as usize), b' ');
    calls::write_over(&file, &padded).map_err(FileError::io("write", path))
}

/// Clears a small record by writing blanks over it, so that the next one needs no new file. A large record is removed,
/// and so is one that cannot be written, such as a link or another user's file.
///
/// # Errors
/// [`FileError::Io`].
pub fn blank(path: &Path) -> Result<(), FileError> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Ok(found) if !(1..=OVERWRITTEN as u64).contains(&found.len()) => remove(path),
        _ => overwrite(path, b"").or_else(|_| remove(path)),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_record_that_cannot_be_blanked_is_removed() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("record");
        blank(&path).unwrap();
        assert!(!path.exists(), "nothing is made");
        overwrite(&path, b"{}").unwrap();
        blank(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"  ");
        let other = temp.path().join("other");
        fs::rename(&path, &other).unwrap();
        fs::write(&other, "other").unwrap();
        symlink(&other, &path).unwrap();
        blank(&path).unwrap();
        assert!(!path.is_symlink());
        assert_eq!(fs::read_to_string(&other).unwrap(), "other");
    }
}
