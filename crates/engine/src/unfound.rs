//! What is not here, and whether it may be elsewhere.

use uwf_storage::Root;

use crate::Site;

/// What was looked for under a root, and is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfound<T> {
    /// What was looked for.
    pub what: T,
    /// Whether the root has a remote, where it may be. The remote was not asked.
    pub has_remote: bool,
}

impl<T> Unfound<T> {
    /// Returns what was not found under the root of a site.
    #[must_use]
    pub fn new(site: &Site, what: T) -> Self {
        Self {
            what,
            has_remote: has_remote(&site.root),
        }
    }
}

/// Tells whether the config of a root names a remote. One that cannot be read names none.
#[must_use]
pub fn has_remote(root: &Root) -> bool {
    let config = uwf_config::load(root).ok().flatten();
    config.is_some_and(|config| config.remote.url.is_some())
}
