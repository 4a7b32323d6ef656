//! The files that match a pattern, in the workspace.

use rustix::fs::FileType;
use rustix::io::Errno;
use uwf_pipeline::{ErrorKind, Failure, Matches, PathTest};

use crate::pattern::{is_pattern, matches};
use crate::workspace::{Entry, WalkError, Workspace, names};

/// Which matches count.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Anything,
    Files,
}

impl Workspace {
    /// Tells whether a condition about paths holds.
    ///
    /// # Errors
    /// When the pattern cannot lie in the workspace, or a folder cannot be read.
    pub fn holds(&self, test: &PathTest) -> Result<bool, Failure> {
        let found = self.matching(&test.glob, Wanted::Anything);
        let found = found.map_err(|error| error.failure(&test.glob, ErrorKind::ConditionError))?;
        Ok(found.is_empty() == (test.holds_if == Matches::None))
    }

    /// Returns the paths that match a pattern, sorted by their bytes. Those that lead out of the workspace are left out, and
    /// so are those that are not UTF-8: no result could name them.
    ///
    /// # Errors
    /// When the pattern cannot lie in the workspace, or a folder cannot be read.
    pub fn paths(&self, glob: &str) -> Result<Vec<String>, Failure> {
        let found = self.matching(glob, Wanted::Anything);
        found.map_err(|error| error.failure(glob, ErrorKind::PathError))
    }

    /// Returns the [paths](Self::paths) of regular files. Those that are being written (`.tmp`) only count if the pattern
    /// says so.
    ///
    /// # Errors
    /// See [`paths`](Self::paths).
    pub fn files(&self, glob: &str) -> Result<Vec<String>, Failure> {
        let found = self.matching(glob, Wanted::Files);
        found.map_err(|error| error.failure(glob, ErrorKind::PathError))
    }

    fn matching(&self, glob: &str, wanted: Wanted) -> Result<Vec<String>, WalkError> {
        let parts = names(glob)?;
        let mut found = Vec::new();
        let top = self.top()?;
        self.collect(&top, "", &parts, &mut |path, entry| {
            let is_temporary = path.ends_with(".tmp") && !glob.ends_with(".tmp");
            let is_file = entry.kind() == FileType::RegularFile && !is_temporary;
            if wanted == Wanted::Anything || is_file {
                found.push(path);
            }
        })?;
        found.sort_unstable();
        Ok(found)
    }

    /// Calls `take` with everything below a folder that matches the parts of a pattern.
    fn collect(
        &self,
        folder: &Entry,
        path: &str,
        parts: &[&str],
        take: &mut dyn FnMut(String, &Entry),
    ) -> Result<(), WalkError> {
        let Some((part, rest)) = parts.split_first() else {
            return Ok(());
        };
        for name in candidates(folder, part)? {
            let path = match path {
                "" => name.clone(),
                path => format!("{path}/{name}"),
            };
            let entry = match self.step(folder, &name, String::new) {
                Ok(entry) => entry,
                // This says nothing about the file.
                Err(error @ WalkError::System(Errno::MFILE | Errno::NFILE | Errno::NOMEM)) => {
                    return Err(error);
                }
                // It is gone, leads nowhere or out: no match.
                Err(_) => continue,
            };
            if rest.is_empty() {
                take(path, &entry);
            } else if entry.kind() == FileType::Directory {
                self.collect(&entry, &path, rest, take)?;
            }
        }
        Ok(())
    }
}

/// Returns the names that a part of a pattern can stand for.
fn candidates(folder: &Entry, part: &str) -> Result<Vec<String>, WalkError> {
    if !is_pattern(part) {
        return Ok(vec![part.to_owned()]);
    }
    let mut names = match folder.names() {
        Ok(names) => names,
        // Somebody removed it just now.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(error) => {
            let errno = Errno::from_io_error(&error);
            return Err(WalkError::System(errno.unwrap_or(Errno::IO)));
        }
    };
    names.retain(|name| matches(part, name));
    Ok(names)
}
