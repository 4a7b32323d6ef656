//! What runs here, as data.

use crate::answer::Data;
use crate::asked::Asked;
use crate::trouble::Trouble;

/// Returns the threads at work, the slots, and what is shared.
pub(crate) fn machine(asked: &Asked) -> Result<Data, Trouble> {
    Ok(Data::of(&uwf_engine::machine(asked.site())?))
}

/// Returns what `uwf doctor` says.
#[expect(clippy::unnecessary_wraps, reason = "all data has the same signature")]
pub(crate) fn checks(asked: &Asked) -> Result<Data, Trouble> {
    Ok(Data::of(&(asked.app.check)(asked.site())))
}
