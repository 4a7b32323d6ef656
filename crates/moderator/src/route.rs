//! The route of a thread as a value: what it does next.

use uwf_protocol::head_status::HeadStatus;
use uwf_protocol::ids::RoleName;
use uwf_protocol::program::Program;
use uwf_protocol::work::Work;

use crate::route_error::RouteError;

/// What a thread does next.
#[derive(Debug, Clone, PartialEq)]
pub enum Route {
    /// A role does a step.
    To(Assignment),
    /// The thread waits until a person answers the role.
    Suspend {
        /// The role that asked. It runs again when the thread is resumed.
        role: RoleName,
        /// What the person is asked.
        message: String,
    },
    /// A step of a pipeline failed, and that stopped the run. A person may let it go on.
    Stop {
        /// The step.
        role: RoleName,
        /// Why it failed.
        message: String,
    },
    /// The thread is complete.
    End {
        /// What it results in.
        result: EndResult,
    },
}

/// Returns what a route means for the head that it leaves, in a graph and in a pipeline.
#[must_use]
pub fn head_status(route: &Result<Route, RouteError>) -> HeadStatus {
    match route {
        Ok(Route::To(_)) => HeadStatus::Ready,
        Ok(Route::Suspend { .. } | Route::Stop { .. }) => HeadStatus::Suspended,
        Ok(Route::End { .. }) => HeadStatus::Ended,
        Err(_) => HeadStatus::Blocked,
    }
}

/// What a complete thread results in: the prompt of its edge to `$END`, filled in; `None` if there is none. The error says
/// why it could not be filled in. That keeps no thread from its end: its work is done.
pub type EndResult = Result<Option<String>, Box<RouteError>>;

/// The next step: its role and its instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// The role.
    pub role: RoleName,
    /// The instruction; empty if the edge of a list has none. For a role with branches it is the template: each branch fills it
    /// in for itself.
    pub prompt: String,
    /// The working directory; `None` is the thread's own.
    pub location: Option<String>,
    /// The kind of worker that does the step.
    pub performer: Performer,
}

/// The kind of worker that does a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Performer {
    /// An agent. The command line or the config says which one.
    Agent,
    /// Child threads. The definition of the role says which ones.
    Children,
    /// The engine itself: the step is a task of a pipeline.
    Engine,
}

impl Performer {
    /// Returns who does the work of a role of a program.
    #[must_use]
    pub fn of_role(program: &Program, role: &RoleName) -> Self {
        Self::of(program.task(role).map(|role| &role.work))
    }

    /// Returns who does this work. A role without a definition is an agent's: starting it fails with a message of its own.
    pub(crate) fn of<S>(work: Option<&Work<S>>) -> Self {
        match work {
            Some(Work::Agent) | None => Self::Agent,
            Some(Work::Workflow(_) | Work::Branches(_)) => Self::Children,
        }
    }
}

/// How many steps of a thread are needed to decide what comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HistoryNeed {
    /// The newest step is enough.
    LastStep,
    /// Every step, because a condition may look at any of them.
    All,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_of_a_graph_and_of_a_pipeline_has_a_status() {
        let check = |route: Result<Route, RouteError>, expected: HeadStatus| {
            assert_eq!(head_status(&route), expected, "{route:?}");
        };
        let (role, message): (RoleName, _) = ("writer".parse().unwrap(), "why".to_owned());
        for performer in [Performer::Agent, Performer::Children, Performer::Engine] {
            let assignment = Assignment {
                role: role.clone(),
                prompt: String::new(),
                location: None,
                performer,
            };
            check(Ok(Route::To(assignment)), HeadStatus::Ready);
        }
        let suspend = Route::Suspend {
            role: role.clone(),
            message: message.clone(),
        };
        check(Ok(suspend), HeadStatus::Suspended);
        check(Ok(Route::Stop { role, message }), HeadStatus::Suspended);
        check(Ok(Route::End { result: Ok(None) }), HeadStatus::Ended);
        let problem = Box::new(RouteError::NoResume);
        let result = Err(problem);
        check(Ok(Route::End { result }), HeadStatus::Ended);
        check(Err(RouteError::NoResume), HeadStatus::Blocked);
    }
}
