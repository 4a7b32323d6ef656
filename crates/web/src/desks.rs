//! How many requests are at work at once. Those that read and those that start commands have places of their own: a command may
//! wait for a lock or for an agent's end, and pages are answered meanwhile.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use axum::response::Response;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::trouble::Refusal;

/// How many requests read the site at once. More of them wait.
pub(crate) const READERS: usize = 8;
/// How many commands there are at once. More of them wait for a moment, and then are refused.
pub(crate) const COMMANDS: usize = 8;
/// How long a command waits for its place.
const PATIENCE: Duration = Duration::from_secs(2);

/// The places.
#[derive(Debug)]
pub(crate) struct Desks {
    readers: Arc<Semaphore>,
    commands: Arc<Semaphore>,
}

impl Default for Desks {
    fn default() -> Self {
        Self {
            readers: Arc::new(Semaphore::new(READERS)),
            commands: Arc::new(Semaphore::new(COMMANDS)),
        }
    }
}

/// A place. It is free again when the work has ended, even if nobody waits for the answer any more.
pub(crate) struct Desk(Option<OwnedSemaphorePermit>);

impl Desks {
    /// Waits for a place to read.
    pub(crate) async fn reader(&self) -> Desk {
        // The places are never closed.
        Desk(Arc::clone(&self.readers).acquire_owned().await.ok())
    }

    /// Returns a place for a command.
    ///
    /// # Errors
    /// When all are taken, and stay so for a moment.
    pub(crate) async fn command(&self) -> Result<Desk, Refusal> {
        let place = timeout(PATIENCE, Arc::clone(&self.commands).acquire_owned());
        match place.await {
            Ok(place) => Ok(Desk(place.ok())),
            Err(_) => {
                let message = format!(
                    "{COMMANDS} commands are being done, which is the most; nothing was done for this one"
                );
                let refusal = Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "busy", message);
                Err(refusal.hint("send the form again in a moment, or type the command"))
            }
        }
    }
}

impl Desk {
    /// Does something that blocks, on a thread for that.
    pub(crate) async fn work(
        self,
        work: impl FnOnce() -> Response + Send + 'static,
        refuse: fn(&Refusal) -> Response,
    ) -> Response {
        let done = tokio::task::spawn_blocking(move || {
            let _place = self.0;
            work()
        });
        done.await.unwrap_or_else(|_| refuse(&Refusal::bug()))
    }
}
