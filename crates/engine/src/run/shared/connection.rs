//! The connection of a shared thread to the remote.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use uwf_remote::Remote;

/// How long an unused connection stays open. Agents work for minutes, and a server has few connections. A step that takes less time
/// needs only one.
pub(super) const IDLE: Duration = Duration::from_secs(2);

/// The remote as a shared thread asks it. The thread of the process that renews the lease closes the connection when it is idle.
#[derive(Clone)]
pub(super) struct SharedConnection(Arc<Mutex<State>>);

struct State {
    remote: Box<dyn Remote + Send>,
    /// When it was used last; `None` if it was closed since.
    used: Option<Instant>,
}

/// The remote while it is asked.
pub(super) struct InUse<'a>(MutexGuard<'a, State>);

impl SharedConnection {
    pub(super) fn new(remote: Box<dyn Remote + Send>) -> Self {
        Self(Arc::new(Mutex::new(State { remote, used: None })))
    }

    /// Returns the remote for the next calls. A caller that has it already would wait for ever.
    pub(super) fn get(&self) -> InUse<'_> {
        // A panic ends the process, so nobody minds in which state the other thread left the remote.
        InUse(self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Closes the connection if it is idle.
    pub(super) fn close_if_idle(&self) {
        let mut state = match self.0.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        if state.used.is_some_and(|used| used.elapsed() >= IDLE) {
            state.remote.rest();
            state.used = None;
        }
    }
}

impl InUse<'_> {
    pub(super) fn remote(&mut self) -> &mut (dyn Remote + Send) {
        self.0.remote.as_mut()
    }
}

impl Drop for InUse<'_> {
    fn drop(&mut self) {
        self.0.used = Some(Instant::now());
    }
}
