//! Nodes by their hashes, as data.

use uwf_engine::{StepReadOptions, diff_steps, node_detail, read_step, read_step_prompt, which};

use crate::answer::Data;
use crate::asked::Asked;
use crate::trouble::Trouble;

/// Returns a step with all its turns.
pub(crate) fn step(asked: &Asked) -> Result<Data, Trouble> {
    let hash = asked.hash()?;
    let options = StepReadOptions { quota: usize::MAX };
    let step = read_step(asked.site(), hash, &options)?;
    Ok(Data::named(hash, &step))
}

/// Returns the prompt of a step's agent.
pub(crate) fn prompt(asked: &Asked) -> Result<Data, Trouble> {
    let hash = asked.hash()?;
    Ok(Data::named(hash, &read_step_prompt(asked.site(), hash)?))
}

/// Returns the differences of two steps.
pub(crate) fn diff(asked: &Asked) -> Result<Data, Trouble> {
    let other = asked.parsed("other", "step")?;
    Ok(Data::of(&diff_steps(asked.site(), asked.hash()?, other)?))
}

/// Returns a node: its kind, its content, and the nodes that it refers to.
pub(crate) fn node(asked: &Asked) -> Result<Data, Trouble> {
    let hash = asked.hash()?;
    Ok(Data::named(hash, &node_detail(asked.site(), hash)?))
}

/// Returns what needs a node.
pub(crate) fn uses(asked: &Asked) -> Result<Data, Trouble> {
    Ok(Data::of(&which(asked.site(), asked.hash()?)?))
}
