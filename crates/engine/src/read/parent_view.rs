//! The parent of a child thread, as the view of the child shows it.

use serde::Serialize;
use serde_json::Value;
use uwf_moderator::Route;
use uwf_protocol::child::Parent;
use uwf_protocol::ids::ThreadId;
use uwf_protocol::nodes::StartNode;
use uwf_protocol::work::{Branches, BranchesOf, Work};

use crate::Site;
use crate::children::{parent_of, planned, taken_up};
use crate::read::branch::Branch;
use crate::thread::Thread;

/// The parent of a child thread, and the item that the child is about.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ParentView {
    /// The parent, the role that the child plays, and the branch.
    #[serde(flatten)]
    pub parent: Parent,
    /// The item of the branch, if the branches are made from a list and it can be found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<Value>,
}

impl ParentView {
    /// Returns the view of a thread's parent; `None` if the thread is no child.
    pub(crate) fn of(site: &Site, thread: ThreadId, start: &StartNode) -> Option<Self> {
        let parent = parent_of(thread, start)?.clone();
        Some(Self {
            item: item_of(site, &parent),
            parent,
        })
    }

    /// Returns the branch that the child is.
    #[must_use]
    pub fn branch(&self) -> Branch {
        Branch {
            key: self.parent.key.clone(),
            item: self.item.clone(),
        }
    }
}

/// Returns the item of a branch. It follows from the steps that its parent had when the branch was made.
fn item_of(site: &Site, parent: &Parent) -> Option<Value> {
    let above = Thread::load(&site.store, parent.thread, parent.head).ok()?;
    let Work::Branches(Branches {
        of: BranchesOf::Each { .. },
        ..
    }) = above.program.task(&parent.role)?.work
    else {
        return None;
    };
    let Ok(Route::To(assignment)) = taken_up::route(site, &above, None).ok()? else {
        return None;
    };
    let planned = planned(site, &above, &assignment, None).ok()?;
    let mut planned = planned.into_iter();
    planned.find(|one| one.key == parent.key)?.item
}
