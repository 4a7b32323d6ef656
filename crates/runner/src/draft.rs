//! A new file of the user, which gets its name when it is whole.
//!
//! Files of ours are `uwf_durable`'s drafts. These have the permissions that the user gives to new files, and their folder is
//! an open one, whatever its path leads to. Until the end they have no name at all, if the file system can do that: so
//! programs that look into the folder do not find them, and a process that is killed leaves nothing.

use std::fs::{File, TryLockError};
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, RenameFlags, fchmod, fstat, linkat, openat, renameat,
    renameat_with, statat, unlinkat,
};
use rustix::io::Errno;

use crate::workspace::{Entry, own_path};

/// The mode of a new file, before the umask of the user.
const FILE_MODE: Mode = Mode::from_raw_mode(0o666);

/// The file. Dropping it leaves everything as it was, unless it got its name.
#[derive(Debug)]
pub(crate) struct Draft {
    folder: Entry,
    file: File,
    /// The name that it has until the end, if it has one.
    name: Option<String>,
}

/// What a draft is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Name<'a> {
    /// Not at all, or so that it is hidden: after the file that it will be, so that the next draft of this file takes the place
    /// of what a killed process has left.
    Hidden(&'a str),
    /// After the file that it will be, so that people know it; it ends with `.tmp`.
    After(&'a str),
}

/// How long the name of a file may be, in bytes.
pub(crate) const MOST_NAME_BYTES: usize = 255;

impl Name<'_> {
    /// Returns the name under which a draft of a killed process is found again, if it has one.
    fn fixed(self) -> Option<String> {
        match self {
            Self::Hidden(name) => {
                let name = format!(".uwf-temp-{name}");
                (name.len() <= MOST_NAME_BYTES).then_some(name)
            }
            Self::After(_) => None,
        }
    }

    /// Returns a name that no other draft of this process has.
    fn unique(self) -> String {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let (process, count) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        match self {
            Self::Hidden(_) => format!(".uwf-temp-{process}-{count}"),
            Self::After(name) => format!("{name}.{process}-{count}.tmp"),
        }
    }
}

impl Draft {
    /// Makes the file. Without a mode it gets that of new files.
    pub(crate) fn create(folder: Entry, name: Name<'_>, mode: Option<Mode>) -> Result<Self, Errno> {
        let (file, name) = match name {
            Name::Hidden(_) => unnamed(&folder, name)?,
            Name::After(_) => named(&folder, name)?,
        };
        let draft = Self { folder, file, name };
        if let Some(mode) = mode {
            fchmod(&draft.file, mode)?;
        }
        Ok(draft)
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    pub(crate) fn folder(&self) -> &Entry {
        &self.folder
    }

    /// Gives the file its name, in place of an existing one. Content and name are durable on return.
    pub(crate) fn replace(mut self, name: &str) -> io::Result<()> {
        self.file.sync_all()?;
        match self.name_new(name) {
            Err(Errno::EXIST) => {
                let draft = self.draft_name(name)?;
                let folder = self.folder.descriptor();
                renameat(folder, &*draft, folder, name)?;
            }
            named => named?,
        }
        sync(&self.folder)
    }

    /// Does the same, unless there is something under the name.
    pub(crate) fn place(self, name: &str) -> io::Result<()> {
        self.file.sync_all()?;
        self.name_new(name)?;
        sync(&self.folder)
    }

    /// Gives the file a name that nothing has. It gets no other one before: a process that is killed leaves nothing.
    fn name_new(&self, name: &str) -> Result<(), Errno> {
        match &self.name {
            Some(draft) => rename_new((&self.folder, draft), (&self.folder, name)),
            None => self.link(name),
        }
    }

    fn link(&self, name: &str) -> Result<(), Errno> {
        let file = own_path(&self.file);
        let folder = self.folder.descriptor();
        linkat(CWD, file, folder, name, AtFlags::SYMLINK_FOLLOW)
    }

    /// Returns the name that the file has until the end, from which it can be renamed.
    fn draft_name(&mut self, name: &str) -> Result<String, Errno> {
        if let Some(name) = &self.name {
            return Ok(name.clone());
        }
        loop {
            let draft = free_name(&self.folder, Name::Hidden(name))?;
            match self.link(&draft) {
                Ok(()) => return Ok(self.name.insert(draft).clone()),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // After the rename there is nothing under this name.
        if let Some(name) = &self.name {
            let _ = unlinkat(self.folder.descriptor(), &**name, AtFlags::empty());
        }
    }
}

/// Makes a file without a name, or one that is hidden where the file system cannot do that.
fn unnamed(folder: &Entry, name: Name<'_>) -> Result<(File, Option<String>), Errno> {
    let flags = OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC;
    match openat(folder.descriptor(), ".", flags, FILE_MODE) {
        // The lock says that the file belongs to a process that lives, when it gets a name.
        Ok(file) => {
            let file = File::from(file);
            lock(&file);
            Ok((file, None))
        }
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => named(folder, name),
        Err(error) => Err(error),
    }
}

fn named(folder: &Entry, name: Name<'_>) -> Result<(File, Option<String>), Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    loop {
        let name = free_name(folder, name)?;
        match openat(folder.descriptor(), &*name, flags, FILE_MODE) {
            Ok(file) => {
                let file = File::from(file);
                // Another process may have taken it for a left one before it was locked.
                if lock(&file) && is_named(&file, folder, &name)? {
                    return Ok((file, Some(name)));
                }
            }
            // An earlier process with our number left it, or another one was faster.
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Locks a draft until its process ends. Returns `false` if another process has the lock. Where a file system has no locks,
/// none is needed to go on.
fn lock(file: &File) -> bool {
    !matches!(file.try_lock(), Err(TryLockError::WouldBlock))
}

/// Returns a name for a draft: the one that a killed process would have used, whose draft is removed. A process that lives
/// keeps that name, and then it is another one.
fn free_name(folder: &Entry, name: Name<'_>) -> Result<String, Errno> {
    let Some(fixed) = name.fixed() else {
        return Ok(name.unique());
    };
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let left: File = match openat(folder.descriptor(), &*fixed, flags, Mode::empty()) {
        Ok(left) => left.into(),
        Err(Errno::NOENT) => return Ok(fixed),
        Err(_) => return Ok(name.unique()),
    };
    if left.try_lock().is_err() || !is_named(&left, folder, &fixed)? {
        return Ok(name.unique());
    }
    match unlinkat(folder.descriptor(), &*fixed, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(fixed),
        Err(_) => Ok(name.unique()),
    }
}

/// Tells whether a name in a folder is that of a file.
fn is_named(file: &File, folder: &Entry, name: &str) -> Result<bool, Errno> {
    let file = fstat(file)?;
    match statat(folder.descriptor(), name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(there) => Ok((there.st_dev, there.st_ino) == (file.st_dev, file.st_ino)),
        Err(Errno::NOENT) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Gives a file another name, unless there is something under it.
pub(crate) fn rename_new(from: (&Entry, &str), to: (&Entry, &str)) -> Result<(), Errno> {
    let (from_folder, to_folder) = (from.0.descriptor(), to.0.descriptor());
    match renameat_with(from_folder, from.1, to_folder, to.1, RenameFlags::NOREPLACE) {
        // Not every file system knows the flag.
        Err(Errno::INVAL | Errno::NOSYS) => {
            match statat(to_folder, to.1, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => renameat(from_folder, from.1, to_folder, to.1),
                Ok(_) => Err(Errno::EXIST),
                Err(error) => Err(error),
            }
        }
        renamed => renamed,
    }
}

/// Makes the names in a folder durable.
pub(crate) fn sync(folder: &Entry) -> io::Result<()> {
    File::open(folder.own_path())?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::path::Path;

    use rustix::fs::open;

    use super::*;

    fn folder(path: &Path) -> Entry {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let folder = open(path, flags, Mode::empty()).unwrap();
        Entry::at(&folder, ".").unwrap()
    }

    fn names(path: &Path) -> Vec<String> {
        folder(path).names().unwrap()
    }

    #[test]
    fn a_draft_with_and_without_a_name_becomes_the_file() {
        for name in [Name::Hidden("a"), Name::After("a")] {
            let temp = tempfile::tempdir().unwrap();
            let draft = |text: &str| {
                let draft = Draft::create(folder(temp.path()), name, None).unwrap();
                draft.file().write_all(text.as_bytes()).unwrap();
                draft
            };
            draft("one").place("a").unwrap();
            let error = draft("two").place("a").unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
            drop(draft("three"));
            assert_eq!(names(temp.path()), ["a"]);
            let content = || std::fs::read_to_string(temp.path().join("a")).unwrap();
            assert_eq!(content(), "one");
            draft("four").replace("a").unwrap();
            assert_eq!(content(), "four");
            assert_eq!(names(temp.path()), ["a"]);
        }
    }

    #[test]
    fn a_hidden_draft_is_one_of_ours_by_its_name() {
        let temp = tempfile::tempdir().unwrap();
        for target in ["a", &"a".repeat(255)] {
            let (_, name) = named(&folder(temp.path()), Name::Hidden(target)).unwrap();
            assert!(uwf_durable::is_temporary(&name.unwrap()));
        }
        assert!(Name::After("a.task").unique().ends_with(".tmp"));
    }

    #[test]
    fn what_a_killed_process_has_left_is_removed_by_the_next_draft_of_the_file() {
        let temp = tempfile::tempdir().unwrap();
        let left = temp.path().join(".uwf-temp-a");
        let other = temp.path().join(".uwf-temp-b");
        std::fs::write(&other, "").unwrap();
        let name = Name::Hidden("a");
        // On a file system without nameless files.
        std::fs::write(&left, "left").unwrap();
        let (first, first_name) = named(&folder(temp.path()), name).unwrap();
        assert_eq!(first_name.as_deref(), Some(".uwf-temp-a"));
        assert_eq!(std::fs::read(&left).unwrap(), b"");
        // The first one is still written.
        let (_second, second_name) = named(&folder(temp.path()), name).unwrap();
        assert_ne!(first_name, second_name);
        assert!(is_named(&first, &folder(temp.path()), ".uwf-temp-a").unwrap());
        drop(first);
        // Between the two names of a file that replaces another one.
        std::fs::write(temp.path().join("a"), "old").unwrap();
        let draft = Draft::create(folder(temp.path()), name, None).unwrap();
        draft.file().write_all(b"new").unwrap();
        draft.replace("a").unwrap();
        assert_eq!(std::fs::read(temp.path().join("a")).unwrap(), b"new");
        assert!(!left.exists() && other.exists());
    }
}
