//! Directories: creates them durably and lists them.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;

use crate::{FileError, calls, empty_dir};

/// Creates a directory and its parents with mode 0700, durably, if it does not exist.
///
/// # Errors
/// [`FileError::Io`].
pub fn create_dir(path: &Path) -> Result<(), FileError> {
    if path.is_dir() {
        return Ok(());
    }
    let parent = directory_of(path);
    if parent != path {
        create_dir(parent)?;
    }
    let made = match calls::make_dir(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists && path.is_dir() => return Ok(()),
        made => made,
    };
    made.and_then(|()| calls::sync_dir(parent))
        .map_err(FileError::io("create", path))
}

/// Creates a directory with mode 0700, durably, and its parents like [`create_dir`]. Of several processes that do so at once,
/// one creates it; `None` if something has its name already.
///
/// # Errors
/// [`FileError::Io`].
pub fn create_new_dir(path: &Path) -> Result<Option<()>, FileError> {
    let parent = directory_of(path);
    create_dir(parent)?;
    match calls::make_dir(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(None),
        made => made
            .and_then(|()| calls::sync_dir(parent))
            .map(Some)
            .map_err(FileError::io("create", path)),
    }
}

/// Removes a directory with all that is in it, if it is there. A symbolic link is removed, and not followed. The caller makes
/// sure that nobody needs it.
///
/// # Errors
/// [`FileError::Io`].
pub fn remove_tree(path: &Path) -> Result<(), FileError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = match openat(CWD, path, flags, Mode::empty()) {
        Ok(folder) => folder,
        Err(Errno::NOENT) => return Ok(()),
        // It is a link or a file.
        Err(Errno::LOOP | Errno::NOTDIR) => {
            return calls::remove(path).map_err(FileError::io("remove", path));
        }
        Err(error) => return Err(FileError::io("remove", path)(error.into())),
    };
    empty_dir(&folder)
        .map_err(|error| FileError::io("remove", &path.join(error.path))(error.source))?;
    match calls::remove_dir(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(FileError::io("remove", path)(error))
        }
        _ => Ok(()),
    }
}

/// Returns the names in a directory that are UTF-8, in no order; none if the directory does not exist.
///
/// # Errors
/// [`FileError::Io`].
pub fn names(dir: &Path) -> Result<Vec<String>, FileError> {
    let list = || -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(dir)? {
            names.extend(entry?.file_name().into_string());
        }
        Ok(names)
    };
    match list() {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        listed => listed.map_err(FileError::io("list", dir)),
    }
}

/// Makes the names in a directory durable.
///
/// # Errors
/// [`FileError::Io`].
pub fn sync_dir(dir: &Path) -> Result<(), FileError> {
    calls::sync_dir(dir).map_err(FileError::io("make durable", dir))
}

/// Fails for a symbolic link: replacing it would destroy the link, and writing to it would change another file.
///
/// # Errors
/// [`FileError::Link`].
pub fn refuse_link(path: &Path) -> Result<(), FileError> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_symlink() => Err(FileError::Link {
            path: path.to_owned(),
        }),
        _ => Ok(()),
    }
}

/// Returns the directory that a file lies in.
pub(crate) fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => path,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::{Durability, FileLock, append_line, overwrite, replace};

    #[test]
    fn only_the_owner_can_read_new_files_and_directories() {
        let temp = tempfile::tempdir().unwrap();
        let path = |name: &str| temp.path().join(name);
        replace(&path("replaced"), b"1", Durability::Durable).unwrap();
        append_line(&path("appended"), "1").unwrap();
        overwrite(&path("overwritten"), b"1").unwrap();
        let _lock = FileLock::acquire(&path("folder/lock")).unwrap();
        create_dir(&path("made/below")).unwrap();
        let mode = |name: &str| {
            let metadata = path(name).metadata().unwrap();
            metadata.permissions().mode() & 0o777
        };
        for name in ["replaced", "appended", "overwritten", "folder/lock"] {
            assert_eq!(mode(name), 0o600, "{name}");
        }
        for name in ["folder", "made", "made/below"] {
            assert_eq!(mode(name), 0o700, "{name}");
        }
    }
}
