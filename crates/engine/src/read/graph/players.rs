//! The graphs inside of a graph: those of the workflows and roles that play a role in child threads.

use serde::Serialize;
use uwf_cas_fs::Store;
use uwf_pipeline::Pipeline;
use uwf_protocol::ids::{CasRef, RoleName};
use uwf_protocol::program::Program;
use uwf_protocol::work::{Branches, BranchesOf, List, Player, Work};
use uwf_protocol::workflow::Workflow;
use uwf_thread::read_program;

use super::{GraphEdge, GraphNode, edges, nodes, pipeline, role_node};

/// How many graphs may be in one another. Below, a workflow has only its name.
const MOST_DEPTH: usize = 5;
/// How many nodes all graphs inside of a graph may have together. A workflow with more has only its name.
const MOST_NODES: usize = 1_000;

/// Who does a role, or a branch of it, in child threads.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct GraphPlayer {
    /// The name of the branch, if it is one of a fixed set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Whether there is a branch for each item of a list.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub each: bool,
    /// How many items the list has, if the workflow itself has the list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<usize>,
    /// The workflow; `None` if it is a role of the same workflow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow: Option<CasRef>,
    /// The name of that workflow; `None` if it cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The nodes of its graph, or the role alone. None if they would be too many.
    pub nodes: Vec<GraphNode>,
    /// The edges of its graph.
    pub edges: Vec<GraphEdge>,
}

/// Reads the graphs inside of a graph.
pub(super) struct Inside<'a> {
    store: &'a Store,
    depth: usize,
    nodes_left: usize,
}

impl<'a> Inside<'a> {
    pub(super) fn new(store: &'a Store) -> Self {
        Self {
            store,
            depth: 0,
            nodes_left: MOST_NODES,
        }
    }

    /// Returns who does the work of a role in child threads; nobody if an agent does it.
    pub(super) fn players(&mut self, workflow: &Workflow, work: &Work) -> Vec<GraphPlayer> {
        let branches = match work {
            Work::Agent => return Vec::new(),
            Work::Workflow(played) => return vec![self.workflow(played.workflow)],
            Work::Branches(branches) => branches,
        };
        match &branches.of {
            BranchesOf::Each { list, player } => vec![GraphPlayer {
                each: true,
                count: match list {
                    List::Items(items) => Some(items.len()),
                    List::Expression(_) => None,
                },
                ..self.player(workflow, player)
            }],
            BranchesOf::Named(named) => {
                let players = named.iter().map(|(name, branch)| GraphPlayer {
                    key: Some(name.clone()),
                    ..self.player(workflow, &branch.player)
                });
                players.collect()
            }
        }
    }

    fn player(&mut self, workflow: &Workflow, player: &Player) -> GraphPlayer {
        match player {
            Player::Workflow(hash) => self.workflow(*hash),
            Player::Role(role) => GraphPlayer {
                nodes: vec![role_node(workflow, role)],
                ..GraphPlayer::default()
            },
        }
    }

    fn pipeline(&mut self, hash: CasRef, program: &Pipeline) -> GraphPlayer {
        let view = pipeline::view(hash, program);
        let named = GraphPlayer {
            workflow: Some(hash),
            name: Some(view.name),
            ..GraphPlayer::default()
        };
        let count = view.nodes.len();
        if self.depth >= MOST_DEPTH || count > self.nodes_left {
            return named;
        }
        self.nodes_left -= count;
        GraphPlayer {
            nodes: view.nodes,
            edges: view.edges,
            ..named
        }
    }

    fn workflow(&mut self, hash: CasRef) -> GraphPlayer {
        let unknown = GraphPlayer {
            workflow: Some(hash),
            ..GraphPlayer::default()
        };
        let workflow = match read_program(self.store, hash) {
            Ok(Program::Graph(workflow)) => workflow,
            Ok(Program::Pipeline(program)) => return self.pipeline(hash, &program),
            Err(_) => return unknown,
        };
        let named = GraphPlayer {
            name: Some(workflow.name.clone()),
            ..unknown
        };
        let count = workflow.roles.len();
        if self.depth >= MOST_DEPTH || count > self.nodes_left {
            return named;
        }
        self.nodes_left -= count;
        self.depth += 1;
        let player = GraphPlayer {
            nodes: nodes(&workflow, self),
            edges: edges(&workflow),
            ..named
        };
        self.depth -= 1;
        player
    }
}

/// Tells whether a role plays branches of another role.
pub(super) fn plays_branches(workflow: &Workflow, role: &RoleName) -> bool {
    let branches = workflow.roles.values().filter_map(|one| match &one.work {
        Work::Branches(branches) => Some(branches),
        Work::Agent | Work::Workflow(_) => None,
    });
    let mut players = branches.flat_map(Branches::players);
    players.any(|player| matches!(player, Player::Role(name) if name == role))
}
