//! Forking a thread: a new thread starts at a node of an old one. Nothing is copied, and the old thread does not change.

use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_storage::State;

use crate::limits::{self, Place};
use crate::read::thread_state::ThreadState;
use crate::thread::Thread;
use crate::{EngineError, Site, tags};

/// A thread that was made by a fork.
#[derive(Debug, Clone)]
pub struct Forked {
    /// The new thread.
    pub thread: ThreadId,
    /// Its head: a start or a step.
    pub from: CasRef,
    /// Its state there.
    pub state: ThreadState,
}

/// Creates a thread whose head is a stored start or step.
///
/// # Errors
/// When the node is missing, or is neither a start nor a step.
pub fn fork(site: &Site, from: CasRef) -> Result<Forked, EngineError> {
    let _hold = site.store.hold()?;
    site.store.get(from)?;
    let id = site.new_thread_id()?;
    let thread = Thread::load(&site.store, id, from)?;
    site.enlist()?;
    let run = site.root.run(id);
    let route = thread.route(None)?;
    let place = Place::of(&run.ledger, &thread);
    let config = limits::of_config(site);
    let reached = limits::reached_on_route(&site.store, &place, &route, &config)?;
    let state = ThreadState::of_active(&route).at_limits(&reached);
    State::new(&site.root).insert(id, from)?;
    site.note_use(id);
    site.log(&thread, tags::FORKED, &format!("from={from}"));
    Ok(Forked {
        thread: id,
        from,
        state,
    })
}
