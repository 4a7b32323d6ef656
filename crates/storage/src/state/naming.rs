//! The names and labels of threads. They change under the lock of the state, as the threads do. No step reads them.

use uwf_durable::Durability;
use uwf_protocol::ids::ThreadId;
use uwf_protocol::naming::{Name, Naming, NamingError};

use super::State;
use crate::StorageError;
use crate::heads::Heads;
use crate::labels::Namings;

impl State<'_> {
    /// Returns the names and labels of all threads, and perhaps of threads whose start was interrupted.
    ///
    /// # Errors
    /// [`StorageError::Io`] and [`StorageError::NamesDamaged`].
    pub fn namings(&self) -> Result<Namings, StorageError> {
        let path = self.root.labels_file();
        Namings::parse(&uwf_durable::read(&path)?.unwrap_or_default(), &path)
    }

    /// Changes what a thread is called, and returns the result. The caller knows that the thread is there.
    ///
    /// # Errors
    /// [`StorageError::NameTaken`], [`StorageError::Naming`] from `change`, and those of [`namings`](Self::namings) and
    /// [`check`](Self::check).
    pub fn change_naming(
        &self,
        thread: ThreadId,
        change: impl FnOnce(&mut Naming) -> Result<(), NamingError>,
    ) -> Result<Naming, StorageError> {
        let _lock = self.lock()?;
        let heads = self.checked_heads()?;
        let mut namings = self.namings()?;
        let before = namings.of(thread);
        let mut naming = before.clone();
        change(&mut naming)?;
        if naming != before {
            self.free_name(thread, naming.name.as_ref(), &heads, &mut namings)?;
            namings.set(thread, naming.clone());
            self.write_namings(&namings)?;
        }
        Ok(naming)
    }

    /// Records what a thread is called that is about to be added. The caller has the lock.
    pub(super) fn name_new_thread(
        &self,
        thread: ThreadId,
        naming: &Naming,
        heads: &Heads,
    ) -> Result<(), StorageError> {
        let mut namings = self.namings()?;
        self.free_name(thread, naming.name.as_ref(), heads, &mut namings)?;
        namings.set(thread, naming.clone());
        self.write_namings(&namings)
    }

    /// Forgets what threads were called that were removed. The caller has the lock.
    pub(super) fn forget_namings(
        &self,
        threads: impl Iterator<Item = ThreadId>,
    ) -> Result<(), StorageError> {
        let before = self.namings()?;
        let mut namings = before.clone();
        threads.for_each(|thread| namings.remove(thread));
        if namings == before {
            return Ok(());
        }
        self.write_namings(&namings)
    }

    /// Fails if another thread has the name. A thread that is not there loses it.
    fn free_name(
        &self,
        thread: ThreadId,
        name: Option<&Name>,
        heads: &Heads,
        namings: &mut Namings,
    ) -> Result<(), StorageError> {
        let Some(name) = name else {
            return Ok(());
        };
        match namings.named(name) {
            Some(by) if by == thread => {}
            Some(by) if heads.get(by).is_some() || self.archived(by)?.is_some() => {
                return Err(StorageError::NameTaken {
                    name: name.clone(),
                    by,
                });
            }
            Some(absent) => namings.remove(absent),
            None => {}
        }
        Ok(())
    }

    fn write_namings(&self, namings: &Namings) -> Result<(), StorageError> {
        let (path, text) = (self.root.labels_file(), namings.render());
        Ok(uwf_durable::replace(
            &path,
            text.as_bytes(),
            Durability::Durable,
        )?)
    }
}
