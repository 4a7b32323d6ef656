//! Following an edge: its condition, its templates filled in from the last answer, and suspensions.

use indexmap::IndexMap;
use serde_json::{Value, json};
use uwf_protocol::answer::{REASON_FIELD, STATUS_FIELD};
use uwf_protocol::chain::StepContext;
use uwf_protocol::ids::{RoleName, Status};
use uwf_protocol::nodes::StartNode;
use uwf_protocol::work::Work;
use uwf_protocol::workflow::{Destination, ListEdge, NodeName, Target, Workflow};

use crate::condition::{Ask, Question};
use crate::graph::status_of;
use crate::route::{Assignment, EndResult, Performer, Route};
use crate::route_error::{EdgeKey, EdgeName, Field, RouteError};
use crate::template;

/// The position of a thread in the graph: the node, and the last answer if there is one.
pub(crate) struct Position<'a> {
    pub(crate) node: NodeName,
    pub(crate) status: Status,
    pub(crate) answer: Option<&'a Value>,
}

/// One edge of either kind.
pub(crate) struct Edge<'w> {
    key: EdgeKey,
    to: &'w Destination,
    prompt: Prompt<'w>,
    location: Option<&'w str>,
}

/// The instruction of an edge: an edge of a status map must have one, an edge of a list may.
#[derive(Clone, Copy)]
enum Prompt<'w> {
    Needed(&'w str),
    Optional(Option<&'w str>),
}

impl<'w> Edge<'w> {
    pub(crate) fn of_target(key: &Status, target: &'w Target) -> Self {
        Self {
            key: EdgeKey::Status(key.clone()),
            to: &target.to,
            prompt: Prompt::Needed(&target.prompt),
            location: target.location.as_deref(),
        }
    }

    pub(crate) fn of_list(index: usize, edge: &'w ListEdge) -> Self {
        Self {
            key: EdgeKey::Index(index),
            to: &edge.to,
            prompt: Prompt::Optional(edge.prompt.as_deref()),
            location: edge.location.as_deref(),
        }
    }

    /// Returns the template of the instruction, if the edge has one.
    fn source(&self) -> Option<&'w str> {
        match self.prompt {
            Prompt::Needed(source) => Some(source),
            Prompt::Optional(source) => source,
        }
    }
}

impl<'a> Position<'a> {
    /// Returns the place before the first step.
    pub(crate) fn at_start() -> Self {
        Self {
            node: NodeName::Start,
            status: Status::unit(),
            answer: None,
        }
    }

    /// Returns the place after a step.
    pub(crate) fn after(last: &'a StepContext) -> Self {
        Self {
            node: NodeName::Role(last.node.role.clone()),
            status: status_of(&last.output),
            answer: Some(&last.output),
        }
    }

    /// Takes the first edge of a list whose condition holds.
    pub(crate) fn follow_first<S>(
        &self,
        workflow: &Workflow<S>,
        edges: &[ListEdge],
        start: &StartNode,
        steps: &[StepContext],
        ask: Ask<'_>,
    ) -> Result<Route, RouteError> {
        let condition = |edge: &ListEdge| workflow.conditions.get(edge.condition.as_ref()?);
        let known = |edge: &ListEdge| Some(&condition(edge)?.expression);
        // The edge after these is always taken, or its condition is unknown.
        let asked: Vec<String> = edges.iter().map_while(known).cloned().collect();
        let otherwise = asked.len();
        let first = if asked.is_empty() {
            None
        } else {
            ask(Question::new(asked, start, steps)).map_err(|failed| {
                let name = edges
                    .get(failed.index)
                    .and_then(|edge| edge.condition.clone());
                RouteError::Condition {
                    edge: self.edge_name(EdgeKey::Index(failed.index)),
                    condition: name.unwrap_or_default(),
                    problem: Box::new(failed.problem),
                }
            })?
        };
        let index = first.unwrap_or(otherwise);
        match edges.get(index) {
            None => Err(RouteError::NoMatch {
                node: self.node.clone(),
            }),
            Some(ListEdge {
                condition: Some(unknown),
                ..
            }) if index == otherwise => Err(RouteError::UnknownCondition {
                edge: self.edge_name(EdgeKey::Index(index)),
                condition: unknown.clone(),
            }),
            Some(edge) => self.follow(workflow, &Edge::of_list(index, edge)),
        }
    }

    pub(crate) fn follow<S>(
        &self,
        workflow: &Workflow<S>,
        edge: &Edge<'_>,
    ) -> Result<Route, RouteError> {
        match edge.to {
            Destination::End => Ok(Route::End {
                result: self.end_result(edge),
            }),
            Destination::Suspend => self.suspend(edge),
            Destination::Role(role) => {
                let work = workflow.roles.get(role).map(|role| &role.work);
                let prompt = match work {
                    // Each branch fills it in for itself.
                    Some(Work::Branches(_)) => edge.source().map(str::to_owned),
                    Some(Work::Agent | Work::Workflow(_)) | None => self.prompt(edge)?,
                };
                Ok(Route::To(Assignment {
                    role: role.clone(),
                    prompt: prompt.unwrap_or_default(),
                    location: self.optional(edge, Field::Location, edge.location)?,
                    performer: Performer::of(work),
                }))
            }
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

    /// Returns what the thread results in if it takes this edge to `$END`. A text of blanks is no result.
    pub(crate) fn end_result(&self, edge: &Edge<'_>) -> EndResult {
        match self.optional(edge, Field::Prompt, edge.source()) {
            Err(RouteError::Blank { .. }) => Ok(None),
            rendered => rendered.map_err(Box::new),
        }
    }

    /// Returns the suspension that the role asked for in its answer, if it did.
    pub(crate) fn suspended_by_answer(&self) -> Option<Route> {
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

    /// Fills in an optional template. A template that is there must not come out empty.
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
        // A template can always use `$status`: if the answer has none, it is the status that the edge was picked by.
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

    pub(crate) fn unknown_status(&self, targets: &IndexMap<Status, Target>) -> RouteError {
        RouteError::UnknownStatus {
            node: self.node.clone(),
            status: self.status.clone(),
            known: targets.keys().cloned().collect(),
        }
    }
}

/// Returns the message for a person when a role suspended its thread without a reason.
fn unexplained(role: &RoleName) -> String {
    format!("the role `{role}` waits for an answer and gave no reason")
}
