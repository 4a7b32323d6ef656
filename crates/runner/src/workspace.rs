//! The workspace: the folder in which the paths of a pipeline lie. All of them are opened here.
//!
//! A path is walked name by name from the open folder. A link is followed if its final target lies in the workspace, too.
//! What is checked is the open file itself, so nothing that is renamed or linked meanwhile changes the answer.

mod entry;

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, mkdirat, openat};
use rustix::io::Errno;
use uwf_pipeline::{ErrorKind, Failure, path_problem};

pub(crate) use entry::{Entry, own_path, real_path};

/// The mode of new folders, before the umask of the user.
const FOLDER_MODE: Mode = Mode::from_raw_mode(0o777);

/// The folder.
#[derive(Debug)]
pub struct Workspace {
    folder: OwnedFd,
    path: PathBuf,
    /// Folders of ours. No path of a pipeline is written in them.
    closed: Vec<PathBuf>,
}

/// Why a path leads to nothing that can be used.
#[derive(Debug)]
pub(crate) enum WalkError {
    /// The path cannot lie in the workspace.
    NoPath(&'static str),
    /// This part of the path is a link out of the workspace.
    LeadsOut(String),
    /// The folder is closed.
    Closed,
    /// The system refuses.
    System(Errno),
}

impl From<Errno> for WalkError {
    fn from(error: Errno) -> Self {
        Self::System(error)
    }
}

impl Workspace {
    /// Opens the folder. In the `closed` folders, which exist, nothing is written for a pipeline.
    ///
    /// # Errors
    /// When one of them is no folder, or cannot be opened.
    pub fn open(path: &Path, closed: &[PathBuf]) -> std::io::Result<Self> {
        let path = path.canonicalize()?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = openat(CWD, &path, flags, Mode::empty())?;
        let closed = closed.iter().map(|closed| closed.canonicalize());
        Ok(Self {
            folder,
            path,
            closed: closed.collect::<Result<_, _>>()?,
        })
    }

    /// Opens a folder, and makes it if it is missing.
    ///
    /// # Errors
    /// When it is no folder, or cannot be made or opened.
    pub fn make(path: &Path) -> std::io::Result<Self> {
        uwf_durable::create_dir(path).map_err(std::io::Error::other)?;
        Self::open(path, &[])
    }

    /// Returns where the folder was when it was opened, without links.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads a regular file of at most so many bytes. One byte more tells that there are more.
    ///
    /// # Errors
    /// When the path leads out of the workspace, or to no regular file that can be read.
    pub fn read(&self, path: &str, most: usize) -> Result<Vec<u8>, Failure> {
        let kind = ErrorKind::InputFileError;
        let entry = self.find(path).map_err(|error| error.failure(path, kind))?;
        if let Some(what) = entry.irregular() {
            let message = format!("`{path}` is {what}, not a file");
            return Err(Failure::new(kind, message).fact("path", path));
        }
        let read = || {
            let mut bytes = Vec::new();
            let file = File::open(entry.own_path())?;
            file.take(most as u64 + 1).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        read().map_err(|error: std::io::Error| {
            let message = format!("cannot read `{path}`: {error}");
            Failure::new(kind, message).fact("path", path)
        })
    }

    /// Tells whether a path leads to a regular file in the workspace.
    pub(crate) fn is_file(&self, path: &str) -> bool {
        self.find(path)
            .is_ok_and(|entry| entry.irregular().is_none())
    }

    /// Finds what a path leads to. Nothing is opened, so nothing can block.
    pub(crate) fn find(&self, path: &str) -> Result<Entry, WalkError> {
        self.find_names(&names(path)?)
    }

    /// Finds what a path of these names leads to.
    pub(crate) fn find_names(&self, names: &[&str]) -> Result<Entry, WalkError> {
        let mut at = self.top()?;
        for (index, name) in names.iter().enumerate() {
            let here = || names[..=index].join("/");
            at = self.step(&at, name, here)?;
        }
        Ok(at)
    }

    /// Returns the folder itself.
    pub(crate) fn top(&self) -> Result<Entry, WalkError> {
        Ok(Entry::at(&self.folder, ".")?)
    }

    /// Returns the open folder itself, from which other paths are opened.
    pub(crate) fn top_descriptor(&self) -> &OwnedFd {
        &self.folder
    }

    /// Finds a name in a folder. `shown` is what the name is called in an error.
    pub(crate) fn step(
        &self,
        folder: &Entry,
        name: &str,
        shown: impl FnOnce() -> String,
    ) -> Result<Entry, WalkError> {
        let entry = Entry::at(folder.descriptor(), name)?;
        if entry.kind() != FileType::Symlink {
            return Ok(entry);
        }
        let target = Entry::behind(folder.descriptor(), name)?;
        if self.contains(&target)? {
            return Ok(target);
        }
        Err(WalkError::LeadsOut(shown()))
    }

    /// Finds a folder to write in, and makes it and its parents if they are missing.
    pub(crate) fn folder_to_write(&self, names: &[&str]) -> Result<Entry, WalkError> {
        let mut at = self.top()?;
        for (index, name) in names.iter().enumerate() {
            let here = || names[..=index].join("/");
            let found = match self.step(&at, name, here) {
                Err(WalkError::System(Errno::NOENT)) => {
                    self.keep_closed(&at)?;
                    match mkdirat(at.descriptor(), *name, FOLDER_MODE) {
                        Ok(()) | Err(Errno::EXIST) => self.step(&at, name, here),
                        Err(error) => Err(error.into()),
                    }
                }
                found => found,
            };
            at = found?;
        }
        if at.kind() != FileType::Directory {
            return Err(Errno::NOTDIR.into());
        }
        self.keep_closed(&at)?;
        Ok(at)
    }

    /// Tells whether a file lies in the workspace now.
    pub(crate) fn contains(&self, entry: &Entry) -> Result<bool, Errno> {
        Ok(entry.real_path()?.starts_with(real_path(&self.folder)?))
    }

    /// Returns the path of a file in the workspace, without links.
    pub(crate) fn relative(&self, entry: &Entry) -> Result<PathBuf, WalkError> {
        let place = entry.real_path()?;
        let top = real_path(&self.folder)?;
        let inside = place.strip_prefix(top).map(Path::to_owned);
        inside.map_err(|_| WalkError::LeadsOut(place.display().to_string()))
    }

    /// Tells whether a folder contains one that is closed.
    pub(crate) fn is_around_closed(&self, folder: &Entry) -> Result<bool, WalkError> {
        let place = folder.real_path()?;
        Ok(self.closed.iter().any(|closed| closed.starts_with(&place)))
    }

    /// Refuses to write in a folder that is closed, or no longer in the workspace.
    pub(crate) fn keep_closed(&self, folder: &Entry) -> Result<(), WalkError> {
        let place = folder.real_path()?;
        if self.closed.iter().any(|closed| place.starts_with(closed)) {
            return Err(WalkError::Closed);
        }
        if !place.starts_with(real_path(&self.folder)?) {
            return Err(WalkError::LeadsOut(place.display().to_string()));
        }
        Ok(())
    }
}

/// Returns the names in a path, without those that mean nothing.
pub(crate) fn names(path: &str) -> Result<Vec<&str>, WalkError> {
    if let Some(why) = path_problem(path) {
        return Err(WalkError::NoPath(why));
    }
    let names = path.split('/').filter(|name| !matches!(*name, "" | "."));
    Ok(names.collect())
}

impl WalkError {
    /// Returns the failure of a step that needs the path. `kind` is that of an error of the system.
    pub(crate) fn failure(self, path: &str, kind: ErrorKind) -> Failure {
        let outside = |why: &str| {
            let message = format!("`{path}` is not a path in the workspace: {why}");
            Failure::new(ErrorKind::PathViolation, message)
        };
        let failure = match self {
            Self::NoPath(why) => outside(why),
            Self::LeadsOut(link) => outside(&format!("`{link}` leads out of it")),
            Self::Closed => {
                let message = format!("`{path}` is a place of the records of runs");
                Failure::new(ErrorKind::PathViolation, message).fact("closed", true)
            }
            Self::System(Errno::NOENT) => {
                let failure = Failure::new(kind, format!("there is no `{path}`"));
                match path.strip_suffix('\n') {
                    Some(line) => Failure {
                        message: format!("there is no `{line}` with a line end behind it"),
                        ..failure.fact("line_end", true)
                    },
                    None => failure,
                }
            }
            Self::System(error) => {
                let error = std::io::Error::from(error);
                Failure::new(kind, format!("cannot use `{path}`: {error}"))
            }
        };
        failure.fact("path", path)
    }
}
