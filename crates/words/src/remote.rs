//! What people read about a thread at a remote.

use uwf_protocol::head_status::HeadStatus;

/// What people are told of a thread that is ready and that a machine works on.
pub const LEASED: &str = "leased";

/// Returns the status of a thread at the remote as a person is told it. A thread that is leased is ready there.
#[must_use]
pub fn status(status: HeadStatus, is_leased: bool) -> &'static str {
    match (status, is_leased) {
        (HeadStatus::Ready, true) => LEASED,
        (status, _) => status.as_str(),
    }
}

/// Says whether a thread at the remote is under this root, too. `waits` tells whether a finished step of it waits under this root.
#[must_use]
pub fn here(is_here: bool, waits: bool) -> &'static str {
    match (waits, is_here) {
        (true, _) => "a step waits",
        (false, true) => "yes",
        (false, false) => "no",
    }
}
