//! The way of a thread through its workflow: which edges it took how often, and where it stands.

use std::collections::HashMap;

use uwf_moderator::{EdgeKey, EdgeName, Passage, passages};
use uwf_protocol::chain::{ChainSummary, Visits};
use uwf_protocol::ids::{CasRef, RoleName, ThreadId};
use uwf_protocol::program::Program;
use uwf_protocol::workflow::{Destination, reserved};
use uwf_thread::read_program;

use super::{
    GraphEdge, GraphThread, GraphView, NodeKind, PathEntry, Standing, edge, graph_of, pipeline,
    plain_node, rank,
};
use crate::read::history::History;
use crate::read::show::show;
use crate::read::thread_state::{HeldBy, ThreadState, ThreadStatus};
use crate::{EngineError, Site};

/// Returns the graph of the workflow that a thread runs, with the thread's way.
///
/// # Errors
/// When the thread is unknown, or its chain cannot be read.
pub fn thread_graph(site: &Site, id: ThreadId) -> Result<GraphView, EngineError> {
    with_way(site, id, &History::read(site, id)?)
}

/// Returns the same, but with the way of the newest steps only, at most so many. How often the thread was at each role is known
/// all the same.
///
/// # Errors
/// When the thread is unknown, or its chain cannot be read.
pub fn thread_graph_of_newest(
    site: &Site,
    id: ThreadId,
    most: usize,
) -> Result<GraphView, EngineError> {
    with_way(site, id, &History::newest(site, id, most)?)
}

/// Returns the graph of the workflow that a thread runs, with the way of these steps.
fn with_way(site: &Site, id: ThreadId, history: &History) -> Result<GraphView, EngineError> {
    let program = read_program(&site.store, history.start.workflow)?;
    let shown = show(site, id)?;
    let outputs = history.outputs(&site.store)?;
    // The thread may have gone on since its chain was read.
    let last = history.steps.last().map(|step| &step.node.role);
    let next = destination(&shown.state, last).filter(|_| shown.head == history.head);
    let mut passages = passages(&program, &history.answers(&outputs), next.as_ref());
    let is_whole = history.summary.is_none();
    if !is_whole && !passages.is_empty() {
        // It would lead from the start to a step that did not follow it.
        passages.remove(0);
    }
    let mut view = graph_of(&site.store, history.start.workflow, &program);
    let keys = match &program {
        Program::Pipeline(pipeline) => {
            let standing = standing(&shown.state, history);
            pipeline::mark(&mut view, pipeline, history, &outputs, standing)
        }
        Program::Graph(_) => {
            mark_edges(&mut view, &passages);
            mark_nodes(&mut view, history, &passages, &shown.state);
            let edges = passages.iter().map(|passage| passage.edge.as_ref());
            edges.map(|edge| edge.map(EdgeName::to_key)).collect()
        }
    };
    let start = is_whole.then(|| (history.start_hash, reserved::START.to_owned()));
    let steps = history.steps.iter();
    let steps = steps.map(|step| (step.hash, step.node.role.to_string()));
    let places = start.into_iter().chain(steps);
    let entry = |(place, (hash, role)): (usize, (CasRef, String))| PathEntry {
        hash,
        role,
        edge: keys.get(place).cloned().flatten(),
    };
    view.thread = Some(GraphThread {
        thread: id,
        head: history.head,
        status: shown.state.status,
        current_role: shown.state.current_role,
        suspended_role: shown.state.suspended_role,
        suspend_message: shown.state.suspend_message,
        blocked_reason: shown.blocked_reason,
        hidden: history.hidden(),
        path: places.enumerate().map(entry).collect(),
    });
    Ok(view)
}

/// Returns where a thread stands after its head, if its state tells. `last` is the role of the head.
fn destination(state: &ThreadState, last: Option<&RoleName>) -> Option<Destination> {
    let role = |role: &Option<RoleName>| role.clone().map(Destination::Role);
    match state.status {
        ThreadStatus::Completed => Some(Destination::End),
        // The route of an active thread that has no next role is `$END`.
        ThreadStatus::Idle => Some(role(&state.current_role).unwrap_or(Destination::End)),
        ThreadStatus::Failed | ThreadStatus::Waiting => role(&state.current_role),
        ThreadStatus::Suspended | ThreadStatus::Paused if state.held_by.is_some() => {
            role(&state.suspended_role)
        }
        ThreadStatus::Suspended => Some(Destination::Suspend),
        ThreadStatus::Paused if state.suspended_role.is_some() => Some(Destination::Suspend),
        ThreadStatus::Paused => role(&state.current_role),
        // A role that runs after its own step may be doing that step again, or was answered.
        ThreadStatus::Running if state.current_role.as_ref() == last => None,
        ThreadStatus::Running => role(&state.current_role),
        ThreadStatus::Blocked | ThreadStatus::Cancelled | ThreadStatus::Corrupt => None,
    }
}

/// Counts how often each edge was taken. An edge that the workflow does not have is added if the thread took it.
fn mark_edges(view: &mut GraphView, passages: &[Passage]) {
    let mut taken: HashMap<String, u64> = HashMap::new();
    for passage in passages {
        for name in passage.edge.iter().chain(&passage.reentry) {
            let key = name.to_key();
            if !taken.contains_key(&key) {
                add_undeclared(view, name, passage.to.as_ref());
            }
            *taken.entry(key).or_insert(0) += 1;
        }
    }
    for edge in &mut view.edges {
        edge.taken = Some(taken.get(&edge.key).copied().unwrap_or(0));
    }
}

/// Adds an edge that a thread took, unless the workflow has it. Only a suspension by an answer needs no edge.
fn add_undeclared(view: &mut GraphView, name: &EdgeName, to: Option<&Destination>) {
    let key = name.to_key();
    let (Some(to), EdgeKey::Status(status)) = (to, &name.key) else {
        return;
    };
    if view.edges.iter().any(|edge| edge.key == key) {
        return;
    }
    view.edges.push(GraphEdge {
        status: Some(status.to_string()),
        declared: false,
        ..edge(&name.from, name.key.clone(), to)
    });
    if view.nodes.iter().all(|node| node.name != to.as_str()) {
        view.nodes.push(plain_node(to.as_str(), NodeKind::Suspend));
        view.nodes.sort_by_key(|node| rank(node.kind));
    }
}

/// Counts the visits of each node, and tells where the thread stands.
fn mark_nodes(view: &mut GraphView, history: &History, passages: &[Passage], state: &ThreadState) {
    let count = |to: &Destination| count(passages.iter().filter(|one| one.to.as_ref() == Some(to)));
    let entries = 1 + count_reentries(passages);
    let standing = standing(state, history);
    for node in &mut view.nodes {
        let steps = history.steps.iter();
        let mut steps = steps.filter(|step| step.node.role.as_str() == node.name);
        node.visits = Some(match node.kind {
            NodeKind::Start => entries,
            NodeKind::Role => match &history.summary {
                Some(summary) => visits_of(summary, &node.name).map_or(0, |visits| visits.count),
                None => self::count(steps.clone()),
            },
            NodeKind::End => count(&Destination::End),
            NodeKind::Suspend => count(&Destination::Suspend),
        });
        if node.kind == NodeKind::Role {
            let earlier = history.summary.as_ref();
            let earlier = earlier.and_then(|summary| visits_of(summary, &node.name));
            let last = steps.next_back().map(|step| step.hash);
            node.last_step = last.or(earlier.map(|visits| visits.last));
        }
        let here = standing.as_ref().filter(|(name, _)| *name == node.name);
        node.standing = here.map(|(_, standing)| *standing);
    }
}

/// Returns the visits of a node's role.
fn visits_of<'a>(summary: &'a ChainSummary, node: &str) -> Option<&'a Visits> {
    let mut visits = summary.visits.iter();
    visits.find_map(|(role, visits)| (role.as_str() == node).then_some(visits))
}

fn count<T>(items: impl Iterator<Item = T>) -> u64 {
    items.fold(0, |count, _| count + 1)
}

fn count_reentries(passages: &[Passage]) -> u64 {
    count(passages.iter().filter(|passage| passage.reentry.is_some()))
}

/// Returns the node where a thread stands, and how.
fn standing(state: &ThreadState, history: &History) -> Option<(String, Standing)> {
    let current = |standing| Some((state.current_role.as_ref()?.to_string(), standing));
    let end = Some((reserved::END.to_owned(), Standing::Done));
    let waiting = state.suspended_role.as_ref();
    let waiting = waiting.map(|role| (role.to_string(), Standing::Waiting));
    match state.status {
        ThreadStatus::Idle => current(Standing::Next).or(end),
        ThreadStatus::Running => current(Standing::Running),
        ThreadStatus::Failed | ThreadStatus::Waiting => current(Standing::Failed),
        ThreadStatus::Suspended if state.held_by == Some(HeldBy::Failure) => {
            waiting.map(|(role, _)| (role, Standing::Failed))
        }
        ThreadStatus::Suspended => waiting,
        ThreadStatus::Paused => current(Standing::Next).or(waiting),
        ThreadStatus::Blocked => {
            let last = history.steps.last();
            let node = last.map(|step| step.node.role.to_string());
            let node = node.unwrap_or_else(|| reserved::START.to_owned());
            Some((node, Standing::Blocked))
        }
        ThreadStatus::Completed => end,
        ThreadStatus::Cancelled | ThreadStatus::Corrupt => None,
    }
}
