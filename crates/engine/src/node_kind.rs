//! What a node is, in a few words.

use uwf_cas_fs::Node;
use uwf_protocol::ids::CasRef;
use uwf_protocol::schemas;
use uwf_thread::Head;

/// Returns what a node is, such as `step of reviewer`, `text` or `workflow`.
pub(crate) fn what(hash: CasRef, node: &Node) -> String {
    match Head::of(hash, node) {
        Some(Head::Step(step)) => format!("step of {}", step.node.role),
        Some(Head::Start(_)) => "start of a thread".to_owned(),
        None => what_by_type(node.type_hash).to_owned(),
    }
}

fn what_by_type(type_hash: CasRef) -> &'static str {
    match type_hash {
        schemas::META => "schema",
        schemas::TEXT => "text",
        schemas::TURN | schemas::TURN_WITH_IDS => "turn",
        schemas::PIPELINE => "pipeline",
        schemas::RUN => "run of a pipeline",
        schemas::RESULT => "result of a step",
        schemas::RESUME => "resume of a run",
        schemas::ARCHIVE => "archive of a run",
        found if schemas::WORKFLOWS.contains(&found) => "workflow",
        found if schemas::is_detail(found) => "detail of a step",
        found if schemas::VISITS.contains(&found) => "visit of a step",
        found if schemas::VERDICTS.contains(&found) => "verdict",
        found if schemas::SUMMARIES.contains(&found) => "summary",
        _ => "data",
    }
}
