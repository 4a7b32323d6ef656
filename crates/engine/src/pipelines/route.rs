//! What comes next in a run, in the terms of every thread.

use uwf_cas_fs::Store;
use uwf_moderator::{Assignment, Performer, Route, RouteError};
use uwf_pipeline::nodes::ARCHIVE_KEY;
use uwf_protocol::ids::{CasRef, IdError, RoleName, ThreadId};

use super::chain;
use crate::EngineError;

/// Returns what comes next in the run that a thread is.
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

/// Returns a route of a pipeline in the terms of every thread.
pub(crate) fn in_general(route: &uwf_pipeline::Route) -> Result<Route, RouteError> {
    let to = |key: &str| -> Result<Route, RouteError> {
        Ok(Route::To(Assignment {
            role: role(key)?,
            prompt: String::new(),
            location: None,
            performer: Performer::Engine,
        }))
    };
    match route {
        uwf_pipeline::Route::To(assignment) => to(&assignment.key.to_string()),
        uwf_pipeline::Route::Look { key, .. } => to(&key.to_string()),
        uwf_pipeline::Route::Archive { .. } => to(ARCHIVE_KEY),
        uwf_pipeline::Route::Suspend(stop) => Ok(Route::Suspend {
            role: role(&stop.key.to_string())?,
            message: stop.message(),
        }),
        uwf_pipeline::Route::End(_) => Ok(Route::End { result: Ok(None) }),
    }
}

/// Returns the key of a step as the name of a role.
pub(crate) fn role(key: &str) -> Result<RoleName, RouteError> {
    key.parse()
        .map_err(|error: IdError| RouteError::Misfit(error.to_string()))
}
