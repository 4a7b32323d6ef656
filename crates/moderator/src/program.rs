//! Routing for programs of every language.
//!
//! Where a run of a pipeline stands is folded from all its steps, which `uwf-pipeline` does. Here are the answers that do not
//! need that.

use serde_json::Value;
use uwf_protocol::chain::StepContext;
use uwf_protocol::ids::RoleName;
use uwf_protocol::nodes::StartNode;
use uwf_protocol::program::Program;
use uwf_protocol::workflow::{Destination, Workflow};

use crate::condition::Ask;
use crate::graph::{self, Passage};
use crate::route::{Assignment, EndResult, HistoryNeed, Performer, Route};
use crate::route_error::RouteError;

/// Decides what follows the last step of a thread with a graph. The steps are oldest first; without steps the thread starts. `steps` must be complete,
/// unless [`history_need`] says that the last step is enough. `ask` is called at most once.
///
/// # Errors
/// When the program does not say what follows.
pub fn next(
    workflow: &Workflow,
    start: &StartNode,
    steps: &[StepContext],
    ask: Ask<'_>,
) -> Result<Route, RouteError> {
    graph::route(workflow, start, steps, ask)
}

/// Decides where a thread that had ended goes on.
///
/// # Errors
/// When the program has no entry for ended threads.
pub fn reenter(program: &Program) -> Result<Route, RouteError> {
    match program {
        Program::Graph(workflow) => graph::reenter(workflow),
        Program::Pipeline(_) => Err(RouteError::NoResume),
    }
}

/// Returns what a thread results in that is complete after this step. Nothing costly is evaluated: `None` means that only
/// [`next`] can tell.
#[must_use]
pub fn end_result(program: &Program, last: &StepContext) -> Option<EndResult> {
    match program {
        Program::Graph(workflow) => graph::end_result(workflow, last),
        Program::Pipeline(_) => Some(Ok(None)),
    }
}

/// Returns which way a thread went from its start and from each of its steps. The steps are oldest first. `next` is where the
/// thread stands after the last one, if the caller knows it.
#[must_use]
pub fn passages(
    program: &Program,
    steps: &[(&RoleName, &Value)],
    next: Option<&Destination>,
) -> Vec<Passage> {
    match program {
        Program::Graph(workflow) => graph::passages(workflow, steps, next),
        Program::Pipeline(_) => Vec::new(),
    }
}

/// Tells whether the status of a step has an edge of exactly that name. Then the rest of its answer does not decide which
/// edge is taken.
#[must_use]
pub fn is_routed_exactly(program: &Program, step: &StepContext) -> bool {
    match program {
        Program::Graph(workflow) => graph::is_routed_exactly(workflow, step),
        Program::Pipeline(_) => false,
    }
}

/// Returns an assignment that does not come from an edge, such as the answer of a person for a role.
#[must_use]
pub fn assign(
    program: &Program,
    role: RoleName,
    prompt: String,
    location: Option<String>,
) -> Assignment {
    Assignment {
        prompt,
        location,
        performer: Performer::of_role(program, &role),
        role,
    }
}

/// Returns how many steps decide what follows a step of this role; `None` is the start of the thread.
#[must_use]
pub fn history_need(program: &Program, last_role: Option<&RoleName>) -> HistoryNeed {
    match program {
        Program::Graph(workflow) => graph::history_need(workflow, last_role),
        Program::Pipeline(_) => HistoryNeed::LastStep,
    }
}
