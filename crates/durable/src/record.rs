//! Small records that are written over one another, without making a file and without waiting for the disk.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::Path;

use crate::open::open_own;
use crate::{Durability, FileError, calls, remove, replace};

/// How large a record that is overwritten may be.
const OVERWRITTEN: usize = 4096;

/// Writes a small record over the one before, padded with blanks; a larger one replaces the file.
///
/// It is one call of the system, so a process that dies leaves all of it or nothing. A reader at the same instant and
/// a power cut may find it torn.
///
/// # Errors
/// [`FileError::Link`], [`FileError::NotRegular`], [`FileError::Io`].
pub fn overwrite(path: &Path, content: &[u8]) -> Result<(), FileError> {
    if content.len() > OVERWRITTEN {
        return replace(path, content, Durability::Volatile);
    }
    let file = open_own(OpenOptions::new().write(true), path)
        .map_err(|error| error.about("write", path))?;
    let write = || -> io::Result<()> {
        let before = usize::try_from(file.metadata()?.len()).unwrap_or(OVERWRITTEN);
        let mut padded = content.to_vec();
        padded.resize(content.len().max(before.min(OVERWRITTEN)), b' ');
        if before > OVERWRITTEN {
            file.set_len(0)?;
        }
        calls::write_over(&file, &padded)
    };
    write().map_err(FileError::io("write", path))
}

/// Writes blanks over a small record: there is none then, and the next is written without making a file. One that
/// cannot be written, such as a link or another's file, is removed.
///
/// # Errors
/// [`FileError::Io`].
pub fn blank(path: &Path) -> Result<(), FileError> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
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
