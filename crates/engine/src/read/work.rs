//! What an agent did for a step, wherever the step is.

use serde_json::json;
use uwf_cas_fs::hash_of;
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
    started_ms: Option<i64>,
    instruction: Option<String>,
    prompt: Option<CasRef>,
}

impl Work {
    pub(crate) fn of(step: &StepNode) -> Self {
        Self {
            role: step.role.clone(),
            output: step.output,
            detail: step.detail,
            completed_ms: step.completed_at_ms,
            started_ms: step.started_at_ms,
            instruction: step.edge_prompt.clone(),
            prompt: step.assembled_prompt,
        }
    }

    /// Returns a digest, which is the same in every version: the records of removed threads have it.
    pub(crate) fn digest(&self) -> CasRef {
        let parts = json!([
            self.role,
            self.output,
            self.detail,
            self.completed_ms,
            self.started_ms,
            self.instruction,
            self.prompt,
        ]);
        hash_of(None, &parts).expect("words and a whole number have an encoding")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_of_a_step_is_a_format() {
        let work = Work {
            role: "writer".parse().unwrap(),
            output: CasRef::from_u64(1),
            detail: CasRef::from_u64(2),
            completed_ms: Some(3),
            started_ms: Some(4),
            instruction: Some("Write.".to_owned()),
            prompt: None,
        };
        assert_eq!(work.digest().to_string(), "0DKFSK21VCRX9");
    }
}
