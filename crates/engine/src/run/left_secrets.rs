//! The secrets in what an attempt wrote that was killed before its files were masked, when no other attempt follows soon.

use uwf_config::AgentEnv;
use uwf_protocol::config::Config;
use uwf_storage::RunDir;

use crate::{EngineError, Site};

/// Takes the secrets out of what an attempt wrote. The caller has the lock of the thread.
///
/// A secret whose value is not there any more cannot be found in the files: then they are removed. An output that was not read
/// yet stays as it is: it was paid for, and the next attempt reads it.
pub(crate) fn take_out(site: &Site, run: &RunDir, config: &Config) -> Result<(), EngineError> {
    let mut agents = config.agents.iter();
    let lacks_one = agents.any(|(name, agent)| {
        let checked = AgentEnv::of(agent).check(name, &site.root, &site.env);
        checked.is_err()
    });
    if lacks_one {
        return Ok(run.scratch.remove_written()?);
    }
    let masks = uwf_config::secret_masks(config, &site.root, &site.env)?;
    Ok(run.scratch.mask(&masks)?)
}
