//! The manifest of a bundle: what is known about its threads beside their nodes.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::naming::Naming;
use uwf_protocol::run::ThreadRecord;
use uwf_storage::{HistoryRecord, Reason, ReplacedStep};

use super::error::BundleError;

/// The name of the member.
pub(crate) const NAME: &str = "manifest.json";
const FORMAT: &str = "uwf-bundle";
/// The version that this program writes, and the newest that it reads.
const VERSION: u64 = 1;

/// The first member of a bundle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Manifest {
    format: String,
    version: u64,
    /// How many nodes follow.
    pub(crate) nodes: u64,
    /// The threads, sorted by id.
    pub(crate) threads: Vec<Travelling>,
}

/// A thread in a bundle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Travelling {
    pub(crate) thread: ThreadId,
    pub(crate) workflow: CasRef,
    pub(crate) head: CasRef,
    pub(crate) status: Status,
    /// What people call it. Bundles of earlier versions do not tell.
    #[serde(default, skip_serializing_if = "Naming::is_empty")]
    pub(crate) naming: Naming,
    /// When it ended, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) completed_at: Option<i64>,
    /// Its steps that were done again, oldest first.
    #[serde(default)]
    pub(crate) replaced: Vec<ReplacedStep>,
    /// Its failed attempts and raised limits.
    #[serde(default)]
    pub(crate) record: ThreadRecord,
    /// Whether it comes from the remote, whose machines trust each other. A bundle may come from a stranger.
    #[serde(skip)]
    pub(crate) is_trusted: bool,
}

/// Whether a thread goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    Active,
    Completed,
    Cancelled,
}

/// What every version of the manifest has.
#[derive(Deserialize)]
struct Version {
    format: String,
    version: u64,
}

impl Manifest {
    pub(crate) fn new(nodes: u64, threads: Vec<Travelling>) -> Self {
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            nodes,
            threads,
        }
    }

    /// Reads a manifest, and checks what can be checked without the nodes.
    pub(crate) fn parse(content: &[u8]) -> Result<Self, BundleError> {
        let not_one = |error: serde_json::Error| {
            BundleError::NotABundle(format!("`{NAME}` cannot be read: {error}"))
        };
        let version: Version = serde_json::from_slice(content).map_err(not_one)?;
        if version.format != FORMAT {
            let problem = format!("its format is `{}`", version.format);
            return Err(BundleError::NotABundle(problem));
        }
        if version.version > VERSION {
            return Err(BundleError::TooNew {
                found: version.version,
                known: VERSION,
            });
        }
        let manifest: Self = serde_json::from_slice(content).map_err(not_one)?;
        manifest.check().map_err(BundleError::Refused)?;
        Ok(manifest)
    }

    fn check(&self) -> Result<(), String> {
        let mut seen = HashSet::new();
        for one in &self.threads {
            let thread = one.thread;
            if !seen.insert(thread) {
                return Err(format!("thread `{thread}` is in it twice"));
            }
            if (one.status == Status::Active) != one.completed_at.is_none() {
                return Err(format!(
                    "the status of thread `{thread}` contradicts its end"
                ));
            }
            // Without a change, this compares the number of labels with the limit.
            let mut naming = one.naming.clone();
            naming
                .change(thread, &[])
                .map_err(|error| error.to_string())?;
            if one.replaced.iter().any(|step| step.in_thread != thread) {
                return Err(format!(
                    "thread `{thread}` has replaced steps of another thread"
                ));
            }
            if one.record.has_impossible_sum() {
                return Err(format!(
                    "thread `{thread}` is not sound: no run can have used up so much, or less than nothing"
                ));
            }
            if one.record.has_impossible_number() {
                return Err(format!(
                    "thread `{thread}` is not sound: an attempt has a number that no attempt can have"
                ));
            }
        }
        Ok(())
    }
}

impl Travelling {
    /// Returns how the thread ended, if it did.
    pub(crate) fn end(&self) -> Option<HistoryRecord> {
        let reason = match self.status {
            Status::Active => return None,
            Status::Completed => Reason::Completed,
            Status::Cancelled => Reason::Cancelled,
        };
        Some(HistoryRecord {
            thread: self.thread,
            workflow: self.workflow,
            head: self.head,
            completed_at: self.completed_at?,
            reason,
        })
    }

    /// Returns the nodes that must be in the store for the thread to be read.
    pub(crate) fn needed(&self) -> Vec<CasRef> {
        let replaced = self.replaced.iter().map(|step| step.replaced);
        [self.head, self.workflow]
            .into_iter()
            .chain(replaced)
            .collect()
    }

    /// Returns the other nodes that belong to the thread, which may be missing.
    pub(crate) fn useful(&self) -> Vec<CasRef> {
        let by = self.replaced.iter().map(|step| step.by);
        by.chain(self.record.nodes()).collect()
    }
}

impl From<Reason> for Status {
    fn from(reason: Reason) -> Self {
        match reason {
            Reason::Completed => Self::Completed,
            Reason::Cancelled => Self::Cancelled,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREAD: &str = r#"{"thread":"01J7K9Z000000000000000000A","workflow":"CTS5P6RD8HMCS","head":"0123456789012","status":"active"}"#;

    fn refused(threads: &str) -> String {
        let text =
            format!(r#"{{"format":"uwf-bundle","version":1,"nodes":0,"threads":[{threads}]}}"#);
        match Manifest::parse(text.as_bytes()) {
            Ok(_) => String::new(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_manifest_is_read_back_and_may_have_more_keys() {
        let later = THREAD.replace(r#""status""#, r#""later":1,"status""#);
        assert_eq!(refused(&later), "");
        let thread = serde_json::from_str(THREAD).unwrap();
        let manifest = Manifest::new(3, vec![thread]);
        let text = serde_json::to_vec(&manifest).unwrap();
        assert_eq!(Manifest::parse(&text).unwrap(), manifest);
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        assert!(refused(&format!("{THREAD},{THREAD}")).contains("twice"));
        let ended = THREAD.replace(r#""active""#, r#""active","completedAt":3"#);
        assert!(refused(&ended).contains("contradicts its end"));
        assert!(refused(&THREAD.replace("active", "completed")).contains("contradicts its end"));
        let foreign = r#""active","replaced":[{"replaced":"0123456789012","by":"0123456789012","inThread":"01J7K9Z000000000000000000B","replacedAt":1}]"#;
        let foreign = THREAD.replace(r#""active""#, foreign);
        assert!(refused(&foreign).contains("of another thread"));
    }

    #[test]
    fn another_format_and_a_newer_version_are_told_apart() {
        let parse = |text: &str| Manifest::parse(text.as_bytes()).unwrap_err();
        let other = parse(r#"{"format":"x","version":1}"#);
        assert!(matches!(other, BundleError::NotABundle(_)), "{other}");
        let newer = parse(r#"{"format":"uwf-bundle","version":2,"later":[]}"#);
        assert!(
            matches!(newer, BundleError::TooNew { found: 2, .. }),
            "{newer}"
        );
        assert!(matches!(parse("{"), BundleError::NotABundle(_)));
    }
}
