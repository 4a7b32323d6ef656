//! The branch of a role that a child thread is, and the children of a recorded step by their branches.

use std::fmt;

use serde::Serialize;
use serde_json::Value;
use uwf_moderator::PlannedChild;
use uwf_protocol::child::EndedChild;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_util::text::cut_line;

/// The longest text of an item, in characters.
const ITEM_TEXT: usize = 60;

/// The branch of a role that a child thread is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Branch {
    /// Its name, or the index of its item; empty if the role has no branches.
    pub key: String,
    /// Its item, if the branches are made from a list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<Value>,
}

impl From<&PlannedChild> for Branch {
    fn from(planned: &PlannedChild) -> Self {
        Self {
            key: planned.key.clone(),
            item: planned.item.clone(),
        }
    }
}

/// The key with the item on one line: `0 (a.rs)`. Nothing if the role has no branches.
impl fmt::Display for Branch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.key)?;
        match &self.item {
            None => Ok(()),
            Some(Value::String(text)) => write!(f, " ({})", cut_line(text, ITEM_TEXT)),
            Some(item) => write!(f, " ({})", cut_line(&item.to_string(), ITEM_TEXT)),
        }
    }
}

/// A child thread whose work is part of a recorded step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChildOfStep {
    /// Its branch.
    #[serde(flatten)]
    pub branch: Branch,
    /// The thread.
    pub thread: ThreadId,
    /// Its head at that time.
    pub head: CasRef,
    /// What it came to: its status for the parent.
    pub status: String,
    /// How many steps it did, with those of its own children.
    pub steps: u64,
}

/// Returns the children of a step with their items. The answer of the step has the items, and not its detail.
pub(crate) fn children_of_step(
    children: Vec<EndedChild>,
    output: Option<&Value>,
) -> Vec<ChildOfStep> {
    let results = output.and_then(|output| output["results"].as_array());
    let item_of = |key: &str| {
        let mut results = results?.iter();
        let result = results.find(|one| one["key"].as_str() == Some(key))?;
        result.get("item").cloned()
    };
    let children = children.into_iter().map(|child| ChildOfStep {
        branch: Branch {
            // The answer of a role without branches is that of another workflow, which may have any field.
            item: item_of(&child.key).filter(|_| !child.key.is_empty()),
            key: child.key,
        },
        thread: child.thread,
        head: child.head,
        status: child.status,
        steps: child.steps,
    });
    children.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(key: &str, item: Option<Value>) -> String {
        let key = key.to_owned();
        Branch { key, item }.to_string()
    }

    #[test]
    fn a_branch_is_shown_by_its_key_and_its_item() {
        assert_eq!(shown("", None), "");
        assert_eq!(shown("security", None), "security");
        assert_eq!(shown("0", Some(json!("a\n.rs"))), "0 (a .rs)");
        assert_eq!(shown("1", Some(json!({ "a": 1 }))), "1 ({\"a\":1})");
    }
}
