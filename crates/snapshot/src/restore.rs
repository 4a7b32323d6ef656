//! Putting the files of a snapshot back.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::take::Place;
use crate::{Change, Changed, Repository, SnapshotError};

impl Repository {
    /// Returns the files that no snapshot has and that are where [`restore`](Self::restore) would put others: ignored ones, and
    /// untracked ones that are too large. `git` itself replaces ignored files. `changes` are those from the files as they are,
    /// whose snapshot was taken at the same place just before, to the commit.
    ///
    /// # Errors
    /// When `git` refuses.
    pub fn in_the_way(
        &self,
        place: Place<'_>,
        changes: &[Changed],
    ) -> Result<Vec<PathBuf>, SnapshotError> {
        let added = changes.iter().filter(|one| one.change == Change::Added);
        let added: HashSet<&Path> = added.map(|one| one.path.as_path()).collect();
        let git = self.git().with_index(place.index);
        let others = git.bytes(&["ls-files", "--others", "-z"], b"")?;
        let others = others
            .split(|byte| *byte == 0)
            .filter(|name| !name.is_empty());
        // A name with a slash at its end is another repository.
        let others = others
            .map(|name| Path::new(OsStr::from_bytes(name.strip_suffix(b"/").unwrap_or(name))));
        let others: HashSet<&Path> = others.collect();
        let below = others
            .iter()
            .filter(|other| other.ancestors().any(|above| added.contains(above)));
        let above = added.iter().flat_map(|added| added.ancestors());
        let above = above.filter(|above| others.contains(above));
        let mut found: Vec<PathBuf> = below.copied().chain(above).map(Path::to_owned).collect();
        found.sort();
        found.dedup();
        Ok(found)
    }

    /// Makes the files of the working tree those of a commit. Ignored files stay as they are, and so do the user's index and
    /// branch, unless files are [in the way](Self::in_the_way). `now` is the snapshot of the files as they are, taken at the
    /// same place just before.
    ///
    /// # Errors
    /// When `git` refuses: for example because a commit is gone, or a file was changed since `now`.
    pub fn restore(&self, place: Place<'_>, now: &str, commit: &str) -> Result<(), SnapshotError> {
        let git = self.git().with_index(place.index).by(place.start);
        git.bytes(&["read-tree", "-m", "-u", now, commit], b"")?;
        Ok(())
    }
}
