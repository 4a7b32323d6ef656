//! The system calls that change the disk, one function each. A process can die between any two of them.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, FileExt};
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, FallocateFlags, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT, fallocate, unlinkat,
    utimensat,
};
use rustix::io::Errno;
use tempfile::{NamedTempFile, PersistError};

/// Adds bytes at the position of the file, or at its end if it was opened for appending.
pub(crate) fn write(mut file: &File, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes)
}

/// Writes bytes over those at the start of the file.
pub(crate) fn write_over(file: &File, bytes: &[u8]) -> io::Result<()> {
    file.write_all_at(bytes, 0)
}

/// Allocates so many bytes of the disk for the file.
pub(crate) fn allocate(file: &File, bytes: u64) -> io::Result<()> {
    Ok(fallocate(file, FallocateFlags::empty(), 0, bytes)?)
}

/// Cuts the file to a length.
pub(crate) fn cut(file: &File, length: u64) -> io::Result<()> {
    file.set_len(length)
}

/// Makes the content of the file durable.
pub(crate) fn sync(file: &File) -> io::Result<()> {
    file.sync_all()
}

/// Makes the names in the directory durable.
pub(crate) fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

/// Gives the file its name, in place of another one.
pub(crate) fn rename(file: NamedTempFile, path: &Path) -> io::Result<()> {
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Gives a file that has a name another one, in place of the file there.
pub(crate) fn rename_over(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)
}

/// Gives the file its name, or returns the file if the name is taken.
pub(crate) fn rename_new(
    file: NamedTempFile,
    path: &Path,
) -> io::Result<Result<(), NamedTempFile>> {
    match file.persist_noclobber(path) {
        Ok(_) => Ok(Ok(())),
        Err(PersistError { error, file }) if error.kind() == ErrorKind::AlreadyExists => {
            Ok(Err(file))
        }
        Err(PersistError { error, .. }) => Err(error),
    }
}

/// Removes the file, if it is there.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Removes an empty directory.
pub(crate) fn remove_dir(path: &Path) -> io::Result<()> {
    fs::remove_dir(path)
}

/// Removes a file from an open folder, if it is there.
pub(crate) fn remove_file_in(folder: &OwnedFd, name: &OsStr) -> io::Result<()> {
    remove_in(folder, name, AtFlags::empty())
}

/// Removes an empty directory from an open folder, if it is there.
pub(crate) fn remove_dir_in(folder: &OwnedFd, name: &OsStr) -> io::Result<()> {
    remove_in(folder, name, AtFlags::REMOVEDIR)
}

fn remove_in(folder: &OwnedFd, name: &OsStr, flags: AtFlags) -> io::Result<()> {
    match unlinkat(folder, name, flags) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Makes the directory with mode 0700.
pub(crate) fn make_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}

/// Sets the time of the file's last change to now.
pub(crate) fn touch(path: &Path) -> io::Result<()> {
    let omitted = Timespec {
        tv_sec: 0,
        tv_nsec: UTIME_OMIT,
    };
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: UTIME_NOW,
    };
    let times = Timestamps {
        last_access: omitted,
        last_modification: now,
    };
    Ok(utimensat(CWD, path, &times, AtFlags::empty())?)
}
