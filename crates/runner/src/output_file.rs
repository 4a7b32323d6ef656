//! The file that gets the whole output of a step: written beside under a name that nobody reads, and renamed at the end.

use std::fs::File;

use rustix::fs::{FileType, Mode};
use rustix::io::Errno;
use uwf_pipeline::{ErrorKind, Failure};

use crate::Workspace;
use crate::draft::{Draft, Name};
use crate::error::NotDone;
use crate::workspace::{Entry, WalkError, names};

/// The file while it is written. Dropping it leaves everything as it was.
#[derive(Debug)]
pub struct OutputFile<'w> {
    workspace: &'w Workspace,
    /// What the user calls it.
    path: String,
    name: String,
    draft: Draft,
}

/// Where a file is to be.
#[derive(Debug)]
struct Place {
    folder: Entry,
    name: String,
    /// The permissions of the file that is there.
    mode: Option<Mode>,
}

impl<'w> OutputFile<'w> {
    /// Starts to write a file, and makes its parents.
    ///
    /// # Errors
    /// When the path leads out of the workspace or to something else than a regular file, or the system refuses.
    pub fn create(workspace: &'w Workspace, path: &str) -> Result<Self, NotDone> {
        let failure = |error: WalkError| error.failure(path, ErrorKind::PathError);
        let names = names(path).map_err(failure)?;
        let place = place(workspace, &names)
            .map_err(|error| NotDone::of_walk(path, error))?
            .map_err(|what| irregular(path, what))?;
        let draft = Draft::create(place.folder, Name::Hidden(&place.name), place.mode);
        let draft = draft.map_err(|error| NotDone::of("write", path, error.into()))?;
        Ok(Self {
            workspace,
            path: path.to_owned(),
            name: place.name,
            draft,
        })
    }

    /// Returns what the user calls it.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the open file.
    #[must_use]
    pub fn file(&self) -> &File {
        self.draft.file()
    }

    /// Gives the file its name, in place of an existing one. Content and name are durable on return.
    ///
    /// # Errors
    /// When the folder is gone or has left the workspace meanwhile, or the system refuses.
    pub fn finish(self) -> Result<(), NotDone> {
        let failure = |error: WalkError| error.failure(&self.path, ErrorKind::PathError);
        self.workspace
            .keep_closed(self.draft.folder())
            .map_err(failure)?;
        let placed = self.draft.replace(&self.name);
        placed.map_err(|error| NotDone::of("write", &self.path, error))
    }
}

fn irregular(path: &str, what: &str) -> Failure {
    let message = format!("`{path}` is {what}, not a file");
    Failure::new(ErrorKind::PathError, message).fact("path", path)
}

/// Finds where a file is to be, and makes its parents. Also returns what is there if that is no file.
fn place(workspace: &Workspace, names: &[&str]) -> Result<Result<Place, &'static str>, WalkError> {
    let Some((name, parents)) = names.split_last() else {
        return Ok(Err("the workspace itself"));
    };
    let folder = workspace.folder_to_write(parents)?;
    let found = match Entry::at(folder.descriptor(), *name) {
        Ok(found) => found,
        Err(Errno::NOENT) => return Ok(Ok(Place::new(folder, name, None))),
        Err(error) => return Err(error.into()),
    };
    if found.kind() != FileType::Symlink {
        let mode = Some(found.permissions());
        let what = found.irregular();
        return Ok(what.map_or_else(|| Ok(Place::new(folder, name, mode)), Err));
    }
    // The file behind the link is written, as a redirection in a shell would do.
    let target = match workspace.step(&folder, name, || names.join("/")) {
        Err(WalkError::System(Errno::NOENT)) => return Ok(Err("a link that leads nowhere")),
        target => workspace.relative(&target?)?,
    };
    let target = target.to_str().ok_or(Errno::ILSEQ)?;
    let names: Vec<&str> = target.split('/').collect();
    place_of_target(workspace, &names)
}

/// Finds the place of a file that a link leads to. The path has no links, unless somebody is changing it.
fn place_of_target(
    workspace: &Workspace,
    names: &[&str],
) -> Result<Result<Place, &'static str>, WalkError> {
    let (name, parents) = names.split_last().ok_or(Errno::NOENT)?;
    let folder = workspace.folder_to_write(parents)?;
    let found = Entry::at(folder.descriptor(), *name)?;
    let mode = Some(found.permissions());
    let what = found.irregular();
    Ok(what.map_or_else(|| Ok(Place::new(folder, name, mode)), Err))
}

impl Place {
    fn new(folder: Entry, name: &str, mode: Option<Mode>) -> Self {
        Self {
            folder,
            name: name.to_owned(),
            mode,
        }
    }
}
