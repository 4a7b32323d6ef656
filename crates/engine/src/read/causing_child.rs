//! The child that keeps its parent from going on, and why.

use serde::Serialize;
use uwf_protocol::ids::ThreadId;

use crate::read::branch::Branch;

/// The child that keeps its parent from going on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CausingChild {
    /// Its branch.
    #[serde(flatten)]
    pub branch: Branch,
    /// The child.
    pub thread: ThreadId,
    /// Its question, why its last attempt failed, why it is blocked, or why it is paused.
    pub reason: Option<String>,
    /// The child of the child that keeps it from going on, if one does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caused_by: Option<Box<CausingChild>>,
}

impl CausingChild {
    /// Returns the branches from the parent down to the cause, such as `0 (a.rs) / security`; nothing if there are none.
    #[must_use]
    pub fn branches(&self) -> String {
        let mut found = Vec::new();
        let mut next = Some(self);
        while let Some(child) = next {
            found.push(child.branch.to_string());
            next = child.caused_by.as_deref();
        }
        found.retain(|branch| !branch.is_empty());
        found.join(" / ")
    }

    /// Returns a text about the cause, after the branches that it comes from.
    #[must_use]
    pub fn place(&self, text: &str) -> String {
        match self.branches() {
            branches if branches.is_empty() => text.to_owned(),
            branches => format!("{branches}: {text}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn child(key: &str, caused_by: Option<CausingChild>) -> CausingChild {
        CausingChild {
            branch: Branch {
                key: key.to_owned(),
                item: None,
            },
            thread: ThreadId::new(1, 2),
            reason: None,
            caused_by: caused_by.map(Box::new),
        }
    }

    #[test]
    fn a_text_comes_after_all_branches_that_have_a_key() {
        let deep = child("a", Some(child("", Some(child("b", None)))));
        assert_eq!(deep.place("Why?"), "a / b: Why?");
        assert_eq!(child("", None).place("Why?"), "Why?");
    }
}
