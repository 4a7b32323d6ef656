//! The remote that a worker was started with. Its steps read the config anew, so they would work with another one.

use uwf_engine::Site;

use crate::commands::sharing;
use crate::failure::Failure;

/// Where the remote is that the config named when the worker was started.
pub(super) struct ChosenRemote(Option<String>);

impl ChosenRemote {
    pub(super) fn of(site: &Site) -> Self {
        Self(sharing::place(site).unwrap_or_default())
    }

    /// Fails if the config names another remote now, or none. A config that cannot be read is told by the next step.
    pub(super) fn check(&self, site: &Site) -> Result<(), Failure> {
        match sharing::place(site) {
            Ok(now) if now != self.0 => Err(Failure::request(
                "the config no longer names the remote with which this worker was started",
            )
            .hint("if it is to go on with the remote that the config names now, start it again")),
            Ok(_) | Err(_) => Ok(()),
        }
    }
}
