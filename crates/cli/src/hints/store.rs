//! What to type next after an error of the content-addressed store.

use uwf_cas_fs::StoreError;
use uwf_durable::FileError;
use uwf_protocol::failure::FULL_DISK_HINT;

pub(crate) fn hint(error: &StoreError) -> Option<String> {
    let hint = match error {
        StoreError::NotFound { .. } => {
            "`uwf cas list` shows every node; is `--root` or `OCAS_DIR` another store's?"
        }
        StoreError::Lost { .. } => {
            "`uwf cas repair --from <copy>` brings it back from another root or a bundle; `uwf cas verify` tells what else is gone; is `--root` or `OCAS_DIR` another store's?"
        }
        StoreError::Damaged { .. } => {
            "`uwf cas verify` finds every damaged node; `uwf cas repair` moves them aside and brings them back from a copy"
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
        StoreError::File(FileError::Link { .. }) => {
            "remove the link, or put what it points to in its place"
        }
        StoreError::File(_) => return error.is_of_full_disk().then(|| FULL_DISK_HINT.to_owned()),
        StoreError::NotTheNode { .. } | StoreError::Invalid { .. } | StoreError::Encode(_) => {
            return None;
        }
    };
    Some(hint.to_owned())
}
