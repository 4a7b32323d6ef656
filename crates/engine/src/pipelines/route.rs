//! What comes next in a run, in the terms of every thread.

use uwf_cas_fs::Store;
use uwf_moderator::{Assignment, Performer, Route, RouteError};
use uwf_pipeline::nodes::ARCHIVE_KEY;
use uwf_protocol::ids::{CasRef, IdError, RoleName, ThreadId};
use uwf_protocol::run::{NextOfRun, RunStanding};

use super::chain;
use crate::{EngineError, Site};

/// Returns what comes next in the run that a thread is. Its whole chain is read.
pub(crate) fn route_of(
    store: &Store,
    id: ThreadId,
    head: CasRef,
) -> Result<Result<Route, RouteError>, EngineError> {
    match chain::read(store, (id, head), &mut |_| Ok(())) {
        Ok(chain) => Ok(in_general(&chain.course.next())),
        Err(EngineError::Blocked { source, .. }) => Ok(Err(source)),
        Err(error) => Err(error),
    }
}

/// Returns what comes next in the run that an active thread is. Its chain may be very long: it is read only if no record of
/// the run tells the same.
pub(crate) fn recorded_route_of(
    site: &Site,
    id: ThreadId,
    head: CasRef,
) -> Result<Result<Route, RouteError>, EngineError> {
    let run = site.root.run(id);
    let standing = run.ledger.run_standing();
    if let Some(standing) = standing.filter(|standing| standing.head == head) {
        return Ok(Ok(route(standing.next)));
    }
    // A process works on the run, or died in the step after this head.
    match run.lease.read_record() {
        Some(record) if record.head == Some(head) || run.lease.is_held()? => {
            Ok(Ok(to(record.role)))
        }
        Some(_) | None => route_of(&site.store, id, head),
    }
}

/// Returns where a run stands at a head, as it is put on record.
pub(crate) fn standing(head: CasRef, route: &uwf_pipeline::Route) -> Option<RunStanding> {
    let next = match in_general(route).ok()? {
        Route::To(assignment) => NextOfRun::Step(assignment.role),
        Route::Stop { role, message } => NextOfRun::Stopped {
            step: role,
            message,
        },
        Route::Suspend { .. } => return None,
        Route::End { .. } => NextOfRun::End,
    };
    Some(RunStanding { head, next })
}

fn route(next: NextOfRun) -> Route {
    match next {
        NextOfRun::Step(key) => to(key),
        NextOfRun::Stopped { step, message } => Route::Stop {
            role: step,
            message,
        },
        NextOfRun::End => Route::End { result: Ok(None) },
    }
}

fn to(key: RoleName) -> Route {
    Route::To(Assignment {
        role: key,
        prompt: String::new(),
        location: None,
        performer: Performer::Engine,
    })
}

/// Returns a route of a pipeline in the terms of every thread.
pub(crate) fn in_general(route: &uwf_pipeline::Route) -> Result<Route, RouteError> {
    Ok(match route {
        uwf_pipeline::Route::To(assignment) => to(role(&assignment.key.to_string())?),
        uwf_pipeline::Route::Look { key, .. } => to(role(&key.to_string())?),
        uwf_pipeline::Route::Archive { .. } => to(role(ARCHIVE_KEY)?),
        uwf_pipeline::Route::Suspend(stop) => Route::Stop {
            role: role(&stop.key.to_string())?,
            message: stop.message(),
        },
        uwf_pipeline::Route::End(_) => Route::End { result: Ok(None) },
    })
}

/// Returns the key of a step as the name of a role.
pub(crate) fn role(key: &str) -> Result<RoleName, RouteError> {
    key.parse()
        .map_err(|error: IdError| RouteError::Misfit(error.to_string()))
}
