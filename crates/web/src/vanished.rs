//! A root that is gone, such as one on a disk that was taken away. It must not look like a new one, and nothing is written there.

use std::sync::atomic::{AtomicBool, Ordering};

use axum::http::StatusCode;
use uwf_storage::Root;

use crate::trouble::Refusal;

/// Whether there was something under the root.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    root: AtomicBool,
    state: AtomicBool,
}

impl Seen {
    /// Refuses a request if the root is not there any more, or has lost all files of its state.
    ///
    /// # Errors
    /// When something was there, and nothing is now.
    pub(crate) fn check(&self, root: &Root) -> Result<(), Refusal> {
        let there = [
            (&self.root, root.path().is_dir()),
            (&self.state, root.has_state()),
        ];
        match there.into_iter().any(|(before, now)| is_gone(before, now)) {
            true => Err(gone()),
            false => Ok(()),
        }
    }
}

/// Tells whether something was there before and is not there now.
fn is_gone(before: &AtomicBool, is_there: bool) -> bool {
    match is_there {
        true => {
            before.store(true, Ordering::Relaxed);
            false
        }
        false => before.load(Ordering::Relaxed),
    }
}

/// Visitors who have not logged in see this, too, so it names no path.
fn gone() -> Refusal {
    let message = "the storage root of this server is gone; nothing is read or written there";
    let refusal = Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "gone", message);
    refusal.hint("bring it back, or end the server and start it on another one")
}
