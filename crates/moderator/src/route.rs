//! The decision: which edge is taken after the last step, and what the next role is told.

use std::cell::LazyCell;

use indexmap::IndexMap;
use serde_json::{Value, json};
use uwf_protocol::answer::{REASON_FIELD, STATUS_FIELD};
use uwf_protocol::chain::StepContext;
use uwf_protocol::ids::{RoleName, Status};
use uwf_protocol::nodes::StartNode;
use uwf_protocol::workflow::{Condition, Destination, Edges, ListEdge, NodeName, Target, Workflow};

use crate::condition::{self, History};
use crate::route_error::{EdgeKey, EdgeName, Field, RouteError};
use crate::template;

/// What a thread does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// A role does a step.
    To(Assignment),
    /// The thread waits until a person answers the role.
    Suspend {
        /// The role that asked, and that goes on when the thread is resumed.
        role: RoleName,
        /// What the person is asked.
        message: String,
    },
    /// The thread is complete.
    End,
}

/// What a role is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// Who does it.
    pub role: RoleName,
    /// The instruction; empty if the edge of a list has none.
    pub prompt: String,
    /// The agent's working directory; `None` is the thread's own.
    pub location: Option<String>,
}

/// The ways into a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// The thread begins: the edge `_` or `new` of `$START`.
    New,
    /// The thread had ended and goes on: the edge `resume` of `$START`.
    Resume,
}

/// How much of a thread [`route`] must see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HistoryNeed {
    /// The newest step is enough.
    LastStep,
    /// Every step, because a condition may look at any of them.
    All,
}

/// Returns how much of the thread decides what follows a step of this role; `None` is the beginning.
#[must_use]
pub fn history_need<S>(workflow: &Workflow<S>, last_role: Option<&RoleName>) -> HistoryNeed {
    let node = last_role.map_or(NodeName::Start, |role| NodeName::Role(role.clone()));
    match workflow.graph.get(&node) {
        // An edge without a condition is always taken, so only the first one needs a look.
        Some(Edges::InOrder(edges)) if edges.first().is_some_and(|e| e.condition.is_some()) => {
            HistoryNeed::All
        }
        Some(Edges::InOrder(_) | Edges::ByStatus(_)) | None => HistoryNeed::LastStep,
    }
}

/// Decides what follows the last of the steps, which are oldest first; without steps the thread begins.
///
/// The steps may be the last one only when [`history_need`] says so. In a status map the key that equals
/// the answer's status is taken, and nothing else, with two exceptions that rest on what
/// [`validate`](crate::validate) accepts: a lone edge `_` belongs to a role whose schema allows one status
/// at most, so it is taken whatever that status is called; and a lone edge with another name is taken when
/// the answer leaves its one possible status out. A role that answers `$SUSPEND` suspends its thread, with
/// or without an edge of that name.
///
/// # Errors
/// When the graph has no edge for the answer, a condition fails, or a template cannot be filled in.
pub fn route<S>(
    workflow: &Workflow<S>,
    start: &StartNode,
    steps: &[StepContext],
) -> Result<Route, RouteError> {
    let Some(last) = steps.last() else {
        return enter(workflow, start, steps, Entry::New);
    };
    let at = Junction {
        node: NodeName::Role(last.node.role.clone()),
        status: status_of(&last.output),
        answer: Some(&last.output),
    };
    match workflow.graph.get(&at.node) {
        Some(Edges::ByStatus(targets)) => {
            if let Some((key, target)) = target_for(targets, &at.status) {
                return at.follow(&Edge::of_target(key, target));
            }
            at.suspended_by_answer()
                .ok_or_else(|| at.unknown_status(targets))
        }
        Some(Edges::InOrder(edges)) => match at.suspended_by_answer() {
            Some(route) => Ok(route),
            None => at.follow_first(&workflow.conditions, edges, start, steps),
        },
        None => at
            .suspended_by_answer()
            .ok_or(RouteError::NoEdges { node: at.node }),
    }
}

/// Takes an edge out of `$START`: where a new thread begins, or where an ended one goes on.
///
/// # Errors
/// When `$START` has no such edge, a condition fails, or a template cannot be filled in.
pub fn enter<S>(
    workflow: &Workflow<S>,
    start: &StartNode,
    steps: &[StepContext],
    entry: Entry,
) -> Result<Route, RouteError> {
    let at = Junction {
        node: NodeName::Start,
        status: Status::unit(),
        answer: None,
    };
    match (workflow.graph.get(&at.node), entry) {
        (Some(Edges::ByStatus(targets)), Entry::New) => {
            let new = targets
                .get_key_value(&Status::unit())
                .or_else(|| targets.get_key_value(&Status::new("new")))
                .ok_or_else(|| at.unknown_status(targets))?;
            at.follow(&Edge::of_target(new.0, new.1))
        }
        (Some(Edges::InOrder(edges)), Entry::New) => {
            at.follow_first(&workflow.conditions, edges, start, steps)
        }
        (Some(Edges::ByStatus(targets)), Entry::Resume) => {
            let (key, target) = targets
                .get_key_value(&Status::new("resume"))
                .ok_or(RouteError::NoResume)?;
            at.follow(&Edge::of_target(key, target))
        }
        (Some(Edges::InOrder(_)), Entry::Resume) => Err(RouteError::NoResume),
        (None, Entry::New | Entry::Resume) => Err(RouteError::NoEdges { node: at.node }),
    }
}

/// Returns the value that an answer routes by: `$status`, else `status`, if they are text; else `_`.
#[must_use]
pub fn status_of(output: &Value) -> Status {
    let text = |key: &str| output.get(key).and_then(Value::as_str);
    text(STATUS_FIELD)
        .or_else(|| text("status"))
        .map_or_else(Status::unit, Status::new)
}

/// Returns the target of a status in a map, with the aliases that [`route`] explains.
fn target_for<'w>(
    targets: &'w IndexMap<Status, Target>,
    status: &Status,
) -> Option<(&'w Status, &'w Target)> {
    if let Some(found) = targets.get_key_value(status) {
        return Some(found);
    }
    let (key, target) = targets.first().filter(|_| targets.len() == 1)?;
    let one_way_out = key.as_str() == Status::UNIT && status.as_str() != Status::SUSPEND;
    let left_out = status.as_str() == Status::UNIT && key.as_str() != Status::SUSPEND;
    (one_way_out || left_out).then_some((key, target))
}

/// Where a thread is: the node, and the answer that decides, if a role gave one.
struct Junction<'a> {
    node: NodeName,
    status: Status,
    answer: Option<&'a Value>,
}

/// One edge of either kind.
struct Edge<'w> {
    key: EdgeKey,
    to: &'w Destination,
    prompt: Prompt<'w>,
    location: Option<&'w str>,
}

/// The instruction of an edge: a status map must have one, a list may.
#[derive(Clone, Copy)]
enum Prompt<'w> {
    Needed(&'w str),
    Optional(Option<&'w str>),
}

impl<'w> Edge<'w> {
    fn of_target(key: &Status, target: &'w Target) -> Self {
        Self {
            key: EdgeKey::Status(key.clone()),
            to: &target.to,
            prompt: Prompt::Needed(&target.prompt),
            location: target.location.as_deref(),
        }
    }

    fn of_list(index: usize, edge: &'w ListEdge) -> Self {
        Self {
            key: EdgeKey::Index(index),
            to: &edge.to,
            prompt: Prompt::Optional(edge.prompt.as_deref()),
            location: edge.location.as_deref(),
        }
    }
}

impl Junction<'_> {
    /// Takes the first edge of a list whose condition holds.
    fn follow_first(
        &self,
        conditions: &IndexMap<String, Condition>,
        edges: &[ListEdge],
        start: &StartNode,
        steps: &[StepContext],
    ) -> Result<Route, RouteError> {
        let history = LazyCell::new(|| History::new(start, steps));
        for (index, edge) in edges.iter().enumerate() {
            let holds = match &edge.condition {
                None => true,
                Some(name) => self.holds(conditions, index, name, &history)?,
            };
            if holds {
                return self.follow(&Edge::of_list(index, edge));
            }
        }
        Err(RouteError::NoMatch {
            node: self.node.clone(),
        })
    }

    fn holds(
        &self,
        conditions: &IndexMap<String, Condition>,
        index: usize,
        name: &str,
        history: &History,
    ) -> Result<bool, RouteError> {
        let edge = || self.edge_name(EdgeKey::Index(index));
        let Some(found) = conditions.get(name) else {
            return Err(RouteError::UnknownCondition {
                edge: edge(),
                condition: name.to_owned(),
            });
        };
        condition::evaluate(&found.expression, history).map_err(|problem| RouteError::Condition {
            edge: edge(),
            condition: name.to_owned(),
            problem: Box::new(problem),
        })
    }

    fn follow(&self, edge: &Edge<'_>) -> Result<Route, RouteError> {
        match edge.to {
            // What the end says is for readers of the graph: nobody gets it as an instruction.
            Destination::End => Ok(Route::End),
            Destination::Suspend => self.suspend(edge),
            Destination::Role(role) => Ok(Route::To(Assignment {
                role: role.clone(),
                prompt: self.prompt(edge)?.unwrap_or_default(),
                location: self.optional(edge, Field::Location, edge.location)?,
            })),
        }
    }

    fn suspend(&self, edge: &Edge<'_>) -> Result<Route, RouteError> {
        let NodeName::Role(role) = &self.node else {
            return Err(RouteError::SuspendAtStart {
                edge: self.edge_name(edge.key.clone()),
            });
        };
        let message = self.prompt(edge)?.unwrap_or_else(|| unexplained(role));
        Ok(Route::Suspend {
            role: role.clone(),
            message,
        })
    }

    /// Returns the suspension that a role asked for by itself, in its answer.
    fn suspended_by_answer(&self) -> Option<Route> {
        let NodeName::Role(role) = &self.node else {
            return None;
        };
        if self.status.as_str() != Status::SUSPEND {
            return None;
        }
        let reason = self.answer.and_then(|answer| answer.get(REASON_FIELD));
        let message = reason.map(template::text_of).unwrap_or_default();
        Some(Route::Suspend {
            role: role.clone(),
            message: if message.trim().is_empty() {
                unexplained(role)
            } else {
                message
            },
        })
    }

    fn prompt(&self, edge: &Edge<'_>) -> Result<Option<String>, RouteError> {
        match edge.prompt {
            Prompt::Needed(source) => self.render(edge, Field::Prompt, source).map(Some),
            Prompt::Optional(source) => self.optional(edge, Field::Prompt, source),
        }
    }

    /// Fills in a template that may be left out; one that is there must not come out empty.
    fn optional(
        &self,
        edge: &Edge<'_>,
        field: Field,
        source: Option<&str>,
    ) -> Result<Option<String>, RouteError> {
        match source {
            Some(source) if !source.trim().is_empty() => self.render(edge, field, source).map(Some),
            Some(_) | None => Ok(None),
        }
    }

    fn render(&self, edge: &Edge<'_>, field: Field, source: &str) -> Result<String, RouteError> {
        let edge_name = || self.edge_name(edge.key.clone());
        let parsed = template::parse(source).map_err(|problem| RouteError::Template {
            edge: edge_name(),
            field,
            template: source.to_owned(),
            problem: Box::new(problem),
        })?;
        // `$status` can always be used: where the answer has none, it is what was routed by.
        let routed = json!({ STATUS_FIELD: self.status });
        let views: Vec<&Value> = [Some(&routed), self.answer].into_iter().flatten().collect();
        let text = parsed
            .render(&views)
            .map_err(|problem| RouteError::Render {
                edge: edge_name(),
                field,
                template: source.to_owned(),
                problem: Box::new(problem),
            })?;
        if text.trim().is_empty() {
            return Err(RouteError::Blank {
                edge: edge_name(),
                field,
                template: source.to_owned(),
            });
        }
        Ok(text)
    }

    fn edge_name(&self, key: EdgeKey) -> EdgeName {
        EdgeName {
            from: self.node.clone(),
            key,
        }
    }

    fn unknown_status(&self, targets: &IndexMap<Status, Target>) -> RouteError {
        RouteError::UnknownStatus {
            node: self.node.clone(),
            status: self.status.clone(),
            known: targets.keys().cloned().collect(),
        }
    }
}

/// Returns what a person reads when a role suspended its thread and did not say why.
fn unexplained(role: &RoleName) -> String {
    format!("the role `{role}` waits for an answer and gave no reason")
}
