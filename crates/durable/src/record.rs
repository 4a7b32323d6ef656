//! Small records that are written over one another, without making a file and without waiting for the disk.

use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::path::Path;

use crate::open::open_own;
use crate::{Durability, FileError, calls, remove, replace};

/// How large a record that is overwritten may be.
const OVERWRITTEN: usize = 4096;

/// Writes a small record over the one before, padded with blanks; a larger one replaces the file.
///
/// The first one gets its name when it is written, and each further one is one call of the system; so a process that
/// dies leaves all of it or nothing, and never an empty file. A reader at the same instant and a power cut may find it
/// torn.
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

/// Writes blanks over a small record: there is none then, and the next is written without making a file. A large one is
/// removed, and so is one that cannot be written, such as a link or another's file.
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
