//! What an agent did for a step, wherever the step is.

use uwf_protocol::ids::{CasRef, RoleName};
use uwf_protocol::nodes::StepNode;

/// What an agent did for a step. A copy of the step under another workflow has another hash, and is the same work: it has the
/// same answer and the same detail, from the same time.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Work {
    role: RoleName,
    output: CasRef,
    detail: CasRef,
    completed_ms: Option<i64>,
}

impl Work {
    pub(crate) fn of(step: &StepNode) -> Self {
        Self {
            role: step.role.clone(),
            output: step.output,
            detail: step.detail,
            completed_ms: step.completed_at_ms,
        }
    }
}
