//! Workflows, as data.

use uwf_engine::{diff_workflows, list_workflows, stored_program, workflow_history};
use uwf_protocol::ids::CasRef;

use crate::answer::Data;
use crate::asked::Asked;
use crate::trouble::Trouble;

/// Returns the workflows that have a name here.
pub(crate) fn list(asked: &Asked) -> Result<Data, Trouble> {
    Ok(Data::of(&list_workflows(asked.site())?))
}

/// Returns a stored workflow. It has no `ETag`: the names that stand for it may change.
pub(crate) fn one(asked: &Asked) -> Result<Data, Trouble> {
    Ok(Data::of(&stored_program(asked.site(), asked.hash()?)?))
}

/// Returns the versions of a name.
pub(crate) fn history(asked: &Asked) -> Result<Data, Trouble> {
    Ok(Data::of(&workflow_history(
        asked.site(),
        asked.part("name"),
    )?))
}

/// Returns the differences of two stored workflows.
pub(crate) fn diff(asked: &Asked) -> Result<Data, Trouble> {
    let other: CasRef = asked.parsed("other", "workflow")?;
    let found = diff_workflows(asked.site(), asked.hash()?.as_str(), other.as_str())?;
    Ok(Data::of(&found))
}
