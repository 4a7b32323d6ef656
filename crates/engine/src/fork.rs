//! Starting a new thread from a node of an old one. Nothing is copied and the old thread is not touched.

use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_storage::State;

use crate::limits::{self, Place};
use crate::thread::Thread;
use crate::view::report::Standing;
use crate::{Engine, EngineError, tags};

/// A thread that begins where another one was.
#[derive(Debug, Clone)]
pub struct Forked {
    /// The new thread.
    pub thread: ThreadId,
    /// Its head: a start or a step.
    pub from: CasRef,
    /// How it stands there.
    pub standing: Standing,
}

/// Makes a thread whose head is a start or a step that is in the store.
///
/// # Errors
/// When the node is missing or is neither.
pub fn fork(engine: &Engine, from: CasRef) -> Result<Forked, EngineError> {
    let _hold = engine.store.hold()?;
    engine.store.get(from)?;
    let id = engine.new_thread_id()?;
    let thread = Thread::load(&engine.store, id, from)?;
    engine.enlist()?;
    let run = engine.root.run(id);
    let route = thread.route(engine)?;
    let place = Place::of(&run, &thread);
    let config = limits::of_config(engine);
    let reached = limits::on_the_way(&engine.store, &place, &route, &config)?;
    let standing = Standing::of_active(&route).at_limits(&reached);
    State::new(&engine.root).insert(id, from)?;
    engine.log(&thread, tags::FORKED, &format!("from={from}"));
    Ok(Forked {
        thread: id,
        from,
        standing,
    })
}
