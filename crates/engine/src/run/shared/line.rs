//! The connection of a shared thread to the remote.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use uwf_remote::Remote;

/// After this time without a call, the connection is closed. Agents work for minutes, and a server has few connections. A step that
/// takes less time needs only one.
pub(super) const IDLE: Duration = Duration::from_secs(2);

/// The remote as a shared thread asks it. Another thread of the process closes the connection when it is idle.
#[derive(Clone)]
pub(super) struct Line(Arc<Mutex<Asked>>);

/// The remote, and when it was asked.
pub(super) struct Asked {
    remote: Box<dyn Remote + Send>,
    /// When a call was made last, unless the connection was closed since.
    last: Option<Instant>,
}

impl Line {
    pub(super) fn new(remote: Box<dyn Remote + Send>) -> Self {
        let last = Some(Instant::now());
        Self(Arc::new(Mutex::new(Asked { remote, last })))
    }

    /// Returns the remote for the next calls. It must be given back before this is called again.
    pub(super) fn get(&self) -> MutexGuard<'_, Asked> {
        let mut asked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        asked.last = Some(Instant::now());
        asked
    }

    /// Closes the connection if it is idle.
    pub(super) fn close_if_idle(&self) {
        let mut asked = match self.0.try_lock() {
            Ok(asked) => asked,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            // A call is under way.
            Err(TryLockError::WouldBlock) => return,
        };
        if asked.last.is_some_and(|last| last.elapsed() >= IDLE) {
            asked.remote.rest();
            asked.last = None;
        }
    }
}

impl Asked {
    pub(super) fn remote(&mut self) -> &mut (dyn Remote + Send) {
        self.remote.as_mut()
    }
}
