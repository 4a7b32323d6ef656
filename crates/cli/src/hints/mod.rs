//! What to type next after an error. The other crates return errors as data; only this one knows commands.

mod engine;
pub(crate) mod remedy;
pub(crate) mod storage;
pub(crate) mod store;
pub(crate) mod thread;

use uwf_engine::EngineError;

/// Returns what to type next, if there is something.
pub(crate) fn of(error: &EngineError) -> Option<String> {
    engine::hint(error, None)
}

/// Returns what to type next, if there is something, after a call that chose this agent: the next one keeps it.
pub(crate) fn with_agent(error: &EngineError, agent: Option<&str>) -> Option<String> {
    engine::hint(error, agent)
}
