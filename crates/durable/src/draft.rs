//! Writes a file atomically: first as a draft under a name that nobody reads, then by a rename.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{Advice, fadvise};
use tempfile::NamedTempFile;

use crate::dir::{directory_of, refuse_link};
use crate::{FileError, calls};

/// The prefix of the names of drafts.
const TEMPORARY: &str = ".uwf-temp-";

/// What must survive a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// The new content once the call has returned; until then the old one.
    Durable,
    /// Nothing, because the file can be made again. The old file is removed first, so that the name is missing for an
    /// instant: some file systems write a file to the disk at once when a rename replaces another, which costs as much
    /// as a sync.
    Volatile,
}

/// Tells whether a file of this name is a draft, perhaps of a process that died.
#[must_use]
pub fn is_temporary(name: &str) -> bool {
    name.starts_with(TEMPORARY)
}

/// Replaces a file atomically, or creates it.
///
/// # Errors
/// [`FileError::Link`], [`FileError::Io`].
pub fn replace(path: &Path, content: &[u8], durability: Durability) -> Result<(), FileError> {
    let draft = Draft::beside(path, content)?;
    match durability {
        Durability::Durable => draft.replace_durably(path),
        Durability::Volatile => {
            calls::remove(path).map_err(FileError::io("replace", path))?;
            draft.replace(path)
        }
    }
}

/// A new file with its content, under a name that nobody reads. Dropping it removes the file.
#[derive(Debug)]
#[must_use = "a draft that is dropped is removed"]
pub struct Draft {
    temp: NamedTempFile,
}

/// Whether a draft got its name.
#[derive(Debug)]
#[must_use]
pub enum Placed {
    /// The file has the name.
    Done,
    /// The name is taken; nothing changed.
    Taken(Draft),
}

impl Draft {
    /// Writes the content to a new file with mode 0600, in the directory of the file that it will replace.
    ///
    /// # Errors
    /// [`FileError::Link`] if the file to replace is a symbolic link, and those of [`write`](Self::write).
    pub fn beside(path: &Path, content: &[u8]) -> Result<Self, FileError> {
        refuse_link(path)?;
        Self::write(directory_of(path), content)
    }

    /// Writes the content to a new file with mode 0600 in the directory.
    ///
    /// # Errors
    /// [`FileError::Io`].
    pub fn write(directory: &Path, content: &[u8]) -> Result<Self, FileError> {
        Self::write_as(directory, TEMPORARY, "", content)
    }

    /// Writes the content to a new file whose name has this prefix and this suffix.
    ///
    /// # Errors
    /// See [`write`](Self::write).
    pub fn write_as(
        directory: &Path,
        prefix: &str,
        suffix: &str,
        content: &[u8],
    ) -> Result<Self, FileError> {
        let write = || -> io::Result<NamedTempFile> {
            let temp = tempfile::Builder::new()
                .prefix(prefix)
                .suffix(suffix)
                .tempfile_in(directory)?;
            calls::write(temp.as_file(), content)?;
            Ok(temp)
        };
        let temp = write().map_err(FileError::io("write into", directory))?;
        Ok(Self { temp })
    }

    /// Returns the open file.
    #[must_use]
    pub fn file(&self) -> &File {
        self.temp.as_file()
    }

    /// Writes more content behind what the file has.
    ///
    /// # Errors
    /// See [`write`](Self::write).
    pub fn append(&self, content: &[u8]) -> Result<(), FileError> {
        calls::write(self.file(), content).map_err(FileError::io("write into", self.temp.path()))
    }

    /// Returns when the file was written, by the clock of its file system.
    ///
    /// # Errors
    /// See [`write`](Self::write).
    pub fn written_at(&self) -> Result<SystemTime, FileError> {
        let written = self.file().metadata().and_then(|found| found.modified());
        written.map_err(FileError::io("look at", self.temp.path()))
    }

    /// Starts the writeback of the content in the background, so that syncing several files afterwards takes little
    /// longer than syncing one. Nothing is promised.
    pub fn start_writeback(&self) {
        // `POSIX_FADV_DONTNEED` starts the writeback of dirty pages. It is a hint: an error is ignored.
        let _ = fadvise(self.file(), 0, None, Advice::DontNeed);
    }

    /// Makes the content durable.
    ///
    /// # Errors
    /// See [`write`](Self::write).
    pub fn sync(&self) -> Result<(), FileError> {
        calls::sync(self.file()).map_err(FileError::io("make durable", self.temp.path()))
    }

    /// Gives the file its name, in place of an existing file.
    ///
    /// # Errors
    /// See [`write`](Self::write).
    pub fn replace(self, path: &Path) -> Result<(), FileError> {
        calls::rename(self.temp, path).map_err(FileError::io("replace", path))
    }

    /// Gives the file its name, in place of an existing file. Content and name are durable on return.
    ///
    /// # Errors
    /// See [`write`](Self::write).
    pub fn replace_durably(self, path: &Path) -> Result<(), FileError> {
        self.sync()?;
        self.replace(path)?;
        crate::sync_dir(directory_of(path))
    }

    /// Gives the file its name, unless the name is taken.
    ///
    /// # Errors
    /// See [`write`](Self::write).
    pub fn place(self, path: &Path) -> Result<Placed, FileError> {
        let placed = calls::rename_new(self.temp, path).map_err(FileError::io("write", path))?;
        Ok(match placed {
            Ok(()) => Placed::Done,
            Err(temp) => Placed::Taken(Self { temp }),
        })
    }

    /// Keeps the file under the name that it was written with, and returns its path.
    ///
    /// # Errors
    /// See [`write`](Self::write).
    pub fn keep(self) -> Result<PathBuf, FileError> {
        let path = self.temp.path().to_owned();
        let kept = self.temp.keep().map_err(|error| error.error);
        kept.map_err(FileError::io("keep", &path))?;
        Ok(path)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn replacing_leaves_no_other_file_behind() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("file");
        for (content, durability) in [
            ("1", Durability::Durable),
            ("2", Durability::Durable),
            ("3", Durability::Volatile),
        ] {
            replace(&path, content.as_bytes(), durability).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
        }
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 1);
    }

    #[test]
    fn nothing_is_replaced_through_a_symbolic_link() {
        let temp = tempfile::tempdir().unwrap();
        let (target, link) = (temp.path().join("target"), temp.path().join("link"));
        fs::write(&target, "old").unwrap();
        symlink(&target, &link).unwrap();
        let replaced = replace(&link, b"new", Durability::Volatile);
        assert!(matches!(replaced, Err(FileError::Link { .. })));
        assert_eq!(fs::read_to_string(&target).unwrap(), "old");
        assert!(link.is_symlink());
    }

    #[test]
    fn a_name_that_is_taken_is_left_alone() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("file");
        let draft = |content| Draft::write(temp.path(), content).unwrap();
        assert!(matches!(draft(b"1").place(&path), Ok(Placed::Done)));
        let Placed::Taken(second) = draft(b"2").place(&path).unwrap() else {
            panic!("the name was given twice");
        };
        assert_eq!(fs::read(&path).unwrap(), b"1");
        second.replace(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"2");
    }
}
