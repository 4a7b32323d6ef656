//! Moving a file of the workspace into a folder of it, so that a crash loses nothing and no file is overwritten.

use std::fs::File;
use std::io;

use rustix::fs::{AtFlags, unlinkat};
use rustix::io::Errno;
use uwf_pipeline::course::MoveTask;
use uwf_pipeline::{ErrorKind, Failure, Masks, StepResult};

use crate::Workspace;
use crate::draft::{Draft, Name, rename_new, sync};
use crate::workspace::{Entry, WalkError, names};

/// How many names are tried for a file whose name is taken.
const MOST_NAMES: u32 = 10_000;

impl Workspace {
    /// Moves the file of an item, and returns the result of that. A file that is already there was moved by an earlier try.
    #[must_use]
    pub fn move_item(&self, task: &MoveTask, masks: &Masks) -> StepResult {
        let moved = self.move_into(&task.from, &task.to);
        let failure = match moved {
            Ok(_) => None,
            Err(failure) if self.has_been_moved(task) => {
                drop(failure);
                None
            }
            Err(failure) => Some(masks.text(&failure.message)),
        };
        task.done(failure)
    }

    /// Tells whether the file of an item is gone, and one of its name is in the folder.
    fn has_been_moved(&self, task: &MoveTask) -> bool {
        let Some(name) = task.from.rsplit('/').next() else {
            return false;
        };
        let is_gone = matches!(self.find(&task.from), Err(WalkError::System(Errno::NOENT)));
        is_gone && self.is_file(&format!("{}/{name}", task.to))
    }

    /// Moves a regular file into a folder, which is made if it is missing. If its name is taken there, it gets `.1`, `.2` …
    /// Returns its new path.
    ///
    /// # Errors
    /// When a path leads out of the workspace or to no regular file, or the system refuses.
    pub fn move_into(&self, from: &str, folder: &str) -> Result<String, Failure> {
        let kind = ErrorKind::PathError;
        let failure = |error: WalkError| error.failure(from, kind);
        let parts = names(from).map_err(failure)?;
        let Some((name, parents)) = parts.split_last() else {
            return Err(not_a_file(from, "a directory"));
        };
        let source = self.folder_of(parents).map_err(failure)?;
        let file = Entry::at(source.descriptor(), *name);
        let file = file.map_err(|error| failure(error.into()))?;
        if let Some(what) = file.irregular_name() {
            return Err(not_a_file(from, what));
        }
        let parts = names(folder).map_err(|error| error.failure(folder, kind))?;
        let target = self.folder_to_write(&parts);
        let target = target.map_err(|error| error.failure(folder, kind))?;
        let name = put(&file, (&source, name), &target).map_err(|error| {
            let message = format!("cannot move `{from}` to `{folder}`: {error}");
            Failure::new(kind, message).fact("path", from)
        })?;
        Ok([parts.as_slice(), &[&*name]].concat().join("/"))
    }

    /// Finds a folder whose files may be moved away.
    fn folder_of(&self, parents: &[&str]) -> Result<Entry, WalkError> {
        let folder = self.find_names(parents)?;
        self.keep_closed(&folder)?;
        Ok(folder)
    }
}

fn not_a_file(path: &str, what: &str) -> Failure {
    let message = format!("`{path}` is {what}, not a file");
    Failure::new(ErrorKind::PathError, message).fact("path", path)
}

/// Moves a file into a folder, durably, and returns its name there.
fn put(file: &Entry, from: (&Entry, &str), target: &Entry) -> io::Result<String> {
    for count in 0..MOST_NAMES {
        let name = match count {
            0 => from.1.to_owned(),
            count => format!("{}.{count}", from.1),
        };
        match rename_new(from, (target, &name)) {
            Ok(()) => {}
            Err(Errno::EXIST) => continue,
            Err(Errno::XDEV) => match copy(file, target, &name) {
                Ok(()) => unlinkat(from.0.descriptor(), from.1, AtFlags::empty())?,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(error),
            },
            Err(error) => return Err(error.into()),
        }
        // The new name comes first: after a power cut the file has both names or one, but never none.
        sync(target)?;
        sync(from.0)?;
        return Ok(name);
    }
    Err(Errno::EXIST.into())
}

/// Copies a file to another file system, durably.
fn copy(file: &Entry, target: &Entry, name: &str) -> io::Result<()> {
    let draft = Draft::create(target.again()?, Name::Hidden, Some(file.permissions()))?;
    io::copy(&mut File::open(file.own_path())?, &mut draft.file())?;
    draft.place(name)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_copy_is_whole_has_the_same_permissions_and_overwrites_nothing() {
        let temp = tempfile::tempdir().unwrap();
        let path = |name: &str| temp.path().join(name);
        fs::create_dir(path("to")).unwrap();
        fs::write(path("a"), "content").unwrap();
        fs::set_permissions(path("a"), PermissionsExt::from_mode(0o750)).unwrap();
        let workspace = Workspace::open(temp.path(), &[]).unwrap();
        let find = |path: &str| workspace.find(path).unwrap();
        copy(&find("a"), &find("to"), "b").unwrap();
        assert_eq!(fs::read_to_string(path("to/b")).unwrap(), "content");
        let mode = path("to/b").metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o750);
        let error = copy(&find("a"), &find("to"), "b").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_dir(path("to")).unwrap().count(), 1);
    }
}
