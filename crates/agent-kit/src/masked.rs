//! What an agent said, without its secrets. The text of an answer is not here: its data is read first.

use uwf_protocol::nodes::{Answered, ToolCall, Turn};
use uwf_util::mask::Masks;

use crate::adapter::AdapterError;

/// Returns a turn without secrets.
pub(crate) fn turn(turn: &Turn, masks: &Masks) -> Turn {
    let call = |call: &ToolCall| ToolCall {
        name: masks.text(&call.name),
        args: masks.text(&call.args),
        id: call.id.as_deref().map(|id| masks.text(id)),
    };
    let calls = turn.tool_calls.as_ref();
    Turn {
        index: turn.index,
        role: turn.role,
        content: masks.text(&turn.content),
        tool_calls: calls.map(|calls| calls.iter().map(call).collect()),
        reasoning: turn.reasoning.as_deref().map(|text| masks.text(text)),
        answers: turn.answers.as_ref().map(|answered| Answered {
            call_id: masks.text(&answered.call_id),
            outcome: answered.outcome,
        }),
    }
}

/// Returns turns without secrets.
pub(crate) fn turns(turns: &[Turn], masks: &Masks) -> Vec<Turn> {
    turns.iter().map(|one| turn(one, masks)).collect()
}

/// Returns an error without secrets.
pub(crate) fn error(error: AdapterError, masks: &Masks) -> AdapterError {
    AdapterError {
        message: masks.text(&error.message),
        hint: error.hint.map(|hint| masks.text(&hint)),
        session_id: error.session_id.filter(|id| is_free(id, masks)),
        turns: turns(&error.turns, masks),
        ..error
    }
}

/// Tells whether a text has no secret. A session whose name has one is not recorded: a masked name would lead nowhere.
pub(crate) fn is_free(text: &str, masks: &Masks) -> bool {
    masks.text(text) == text
}
