//! Emptying the folder of finished tasks. Only a folder strictly in the workspace is emptied, and no link is followed.

use std::path::Path;

use rustix::io::Errno;
use uwf_durable::empty_dir;
use uwf_pipeline::{ErrorKind, Failure};

use crate::Workspace;
use crate::workspace::{Entry, WalkError, names};

impl Workspace {
    /// Returns the names of what [`clean`](Self::clean) would remove, for people.
    ///
    /// # Errors
    /// See [`clean`](Self::clean).
    pub fn would_clean(&self, folder: &str) -> Result<Vec<String>, Failure> {
        let Some(found) = self.own_folder(folder)? else {
            return Ok(Vec::new());
        };
        let names = found.all_names().map_err(|error| {
            let message = format!("cannot read `{folder}`: {error}");
            Failure::new(ErrorKind::PathError, message).fact("path", folder)
        })?;
        Ok(names
            .iter()
            .map(|name| name.display().to_string())
            .collect())
    }

    /// Removes everything in a folder, which stays. Links are removed, and not what they lead to. Without the folder there is
    /// nothing to do.
    ///
    /// # Errors
    /// When it is not a folder strictly in the workspace, is a link, contains records of runs, or the system refuses. Unless
    /// the system refuses, nothing was touched then.
    pub fn clean(&self, folder: &str) -> Result<(), Failure> {
        match self.own_folder(folder)? {
            Some(found) => empty_dir(found.descriptor()).map_err(|error| {
                let path = Path::new(folder).join(&error.path);
                let message = format!("cannot remove `{}`: {}", path.display(), error.source);
                Failure::new(ErrorKind::PathError, message).fact("path", folder)
            }),
            None => Ok(()),
        }
    }

    /// Finds a folder that may be emptied; `None` if there is none.
    pub(crate) fn own_folder(&self, folder: &str) -> Result<Option<Entry>, Failure> {
        let failure = |error: WalkError| error.failure(folder, ErrorKind::PathError);
        let refused = |what: &str| {
            let message = format!("`{folder}` is {what}, so it is not touched");
            Err(Failure::new(ErrorKind::PathViolation, message).fact("path", folder))
        };
        let parts = names(folder).map_err(failure)?;
        let Some((name, parents)) = parts.split_last() else {
            return refused("the workspace");
        };
        let entry = self
            .find_names(parents)
            .and_then(|parent| Ok(Entry::at(parent.descriptor(), *name)?));
        let entry = match entry {
            Err(WalkError::System(Errno::NOENT)) => return Ok(None),
            entry => entry.map_err(failure)?,
        };
        match entry.irregular_name() {
            Some("a directory") => {}
            Some(what) => return refused(what),
            None => return refused("a file"),
        }
        self.keep_closed(&entry).map_err(failure)?;
        if self.is_around_closed(&entry).map_err(failure)? {
            return refused("around the records of runs");
        }
        Ok(Some(entry))
    }
}
