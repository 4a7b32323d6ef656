//! Pausing a thread: a step that is being done goes on to its end, and no other one is started until somebody unpauses it.

use uwf_protocol::ids::ThreadId;
use uwf_storage::{Env, Located, Paused, RunDir};

use crate::{EngineError, Site, tags, thread};

/// A thread that is paused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PausedThread {
    /// The thread.
    pub thread: ThreadId,
    /// Who paused it, when and why.
    pub paused: Paused,
    /// Whether this call changed something.
    pub changed: bool,
    /// Whether a step is being done, which goes on to its end.
    pub running: bool,
}

/// A thread that is not paused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnpausedThread {
    /// The thread.
    pub thread: ThreadId,
    /// Whether this call changed something.
    pub changed: bool,
}

/// Pauses a thread. A thread that is paused already stays as it is, unless there is a new reason.
///
/// # Errors
/// When the thread is unknown or has ended.
pub fn pause(
    site: &Site,
    id: ThreadId,
    reason: Option<String>,
) -> Result<PausedThread, EngineError> {
    let reason = reason.filter(|reason| !reason.trim().is_empty());
    while_active(site, id, |run| {
        let running = run.lease.is_held()?;
        let before = run.pause.read()?;
        let kept = before.filter(|before| reason.is_none() || reason == before.reason);
        let changed = kept.is_none();
        let paused = kept.unwrap_or_else(|| Paused {
            at: site.env.now_ms(),
            by: user(&site.env),
            reason,
        });
        if changed {
            run.pause.write(&paused)?;
            site.log_line(tags::PAUSED, "", Some(id), None);
        }
        Ok(PausedThread {
            thread: id,
            paused,
            changed,
            running,
        })
    })
}

/// Ends the pause of a thread, if it is paused. A record that cannot be understood is removed, too.
///
/// # Errors
/// When the thread is unknown or has ended.
pub fn unpause(site: &Site, id: ThreadId) -> Result<UnpausedThread, EngineError> {
    while_active(site, id, |run| {
        let changed = run.pause.clear()?;
        if changed {
            site.log_line(tags::UNPAUSED, "", Some(id), None);
        }
        Ok(UnpausedThread {
            thread: id,
            changed,
        })
    })
}

/// Changes the run folder of an active thread. Threads end and are removed under the lock of the state, so neither happens
/// meanwhile.
fn while_active<T>(
    site: &Site,
    id: ThreadId,
    change: impl FnOnce(&RunDir) -> Result<T, EngineError>,
) -> Result<T, EngineError> {
    // Taking the lock makes its file, which a root without the thread must not get.
    thread::active_head(site, id)?;
    let _lock = site.root.lock_state()?;
    thread::active_head(site, id)?;
    change(&site.root.run(id))
}

/// Refuses to start a step of a paused thread. The pause of a thread that has ended means nothing.
pub(crate) fn refuse_if_paused(site: &Site, run: &RunDir, id: ThreadId) -> Result<(), EngineError> {
    let Some(paused) = run.pause.read()? else {
        return Ok(());
    };
    match thread::find(site, id)? {
        Located::Active(_) => Err(EngineError::Paused { thread: id, paused }),
        Located::Archived(_) => Ok(()),
    }
}

/// Tells whether a thread has a record of a pause. One that cannot be read counts: a person wanted the thread to stop. The pause of an
/// ended thread means nothing.
#[must_use]
pub fn is_paused(site: &Site, id: ThreadId) -> bool {
    !matches!(site.root.run(id).pause.read(), Ok(None))
}

/// Returns the name of the person who calls, if the environment tells it.
fn user(env: &Env) -> Option<String> {
    let name = env.var("USER").or_else(|| env.var("LOGNAME"));
    name.filter(|name| !name.is_empty()).map(str::to_owned)
}
