//! What differs between two ways to play a role, by the keys of a workflow file.

use indexmap::IndexMap;

use crate::ids::RoleName;
use crate::work::{Branch, BranchesOf, Join, List, Player, Work};

/// What a workflow file says about the work of a role, by its keys.
struct Keys<'w, S> {
    workflow: Option<&'w S>,
    returns: Option<&'w str>,
    each: Option<&'w List>,
    branches: Option<&'w IndexMap<String, Branch<S>>>,
    role: Option<&'w RoleName>,
    join: Join,
    max: Option<u64>,
}

/// Returns each key of the work, and whether both have the same there.
pub(super) fn compared<S: PartialEq>(old: &Work<S>, new: &Work<S>) -> [(&'static str, bool); 7] {
    let (old, new) = (keys(old), keys(new));
    [
        ("workflow", old.workflow == new.workflow),
        ("returns", old.returns == new.returns),
        ("each", old.each == new.each),
        ("branches", old.branches == new.branches),
        ("role", old.role == new.role),
        ("join", old.join == new.join),
        ("max", old.max == new.max),
    ]
}

fn keys<S>(work: &Work<S>) -> Keys<'_, S> {
    let none = Keys {
        workflow: None,
        returns: None,
        each: None,
        branches: None,
        role: None,
        join: Join::default(),
        max: None,
    };
    match work {
        Work::Agent => none,
        Work::Workflow(played) => Keys {
            workflow: Some(&played.workflow),
            returns: played.returns.as_deref(),
            ..none
        },
        Work::Branches(all) => {
            let both = Keys {
                join: all.join,
                max: all.max,
                ..none
            };
            match &all.of {
                BranchesOf::Each { list, player } => Keys {
                    each: Some(list),
                    workflow: match player {
                        Player::Workflow(workflow) => Some(workflow),
                        Player::Role(_) => None,
                    },
                    role: match player {
                        Player::Role(role) => Some(role),
                        Player::Workflow(_) => None,
                    },
                    ..both
                },
                BranchesOf::Named(named) => Keys {
                    branches: Some(named),
                    ..both
                },
            }
        }
    }
}
