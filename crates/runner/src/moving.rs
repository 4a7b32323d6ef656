//! Moving a file of the workspace into a folder of it, so that a crash loses nothing and no file is overwritten.

use std::fs::File;
use std::io::{self, BufReader, Read};

use rustix::fs::{AtFlags, unlinkat};
use rustix::io::Errno;
use uwf_pipeline::course::MoveTask;
use uwf_pipeline::{ErrorKind, Failure, Masks, StepResult};

use crate::Workspace;
use crate::draft::{Draft, MOST_NAME_BYTES, Name, rename_new, sync};
use crate::error::{NotDone, RunError};
use crate::workspace::{Entry, WalkError, names};

const KIND: ErrorKind = ErrorKind::PathError;
/// How many names are tried for a file whose name is taken.
const MOST_NAMES: u32 = 10_000;

/// What becomes of a file that is moved to another filesystem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Across {
    /// It is copied, then removed. A process that is killed in between leaves both, and the next move of the file goes on.
    Copied,
    /// It stays where it is: nobody may ever find it in two places.
    Refused,
}

impl Workspace {
    /// Moves the file of an item, and returns the result of that. A file that is already there was moved by an earlier attempt.
    ///
    /// # Errors
    /// When the disk takes no more.
    pub fn move_item(&self, task: &MoveTask, masks: &Masks) -> Result<StepResult, RunError> {
        let failure = match self.take_into(&task.from, &task.to, Across::Copied) {
            Ok(Some(_)) => None,
            Ok(None) if self.has_been_moved(task) => None,
            Ok(None) => Some(gone(&task.from)),
            Err(NotDone::Disk(error)) => return Err(error),
            Err(NotDone::Failure(failure)) => Some(failure),
        };
        Ok(task.done(failure.map(|failure| masks.text(&failure.message))))
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
        let taken = self.take_into(from, folder, Across::Copied);
        let taken = taken.map_err(NotDone::failure)?;
        taken.ok_or_else(|| gone(from))
    }

    /// Does the same with a file that others may want, too. `None` if it is not there any more, or another process moves it.
    ///
    /// # Errors
    /// See [`move_into`](Self::move_into).
    pub(crate) fn take_into(
        &self,
        from: &str,
        folder: &str,
        across: Across,
    ) -> Result<Option<String>, NotDone> {
        let failure = |error: WalkError| error.failure(from, KIND);
        let parts = names(from).map_err(failure)?;
        let Some((name, parents)) = parts.split_last() else {
            return Err(not_a_file(from, "a directory").into());
        };
        let source = match self.folder_of(parents) {
            Err(WalkError::System(Errno::NOENT)) => return Ok(None),
            source => source.map_err(failure)?,
        };
        let file = match Entry::at(source.descriptor(), *name) {
            Err(Errno::NOENT) => return Ok(None),
            file => file.map_err(|error| failure(error.into()))?,
        };
        if let Some(what) = file.irregular_name() {
            return Err(not_a_file(from, what).into());
        }
        let parts = names(folder).map_err(|error| error.failure(folder, KIND))?;
        let target = self.folder_to_write(&parts);
        let target = target.map_err(|error| NotDone::of_walk(folder, error))?;
        let put = put(&file, (&source, name), &target, across);
        let put = put.map_err(|error| match error.kind() {
            io::ErrorKind::CrossesDevices => too_far(from, folder).into(),
            _ => NotDone::of("move", from, error),
        })?;
        let Some(name) = put else {
            return Ok(None);
        };
        let path = [parts.as_slice(), &[&*name]].concat().join("/");
        // The new name comes first: after a power cut the file has both names or one, but never none.
        sync(&target)
            .and_then(|()| sync(&source))
            .map_err(|error| NotDone::of("confirm the move of", from, error))?;
        Ok(Some(path))
    }

    /// Finds a folder whose files may be moved away.
    fn folder_of(&self, parents: &[&str]) -> Result<Entry, WalkError> {
        let folder = self.find_names(parents)?;
        self.keep_closed(&folder)?;
        Ok(folder)
    }
}

fn gone(path: &str) -> Failure {
    WalkError::System(Errno::NOENT).failure(path, KIND)
}

fn too_far(path: &str, folder: &str) -> Failure {
    let message = format!("`{path}` is on another filesystem than `{folder}`");
    let failure = Failure::new(KIND, message);
    failure.fact("path", path).fact("filesystems", 2)
}

fn not_a_file(path: &str, what: &str) -> Failure {
    let message = format!("`{path}` is {what}, not a file");
    Failure::new(ErrorKind::PathError, message).fact("path", path)
}

/// Moves a file into a folder, and returns its name there; `None` if another process has moved it, or does so.
fn put(
    file: &Entry,
    from: (&Entry, &str),
    target: &Entry,
    across: Across,
) -> io::Result<Option<String>> {
    for count in 0..MOST_NAMES {
        let name = numbered(from.1, count);
        let moved = match rename_new(from, (target, &name)) {
            Err(Errno::XDEV) if across == Across::Copied => move_over(file, from, (target, &name)),
            renamed => renamed.map_err(io::Error::from),
        };
        match moved {
            Ok(()) => return Ok(Some(name)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(_) if !is_there(file, from)? => return Ok(None),
            Err(error) => return Err(error),
        }
    }
    Err(Errno::EXIST.into())
}

/// Returns the name that a file gets when so many others are taken. A long one is cut before its ending, to what a filesystem
/// allows.
fn numbered(name: &str, count: u32) -> String {
    if count == 0 {
        return name.to_owned();
    }
    let number = format!(".{count}");
    let (stem, ending) = name.rfind('.').map_or((name, ""), |dot| name.split_at(dot));
    let room = MOST_NAME_BYTES.saturating_sub(number.len());
    match room.checked_sub(ending.len()) {
        Some(room) if room > 0 => {
            let stem = &stem[..stem.floor_char_boundary(room)];
            format!("{stem}{ending}{number}")
        }
        _ => format!("{}{number}", &name[..name.floor_char_boundary(room)]),
    }
}

/// Moves a file to another file system: it is copied, then removed. A lock on the file keeps others from copying it, too.
fn move_over(file: &Entry, from: (&Entry, &str), to: (&Entry, &str)) -> io::Result<()> {
    let content = File::open(file.own_path())?;
    // The lock ends with this process.
    content.try_lock()?;
    if !is_there(file, from)? {
        return Err(Errno::NOENT.into());
    }
    match Entry::at(to.0.descriptor(), to.1) {
        // A process that was killed has copied it.
        Ok(there) if is_copy(file, &there)? => {}
        Ok(_) => return Err(Errno::EXIST.into()),
        Err(_) => copy(file, &content, to)?,
    }
    Ok(unlinkat(from.0.descriptor(), from.1, AtFlags::empty())?)
}

/// Tells whether a file still has its name.
fn is_there(file: &Entry, (folder, name): (&Entry, &str)) -> io::Result<bool> {
    match Entry::at(folder.descriptor(), name) {
        Ok(entry) => Ok(entry.is_same_as(file)),
        Err(Errno::NOENT) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Copies a file to another file system, durably. The copy has the times of the file.
fn copy(file: &Entry, mut content: &File, (target, name): (&Entry, &str)) -> io::Result<()> {
    let draft = Draft::create(
        target.again()?,
        Name::Hidden(name),
        Some(file.permissions()),
    )?;
    io::copy(&mut content, &mut draft.file())?;
    draft.file().set_modified(content.metadata()?.modified()?)?;
    draft.place(name)
}

/// Tells whether a file is a copy of another one.
fn is_copy(file: &Entry, other: &Entry) -> io::Result<bool> {
    if other.irregular_name().is_some() {
        return Ok(false);
    }
    let (file, other) = (File::open(file.own_path())?, File::open(other.own_path())?);
    let (old, new) = (file.metadata()?, other.metadata()?);
    if old.len() != new.len() || old.modified()? != new.modified()? {
        return Ok(false);
    }
    let mut old = BufReader::new(file).bytes();
    for byte in BufReader::new(other).bytes() {
        if old.next().transpose()? != Some(byte?) {
            return Ok(false);
        }
    }
    Ok(true)
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
        let copy = || {
            let file = File::open(path("a")).unwrap();
            copy(&find("a"), &file, (&find("to"), "b"))
        };
        copy().unwrap();
        assert_eq!(fs::read_to_string(path("to/b")).unwrap(), "content");
        let mode = path("to/b").metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o750);
        let error = copy().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_dir(path("to")).unwrap().count(), 1);
    }

    #[test]
    fn a_number_makes_no_name_longer_than_allowed_and_keeps_its_ending() {
        let long = |stem: usize| format!("{}.task", "a".repeat(stem));
        assert_eq!(numbered("a.task", 0), "a.task");
        assert_eq!(numbered("a.task", 12), "a.task.12");
        assert_eq!(numbered("a", 1), "a.1");
        assert_eq!(numbered(&long(250), 0), long(250));
        assert_eq!(numbered(&long(250), 1), format!("{}.1", long(248)));
        assert_eq!(numbered(&long(250), 9999), format!("{}.9999", long(245)));
        assert_eq!(
            numbered(&"é".repeat(127), 1),
            format!("{}.1", "é".repeat(126))
        );
        let ending = format!(".{}", "e".repeat(254));
        assert_eq!(numbered(&ending, 1), format!("{}.1", &ending[..253]));
    }

    #[test]
    fn a_copy_that_a_killed_process_has_made_is_known_again() {
        let temp = tempfile::tempdir().unwrap();
        let path = |name: &str| temp.path().join(name);
        fs::create_dir(path("to")).unwrap();
        fs::write(path("a"), "content").unwrap();
        let workspace = Workspace::open(temp.path(), &[]).unwrap();
        let (file, folder) = (workspace.find("a").unwrap(), workspace.find(".").unwrap());
        let (content, target) = (
            File::open(path("a")).unwrap(),
            workspace.find("to").unwrap(),
        );
        let knows = || is_copy(&file, &workspace.find("to/a").unwrap()).unwrap();
        copy(&file, &content, (&target, "a")).unwrap();
        assert!(knows());
        move_over(&file, (&folder, "a"), (&target, "a")).unwrap();
        assert!(!path("a").exists() && knows());
        let modified = content.metadata().unwrap().modified().unwrap();
        fs::write(path("to/a"), "CONTENT").unwrap();
        File::open(path("to/a"))
            .unwrap()
            .set_modified(modified)
            .unwrap();
        assert!(!knows());
    }
}
