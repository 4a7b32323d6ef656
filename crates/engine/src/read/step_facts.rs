//! What is known of a step beside its turns: what it was told, what came of it, and what it used up.

use serde_json::Value;
use uwf_protocol::ids::CasRef;
use uwf_protocol::nodes::Usage;

use crate::read::detail_summary::DetailSummary;
use crate::read::step_detail::read;
use crate::read::visit_story::{self, VisitStory};
use crate::{EngineError, Site};

/// What is known of a step beside its turns.
#[derive(Debug, Clone, PartialEq)]
pub struct StepFacts {
    /// When it was stored, in milliseconds since 1970.
    pub stored_at_ms: i64,
    /// How long it took, if that is known.
    pub duration_ms: Option<u64>,
    /// What it used up, if anything is known.
    pub usage: Option<Usage>,
    /// The step before it; the start has none before it.
    pub prev: Option<CasRef>,
    /// The instruction that its agent got, with what a person added. Older steps have none.
    pub instruction: Option<String>,
    /// The data of the answer, if it is in the store.
    pub output: Option<Value>,
    /// How it went, if it is a step of a pipeline.
    pub visit: Option<VisitStory>,
}

/// Returns what is known of a step beside its turns.
///
/// # Errors
/// When the step or its detail is not in the store, or the node is not a step.
pub fn step_facts(site: &Site, step: CasRef) -> Result<StepFacts, EngineError> {
    let store = &site.store;
    let node = read(store, step)?;
    let detail = store.need(node.detail)?;
    let output = store.find(node.output)?;
    Ok(StepFacts {
        stored_at_ms: store.need(step)?.timestamp_ms,
        duration_ms: node.duration_ms(),
        usage: DetailSummary::of(detail.type_hash, &detail.payload).usage,
        prev: node.prev,
        visit: VisitStory::read(store, &node)?,
        instruction: node.edge_prompt,
        output: output.map(|node| visit_story::data(node.type_hash, node.payload)),
    })
}
