//! Child threads: what ties a thread to the thread that it works for.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::{CasRef, RoleName, ThreadId};
use crate::limits::Used;
use crate::schemas;

/// The parent of a child thread, and what the child does for it. No two child threads have the same record, so it identifies
/// the child.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parent {
    /// The thread.
    pub thread: ThreadId,
    /// The head of that thread when the child was made: the step of the role follows it.
    pub head: CasRef,
    /// The role that the child plays, or is a branch of.
    pub role: RoleName,
    /// The branch: its name, or the index of its item; empty if the role has no branches.
    pub key: String,
    /// How many threads are above it: 1 for the child of a thread that nobody plays.
    pub depth: u64,
    /// How many children of this key were cancelled before it.
    #[serde(rename = "try", default, skip_serializing_if = "is_zero")]
    pub attempt: u64,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The detail of a step that child threads did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChildrenDetail {
    /// The children, in the order of the branches.
    pub children: Vec<EndedChild>,
    /// What all of them used up, with their failed attempts, and with the children that were killed.
    pub used: Used,
}

impl ChildrenDetail {
    /// Reads the detail of a step; `None` if no child threads did it. The visit of a step of a pipeline may name one.
    #[must_use]
    pub fn of(type_hash: CasRef, detail: &Value) -> Option<Self> {
        let mut types = schemas::DETAILS_OF_CHILDREN.iter().chain(&schemas::VISITS);
        types.find(|known| **known == type_hash)?;
        Self::deserialize(detail).ok()
    }
}

/// A child thread whose work is part of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedChild {
    /// The branch; empty if the role has no branches.
    pub key: String,
    /// The thread.
    pub thread: ThreadId,
    /// Its head at that time.
    pub head: CasRef,
    /// What it came to: its status for the parent.
    pub status: String,
    /// How many steps it did, with those of its own children.
    pub steps: u64,
}

/// What a child that has ended used up, as its parent has it on record. It holds as long as the child has this head.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UsedByEnded {
    /// The head of the child.
    pub head: CasRef,
    /// What it used up, with its failed attempts and the killed children before it.
    pub used: Used,
}

/// What a child returned that does not fit the role that it plays. It holds as long as both threads have these heads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Misfit {
    /// The head of the parent.
    pub head: CasRef,
    /// The head of the child.
    pub child: CasRef,
    /// What does not fit, for people.
    pub problem: String,
}

/// The answer of a person to a role that children do: they do it again. It holds as long as the thread has this head.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakenUp {
    /// The step that asked: the head of the thread.
    pub head: CasRef,
    /// The head that the thread had when the role began, before it asked for the first time.
    pub base: CasRef,
    /// The role.
    pub role: RoleName,
    /// What it asked.
    pub question: String,
    /// The answer; `None` means "go on".
    pub answer: Option<String>,
}
