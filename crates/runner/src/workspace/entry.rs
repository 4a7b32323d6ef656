//! What a name in a folder leads to, without opening it for anything.

use std::ffi::OsString;
use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use rustix::fs::{FileType, Mode, OFlags, Stat, fstat, openat, readlinkat};
use rustix::io::Errno;
use rustix::path::Arg;

/// A file, a folder or anything else. It stays the same one, whatever its name leads to later.
#[derive(Debug)]
pub(crate) struct Entry {
    descriptor: OwnedFd,
    stat: Stat,
}

impl Entry {
    /// Finds a name in a folder. A link is the link.
    pub(crate) fn at(folder: &OwnedFd, name: impl Arg) -> Result<Self, Errno> {
        Self::open(folder, name, OFlags::NOFOLLOW)
    }

    /// Finds what is behind a name in a folder, through links.
    pub(crate) fn behind(folder: &OwnedFd, name: impl Arg) -> Result<Self, Errno> {
        Self::open(folder, name, OFlags::empty())
    }

    /// Returns the same file once more.
    pub(crate) fn again(&self) -> std::io::Result<Self> {
        Ok(Self {
            descriptor: self.descriptor.try_clone()?,
            stat: self.stat,
        })
    }

    fn open(folder: &OwnedFd, name: impl Arg, flags: OFlags) -> Result<Self, Errno> {
        let flags = flags | OFlags::PATH | OFlags::CLOEXEC;
        let descriptor = openat(folder, name, flags, Mode::empty())?;
        let stat = fstat(&descriptor)?;
        Ok(Self { descriptor, stat })
    }

    pub(crate) fn descriptor(&self) -> &OwnedFd {
        &self.descriptor
    }

    pub(crate) fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.stat.st_mode)
    }

    /// Tells whether another entry is the same file.
    pub(crate) fn is_same_as(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }

    /// Returns the numbers of the device and of the file on it.
    pub(crate) fn identity(&self) -> (u64, u64) {
        (self.stat.st_dev, self.stat.st_ino)
    }

    /// Returns the permissions.
    pub(crate) fn permissions(&self) -> Mode {
        Mode::from_raw_mode(self.stat.st_mode & 0o777)
    }

    /// Returns what it is, if it is no regular file.
    pub(crate) fn irregular(&self) -> Option<&'static str> {
        match self.kind() {
            FileType::RegularFile => None,
            FileType::Directory => Some("a directory"),
            FileType::Fifo => Some("a FIFO"),
            FileType::Socket => Some("a socket"),
            FileType::CharacterDevice | FileType::BlockDevice => Some("a device"),
            FileType::Symlink => Some("a link that leads nowhere"),
            FileType::Unknown => Some("something special"),
        }
    }

    /// Returns what its name is, if it is not that of a regular file: a link is none.
    pub(crate) fn irregular_name(&self) -> Option<&'static str> {
        match self.kind() {
            FileType::Symlink => Some("a link"),
            _ => self.irregular(),
        }
    }

    /// Returns a path that leads to exactly this file while it is open here.
    pub(crate) fn own_path(&self) -> PathBuf {
        own_path(&self.descriptor)
    }

    /// Returns where it is now, without links.
    pub(crate) fn real_path(&self) -> Result<PathBuf, Errno> {
        real_path(&self.descriptor)
    }

    /// Returns the names in a folder, sorted by their bytes.
    pub(crate) fn all_names(&self) -> std::io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for found in fs::read_dir(self.own_path())? {
            names.push(found?.file_name());
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Returns those of the names that are UTF-8.
    pub(crate) fn names(&self) -> std::io::Result<Vec<String>> {
        let names = self.all_names()?.into_iter();
        Ok(names.filter_map(|name| name.into_string().ok()).collect())
    }
}

/// Returns a path that leads to exactly this file while it is open.
pub(crate) fn own_path(descriptor: &impl AsRawFd) -> PathBuf {
    format!("/proc/self/fd/{}", descriptor.as_raw_fd()).into()
}

/// Returns where an open file is now, without links.
pub(crate) fn real_path(descriptor: &OwnedFd) -> Result<PathBuf, Errno> {
    let path = readlinkat(rustix::fs::CWD, own_path(descriptor), Vec::new())?;
    Ok(OsString::from_vec(path.into_bytes()).into())
}
