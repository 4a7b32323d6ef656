//! A new file of the user, which gets its name when it is whole.
//!
//! Files of ours are `uwf_durable`'s drafts. These have the permissions that the user gives to new files, and their folder is
//! an open one, whatever its path leads to. Until the end they have no name at all, if the file system can do that: so
//! programs that look into the folder do not find them, and a process that is killed leaves nothing.

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, RenameFlags, fchmod, linkat, openat, renameat, renameat_with,
    statat, unlinkat,
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
    /// Not at all, or so that it is hidden.
    Hidden,
    /// After the file that it will be, so that people know it; it ends with `.tmp`.
    After(&'a str),
}

impl Name<'_> {
    /// Returns a name that no other draft of this process has.
    fn unique(self) -> String {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let (process, count) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        match self {
            Self::Hidden => format!(".uwf-temp-{process}-{count}"),
            Self::After(name) => format!("{name}.{process}-{count}.tmp"),
        }
    }
}

impl Draft {
    /// Makes the file. Without a mode it gets that of new files.
    pub(crate) fn create(folder: Entry, name: Name<'_>, mode: Option<Mode>) -> Result<Self, Errno> {
        let (file, name) = match name {
            Name::Hidden => unnamed(&folder)?,
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
                let draft = self.draft_name()?;
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
    fn draft_name(&mut self) -> Result<String, Errno> {
        if let Some(name) = &self.name {
            return Ok(name.clone());
        }
        loop {
            let name = Name::Hidden.unique();
            match self.link(&name) {
                Ok(()) => return Ok(self.name.insert(name).clone()),
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
fn unnamed(folder: &Entry) -> Result<(File, Option<String>), Errno> {
    let flags = OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC;
    match openat(folder.descriptor(), ".", flags, FILE_MODE) {
        Ok(file) => Ok((file.into(), None)),
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => named(folder, Name::Hidden),
        Err(error) => Err(error),
    }
}

fn named(folder: &Entry, name: Name<'_>) -> Result<(File, Option<String>), Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    loop {
        let name = name.unique();
        match openat(folder.descriptor(), &*name, flags, FILE_MODE) {
            Ok(file) => return Ok((file.into(), Some(name))),
            // An earlier process with our number left it.
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error),
        }
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
        for name in [Name::Hidden, Name::After("a")] {
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
        let (_, name) = named(&folder(temp.path()), Name::Hidden).unwrap();
        assert!(uwf_durable::is_temporary(&name.unwrap()));
        assert!(Name::After("a.task").unique().ends_with(".tmp"));
    }
}
