//! Why a thread is blocked. The messages tell the author of the workflow which line to change.

use std::fmt;

use uwf_protocol::ids::Status;
use uwf_protocol::workflow::NodeName;
use uwf_util::suggest;

use crate::condition::ConditionError;
use crate::template::{ParseError, RenderError};

/// One edge of a graph, as messages name it: `writer → done`, or `reviewer → edge 2` in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EdgeName {
    /// The node that the edge leaves.
    pub from: NodeName,
    /// Which of its edges.
    pub key: EdgeKey,
}

/// The key of an edge among the edges of its node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EdgeKey {
    /// The key in a status map.
    Status(Status),
    /// The position in a list, from 0.
    Index(usize),
}

/// The templates of an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// The instruction.
    Prompt,
    /// The working directory.
    Location,
}

impl EdgeName {
    /// Returns a name that no other edge of the workflow has, such as `writer/done`, or `reviewer/2` in a list. In the name
    /// of the node, `~` is written as `~0` and `/` as `~1`, so the first `/` ends it.
    #[must_use]
    pub fn to_key(&self) -> String {
        let from = self.from.as_str().replace('~', "~0").replace('/', "~1");
        match &self.key {
            EdgeKey::Status(status) => format!("{from}/{status}"),
            EdgeKey::Index(index) => format!("{from}/{}", index + 1),
        }
    }
}

impl fmt::Display for EdgeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.key {
            EdgeKey::Status(status) => write!(f, "{} → {status}", self.from),
            EdgeKey::Index(index) => write!(f, "{} → edge {}", self.from, index + 1),
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Prompt => "prompt",
            Self::Location => "location",
        })
    }
}

/// Why no edge of a node could be taken. The message is complete, because it is also shown and stored alone: the problem of
/// a template or a condition is part of it, and not a separate source.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RouteError {
    /// The node has no edges.
    #[error("the graph has no edges for `{node}`")]
    NoEdges {
        /// The node that the thread is at.
        node: NodeName,
    },
    /// The status of the answer is not the key of an edge.
    #[error("{}", unknown_status(.node, .status, .known))]
    UnknownStatus {
        /// The role that answered.
        node: NodeName,
        /// What it answered with; `_` if it gave no status.
        status: Status,
        /// The keys of its edges.
        known: Vec<Status>,
    },
    /// No condition of a list of edges holds, and the last edge has one.
    #[error(
        "none of the edges of `{node}` can be taken: no condition holds and the last edge has one"
    )]
    NoMatch {
        /// The node that the thread is at.
        node: NodeName,
    },
    /// The recorded steps of a run do not fit its pipeline.
    #[error("the recorded steps are not those of the pipeline: {0}")]
    Misfit(String),
    /// An edge names a condition that the workflow does not have.
    #[error(
        "the edge `{edge}` needs the condition `{condition}`, which the workflow does not define"
    )]
    UnknownCondition {
        /// The edge.
        edge: EdgeName,
        /// The name that it uses.
        condition: String,
    },
    /// A condition could not be evaluated.
    #[error("the condition `{condition}` of the edge `{edge}` failed: {problem}")]
    Condition {
        /// The edge.
        edge: EdgeName,
        /// The condition's name.
        condition: String,
        /// What went wrong.
        problem: Box<ConditionError>,
    },
    /// A template is malformed.
    #[error("the {field} of the edge `{edge}` has {problem}: `{}`", shorten(.template))]
    Template {
        /// The edge.
        edge: EdgeName,
        /// Which of its templates.
        field: Field,
        /// The template.
        template: String,
        /// What is malformed.
        problem: Box<ParseError>,
    },
    /// A template could not be filled in.
    #[error("the {field} of the edge `{edge}` cannot be filled in: {problem}: `{}`", shorten(.template))]
    Render {
        /// The edge.
        edge: EdgeName,
        /// Which of its templates.
        field: Field,
        /// The template.
        template: String,
        /// What is missing.
        problem: Box<RenderError>,
    },
    /// A template came out empty.
    #[error("the {field} of the edge `{edge}` comes out empty: `{}`", shorten(.template))]
    Blank {
        /// The edge.
        edge: EdgeName,
        /// Which of its templates.
        field: Field,
        /// The template.
        template: String,
    },
    /// An ended thread was to go on, but the workflow has no `resume` edge.
    #[error("the workflow has no `resume` edge at `$START`, so an ended thread cannot go on")]
    NoResume,
    /// The thread was to be suspended before any role ran.
    #[error("the edge `{edge}` leads to `$SUSPEND`, but no role has run that could be resumed")]
    SuspendAtStart {
        /// The edge.
        edge: EdgeName,
    },
}

/// Returns the message for a status without an edge: the status, the keys of the edges, and the nearest key.
fn unknown_status(node: &NodeName, status: &Status, known: &[Status]) -> String {
    let keys: Vec<String> = known.iter().map(|key| format!("`{key}`")).collect();
    let said = if status.as_str() == Status::UNIT {
        format!("`{node}` answered without a status, and has no edge `_`")
    } else {
        format!("`{node}` answered with the status `{status}`, which has no edge")
    };
    let edges = if keys.is_empty() {
        "it has no edges".to_owned()
    } else {
        format!("its edges are {}", keys.join(", "))
    };
    match suggest::nearest(status.as_str(), known.iter().map(Status::as_str)) {
        Some(near) => format!("{said}; {edges}; did you mean `{near}`?"),
        None => format!("{said}; {edges}"),
    }
}

/// Returns the first line of a template, cut to what fits into a message.
fn shorten(template: &str) -> String {
    const LONGEST: usize = 100;
    let mut lines = template.trim().lines();
    let line = lines.next().unwrap_or_default();
    let cut: String = line.chars().take(LONGEST).collect();
    if cut.len() < line.len() || lines.next().is_some() {
        format!("{cut}…")
    } else {
        cut
    }
}
