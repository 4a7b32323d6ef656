//! The exit codes for errors of the content-addressed store.

use uwf_cas_fs::StoreError;
use uwf_protocol::exit::Exit;

/// Returns the exit code that an error of the content-addressed store means.
#[must_use]
pub fn store_exit(error: &StoreError) -> Exit {
    match error {
        StoreError::Lost { .. }
        | StoreError::Damaged { .. }
        | StoreError::Collision { .. }
        | StoreError::Broken { .. } => Exit::Store,
        StoreError::NotFound { .. }
        | StoreError::NotTheNode { .. }
        | StoreError::Invalid { .. }
        | StoreError::NotASchema(_)
        | StoreError::UnusableSchema { .. }
        | StoreError::Encode(_)
        | StoreError::File(_) => Exit::Request,
    }
}
