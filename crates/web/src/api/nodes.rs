//! Nodes by their hashes, as data that never changes.

use uwf_engine::{StepReadOptions, read_step};

use crate::answer::Data;
use crate::asked::Asked;
use crate::trouble::Trouble;

/// Returns a step with all its turns.
pub(crate) fn step(asked: &Asked) -> Result<Data, Trouble> {
    let hash = asked.hash()?;
    let options = StepReadOptions { quota: usize::MAX };
    Ok(Data::named(hash, &read_step(asked.site(), hash, &options)?))
}
