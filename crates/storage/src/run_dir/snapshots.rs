//! The snapshots of the files that a thread works on: in which repositories, and which one was taken before the step that is
//! being done. The snapshots themselves are commits in these repositories.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use uwf_durable::Durability;
use uwf_protocol::ids::CasRef;

use super::records::Records;
use crate::StorageError;

const SNAPSHOTS: &str = "snapshots.json";

/// What is known of the snapshots of a thread.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SnapshotRecord {
    /// The folders of the working trees, in the order in which the thread first worked there.
    pub repositories: Vec<PathBuf>,
    /// The snapshot before the step that is being done, or was done last.
    pub before: Option<BeforeStep>,
    /// What people should know about the snapshots of a step.
    pub notes: Option<SnapshotNotes>,
}

/// What people should know about the snapshots of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotNotes {
    /// The head that the step follows.
    pub head: CasRef,
    /// One sentence each.
    pub texts: Vec<String>,
}

/// The snapshot before a step. It stays the same for all attempts at the step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BeforeStep {
    /// The head that the step follows.
    pub head: CasRef,
    /// The step that is done again, if one is.
    pub replaces: Option<CasRef>,
    /// The folder of the working tree.
    pub repository: PathBuf,
    /// The commit.
    pub commit: String,
}

/// The record of the snapshots of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshots {
    records: Records,
}

impl Snapshots {
    pub(super) fn of(records: Records) -> Self {
        Self { records }
    }

    /// Returns the record; an empty one if none was written.
    #[must_use]
    pub fn read(&self) -> SnapshotRecord {
        self.records.read(SNAPSHOTS).unwrap_or_default()
    }

    /// Replaces the record.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn write(&self, record: &SnapshotRecord) -> Result<(), StorageError> {
        self.records
            .replace(SNAPSHOTS, record, Durability::Volatile)
    }

    /// Returns the snapshot of a repository before the step that follows a head, or replaces another one, if that is on record.
    #[must_use]
    pub fn before(
        &self,
        (head, replaces): (CasRef, Option<CasRef>),
        repository: &Path,
    ) -> Option<String> {
        let known = self.read().before.filter(|before| {
            (before.head, before.replaces) == (head, replaces) && before.repository == repository
        });
        known.map(|before| before.commit)
    }

    /// Records the snapshot before a step.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn set_before(&self, before: BeforeStep) -> Result<(), StorageError> {
        self.write(&SnapshotRecord {
            before: Some(before),
            ..self.read()
        })
    }

    /// Returns the index of a repository. The repository becomes a part of the record, if it is not yet.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn index_of(&self, repository: &Path) -> Result<PathBuf, StorageError> {
        let mut record = self.read();
        let mut known = record.repositories.iter();
        let place = known.position(|known| known == repository);
        if place.is_none() {
            record.repositories.push(repository.to_owned());
            self.write(&record)?;
        }
        Ok(self.index_file(place.unwrap_or(record.repositories.len() - 1)))
    }

    /// Adds a note about the step that follows this head. Notes about another step go.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn note(&self, head: CasRef, text: &str) -> Result<(), StorageError> {
        let mut record = self.read();
        let known = record.notes.take().filter(|notes| notes.head == head);
        let mut texts = known.map(|notes| notes.texts).unwrap_or_default();
        if !texts.iter().any(|known| known == text) {
            texts.push(text.to_owned());
        }
        record.notes = Some(SnapshotNotes { head, texts });
        self.write(&record)
    }

    /// Returns the path of the git index with which snapshots of the repository at this place of
    /// [`SnapshotRecord::repositories`] are taken.
    #[must_use]
    fn index_file(&self, place: usize) -> PathBuf {
        self.records.file(&format!("git-index-{place}"))
    }
}
