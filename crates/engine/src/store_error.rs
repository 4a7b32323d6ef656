//! What an error of the content-addressed store means to who calls a command.

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
        | StoreError::Invalid { .. }
        | StoreError::NotASchema(_)
        | StoreError::UnusableSchema { .. }
        | StoreError::Encode(_)
        | StoreError::File(_) => Exit::Request,
    }
}

/// Returns what to type after an error of the content-addressed store.
#[must_use]
pub fn store_hint(error: &StoreError) -> Option<String> {
    let hint = match error {
        StoreError::NotFound { .. } => {
            "`uwf cas list` shows every node; is `--root` or `OCAS_DIR` another store's?"
        }
        StoreError::Lost { .. } => {
            "bring it back from a copy of the store; `uwf cas verify` tells what else is gone; is `--root` or `OCAS_DIR` another store's?"
        }
        StoreError::Damaged { .. } => {
            "`uwf cas verify` finds every damaged node; putting the same data again repairs one"
        }
        StoreError::Broken { nodes } => {
            let lost = nodes.first().map(|node| node.hash.to_string());
            return Some(format!(
                "bring them back from a copy of the store; where there is none, `--lost {}` gives up what only it refers to",
                lost.unwrap_or_default()
            ));
        }
        StoreError::Collision { .. } => "`uwf cas get <hash>` shows the node that was there first",
        StoreError::UnusableSchema { .. } | StoreError::NotASchema(_) => {
            "`uwf cas schema list` shows the schemas"
        }
        StoreError::File(_) => return error.full_disk_hint().map(ToOwned::to_owned),
        StoreError::Invalid { .. } | StoreError::Encode(_) => return None,
    };
    Some(hint.to_owned())
}
