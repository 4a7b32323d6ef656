//! The project of a thread: its directory, and the config that counts there.

use std::path::Path;

use uwf_config::Unused;
use uwf_protocol::config::Config;
use uwf_protocol::nodes::StartNode;

use crate::{EngineError, Site};

/// Returns the config for the steps of a thread, and the config of its project if that is not used.
pub(crate) fn config_for(
    site: &Site,
    start: &StartNode,
) -> Result<(Config, Option<Unused>), EngineError> {
    Ok(uwf_config::load_for(
        &site.root,
        project_directory(site, start),
    )?)
}

/// Returns the directory whose project a thread belongs to, and where its hooks run: its own, if it is there.
pub(crate) fn project_directory<'a>(site: &'a Site, start: &'a StartNode) -> &'a Path {
    let own = start.cwd.as_deref().map(Path::new);
    own.filter(|own| own.is_dir()).unwrap_or(site.env.cwd())
}
