//! A workflow as a graph: what drawings are made of. `way` marks the way of a thread in it.

mod pipeline;
pub(crate) mod players;
pub(crate) mod way;

use serde::Serialize;
use uwf_cas_fs::Store;
use uwf_moderator::{EdgeKey, EdgeName};
use uwf_protocol::ids::{CasRef, RoleName, ThreadId};
use uwf_protocol::program::Program;
use uwf_protocol::workflow::{Destination, Edges, NodeName, Workflow, reserved};
use uwf_thread::read_program;

use self::players::{GraphPlayer, Inside, plays_branches};
use crate::read::thread_state::ThreadStatus;
use crate::workflow_ref::{self, Found, HiddenWorkflow};
use crate::{EngineError, Site};

/// A workflow as a graph, and perhaps the way of a thread through it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GraphView {
    /// The workflow.
    pub workflow: CasRef,
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Its nodes: `$START`, the roles in the order in which a thread reaches them, then `$SUSPEND` and `$END` if edges
    /// lead there. A role to which no edge leads because it plays branches of another role is inside of that role.
    pub nodes: Vec<GraphNode>,
    /// Its edges, by the node that they leave. The order matters where conditions pick an edge.
    pub edges: Vec<GraphEdge>,
    /// The thread whose way is marked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<GraphThread>,
    /// The other workflow that is registered by the name, if a project's file was chosen in its place.
    #[serde(skip)]
    pub hidden: Option<HiddenWorkflow>,
}

/// A node of the graph.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GraphNode {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: NodeKind,
    /// What the role is for; empty for the others.
    pub description: String,
    /// What the role is told to be and to reach; empty for the others.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub goal: String,
    /// How often the thread was there: the steps of a role, or how often it started, suspended or ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub visits: Option<u64>,
    /// The newest step of the role.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_step: Option<CasRef>,
    /// How the thread stands here, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standing: Option<Standing>,
    /// Who does the role in child threads, side by side.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub played_by: Vec<GraphPlayer>,
}

/// What a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeKind {
    /// `$START`.
    Start,
    /// A role.
    Role,
    /// `$END`.
    End,
    /// `$SUSPEND`.
    Suspend,
}

/// How a thread stands at a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// The role is next.
    Next,
    /// The role is at work.
    Running,
    /// The role asks, or it is next and a limit is reached.
    Waiting,
    /// The last attempt of the role failed.
    Failed,
    /// The role answered, and no edge applies.
    Blocked,
    /// The thread is complete.
    Done,
}

/// An edge of the graph.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GraphEdge {
    /// Its key, which no other edge of the workflow has.
    pub key: String,
    /// The node that it leaves.
    pub from: String,
    /// The node that it leads to.
    pub to: String,
    /// The status that picks it, in a status map.
    pub status: Option<String>,
    /// The name of the condition that picks it, in a list.
    pub condition: Option<String>,
    /// The expression of that condition.
    pub expression: Option<String>,
    /// The template of the instruction.
    pub prompt: Option<String>,
    /// Whether the workflow has it. A role may suspend its thread without an edge.
    pub declared: bool,
    /// How often the thread took it, as far as that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taken: Option<u64>,
}

/// The way of a thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GraphThread {
    /// The thread.
    pub thread: ThreadId,
    /// Its head.
    pub head: CasRef,
    /// Its status.
    pub status: ThreadStatus,
    /// The role that is next, if one is.
    pub current_role: Option<RoleName>,
    /// The role that asks, if the thread is suspended.
    pub suspended_role: Option<RoleName>,
    /// The question, if the thread is suspended.
    pub suspend_message: Option<String>,
    /// Why it is blocked, if it is.
    pub blocked_reason: Option<String>,
    /// How many earlier steps are not in the path. Then what is known of edges is about the later ones only.
    #[serde(skip_serializing_if = "is_zero")]
    pub hidden: u64,
    /// Its start, then its steps, oldest first.
    pub path: Vec<PathEntry>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// One node of a thread's chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PathEntry {
    /// The start node, or the step.
    pub hash: CasRef,
    /// Who did the step; `$START` for the start.
    pub role: String,
    /// The key of the edge that the thread took from here; `None` if it is unknown.
    pub edge: Option<String>,
}

/// Finds a workflow as `start` does, and returns its graph. A file is checked and stored first.
///
/// # Errors
/// When there is no such workflow, or its file has errors: then with all of them.
pub fn workflow_graph(site: &Site, text: &str) -> Result<GraphView, EngineError> {
    site.create()?;
    let Found { hash, hidden, .. } = workflow_ref::resolve(site, text)?;
    let program = read_program(&site.store, hash)?;
    Ok(GraphView {
        hidden,
        ..graph_of(&site.store, hash, &program)
    })
}

/// Returns the graph of a program.
pub(super) fn graph_of(store: &Store, hash: CasRef, program: &Program) -> GraphView {
    match program {
        Program::Graph(workflow) => GraphView {
            workflow: hash,
            name: workflow.name.clone(),
            description: workflow.description.clone(),
            nodes: nodes(workflow, &mut Inside::new(store)),
            edges: edges(workflow),
            thread: None,
            hidden: None,
        },
        Program::Pipeline(pipeline) => pipeline::view(hash, pipeline),
    }
}

fn nodes(workflow: &Workflow, inside: &mut Inside<'_>) -> Vec<GraphNode> {
    let mut nodes: Vec<GraphNode> = Vec::new();
    for node in workflow.nodes_in_order() {
        nodes.push(match node {
            NodeName::Start => plain_node(reserved::START, NodeKind::Start),
            NodeName::Role(role) => role_node(workflow, role),
        });
    }
    for role in workflow.roles.keys() {
        let is_new = nodes.iter().all(|node| node.name != role.as_str());
        if is_new && !plays_branches(workflow, role) {
            nodes.push(role_node(workflow, role));
        }
    }
    for node in &mut nodes {
        let mut roles = workflow.roles.iter();
        if let Some((_, role)) = roles.find(|(name, _)| name.as_str() == node.name) {
            node.played_by = inside.players(workflow, &role.work);
        }
    }
    for edge in edges(workflow) {
        let kind = match edge.to.as_str() {
            reserved::SUSPEND => NodeKind::Suspend,
            reserved::END => NodeKind::End,
            _ => NodeKind::Role,
        };
        if nodes.iter().all(|node| node.name != edge.to) {
            nodes.push(plain_node(&edge.to, kind));
        }
    }
    nodes.sort_by_key(|node| rank(node.kind));
    nodes
}

/// Returns where nodes of a kind are listed.
fn rank(kind: NodeKind) -> u8 {
    match kind {
        NodeKind::Start => 0,
        NodeKind::Role => 1,
        NodeKind::Suspend => 2,
        NodeKind::End => 3,
    }
}

fn plain_node(name: &str, kind: NodeKind) -> GraphNode {
    GraphNode {
        name: name.to_owned(),
        kind,
        description: String::new(),
        goal: String::new(),
        visits: None,
        last_step: None,
        standing: None,
        played_by: Vec::new(),
    }
}

fn role_node(workflow: &Workflow, name: &RoleName) -> GraphNode {
    let plain = plain_node(name.as_str(), NodeKind::Role);
    match workflow.roles.get(name) {
        Some(role) => GraphNode {
            description: role.description.clone(),
            goal: role.goal.trim().to_owned(),
            ..plain
        },
        None => plain,
    }
}

fn edges(workflow: &Workflow) -> Vec<GraphEdge> {
    let mut found = Vec::new();
    for node in workflow.nodes_in_order() {
        match workflow.graph.get(node) {
            Some(Edges::ByStatus(targets)) => {
                found.extend(targets.iter().map(|(status, target)| GraphEdge {
                    status: Some(status.to_string()),
                    prompt: Some(target.prompt.clone()),
                    ..edge(node, EdgeKey::Status(status.clone()), &target.to)
                }));
            }
            Some(Edges::InOrder(list)) => {
                for (index, item) in list.iter().enumerate() {
                    let condition = item.condition.as_ref();
                    let known = condition.and_then(|name| workflow.conditions.get(name));
                    found.push(GraphEdge {
                        condition: item.condition.clone(),
                        expression: known.map(|known| known.expression.clone()),
                        prompt: item.prompt.clone(),
                        ..edge(node, EdgeKey::Index(index), &item.to)
                    });
                }
            }
            None => {}
        }
    }
    found
}

fn edge(from: &NodeName, key: EdgeKey, to: &Destination) -> GraphEdge {
    let name = EdgeName {
        from: from.clone(),
        key,
    };
    GraphEdge {
        key: name.to_key(),
        from: from.to_string(),
        to: to.to_string(),
        status: None,
        condition: None,
        expression: None,
        prompt: None,
        declared: true,
        taken: None,
    }
}
