//! What runs here, as data.

use crate::answer::Data;
use crate::asked::Asked;
use crate::trouble::{Refusal, Trouble};

/// Returns the threads at work, the slots, and what is shared.
pub(crate) fn machine(asked: &Asked) -> Result<Data, Trouble> {
    Ok(Data::of(&uwf_engine::machine(asked.site())?))
}

/// Returns what `uwf doctor` says.
pub(crate) fn checks(asked: &Asked) -> Result<Data, Trouble> {
    let found = (asked.app.check)(asked.site());
    Ok(Data::of(&found.map_err(Refusal::of_command)?))
}
