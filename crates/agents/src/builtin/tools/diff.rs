//! The tool that shows what has changed in the working directory since the step began.

use serde::Deserialize;
use serde_json::{Value, json};
use uwf_agent_kit::changes;
use uwf_protocol::config::Snapshots;
use uwf_util::text::counted;

use super::MAX_SHOWN;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Diff {}

/// What the tool needs to know.
pub(in crate::builtin) struct DiffOf<'a> {
    pub(in crate::builtin) task: &'a uwf_agent_kit::Task,
    pub(in crate::builtin) snapshots: &'a Snapshots,
    /// A folder that is not shown.
    pub(in crate::builtin) hidden: &'a std::path::Path,
}

impl Diff {
    pub(super) const DESCRIPTION: &str = "Shows what has changed in the files of the working directory since your step began, \
        as a patch. It works in a git repository only.";

    pub(super) fn parameters() -> Value {
        json!({ "type": "object", "properties": {}, "required": [], "additionalProperties": false })
    }

    pub(super) fn run(of: &DiffOf<'_>) -> Result<String, String> {
        // A character has four bytes at most.
        let most = 4 * MAX_SHOWN as u64;
        let patch = changes(of.task, of.snapshots, of.hidden, most)?;
        let (patch, length) = patch.ok_or(
            "the files are not recorded: the working directory is in no git repository, or snapshots are off",
        )?;
        // Secrets go before anything is cut.
        let text = of.task.masks.text(&String::from_utf8_lossy(&patch));
        let shown: String = text.chars().take(MAX_SHOWN).collect();
        let unread = length.saturating_sub(patch.len() as u64);
        let more = unread + (text.len() - shown.len()) as u64;
        Ok(match (length, more) {
            (0, _) => "(nothing has changed)".to_owned(),
            (_, 0) => shown,
            (_, more) => format!("{shown}\n[cut here; {} more]", counted(more, "byte")),
        })
    }
}
