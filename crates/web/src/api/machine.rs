//! What runs here, as data.

use crate::answer::Data;
use crate::asked::Asked;
use crate::trouble::{Refusal, Trouble};

/// Returns the threads at work, the agents, the slots, and what is shared.
pub(crate) fn machine(asked: &Asked) -> Result<Data, Trouble> {
    Ok(Data::of(&uwf_engine::machine(asked.site())?))
}

/// Returns the threads at the remote, with their leases.
pub(crate) fn remote(asked: &Asked) -> Result<Data, Trouble> {
    Ok(Data::of(&crate::remote::ask(asked)?))
}

/// Returns the checks of `uwf doctor --offline`.
pub(crate) fn checks(asked: &Asked) -> Result<Data, Trouble> {
    let found = (asked.app.check)(asked.site());
    Ok(Data::of(&found.map_err(Refusal::of_command)?))
}
