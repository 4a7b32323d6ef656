//! The content of `registry.history.jsonl`: which workflows a name stood for, one line for each change, oldest first. Lines
//! are only added. The file is no state: without it, every name still stands for its workflow, and only what it stood for
//! before is forgotten.

use serde::{Deserialize, Serialize};
use uwf_protocol::ids::CasRef;

/// A change of a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NameChange {
    /// The name.
    pub name: String,
    /// The workflow that it stands for from then on; `None` if it was removed.
    pub hash: Option<CasRef>,
    /// When, in milliseconds since 1970; `None` if the change was found later than it was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<i64>,
    /// Whether an earlier workflow got its name back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rollback: bool,
}

/// The changes that are on record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RegistryHistory {
    /// The changes of all names, oldest first.
    pub changes: Vec<NameChange>,
    /// How many lines cannot be read.
    pub unreadable: usize,
}

impl RegistryHistory {
    /// Reads the content of the file. A line that cannot be read damages only itself.
    pub(crate) fn parse(content: &[u8]) -> Self {
        let mut history = Self::default();
        for line in content.split(|byte| *byte == b'\n') {
            if line.trim_ascii().is_empty() {
                continue;
            }
            match serde_json::from_slice(line) {
                Ok(change) => history.changes.push(change),
                Err(_) => history.unreadable += 1,
            }
        }
        history
    }

    /// Returns the changes of one name, oldest first.
    pub fn of(&self, name: &str) -> impl Iterator<Item = &NameChange> {
        self.changes
            .iter()
            .filter(move |change| change.name == name)
    }

    /// Returns what the name stood for after its last change; `None` if that was no workflow.
    pub(crate) fn last(&self, name: &str) -> Option<CasRef> {
        self.of(name).last().and_then(|change| change.hash)
    }
}

/// Returns the line of a change, without its end.
pub(crate) fn line(change: &NameChange) -> String {
    serde_json::to_string(change).expect("a change is plain data")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_read_back_and_a_damaged_line_damages_only_itself() {
        let hash: CasRef = "CTS5P6RD8HMCS".parse().unwrap();
        let put = NameChange {
            name: "solve".to_owned(),
            hash: Some(hash),
            at: Some(7),
            rollback: false,
        };
        let removed = NameChange {
            hash: None,
            ..put.clone()
        };
        assert_eq!(
            line(&put),
            r#"{"name":"solve","hash":"CTS5P6RD8HMCS","at":7}"#
        );
        assert_eq!(line(&removed), r#"{"name":"solve","hash":null,"at":7}"#);
        let text = format!("{}\n{{\"name\":\n\n{}\n{{\"na", line(&put), line(&removed));
        let history = RegistryHistory::parse(text.as_bytes());
        assert_eq!(history.changes, [put, removed]);
        assert_eq!(history.unreadable, 2);
        assert_eq!(history.last("solve"), None);
        assert_eq!(history.last("other"), None);
    }
}
