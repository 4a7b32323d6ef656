//! A new file of the user beside its final place, under a name that nobody reads. It gets its name by a rename.
//!
//! Files of ours are `uwf_durable`'s drafts. These have the permissions that the user gives to new files, and their folder is
//! an open one, whatever its path leads to.

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{
    AtFlags, Mode, OFlags, RenameFlags, fchmod, openat, renameat, renameat_with, statat, unlinkat,
};
use rustix::io::Errno;

use crate::workspace::Entry;

/// The mode of a new file, before the umask of the user.
const FILE_MODE: Mode = Mode::from_raw_mode(0o666);

/// The file. Dropping it leaves everything as it was, unless it got its name.
#[derive(Debug)]
pub(crate) struct Draft {
    folder: Entry,
    name: String,
    file: File,
}

/// What a draft is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Name<'a> {
    /// So that it is hidden.
    Hidden,
    /// After the file that it will be, so that people know it; it ends with `.tmp`.
    After(&'a str),
}

impl Draft {
    /// Makes the file. Without a mode it gets that of new files.
    pub(crate) fn create(folder: Entry, name: Name<'_>, mode: Option<Mode>) -> Result<Self, Errno> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        loop {
            let unique = format!(
                "{}-{}",
                std::process::id(),
                COUNT.fetch_add(1, Ordering::Relaxed)
            );
            let name = match name {
                Name::Hidden => format!(".uwf-temp-{unique}"),
                Name::After(name) => format!("{name}.{unique}.tmp"),
            };
            match openat(folder.descriptor(), &*name, flags, FILE_MODE) {
                Ok(file) => {
                    if let Some(mode) = mode {
                        fchmod(&file, mode)?;
                    }
                    let file = file.into();
                    return Ok(Self { folder, name, file });
                }
                // An earlier process with our number left it.
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error),
            }
        }
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    pub(crate) fn folder(&self) -> &Entry {
        &self.folder
    }

    /// Gives the file its name, in place of an existing one. Content and name are durable on return.
    pub(crate) fn replace(&self, name: &str) -> io::Result<()> {
        self.file.sync_all()?;
        let folder = self.folder.descriptor();
        renameat(folder, &*self.name, folder, name)?;
        sync(&self.folder)
    }

    /// Does the same, unless there is something under the name.
    pub(crate) fn place(&self, name: &str) -> io::Result<()> {
        self.file.sync_all()?;
        rename_new((&self.folder, &self.name), (&self.folder, name))?;
        sync(&self.folder)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // After the rename there is nothing under this name.
        let _ = unlinkat(self.folder.descriptor(), &*self.name, AtFlags::empty());
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
    use rustix::fs::{CWD, open};

    use super::*;

    #[test]
    fn a_hidden_draft_has_the_name_of_our_drafts() {
        let temp = tempfile::tempdir().unwrap();
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let folder = open(temp.path(), flags, Mode::empty()).unwrap();
        let folder = Entry::at(&folder, ".").unwrap();
        let draft = Draft::create(folder, Name::Hidden, None).unwrap();
        assert!(uwf_durable::is_temporary(&draft.name));
        draft.place("a").unwrap();
        let error = draft.place("a").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        drop(draft);
        assert!(statat(CWD, temp.path().join("a"), AtFlags::empty()).is_ok());
    }
}
