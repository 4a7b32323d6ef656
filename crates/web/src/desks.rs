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
/// How many files are given at once, which may be large: each is in memory until its client has read it. More of them wait for a
/// moment, and then are refused.
pub(crate) const FILES: usize = 4;
/// How long a command or a file waits for its place.
const PATIENCE: Duration = Duration::from_secs(2);

/// The places.
#[derive(Debug)]
pub(crate) struct Desks {
    readers: Arc<Semaphore>,
    commands: Arc<Semaphore>,
    files: Arc<Semaphore>,
}

impl Default for Desks {
    fn default() -> Self {
        Self {
            readers: Arc::new(Semaphore::new(READERS)),
            commands: Arc::new(Semaphore::new(COMMANDS)),
            files: Arc::new(Semaphore::new(FILES)),
        }
    }
}

/// A place. It is free again when this is dropped: with the end of the work, even if nobody waits for the answer any more.
pub(crate) struct Desk(Place);

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
        let message = format!(
            "{COMMANDS} commands are being done, which is the most; nothing was done for this one"
        );
        let hint = "send the form again in a moment, or type the command";
        let place = soon(&self.commands).await;
        place.map(Desk).map_err(|Full| full(message).hint(hint))
    }

    /// Returns a place for a file. It is free again when the client has read the file.
    ///
    /// # Errors
    /// When all are taken, and stay so for a moment.
    pub(crate) async fn file(&self) -> Result<Desk, Refusal> {
        let message = format!("{FILES} files are being read, which is the most");
        let place = soon(&self.files).await;
        place
            .map(Desk)
            .map_err(|Full| full(message).hint("ask again in a moment"))
    }
}

/// A place; none if the server has no places any more.
type Place = Option<OwnedSemaphorePermit>;

/// All places are taken.
struct Full;

/// Waits for a place for a moment.
async fn soon(places: &Arc<Semaphore>) -> Result<Place, Full> {
    let place = timeout(PATIENCE, Arc::clone(places).acquire_owned());
    // The places are never closed.
    place.await.map(Result::ok).map_err(|_| Full)
}

fn full(message: String) -> Refusal {
    Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "busy", message)
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
