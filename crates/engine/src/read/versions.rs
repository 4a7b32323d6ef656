//! What the name of a workflow stood for, and which of these versions a word means.

use indexmap::IndexMap;
use serde::Serialize;
use uwf_protocol::ids::{CasRef, LEAST_PREFIX};
use uwf_storage::{NameChange, RegistryHistory, State};

use crate::workflow_ref::not_registered;
use crate::{EngineError, Site, WorkflowUseError};

/// What a name stood for, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WorkflowHistory {
    /// The name.
    pub name: String,
    /// What it stands for now; `None` if it was removed.
    pub current: Option<CasRef>,
    /// Its versions.
    pub versions: Vec<WorkflowVersion>,
    /// How many lines of the record cannot be read, of any name.
    #[serde(skip_serializing_if = "is_zero")]
    pub unreadable: usize,
}

/// One change of what a name stands for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WorkflowVersion {
    /// Its number, from 1. It stays: changes are only added.
    pub number: usize,
    /// What happened.
    pub action: VersionAction,
    /// The workflow that the name stood for from then on.
    pub hash: Option<CasRef>,
    /// When, in milliseconds since 1970; `None` if that is not on record.
    pub timestamp: Option<i64>,
    /// Whether the name stands for it now.
    pub current: bool,
}

/// What happened to a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum VersionAction {
    /// A workflow was registered.
    Put,
    /// An earlier workflow got the name back.
    Rollback,
    /// The name was removed.
    Removed,
}

/// Returns what a name of the registry stood for.
///
/// # Errors
/// [`EngineError::UnknownWorkflow`] if the name was never registered, or when the registry cannot be read.
pub fn workflow_history(site: &Site, name: &str) -> Result<WorkflowHistory, EngineError> {
    WorkflowHistories::read(site)?.of(name)
}

/// What all names of the registry stand for and stood for.
#[derive(Debug)]
pub struct WorkflowHistories {
    names: IndexMap<String, CasRef>,
    record: RegistryHistory,
}

impl WorkflowHistories {
    /// Reads the registry and its record.
    ///
    /// # Errors
    /// When one of them cannot be read.
    pub fn read(site: &Site) -> Result<Self, EngineError> {
        let state = State::new(&site.root);
        Ok(Self {
            names: state.workflows()?,
            record: state.registry_history()?,
        })
    }

    /// Returns what a name stood for.
    ///
    /// # Errors
    /// [`EngineError::UnknownWorkflow`] if the name was never registered.
    pub fn of(&self, name: &str) -> Result<WorkflowHistory, EngineError> {
        let name = name.trim();
        let current = self.names.get(name).copied();
        let versions = versions(self.record.of(name), current);
        if versions.is_empty() {
            return Err(not_registered(name, self.names.keys().cloned()));
        }
        Ok(WorkflowHistory {
            name: name.to_owned(),
            current,
            versions,
            unreadable: self.record.unreadable,
        })
    }
}

/// Returns the versions of a name from what is on record. What the name stands for now is the last one, even if that is not
/// on record.
fn versions<'a>(
    record: impl Iterator<Item = &'a NameChange>,
    current: Option<CasRef>,
) -> Vec<WorkflowVersion> {
    let version = |(at, change): (usize, &NameChange)| WorkflowVersion {
        number: at + 1,
        action: match (change.hash, change.rollback) {
            (None, _) => VersionAction::Removed,
            (Some(_), true) => VersionAction::Rollback,
            (Some(_), false) => VersionAction::Put,
        },
        hash: change.hash,
        timestamp: change.at,
        current: false,
    };
    let mut versions: Vec<WorkflowVersion> = record.enumerate().map(version).collect();
    let last = versions.last().and_then(|version| version.hash);
    if last != current {
        let action = match current {
            Some(_) => VersionAction::Put,
            None => VersionAction::Removed,
        };
        versions.push(WorkflowVersion {
            number: versions.len() + 1,
            action,
            hash: current,
            timestamp: None,
            current: false,
        });
    }
    if let Some(last) = versions.last_mut() {
        last.current = last.hash.is_some();
    }
    versions
}

impl WorkflowHistory {
    /// Returns the version that a word means: a number, a hash, or the beginning of a hash. Without a word, the newest one
    /// that differs from what the name stands for now.
    ///
    /// # Errors
    /// [`WorkflowUseError::NoVersion`] or [`WorkflowUseError::NothingEarlier`] if there is none.
    pub(crate) fn choose(&self, word: Option<&str>) -> Result<CasRef, WorkflowUseError> {
        let found = match word {
            None => {
                let mut hashes = self.versions.iter().rev().filter_map(|one| one.hash);
                hashes.find(|hash| Some(*hash) != self.current)
            }
            Some(word) => self.by_number(word).or_else(|| self.by_hash(word)),
        };
        found.ok_or_else(|| {
            let name = self.name.clone();
            match word {
                None => WorkflowUseError::NothingEarlier(name),
                Some(word) => WorkflowUseError::NoVersion {
                    name,
                    wanted: word.to_owned(),
                },
            }
        })
    }

    fn by_number(&self, word: &str) -> Option<CasRef> {
        let number: usize = word.parse().ok()?;
        self.versions.iter().find(|one| one.number == number)?.hash
    }

    /// Returns the only version whose hash begins so.
    fn by_hash(&self, word: &str) -> Option<CasRef> {
        let begin = word.to_ascii_uppercase();
        let hashes = self.versions.iter().filter_map(|version| version.hash);
        let mut found: Vec<CasRef> = hashes
            .filter(|hash| hash.to_string().starts_with(&begin))
            .collect();
        found.sort_unstable();
        found.dedup();
        match found.as_slice() {
            [hash] if begin.len() >= LEAST_PREFIX => Some(*hash),
            _ => None,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(first: char) -> CasRef {
        format!("{first}123456789ABC").parse().unwrap()
    }

    fn history(record: &[Option<CasRef>], current: Option<CasRef>) -> WorkflowHistory {
        let change = |hash: &Option<CasRef>| NameChange {
            name: "w".to_owned(),
            hash: *hash,
            at: Some(1),
            rollback: false,
        };
        let record: Vec<NameChange> = record.iter().map(change).collect();
        WorkflowHistory {
            name: "w".to_owned(),
            current,
            versions: versions(record.iter(), current),
            unreadable: 0,
        }
    }

    #[test]
    fn a_rollback_goes_to_the_newest_version_that_differs() {
        let (a, b) = (hash('A'), hash('B'));
        let two = history(&[Some(a), Some(b)], Some(b));
        assert_eq!(two.choose(None).unwrap(), a);
        let back = history(&[Some(a), Some(b), Some(a)], Some(a));
        assert_eq!(back.choose(None).unwrap(), b);
        let removed = history(&[Some(a), Some(b), None], None);
        assert_eq!(removed.choose(None).unwrap(), b);
        let one = history(&[Some(a)], Some(a));
        assert!(matches!(
            one.choose(None),
            Err(WorkflowUseError::NothingEarlier(_))
        ));
    }

    #[test]
    fn a_version_is_named_by_its_number_or_its_hash() {
        let (a, b) = (hash('A'), hash('B'));
        let history = history(&[Some(a), None, Some(b)], Some(b));
        let chosen = |word: &str| history.choose(Some(word)).ok();
        assert_eq!(chosen("1"), Some(a));
        assert_eq!(chosen("3"), Some(b));
        assert_eq!(chosen("a123456789abc"), Some(a));
        assert_eq!(chosen("B123"), Some(b));
        for none in ["0", "2", "4", "B12", "C123", "x"] {
            assert_eq!(chosen(none), None, "{none}");
        }
    }

    #[test]
    fn what_is_not_on_record_is_the_last_version() {
        let (a, b) = (hash('A'), hash('B'));
        let history = history(&[Some(a)], Some(b));
        let last = history.versions.last().unwrap();
        assert_eq!((last.number, last.hash, last.timestamp), (2, Some(b), None));
        assert!(last.current);
        assert_eq!(history.choose(None).unwrap(), a);
    }
}
