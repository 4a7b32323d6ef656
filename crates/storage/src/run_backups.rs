//! The pictures of a run before its last steps: `state.json.step_<step>.bak`.

use std::path::PathBuf;

use crate::{RunRoot, StorageError, WriteParts};

const BEGIN: &str = "state.json.step_";
const END: &str = ".bak";

impl RunRoot {
    /// Writes the picture before a step, and removes the oldest ones, so that at most `most` are left.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn back_up_state(
        &self,
        step: &str,
        write: &WriteParts<'_>,
        most: usize,
    ) -> Result<(), StorageError> {
        let file = self.path().join(format!("{BEGIN}{step}{END}"));
        self.draft_of_state(write)?.replace(&file)?;
        let mut backups = self.backups()?;
        backups.sort_by_key(|path| path.metadata().and_then(|found| found.modified()).ok());
        let too_many = backups.len().saturating_sub(most);
        for old in &backups[..too_many] {
            uwf_durable::remove(old)?;
        }
        Ok(())
    }

    fn backups(&self) -> Result<Vec<PathBuf>, StorageError> {
        let names = uwf_durable::names(self.path())?;
        let backups = names
            .iter()
            .filter(|name| name.starts_with(BEGIN) && name.ends_with(END));
        Ok(backups.map(|name| self.path().join(name)).collect())
    }
}
