//! The workflow model: roles with their answer schemas, and a graph that says who comes next.
//!
//! The model is the result of parsing. The moderator decides whether a graph makes sense; `workflow_yaml` and
//! `workflow_stored` know how a workflow is written.

use std::num::NonZeroU32;

use std::collections::HashSet;
use std::fmt;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::checks::Checks;
use crate::ids::{CasRef, RoleName, Status};
use crate::limits::Limits;
use crate::policy::{ContextPolicy, ExtractPolicy, SessionPolicy};
use crate::work::Work;
use crate::workspace::WorkspaceMode;

/// The reserved names of a graph.
pub mod reserved {
    /// The entry of a graph.
    pub const START: &str = "$START";
    /// The target that completes the thread.
    pub const END: &str = "$END";
    /// The target that suspends the thread until a person answers.
    pub const SUSPEND: &str = "$SUSPEND";
}

/// A workflow. `S` stands for another node: in a stored workflow it is a reference. In a parsed file it is what was written
/// there, such as the JSON Schema of a role's answer itself.
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
    /// When a model judges a thread, if the workflow says so.
    pub supervisor: Option<WorkflowSupervisor>,
    /// How much of what happened the prompts of its roles show, as far as the workflow says it.
    pub context: ContextPolicy,
    /// Where the agents of a thread work, if the workflow says so.
    pub workspace: Option<WorkspaceMode>,
}

impl<S> Workflow<S> {
    /// Returns its limits by their names, and the keys of its supervisor and its context as `supervisor.<key>` and
    /// `context.<key>`.
    #[must_use]
    pub fn limits_by_name(&self) -> IndexMap<String, Value> {
        let entries = |value: Result<Value, serde_json::Error>| match value {
            Ok(Value::Object(entries)) => entries,
            Ok(_) | Err(_) => Map::new(),
        };
        let limits = entries(serde_json::to_value(&self.limits));
        let below = |name: &'static str, value| {
            let entries = entries(value).into_iter();
            entries.map(move |(key, value)| (format!("{name}.{key}"), value))
        };
        let supervisor = below("supervisor", serde_json::to_value(&self.supervisor));
        let context = below("context", serde_json::to_value(self.context));
        limits
            .into_iter()
            .chain(supervisor)
            .chain(context)
            .collect()
    }
}

/// When a model judges the threads of a workflow, and which one does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkflowSupervisor {
    /// It judges each time when so many more steps are done.
    pub every: NonZeroU32,
    /// The alias of the model in the config; the config chooses if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// One role: a task, who does it, and the schema of the answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Role<S = CasRef> {
    /// What the role is for, for people; agents do not see it.
    pub description: String,
    /// Who the agent is, and what it is to achieve.
    pub goal: String,
    /// Skills that the agent should bring.
    pub capabilities: Vec<String>,
    /// How the work is done.
    pub procedure: String,
    /// A description of what the answer must contain.
    pub output: String,
    /// The JSON Schema of the answer: `meta` or `frontmatter` in YAML.
    pub schema: S,
    /// How the data may be extracted from the answer, if the workflow says so.
    pub extract: Option<ExtractPolicy>,
    /// The commands that must succeed before an answer counts. Only roles that an agent plays have them.
    pub checks: Option<Checks>,
    /// Which session its agent gets on a later visit; [`SessionPolicy::Keep`] if absent.
    pub session: Option<SessionPolicy>,
    /// How much of what happened its prompt shows, as far as the role says it.
    pub context: ContextPolicy,
    /// Who does the work.
    pub work: Work<S>,
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

/// Returns why a text cannot be the name of a workflow.
#[must_use]
pub fn name_problem(name: &str) -> Option<&'static str> {
    if name.trim() != name || name.is_empty() {
        Some("is empty or has blanks around it")
    } else if name.contains(['/', '\\']) || name.chars().any(char::is_control) {
        Some("has a slash or a control character")
    } else if name == "." || name == ".." {
        Some("means a folder")
    } else if name.parse::<CasRef>().is_ok() {
        Some("looks like a hash, so that the workflow could not be found by it")
    } else {
        None
    }
}

impl<S> Workflow<S> {
    /// Returns the nodes of the graph in breadth-first order from `$START`. Unreachable nodes come last.
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
                for (target, _) in targets.into_iter().flatten() {
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

    /// Returns the templates of the directories in which a role works, one for each edge that leads to it; `None` is the
    /// thread's own.
    pub fn locations<'w>(&'w self, role: &'w RoleName) -> impl Iterator<Item = Option<&'w str>> {
        let targets = self.graph.values().flat_map(Edges::targets);
        targets.filter_map(move |(to, location)| match to {
            Destination::Role(name) if name == role => Some(location),
            Destination::Role(_) | Destination::End | Destination::Suspend => None,
        })
    }
}

impl Edges {
    /// Returns where the edges lead, and the templates of the directories there, in their order.
    fn targets(&self) -> Vec<(&Destination, Option<&str>)> {
        match self {
            Self::ByStatus(targets) => targets
                .values()
                .map(|target| (&target.to, target.location.as_deref()))
                .collect(),
            Self::InOrder(edges) => edges
                .iter()
                .map(|edge| (&edge.to, edge.location.as_deref()))
                .collect(),
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

/// A problem of a workflow and its place. The place is the path of keys from the root of the document, such as
/// `["graph", "writer", "done", "prompt"]`; a list item is named by its index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The keys that lead to the place.
    pub path: Vec<String>,
    /// What is wrong, in lower case and without a full stop.
    pub message: String,
    /// Whether the workflow can be used nevertheless.
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
