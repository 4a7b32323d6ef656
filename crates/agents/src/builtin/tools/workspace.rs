//! The workspace: the folder in which a model's tools may read and write. All paths of a model are opened here.
//!
//! The kernel confines them: `openat2` resolves paths below the folder, so that no link, no `..` and no race leads out
//! of it. Without `openat2` a path is walked step by step, and no link is followed.

use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, mkdirat, openat, openat2,
    statat,
};
use rustix::io::Errno;
use uwf_storage::Root;

/// How often to resolve a path again when a rename interferes.
const TRIES: u32 = 64;
/// The modes of new files and folders, before the user's umask.
const FILE_MODE: Mode = Mode::from_raw_mode(0o666);
const FOLDER_MODE: Mode = Mode::from_raw_mode(0o777);

/// Which paths a model may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::builtin) enum Reach {
    /// Only what lies in the folder.
    Inside,
    /// Every path that the user may access.
    Everywhere,
}

/// The folder.
pub(in crate::builtin) struct Workspace {
    folder: OwnedFd,
    /// Where the folder is, without links.
    path: PathBuf,
    /// A folder that tools never access: the storage root, with its keys and its state.
    closed: Option<PathBuf>,
    /// What is open of it all the same: the worktree in which the folder lies, if worktrees are kept there.
    own_tree: Option<PathBuf>,
    resolver: Resolver,
}

/// How paths are resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Resolver {
    /// By the kernel, below the folder.
    Beneath,
    /// Step by step, without following links.
    Steps,
    /// Without confinement.
    Free,
}

impl Workspace {
    /// Opens the folder. The root stays closed, but for the worktree of the step.
    pub(in crate::builtin) fn open(path: &Path, reach: Reach, root: &Root) -> Result<Self, String> {
        let problem = |error: &dyn std::fmt::Display| {
            format!(
                "the working directory `{}` cannot be used: {error}",
                path.display()
            )
        };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = openat(CWD, path, flags, Mode::empty()).map_err(|error| problem(&error))?;
        let resolver = match reach {
            Reach::Everywhere => Resolver::Free,
            Reach::Inside => match beneath(&folder, Path::new("."), flags) {
                Ok(_) => Resolver::Beneath,
                Err(_) => Resolver::Steps,
            },
        };
        let path = path.canonicalize().map_err(|error| problem(&error))?;
        Ok(Self {
            folder,
            own_tree: tree_among(&root.worktrees_dir(), &path),
            path,
            closed: root.path().canonicalize().ok(),
            resolver,
        })
    }

    /// Opens a regular file for reading. Anything else is rejected before it is opened, so that we never block on a
    /// FIFO or touch a device.
    pub(super) fn read(&self, path: &str) -> Result<File, String> {
        let relative = self.relative(path)?;
        let kind = self
            .resolve(&relative, OFlags::PATH)
            .and_then(fstat)
            .map_err(|error| refused("read", path, error))?;
        must_be_regular(&kind, path)?;
        self.file(&relative, path, OFlags::RDONLY, "read")
    }

    /// Opens a regular file for writing, and creates it and its parent folders if needed. An existing file is not
    /// truncated.
    pub(super) fn write(&self, path: &str) -> Result<File, String> {
        let relative = self.relative(path)?;
        if is_of_git(&relative) {
            return Err(of_git(path));
        }
        match self.resolve(&relative, OFlags::PATH).and_then(fstat) {
            Ok(stat) => must_be_regular(&stat, path)?,
            Err(Errno::NOENT) => self.make_folders(&relative, path)?,
            Err(error) => return Err(refused("write", path, error)),
        }
        self.file(&relative, path, OFlags::WRONLY | OFlags::CREATE, "write")
    }

    /// Opens a folder. The descriptor refers to the same folder even if it is renamed.
    pub(in crate::builtin) fn folder(&self, path: &str) -> Result<OwnedFd, String> {
        let relative = self.relative(path)?;
        let folder = self
            .resolve(&relative, OFlags::PATH | OFlags::DIRECTORY)
            .map_err(|error| refused("use", path, error))?;
        self.keep_closed(&folder, path)?;
        Ok(folder)
    }

    /// Returns the names in a folder with their kinds, in order. Names that are not UTF-8 are left out: no tool can name them.
    pub(super) fn entries(&self, path: &str) -> Result<Vec<(String, FileType)>, String> {
        let relative = self.relative(path)?;
        let list = |error| refused("list", path, error);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let folder = self.resolve(&relative, flags).map_err(list)?;
        self.keep_closed(&folder, path)?;
        let mut entries = Vec::new();
        for entry in Dir::read_from(&folder).map_err(list)? {
            let entry = entry.map_err(list)?;
            let Ok(name) = entry.file_name().to_str() else {
                continue;
            };
            if matches!(name, "." | "..") {
                continue;
            }
            // Not every filesystem tells the kind with the name.
            let kind = match entry.file_type() {
                FileType::Unknown => statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)
                    .map_or(FileType::Unknown, |stat| {
                        FileType::from_raw_mode(stat.st_mode)
                    }),
                kind => kind,
            };
            entries.push((name.to_owned(), kind));
        }
        entries.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        Ok(entries)
    }

    fn file(
        &self,
        relative: &Path,
        path: &str,
        flags: OFlags,
        what: &'static str,
    ) -> Result<File, String> {
        if flags.contains(OFlags::CREATE) {
            // The file may not exist yet, so the place of its parent is checked.
            let parent = relative.parent().unwrap_or(Path::new("."));
            let parent = self
                .resolve(parent, OFlags::PATH | OFlags::DIRECTORY)
                .map_err(|error| refused(what, path, error))?;
            self.keep_closed(&parent, path)?;
            if place_of(&parent).is_some_and(|place| is_of_git(&place)) {
                return Err(of_git(path));
            }
        }
        let file = self
            .resolve(relative, flags | OFlags::NONBLOCK | OFlags::NOCTTY)
            .map_err(|error| refused(what, path, error))?;
        self.keep_closed(&file, path)?;
        // The name may lead to another file by now.
        let stat = fstat(&file).map_err(|error| refused(what, path, error))?;
        must_be_regular(&stat, path)?;
        Ok(File::from(file))
    }

    /// Creates the parent folders of a path, from the top.
    fn make_folders(&self, relative: &Path, path: &str) -> Result<(), String> {
        let parent = relative.parent().unwrap_or(Path::new(""));
        let mut done = PathBuf::new();
        for component in parent.components() {
            let next = done.join(component);
            let flags = OFlags::PATH | OFlags::DIRECTORY;
            if let Err(Errno::NOENT) = self.resolve(&next, flags) {
                let above = self.resolve(&done, flags);
                let above = above.map_err(|error| refused("write", path, error))?;
                self.keep_closed(&above, path)?;
                match mkdirat(&above, component.as_os_str(), FOLDER_MODE) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => return Err(refused("write", path, error)),
                }
            }
            done = next;
        }
        Ok(())
    }

    /// Returns a path relative to the folder, unless all paths are allowed.
    fn relative(&self, path: &str) -> Result<PathBuf, String> {
        if path.is_empty() || path.contains('\0') {
            return Err("`path` must be the path of a file".to_owned());
        }
        let asked = Path::new(path);
        if self.resolver == Resolver::Free {
            return Ok(asked.to_owned());
        }
        let inside = match asked.strip_prefix(&self.path) {
            Ok(inside) => inside,
            Err(_) if asked.is_absolute() => return Err(outside(path)),
            Err(_) => asked,
        };
        if inside
            .components()
            .any(|component| component == Component::ParentDir)
        {
            return Err(format!(
                "`{path}` has a `..` in it; name files by their place in the working directory"
            ));
        }
        Ok(inside.to_owned())
    }

    fn resolve(&self, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        let path = if path.as_os_str().is_empty() {
            Path::new(".")
        } else {
            path
        };
        let flags = flags | OFlags::CLOEXEC;
        match self.resolver {
            Resolver::Beneath => beneath(&self.folder, path, flags),
            Resolver::Steps => by_steps(&self.folder, path, flags),
            Resolver::Free => openat(&self.folder, path, flags, mode(flags)),
        }
    }

    /// Refuses a file in the closed folder, by its real path.
    fn keep_closed(&self, file: &OwnedFd, path: &str) -> Result<(), String> {
        let lies_in = |place: &Path, folder: &Option<PathBuf>| {
            let folder = folder.as_ref();
            folder.is_some_and(|folder| place.starts_with(folder))
        };
        match place_of(file) {
            Some(place) if lies_in(&place, &self.closed) && !lies_in(&place, &self.own_tree) => {
                Err(format!(
                    "`{path}` belongs to the storage of this program, which tools do not touch"
                ))
            }
            _ => Ok(()),
        }
    }
}

/// Returns which of the folders below `trees` a place lies in.
fn tree_among(trees: &Path, place: &Path) -> Option<PathBuf> {
    let trees = trees.canonicalize().ok()?;
    let tree = place.strip_prefix(&trees).ok()?.components().next()?;
    Some(trees.join(tree))
}

/// Returns the real path of an open file or folder.
fn place_of(file: &OwnedFd) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()
}

/// Tells whether a path leads into a folder of git, or to the file that stands for one. What is written there chooses programs
/// that git starts, also for our own snapshots.
fn is_of_git(path: &Path) -> bool {
    let mut components = path.components();
    components.any(|component| component.as_os_str().eq_ignore_ascii_case(".git"))
}

fn of_git(path: &str) -> String {
    format!("`{path}` belongs to git, whose own files tools do not change")
}

fn mode(flags: OFlags) -> Mode {
    match flags.contains(OFlags::CREATE) {
        true => FILE_MODE,
        false => Mode::empty(),
    }
}

fn beneath(folder: &OwnedFd, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let how = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    for _ in 0..TRIES {
        match openat2(folder, path, flags, mode(flags), how) {
            // Something was renamed during the lookup.
            Err(Errno::AGAIN) => {}
            opened => return opened,
        }
    }
    Err(Errno::AGAIN)
}

fn by_steps(folder: &OwnedFd, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let step = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut at = openat(folder, ".", step, Mode::empty())?;
    let mut rest = path.components().peekable();
    while let Some(component) = rest.next() {
        let name = match component {
            Component::Normal(name) => name,
            Component::CurDir => std::ffi::OsStr::new("."),
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                return Err(Errno::XDEV);
            }
        };
        let last = rest.peek().is_none();
        let flags = if last { flags | OFlags::NOFOLLOW } else { step };
        at = openat(&at, name, flags, mode(flags))?;
        if last && flags.contains(OFlags::PATH) && is_link(&fstat(&at)?) {
            return Err(Errno::LOOP);
        }
    }
    Ok(at)
}

fn is_link(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Symlink
}

fn must_be_regular(stat: &Stat, path: &str) -> Result<(), String> {
    let what = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => return Ok(()),
        FileType::Directory => "a folder",
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        FileType::Symlink => "a link that leads nowhere",
        FileType::Unknown => "no regular file",
    };
    Err(format!("`{path}` is {what}, not a file"))
}

fn outside(path: &str) -> String {
    format!("`{path}` is outside the working directory, which tools do not leave")
}

fn refused(what: &str, path: &str, error: Errno) -> String {
    match error {
        Errno::NOENT => format!("there is no `{path}`"),
        Errno::XDEV => outside(path),
        Errno::LOOP => format!("`{path}` leads through a link that is not followed"),
        Errno::NOTDIR => format!("a part of `{path}` that should be a folder is a file"),
        Errno::ISDIR => format!("`{path}` is a folder, not a file"),
        Errno::NXIO => format!("`{path}` is a pipe or a device, not a file"),
        Errno::AGAIN => format!("`{path}` is being renamed; try again"),
        Errno::ACCESS | Errno::PERM => format!("no permission to {what} `{path}`"),
        error => format!("could not {what} `{path}`: {error}"),
    }
}

#[cfg(test)]
mod tests;
