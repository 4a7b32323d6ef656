//! The instruction that a step got the first time, without what was said when the step was done again.

use uwf_cas_fs::Store;
use uwf_protocol::nodes::StepNode;
use uwf_thread::read_step;

use crate::person_message::MessageContext;

/// Returns the instruction that the graph, or the answer to a question, gave to a step: also if it was done again, perhaps
/// more than once. What a person said about an earlier answer was about that answer only.
///
/// The text alone proves nothing, since models write parts of it. So the step that it names must be one that this step can
/// have replaced, and the text must continue its instruction. If that step is lost, the whole text is returned.
pub(crate) fn first_instruction(store: &Store, step: &StepNode) -> String {
    let mut instruction = step.edge_prompt.clone().unwrap_or_default();
    while let Some(earlier) = before_redo(store, step, &instruction) {
        instruction = earlier;
    }
    instruction
}

/// Returns the instruction of the step that was done again with this instruction, if it was.
fn before_redo(store: &Store, step: &StepNode, composed: &str) -> Option<String> {
    MessageContext::redone_steps(composed).find_map(|hash| {
        let old = read_step(store, hash).ok()?.node;
        let is_in_its_place =
            (&old.role, old.start, old.prev) == (&step.role, step.start, step.prev);
        let redo = MessageContext::Redo {
            instruction: old.edge_prompt.filter(|_| is_in_its_place)?,
            step: hash,
        };
        redo.message_in(composed)?;
        Some(redo.instruction().to_owned())
    })
}
