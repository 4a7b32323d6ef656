//! What to type next when threads cannot travel.

use uwf_engine::BundleError;

pub(crate) fn hint(error: &BundleError) -> Option<String> {
    let hint = match error {
        BundleError::NotABundle(_) => "`uwf thread export <thread> -o <file>` writes a bundle",
        BundleError::CutOff(_) => "nothing was imported; copy the bundle again, in full",
        BundleError::TooNew { .. } => "nothing was imported; use a newer version of `uwf`",
        BundleError::Refused(_) | BundleError::Incomplete(_) => {
            "no thread was imported; export the threads again"
        }
        BundleError::Unreadable(_) => {
            "`uwf cas repair --from <copy>` brings nodes back; the other threads can be exported by their ids"
        }
        BundleError::Diverged(_) => return Some(as_fork("<file>")),
        BundleError::TooLarge { .. } | BundleError::Write(_) | BundleError::Read(_) => return None,
    };
    Some(hint.to_owned())
}

/// Returns the hint about a bundle whose threads have diverged.
pub(crate) fn as_fork(bundle: &str) -> String {
    format!(
        "no thread was imported; `uwf thread import --as-fork {bundle}` adds the bundle's as threads of their own"
    )
}
