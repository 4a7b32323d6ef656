//! The workflow model: roles with their answer schemas, and a graph that says who comes next.
//!
//! It holds workflows that were already taken apart into names and edges: whether a graph makes sense is
//! the moderator's to say, how a workflow is written in YAML or in the store is said elsewhere.

use std::collections::HashSet;
use std::fmt;

use indexmap::IndexMap;

use crate::ids::{CasRef, RoleName, Status};
use crate::limits::Limits;
use crate::policy::ExtractPolicy;

/// The reserved names of a graph.
pub mod reserved {
    /// The entry of a graph.
    pub const START: &str = "$START";
    /// The target that completes the thread.
    pub const END: &str = "$END";
    /// The target that suspends the thread until a person answers.
    pub const SUSPEND: &str = "$SUSPEND";
}

/// A workflow. `S` is how the schema of a role's answer is held: the JSON Schema itself while the workflow
/// is only text, a reference once it is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct Workflow<S = CasRef> {
    /// The name: the stem of the file it was written in.
    pub name: String,
    /// What the workflow is for, for people; agents do not see it.
    pub description: String,
    /// The roles in the order of the file.
    pub roles: IndexMap<RoleName, Role<S>>,
    /// The named conditions that list edges refer to.
    pub conditions: IndexMap<String, Condition>,
    /// The ways out of each node.
    pub graph: IndexMap<NodeName, Edges>,
    /// How far a thread may go by itself.
    pub limits: Limits,
}

/// One role: what an agent is told, and what it must answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Role<S = CasRef> {
    /// What the role is for, for people; agents do not see it.
    pub description: String,
    /// Who the agent is and what it is to reach.
    pub goal: String,
    /// Skills that the agent should bring.
    pub capabilities: Vec<String>,
    /// How the work is done.
    pub procedure: String,
    /// What the answer must contain, in words.
    pub output: String,
    /// The JSON Schema of the answer: `meta` or `frontmatter` in YAML.
    pub schema: S,
    /// Who may get the data out of the answer, if the workflow says so.
    pub extract: Option<ExtractPolicy>,
}

/// A named JSONata expression over the thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// What it tests, for people.
    pub description: String,
    /// The expression; true means that the edge is taken.
    pub expression: String,
}

/// A node of the graph that has ways out.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum NodeName {
    /// `$START`.
    Start,
    /// A role.
    Role(RoleName),
}

/// Where an edge leads.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Destination {
    /// To a role, which does a step.
    Role(RoleName),
    /// `$END`: the thread is completed.
    End,
    /// `$SUSPEND`: the thread waits for a person.
    Suspend,
}

/// The ways out of one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edges {
    /// The status of the last answer picks the edge.
    ByStatus(IndexMap<Status, Target>),
    /// The first edge whose condition holds is taken.
    InOrder(Vec<ListEdge>),
}

/// What a status leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Where it leads.
    pub to: Destination,
    /// The mustache template of the instruction; may be empty only towards `$END`.
    pub prompt: String,
    /// The mustache template of the agent's working directory; `None` is the thread's own.
    pub location: Option<String>,
}

/// One edge of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListEdge {
    /// Where it leads.
    pub to: Destination,
    /// The name of the condition that must hold; `None` always holds.
    pub condition: Option<String>,
    /// The mustache template of the instruction, if the edge has one.
    pub prompt: Option<String>,
    /// The mustache template of the agent's working directory; `None` is the thread's own.
    pub location: Option<String>,
}

impl<S> Workflow<S> {
    /// Returns the nodes of the graph as a thread comes to them: from `$START` on, the nearest first. Nodes that
    /// nothing leads to come last.
    #[must_use]
    pub fn nodes_in_order(&self) -> Vec<&NodeName> {
        let mut nodes = Vec::new();
        let mut seen = HashSet::new();
        for first in std::iter::once(&NodeName::Start).chain(self.graph.keys()) {
            let mut next = nodes.len();
            let first = self.graph.get_key_value(first).map(|(node, _)| node);
            nodes.extend(first.filter(|node| seen.insert(*node)));
            while let Some(node) = nodes.get(next) {
                let targets = self.graph.get(*node).map(Edges::targets);
                for target in targets.into_iter().flatten() {
                    let Destination::Role(role) = target else {
                        continue;
                    };
                    let role = NodeName::Role(role.clone());
                    let found = self.graph.get_key_value(&role).map(|(node, _)| node);
                    nodes.extend(found.filter(|node| seen.insert(*node)));
                }
                next += 1;
            }
        }
        nodes
    }
}

impl Edges {
    /// Returns where the edges lead, in their order.
    fn targets(&self) -> Vec<&Destination> {
        match self {
            Self::ByStatus(targets) => targets.values().map(|target| &target.to).collect(),
            Self::InOrder(edges) => edges.iter().map(|edge| &edge.to).collect(),
        }
    }
}

impl NodeName {
    /// Returns the name as the graph writes it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Start => reserved::START,
            Self::Role(role) => role.as_str(),
        }
    }
}

impl Destination {
    /// Returns the name as an edge writes it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Role(role) => role.as_str(),
            Self::End => reserved::END,
            Self::Suspend => reserved::SUSPEND,
        }
    }
}

impl fmt::Display for NodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One thing that is wrong with a workflow, and where: the path of keys from the root of the document,
/// for example `["graph", "writer", "done", "prompt"]`; list items are named by their index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The keys that lead to the place.
    pub path: Vec<String>,
    /// What is wrong, in lower case and without a full stop.
    pub message: String,
    /// Whether the workflow can be used all the same.
    pub severity: Severity,
}

/// How much a [`Problem`] matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// The workflow cannot be used.
    Error,
    /// The workflow can be used, and probably does not do what its author wants.
    Warning,
}

impl Problem {
    /// Returns an error at a path.
    #[must_use]
    pub fn new(path: &[&str], message: impl Into<String>) -> Self {
        Self {
            path: path.iter().map(|key| (*key).to_owned()).collect(),
            message: message.into(),
            severity: Severity::Error,
        }
    }

    /// Returns a warning at a path.
    #[must_use]
    pub fn warning(path: &[&str], message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::new(path, message)
        }
    }
}
