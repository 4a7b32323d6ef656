//! The one module of this crate that writes files. Whatever it makes is for its owner alone and never goes
//! through a symbolic link; nobody ever reads half of what it replaces.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Advice, OFlags, fadvise};
use tempfile::NamedTempFile;

use crate::StorageError;

/// What must survive a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    /// The new content, once the call returns, and until then the old one.
    Durable,
    /// Nothing: the file can be made again. It may also be missing for an instant, because a rename that
    /// replaces a file makes some file systems write at once, which costs as much as being durable.
    Volatile,
}

/// How the names of temporary files begin.
pub(crate) const TEMPORARY: &str = ".uwf-temp-";

/// How large a record that is overwritten may be. One write of so much is never seen, or left, half done by
/// a process that dies.
const OVERWRITTEN: usize = 4096;

/// Writes a small record over the one before, padded with blanks; a larger one replaces the file. Records
/// are caches: a reader that cannot make sense of one does without.
pub(crate) fn overwrite(path: &Path, content: &[u8]) -> Result<(), StorageError> {
    if content.len() > OVERWRITTEN {
        return replace(path, content, Durability::Volatile);
    }
    let write = || {
        let file = private()
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)?;
        let before = usize::try_from(file.metadata()?.len()).unwrap_or(OVERWRITTEN);
        let mut padded = content.to_vec();
        padded.resize(content.len().max(before.min(OVERWRITTEN)), b' ');
        if before > OVERWRITTEN {
            file.set_len(0)?;
        }
        file.write_all_at(&padded, 0)
    };
    write().map_err(StorageError::io("write", path))
}

/// Writes blanks over a small record: there is none then, and the next is written without making a file. One that
/// cannot be written, such as a link or another's file, is removed.
pub(crate) fn blank(path: &Path) -> Result<(), StorageError> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        _ => overwrite(path, b"").or_else(|_| remove(path)),
    }
}

/// Replaces the content of a file, or makes it, in one step.
pub(crate) fn replace(
    path: &Path,
    content: &[u8],
    durability: Durability,
) -> Result<(), StorageError> {
    let replacement = Replacement::prepare(path, content)?;
    match durability {
        Durability::Durable => replacement.finish(),
        Durability::Volatile => replacement.finish_volatile(),
    }
}

/// Makes a file of a name that nobody has, which stays.
pub(crate) fn create_temp(
    directory: &Path,
    prefix: &str,
    suffix: &str,
    content: &[u8],
) -> Result<PathBuf, StorageError> {
    let create = || -> io::Result<PathBuf> {
        let mut temp = tempfile::Builder::new()
            .prefix(prefix)
            .suffix(suffix)
            .tempfile_in(directory)?;
        temp.write_all(content)?;
        let (_, path) = temp.keep()?;
        Ok(path)
    };
    create().map_err(StorageError::io("write into", directory))
}

/// A new content that is written, but not yet under its name.
pub(crate) struct Replacement<'a> {
    path: &'a Path,
    temp: NamedTempFile,
}

impl<'a> Replacement<'a> {
    /// Writes the content beside the file that it will replace.
    pub(crate) fn prepare(path: &'a Path, content: &[u8]) -> Result<Self, StorageError> {
        refuse_link(path)?;
        let write = || -> io::Result<NamedTempFile> {
            let mut temp = tempfile::Builder::new()
                .prefix(TEMPORARY)
                .tempfile_in(directory_of(path))?;
            temp.write_all(content)?;
            Ok(temp)
        };
        let temp = write().map_err(StorageError::io("write", path))?;
        Ok(Self { path, temp })
    }

    /// Has the content written while the caller does something else; nothing is promised.
    pub(crate) fn begin(&self) {
        // "I do not need it in memory" makes the kernel begin to write; that it may refuse is no matter.
        let _ = fadvise(self.temp.as_file(), 0, None, Advice::DontNeed);
    }

    /// Gives the content its name; both are durable on return.
    pub(crate) fn finish(self) -> Result<(), StorageError> {
        let Self { path, temp } = self;
        let finish = || -> io::Result<()> {
            temp.as_file().sync_data()?;
            temp.persist(path).map_err(|error| error.error)?;
            sync_dir(directory_of(path))
        };
        finish().map_err(StorageError::io("write", path))
    }

    fn finish_volatile(self) -> Result<(), StorageError> {
        let Self { path, temp } = self;
        let finish = || -> io::Result<()> {
            remove_if_there(path)?;
            temp.persist(path).map_err(|error| error.error)?;
            Ok(())
        };
        finish().map_err(StorageError::io("write", path))
    }
}

/// Appends a line, durably and in one write. A last line that a crash left unfinished is ended first.
pub(crate) fn append_line(path: &Path, line: &str) -> Result<(), StorageError> {
    refuse_link(path)?;
    append(path, line).map_err(StorageError::io("append to", path))
}

fn append(path: &Path, line: &str) -> io::Result<()> {
    let mut file = open_append(path)?;
    let length = file.metadata()?.len();
    let mut text = String::with_capacity(line.len() + 2);
    if length > 0 {
        let mut last = [0];
        file.read_exact_at(&mut last, length - 1)?;
        if last != *b"\n" {
            text.push('\n');
        }
    }
    text.push_str(line);
    text.push('\n');
    file.write_all(text.as_bytes())?;
    file.sync_data()?;
    if length == 0 {
        sync_dir(directory_of(path))?;
    }
    Ok(())
}

/// Opens a file for appending, and makes it if needed.
pub(crate) fn open_append(path: &Path) -> io::Result<File> {
    private().read(true).append(true).create(true).open(path)
}

/// Opens a file that is only there to be locked, and makes it if needed, with its directory.
pub(crate) fn open_lock(path: &Path) -> Result<File, StorageError> {
    let open = || private().read(true).append(true).create(true).open(path);
    let file = match open() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            create_dir(directory_of(path))?;
            open()
        }
        other => other,
    };
    file.map_err(StorageError::io("open", path))
}

/// Makes a directory and those above it, durably, if it is not there.
pub(crate) fn create_dir(path: &Path) -> Result<(), StorageError> {
    if path.is_dir() {
        return Ok(());
    }
    let parent = directory_of(path);
    if parent != path {
        create_dir(parent)?;
    }
    let made = match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists && path.is_dir() => return Ok(()),
        made => made,
    };
    made.and_then(|()| sync_dir(parent))
        .map_err(StorageError::io("create", path))
}

/// Removes a file, if it is there.
pub(crate) fn remove(path: &Path) -> Result<(), StorageError> {
    remove_if_there(path).map_err(StorageError::io("remove", path))
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Reads a whole file; `None` if there is none.
pub(crate) fn read(path: &Path) -> Result<Option<Vec<u8>>, StorageError> {
    match fs::read(path) {
        Ok(content) => Ok(Some(content)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(StorageError::io("read", path)(error)),
    }
}

/// Returns the options under which a file is opened for writing.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options
        .mode(0o600)
        .custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
    options
}

fn refuse_link(path: &Path) -> Result<(), StorageError> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_symlink() => Err(StorageError::Link {
            path: path.to_owned(),
        }),
        _ => Ok(()),
    }
}

fn sync_dir(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Returns the directory that a file lies in.
fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => path,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn what_is_written_is_for_its_owner_alone() {
        let temp = tempfile::tempdir().unwrap();
        let mode = |name: &str| {
            let metadata = temp.path().join(name).metadata().unwrap();
            metadata.permissions().mode() & 0o777
        };
        replace(&temp.path().join("a"), b"1", Durability::Durable).unwrap();
        append_line(&temp.path().join("b"), "1").unwrap();
        open_lock(&temp.path().join("c/d")).unwrap();
        assert_eq!(mode("a"), 0o600);
        assert_eq!(mode("b"), 0o600);
        assert_eq!(mode("c"), 0o700);
        assert_eq!(mode("c/d"), 0o600);
    }

    #[test]
    fn nothing_is_written_through_a_symbolic_link() {
        let temp = tempfile::tempdir().unwrap();
        let target = temp.path().join("target");
        let link = temp.path().join("link");
        fs::write(&target, "old").unwrap();
        symlink(&target, &link).unwrap();
        let replaced = replace(&link, b"new", Durability::Volatile);
        assert!(matches!(replaced, Err(StorageError::Link { .. })));
        let appended = append_line(&link, "new");
        assert!(matches!(appended, Err(StorageError::Link { .. })));
        assert!(open_append(&link).is_err());
        assert_eq!(fs::read_to_string(&target).unwrap(), "old");
        assert!(link.is_symlink());
    }

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

    #[test]
    fn an_unfinished_last_line_is_ended_before_the_next() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("lines");
        fs::write(&path, "one\ntw").unwrap();
        append_line(&path, "three").unwrap();
        append_line(&path, "four").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntw\nthree\nfour\n");
    }

    #[test]
    fn replacing_leaves_no_other_file_behind() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("file");
        replace(&path, b"1", Durability::Durable).unwrap();
        replace(&path, b"2", Durability::Durable).unwrap();
        assert_eq!(read(&path).unwrap().unwrap(), b"2");
        replace(&path, b"3", Durability::Volatile).unwrap();
        assert_eq!(read(&path).unwrap().unwrap(), b"3");

        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_missing_file_is_nothing_and_a_directory_is_an_error() {
        let temp = tempfile::tempdir().unwrap();
        assert!(read(&temp.path().join("none")).unwrap().is_none());
        assert!(matches!(read(temp.path()), Err(StorageError::Io { .. })));
        remove(&temp.path().join("none")).unwrap();
    }
}
