//! Putting the files of a snapshot back.

use crate::take::Place;
use crate::{Repository, SnapshotError};

impl Repository {
    /// Makes the files of the working tree those of a commit. Ignored files stay as they are, and so do the user's index and
    /// branch. `now` is the snapshot of the files as they are, taken at the same place just before.
    ///
    /// # Errors
    /// When `git` refuses: for example because a commit is gone, or a file was changed since `now`.
    pub fn restore(&self, place: Place<'_>, now: &str, commit: &str) -> Result<(), SnapshotError> {
        let git = self.git().with_index(place.index);
        git.bytes(&["read-tree", "-m", "-u", now, commit], b"")?;
        Ok(())
    }
}
