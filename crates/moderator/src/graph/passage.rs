//! Which edges a thread took, as far as its steps tell.
//!
//! In a status map the answer tells the edge. In a list, conditions decided; they are not evaluated again, because they may
//! take long, and the next step tells where the thread went. If several edges lead there, nothing tells which one it was.

use serde_json::Value;
use uwf_protocol::ids::{RoleName, Status};
use uwf_protocol::workflow::{Destination, Edges, ListEdge, NodeName, Workflow};

use crate::graph::{NEW, RESUME, status_of, target_for};
use crate::route_error::{EdgeKey, EdgeName};

/// How a thread went on from its start or from a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// The edge that it took; `None` if that is unknown.
    pub edge: Option<EdgeName>,
    /// Where that edge leads.
    pub to: Option<Destination>,
    /// The edge of `$START` by which the thread entered its workflow again, if it ended here and went on later.
    pub reentry: Option<EdgeName>,
}

/// Returns the passage from the start of a thread, then that from each of its steps. `next` is where the thread stands after
/// the last one, if it is known.
#[must_use]
pub fn passages<S>(
    workflow: &Workflow<S>,
    steps: &[(&RoleName, &Value)],
    next: Option<&Destination>,
) -> Vec<Passage> {
    let nodes = std::iter::once(ChainNode::Start).chain(steps.iter().map(|(role, output)| {
        ChainNode::Step {
            role,
            status: status_of(output),
        }
    }));
    let roles = steps
        .iter()
        .map(|(role, _)| Destination::Role((*role).clone()));
    let mut followed_by: Vec<Option<Destination>> = roles.map(Some).collect();
    let is_followed = followed_by.len();
    followed_by.push(next.cloned());
    let followed = followed_by.iter().enumerate();
    nodes
        .zip(followed)
        .map(|(node, (nth, next))| node.passage(workflow, next.as_ref(), nth < is_followed))
        .collect()
}

/// The start of a thread, or one of its steps.
enum ChainNode<'a> {
    Start,
    Step { role: &'a RoleName, status: Status },
}

impl ChainNode<'_> {
    /// Returns the passage to the next step, or to where the thread stands.
    fn passage<S>(
        &self,
        workflow: &Workflow<S>,
        next: Option<&Destination>,
        has_step: bool,
    ) -> Passage {
        let reentry = reentry(workflow);
        let reenters = |to: Option<&Destination>| {
            let (edge, role) = reentry.as_ref()?;
            (has_step && to == Some(&Destination::End) && next == Some(role)).then(|| edge.clone())
        };
        let fits = |to: &Destination| {
            let Some(next) = next else { return true };
            let answered = *to == Destination::Suspend && self.is_role(next);
            let reentered = reentry.as_ref().is_some_and(|(_, role)| role == next);
            to == next || (has_step && (answered || (reentered && !self.is_start())))
        };
        let mut possible = self.ways(workflow).into_iter().filter(|(_, to)| fits(to));
        let (edge, to) = match (possible.next(), possible.next()) {
            (Some((key, to)), None) => (Some(self.edge_name(key)), Some(to)),
            _ => (None, None),
        };
        Passage {
            reentry: reenters(to.as_ref()),
            edge,
            to,
        }
    }

    /// Returns the edges that can have been taken: one from a status map, and perhaps several from a list.
    fn ways<S>(&self, workflow: &Workflow<S>) -> Vec<(EdgeKey, Destination)> {
        let edges = workflow.graph.get(&self.node());
        let one =
            |(key, to): (&Status, &Destination)| vec![(EdgeKey::Status(key.clone()), to.clone())];
        match (self, edges) {
            (Self::Start, Some(Edges::ByStatus(targets))) => {
                let usual = targets.get_key_value(&Status::unit());
                let found = usual.or_else(|| targets.get_key_value(&Status::new(NEW)));
                found.map_or_else(Vec::new, |(key, target)| one((key, &target.to)))
            }
            (Self::Step { status, .. }, Some(Edges::ByStatus(targets))) => {
                match target_for(workflow, &self.node(), targets, status) {
                    Some((key, target)) => one((key, &target.to)),
                    None => self.suspended_by_answer(),
                }
            }
            (_, Some(Edges::InOrder(_)) | None) if self.asks() => self.suspended_by_answer(),
            (_, Some(Edges::InOrder(list))) => reachable(list),
            (_, None) => Vec::new(),
        }
    }

    /// Returns the way of an answer that suspends its thread without an edge.
    fn suspended_by_answer(&self) -> Vec<(EdgeKey, Destination)> {
        let suspend = EdgeKey::Status(Status::new(Status::SUSPEND));
        match self.asks() {
            true => vec![(suspend, Destination::Suspend)],
            false => Vec::new(),
        }
    }

    fn asks(&self) -> bool {
        matches!(self, Self::Step { status, .. } if status.as_str() == Status::SUSPEND)
    }

    fn is_start(&self) -> bool {
        matches!(self, Self::Start)
    }

    fn is_role(&self, next: &Destination) -> bool {
        match (self, next) {
            (Self::Step { role, .. }, Destination::Role(next)) => *role == next,
            _ => false,
        }
    }

    fn node(&self) -> NodeName {
        match self {
            Self::Start => NodeName::Start,
            Self::Step { role, .. } => NodeName::Role((*role).clone()),
        }
    }

    fn edge_name(&self, key: EdgeKey) -> EdgeName {
        EdgeName {
            from: self.node(),
            key,
        }
    }
}

/// Returns the edges of a list up to the first without a condition: no later edge is ever taken.
fn reachable(list: &[ListEdge]) -> Vec<(EdgeKey, Destination)> {
    let last = list.iter().position(|edge| edge.condition.is_none());
    let edges = list.iter().enumerate();
    edges
        .take(last.map_or(list.len(), |last| last + 1))
        .map(|(index, edge)| (EdgeKey::Index(index), edge.to.clone()))
        .collect()
}

/// Returns the edge by which ended threads go on, and where it leads.
fn reentry<S>(workflow: &Workflow<S>) -> Option<(EdgeName, Destination)> {
    let Some(Edges::ByStatus(targets)) = workflow.graph.get(&NodeName::Start) else {
        return None;
    };
    let (key, target) = targets.get_key_value(&Status::new(RESUME))?;
    let edge = EdgeName {
        from: NodeName::Start,
        key: EdgeKey::Status(key.clone()),
    };
    Some((edge, target.to.clone()))
}
