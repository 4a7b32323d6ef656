//! Everything below a folder, however deep it is: neither the stack nor the number of open files grows with the depth.
//!
//! A walk goes up again by `..`, and makes sure that this is the folder that it came from: what somebody moves meanwhile is an
//! error, and leads nowhere else. No link is followed.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::vec::IntoIter;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, fstat, openat, statat};
use rustix::io::Errno;

use crate::calls;

/// A walk through everything below a folder.
#[derive(Debug)]
pub struct Walk {
    /// The folder that the walk is in.
    folder: OwnedFd,
    /// That folder and those around it, the innermost last.
    levels: Vec<Level>,
    /// Where the folder is, from the first one.
    place: PathBuf,
    /// The name that was found last.
    name: OsString,
    wanted: fn(&OsStr) -> bool,
}

#[derive(Debug)]
struct Level {
    /// The device and the inode of the folder.
    identity: (u64, u64),
    /// The names that were not looked at yet.
    names: IntoIter<OsString>,
}

/// What a walk has found. [`Walk::folder`] and [`Walk::name`] say where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// Something that is no folder.
    File(FileType),
    /// A folder, after everything in it.
    Folder,
}

impl Found {
    /// Tells whether it is a regular file.
    #[must_use]
    pub fn is_regular(self) -> bool {
        self == Self::File(FileType::RegularFile)
    }
}

/// Why a walk cannot go on.
#[derive(Debug, thiserror::Error)]
#[error("`{}`: {source}", path.display())]
pub struct WalkError {
    /// Where it happened, below the first folder; empty for that one.
    pub path: PathBuf,
    /// What the system says.
    #[source]
    pub source: io::Error,
}

impl Walk {
    /// Starts a walk. Names that are not wanted are left out, with everything below them.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn of(folder: &OwnedFd, wanted: fn(&OsStr) -> bool) -> Result<Self, WalkError> {
        let opened = open(folder, OsStr::new(".")).and_then(|folder| {
            let level = Level::of(&folder)?;
            Ok((folder, level))
        });
        let (folder, level) = opened.map_err(|source| WalkError {
            path: PathBuf::new(),
            source,
        })?;
        Ok(Self {
            folder,
            levels: vec![level],
            place: PathBuf::new(),
            name: OsString::new(),
            wanted,
        })
    }

    /// Returns the folder of what was found last.
    #[must_use]
    pub fn folder(&self) -> &OwnedFd {
        &self.folder
    }

    /// Returns the name of what was found last.
    #[must_use]
    pub fn name(&self) -> &OsStr {
        &self.name
    }

    /// Returns where it is, from the first folder.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.place.join(&self.name)
    }

    /// Opens what was found last; `None` if it is gone, or is no regular file any more. No link is followed, and nothing
    /// blocks.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open_file(&self) -> io::Result<Option<File>> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let opened = match openat(&self.folder, &self.name, flags, Mode::empty()) {
            Err(Errno::NOENT | Errno::LOOP) => return Ok(None),
            opened => opened?,
        };
        let kind = FileType::from_raw_mode(fstat(&opened)?.st_mode);
        Ok((kind == FileType::RegularFile).then(|| opened.into()))
    }

    /// Goes on to the next file or folder, in the order of the names in each folder. `None` is the end.
    ///
    /// # Errors
    /// When a folder cannot be read, or was moved meanwhile. What is gone is left out.
    #[expect(
        clippy::should_implement_trait,
        reason = "what is found is asked for at the walk, which an iterator does not allow"
    )]
    pub fn next(&mut self) -> Result<Option<Found>, WalkError> {
        let step = self.step();
        step.map_err(|source| WalkError {
            path: self.path(),
            source,
        })
    }

    fn step(&mut self) -> io::Result<Option<Found>> {
        while let Some(level) = self.levels.last_mut() {
            let Some(name) = level.names.next() else {
                return self.leave();
            };
            if !(self.wanted)(&name) {
                continue;
            }
            self.name = name;
            match self.enter() {
                Ok(Some(found)) => return Ok(Some(found)),
                Ok(None) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Enters a folder; returns what else has the name.
    fn enter(&mut self) -> io::Result<Option<Found>> {
        let stat = statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW)?;
        let kind = FileType::from_raw_mode(stat.st_mode);
        if kind != FileType::Directory {
            return Ok(Some(Found::File(kind)));
        }
        let folder = open(&self.folder, &self.name)?;
        self.levels.push(Level::of(&folder)?);
        self.place.push(&self.name);
        self.folder = folder;
        Ok(None)
    }

    /// Leaves a folder.
    fn leave(&mut self) -> io::Result<Option<Found>> {
        self.levels.pop();
        let Some(around) = self.levels.last() else {
            return Ok(None);
        };
        self.name = self.place.file_name().unwrap_or_default().to_owned();
        self.place.pop();
        let folder = open(&self.folder, OsStr::new(".."))?;
        if identity(&folder)? != around.identity {
            return Err(Errno::STALE.into());
        }
        self.folder = folder;
        Ok(Some(Found::Folder))
    }
}

impl Level {
    fn of(folder: &OwnedFd) -> io::Result<Self> {
        let mut names = Vec::new();
        for entry in Dir::read_from(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if !matches!(name, b"." | b"..") {
                names.push(OsStr::from_bytes(name).to_owned());
            }
        }
        names.sort_unstable();
        Ok(Self {
            identity: identity(folder)?,
            names: names.into_iter(),
        })
    }
}

fn open(folder: &OwnedFd, name: &OsStr) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(folder, name, flags, Mode::empty())?)
}

fn identity(folder: &OwnedFd) -> io::Result<(u64, u64)> {
    let stat = fstat(folder)?;
    Ok((stat.st_dev, stat.st_ino))
}

/// Removes everything in a folder, which stays. Links are removed, and not what they lead to.
///
/// # Errors
/// At the first file that cannot be removed.
pub fn empty_dir(folder: &OwnedFd) -> Result<(), WalkError> {
    let mut walk = Walk::of(folder, |_| true)?;
    while let Some(found) = walk.next()? {
        let removed = match found {
            Found::Folder => calls::remove_dir_in(walk.folder(), walk.name()),
            Found::File(_) => calls::remove_file_in(walk.folder(), walk.name()),
        };
        removed.map_err(|source| WalkError {
            path: walk.path(),
            source,
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn top(path: &std::path::Path) -> OwnedFd {
        File::open(path).unwrap().into()
    }

    #[test]
    fn a_walk_finds_files_in_order_and_folders_after_what_is_in_them() {
        let temp = tempfile::tempdir().unwrap();
        fs::create_dir_all(temp.path().join("b/c")).unwrap();
        fs::create_dir_all(temp.path().join(".no/x")).unwrap();
        for file in ["a", "b/c/d", "b/e", "z"] {
            fs::write(temp.path().join(file), "").unwrap();
        }
        symlink("b", temp.path().join("link")).unwrap();
        let wanted = |name: &OsStr| name != ".no";
        let mut walk = Walk::of(&top(temp.path()), wanted).unwrap();
        let mut found = Vec::new();
        while let Some(one) = walk.next().unwrap() {
            let sign = match one {
                Found::File(FileType::RegularFile) => "",
                Found::File(_) => "@",
                Found::Folder => "/",
            };
            found.push(format!("{}{sign}", walk.path().display()));
        }
        assert_eq!(found, ["a", "b/c/d", "b/c/", "b/e", "b/", "link@", "z"]);
    }

    #[test]
    fn a_folder_that_is_moved_meanwhile_leads_nowhere_else() {
        let temp = tempfile::tempdir().unwrap();
        fs::create_dir_all(temp.path().join("in/a/b")).unwrap();
        fs::create_dir(temp.path().join("out")).unwrap();
        fs::write(temp.path().join("in/a/b/file"), "").unwrap();
        fs::write(temp.path().join("out/kept"), "").unwrap();
        let mut walk = Walk::of(&top(&temp.path().join("in")), |_| true).unwrap();
        assert_eq!(
            walk.next().unwrap(),
            Some(Found::File(FileType::RegularFile))
        );
        fs::rename(temp.path().join("in/a/b"), temp.path().join("out/b")).unwrap();
        let error = walk.next().unwrap_err();
        assert_eq!(error.path, PathBuf::from("a/b"));
        assert_eq!(
            error.source.raw_os_error(),
            Some(Errno::STALE.raw_os_error())
        );
    }
}
