//! A root that is gone, for example because its disk was removed. A missing root must not look like a new one, and nothing is
//! written to it.

use std::sync::atomic::{AtomicBool, Ordering};

use axum::http::StatusCode;
use uwf_storage::Root;

use crate::trouble::Refusal;

/// What existed at an earlier look: the folder of the root, and files of its state.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    root: AtomicBool,
    state: AtomicBool,
}

impl Seen {
    /// Refuses a request if the root does not exist any more, or has lost all files of its state. Records what exists now.
    ///
    /// # Errors
    /// When the folder or the state existed at an earlier look, and does not exist now.
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

/// Tells whether something existed before and does not exist now. Records that it exists.
fn is_gone(before: &AtomicBool, is_there: bool) -> bool {
    match is_there {
        true => {
            before.store(true, Ordering::Relaxed);
            false
        }
        false => before.load(Ordering::Relaxed),
    }
}

/// Returns the refusal. It names no path, because visitors see it also before they log in.
fn gone() -> Refusal {
    let message = "the storage root of this server is gone; nothing is read or written there";
    let refusal = Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "gone", message);
    refusal.hint("bring it back, or end the server and start it on another one")
}
