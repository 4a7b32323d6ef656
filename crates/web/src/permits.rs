//! How many requests may work at the same time. Requests that read and requests that start commands have separate permits:
//! a command may wait for a lock or for the end of an agent, and pages are still answered meanwhile.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use axum::response::Response;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::trouble::Refusal;

/// How many requests read the site at the same time. Further requests wait.
pub(crate) const READERS: usize = 8;
/// How many commands run at the same time. A further one waits for at most [`PATIENCE`], and is then refused.
pub(crate) const COMMANDS: usize = 8;
/// How many files are sent at the same time. A file may be large, and is in memory until its client has read it. A further
/// request for a file waits for at most [`PATIENCE`], and is then refused.
pub(crate) const FILES: usize = 4;
/// How long a command or a file waits for its permit.
const PATIENCE: Duration = Duration::from_secs(2);

/// The permits of a server.
#[derive(Debug)]
pub(crate) struct Permits {
    readers: Arc<Semaphore>,
    commands: Arc<Semaphore>,
    files: Arc<Semaphore>,
}

impl Default for Permits {
    fn default() -> Self {
        Self {
            readers: Arc::new(Semaphore::new(READERS)),
            commands: Arc::new(Semaphore::new(COMMANDS)),
            files: Arc::new(Semaphore::new(FILES)),
        }
    }
}

/// The right to work on a request. Dropping it gives it back.
pub(crate) struct Permit(Taken);

impl Permits {
    /// Waits for a permit to read.
    pub(crate) async fn reader(&self) -> Permit {
        // The semaphores are never closed.
        Permit(Arc::clone(&self.readers).acquire_owned().await.ok())
    }

    /// Returns a permit for a command.
    ///
    /// # Errors
    /// When no permit becomes free within [`PATIENCE`].
    pub(crate) async fn command(&self) -> Result<Permit, Refusal> {
        let message = format!(
            "{COMMANDS} commands are being done, which is the most; nothing was done for this one"
        );
        let hint = "send the form again in a moment, or type the command";
        let taken = soon(&self.commands).await;
        taken.map(Permit).map_err(|Full| full(message).hint(hint))
    }

    /// Returns a permit for a file. The answer keeps it until the client has read the file.
    ///
    /// # Errors
    /// When no permit becomes free within [`PATIENCE`].
    pub(crate) async fn file(&self) -> Result<Permit, Refusal> {
        let message = format!("{FILES} files are being read, which is the most");
        let taken = soon(&self.files).await;
        taken
            .map(Permit)
            .map_err(|Full| full(message).hint("ask again in a moment"))
    }
}

/// A permit of a semaphore. It is missing only if the semaphore was closed, which does not happen.
type Taken = Option<OwnedSemaphorePermit>;

/// All permits are taken.
struct Full;

/// Waits for a permit, for at most [`PATIENCE`].
async fn soon(permits: &Arc<Semaphore>) -> Result<Taken, Full> {
    let taken = timeout(PATIENCE, Arc::clone(permits).acquire_owned());
    // The semaphores are never closed.
    taken.await.map(Result::ok).map_err(|_| Full)
}

fn full(message: String) -> Refusal {
    Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "busy", message)
}

impl Permit {
    /// Runs blocking work on a thread of the blocking pool. The permit is given back when the work ends, even if the client
    /// is gone by then.
    pub(crate) async fn work(
        self,
        work: impl FnOnce() -> Response + Send + 'static,
        refuse: fn(&Refusal) -> Response,
    ) -> Response {
        let done = tokio::task::spawn_blocking(move || {
            let _permit = self.0;
            work()
        });
        done.await.unwrap_or_else(|_| refuse(&Refusal::bug()))
    }
}
