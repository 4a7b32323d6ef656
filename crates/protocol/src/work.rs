//! Who does the work of a role: an agent, another workflow, or several branches side by side.
//!
//! Whatever is not an agent is done by *child threads*: ordinary threads whose start node names the thread, the head and the
//! role that they work for.

use indexmap::IndexMap;
use serde_json::{Value, json};

use crate::answer::STATUS_FIELD;
use crate::ids::{CasRef, RoleName, Status};
use crate::limits::Limits;
use crate::workflow::{Destination, Edges, ListEdge, NodeName, Role, Workflow};

/// The status of a role that was played to its end and says nothing else.
pub const DONE: &str = "done";
/// The status of branches of which too many failed.
pub const FAILED: &str = "failed";
/// How many items the list of a role may have.
pub const MAX_ITEMS: usize = 1_000;

/// Who does the work of a role. `S` stands for another node, as in [`Workflow`]: in a parsed file
/// it is what was written there.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Work<S = CasRef> {
    /// An agent.
    #[default]
    Agent,
    /// Another workflow, from its start to its end.
    Workflow(Played<S>),
    /// Several child threads side by side.
    Branches(Branches<S>),
}

/// A workflow that plays a role.
#[derive(Debug, Clone, PartialEq)]
pub struct Played<S = CasRef> {
    /// The workflow. In a parsed file it is a string: a name, a hash, or a path.
    pub workflow: S,
    /// A JSONata expression over `start`, `steps` and `last` of the child: the answer of the role. `None` is the data of the
    /// child's last step.
    pub returns: Option<String>,
}

/// Branches of a role, and when the role is done.
#[derive(Debug, Clone, PartialEq)]
pub struct Branches<S = CasRef> {
    /// The branches.
    pub of: BranchesOf<S>,
    /// How many of them must end well.
    pub join: Join,
    /// How many are stepped at once; `None` leaves it to the config.
    pub max: Option<u64>,
}

/// Where the branches come from.
#[derive(Debug, Clone, PartialEq)]
pub enum BranchesOf<S = CasRef> {
    /// One branch for each item of a list. Its key is the index of the item, from 0.
    Each {
        /// The list.
        list: List,
        /// Who does each of them.
        player: Player<S>,
    },
    /// A fixed set. Each has a name, which is its key.
    Named(IndexMap<String, Branch<S>>),
}

/// The items of branches.
#[derive(Debug, Clone, PartialEq)]
pub enum List {
    /// A JSONata expression over the thread.
    Expression(String),
    /// The items themselves.
    Items(Vec<Value>),
}

/// One branch of a fixed set.
#[derive(Debug, Clone, PartialEq)]
pub struct Branch<S = CasRef> {
    /// Who does it.
    pub player: Player<S>,
    /// The mustache template of its instruction; `None` is the prompt of the edge.
    pub prompt: Option<String>,
}

/// Who does a branch.
#[derive(Debug, Clone, PartialEq)]
pub enum Player<S = CasRef> {
    /// A role of the same workflow, once.
    Role(RoleName),
    /// Another workflow.
    Workflow(S),
}

/// How many branches must end well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Join {
    /// All.
    #[default]
    All,
    /// One.
    Any,
    /// This many.
    Count(u64),
}

impl Join {
    /// Returns how many of so many branches must end well.
    #[must_use]
    pub fn needed(self, branches: u64) -> u64 {
        match self {
            Self::All => branches,
            Self::Any => branches.min(1),
            Self::Count(count) => branches.min(count),
        }
    }
}

impl<S> Work<S> {
    /// Returns the work with each other node changed.
    ///
    /// # Errors
    /// The first error of `change`.
    pub fn try_map<T, E>(&self, mut change: impl FnMut(&S) -> Result<T, E>) -> Result<Work<T>, E> {
        Ok(match self {
            Self::Agent => Work::Agent,
            Self::Workflow(played) => Work::Workflow(Played {
                workflow: change(&played.workflow)?,
                returns: played.returns.clone(),
            }),
            Self::Branches(branches) => Work::Branches(Branches {
                of: match &branches.of {
                    BranchesOf::Each { list, player } => BranchesOf::Each {
                        list: list.clone(),
                        player: player.try_map(&mut change)?,
                    },
                    BranchesOf::Named(named) => {
                        let branches = named.iter().map(|(name, branch)| {
                            let branch = Branch {
                                player: branch.player.try_map(&mut change)?,
                                prompt: branch.prompt.clone(),
                            };
                            Ok((name.clone(), branch))
                        });
                        BranchesOf::Named(branches.collect::<Result<_, E>>()?)
                    }
                },
                join: branches.join,
                max: branches.max,
            }),
        })
    }

    /// Returns the other workflows that take part.
    #[must_use]
    pub fn workflows(&self) -> Vec<&S> {
        match self {
            Self::Agent => Vec::new(),
            Self::Workflow(played) => vec![&played.workflow],
            Self::Branches(branches) => branches
                .players()
                .filter_map(|player| match player {
                    Player::Role(_) => None,
                    Player::Workflow(workflow) => Some(workflow),
                })
                .collect(),
        }
    }
}

impl<S> Branches<S> {
    /// Returns who does the branches: one for all items of a list, or that of each named branch.
    pub fn players(&self) -> impl Iterator<Item = &Player<S>> {
        let (each, named) = match &self.of {
            BranchesOf::Each { player, .. } => (Some(player), None),
            BranchesOf::Named(named) => (None, Some(named.values())),
        };
        let named = named.into_iter().flatten().map(|branch| &branch.player);
        each.into_iter().chain(named)
    }
}

impl<S> Player<S> {
    fn try_map<T, E>(&self, change: &mut impl FnMut(&S) -> Result<T, E>) -> Result<Player<T>, E> {
        Ok(match self {
            Self::Role(role) => Player::Role(role.clone()),
            Self::Workflow(workflow) => Player::Workflow(change(workflow)?),
        })
    }
}

/// Returns the schema of a role that is played by a workflow and has none of its own: one of these statuses, or any if there
/// are none, and whatever the workflow returns.
#[must_use]
pub fn schema_of_played(statuses: &[Status]) -> Value {
    let mut status = json!({ "type": "string" });
    if !statuses.is_empty() {
        status["enum"] = statuses.iter().map(Status::as_str).collect();
    }
    json!({
        "type": "object",
        "required": [STATUS_FIELD],
        "properties": { STATUS_FIELD: status },
        "additionalProperties": true,
    })
}

/// Returns the schema of a role with branches: the results in the order of the branches.
#[must_use]
pub fn schema_of_branches() -> Value {
    let result = json!({
        "type": "object",
        "required": ["key", "status"],
        "properties": {
            "key": { "type": "string" },
            "item": {},
            "thread": { "type": "string" },
            "status": { "type": "string" },
            "output": {},
            "reason": { "type": "string" },
        },
        "additionalProperties": false,
    });
    json!({
        "type": "object",
        "required": [STATUS_FIELD, "count", "failed", "results"],
        "properties": {
            STATUS_FIELD: { "type": "string", "enum": [DONE, FAILED] },
            "count": { "type": "integer" },
            "failed": { "type": "integer" },
            "results": { "type": "array", "items": result },
        },
        "additionalProperties": false,
    })
}

/// Returns the workflow that a branch runs which one role of this workflow plays: that role once, then the end. Its roles are
/// those that the role needs, so a change of another one does not change it.
#[must_use]
pub fn alone(workflow: &Workflow, role: &RoleName) -> Workflow {
    let edge = |to: Destination| {
        Edges::InOrder(vec![ListEdge {
            to,
            condition: None,
            prompt: None,
            location: None,
        }])
    };
    Workflow {
        // The agents that are configured for the roles of the workflow do its branches, too.
        name: workflow.name.clone(),
        description: String::new(),
        roles: needed_by(workflow, role),
        conditions: IndexMap::new(),
        graph: IndexMap::from([
            (NodeName::Start, edge(Destination::Role(role.clone()))),
            (NodeName::Role(role.clone()), edge(Destination::End)),
        ]),
        limits: Limits::default(),
        supervisor: None,
        context: workflow.context,
        // A branch works as its parent says.
        workspace: None,
    }
}

/// Returns a role, and those that play its branches, and theirs, in the order of the workflow.
fn needed_by(workflow: &Workflow, role: &RoleName) -> IndexMap<RoleName, Role> {
    let mut needed = vec![role];
    let mut next = 0;
    while let Some(role) = needed.get(next).copied() {
        if let Some(Work::Branches(branches)) = workflow.roles.get(role).map(|role| &role.work) {
            for player in branches.players() {
                if let Player::Role(other) = player
                    && !needed.contains(&other)
                {
                    needed.push(other);
                }
            }
        }
        next += 1;
    }
    let roles = workflow
        .roles
        .iter()
        .filter(|(name, _)| needed.contains(name));
    roles
        .map(|(name, role)| (name.clone(), role.clone()))
        .collect()
}
