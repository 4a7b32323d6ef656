//! The answer that suspends the thread. Every role may give it, whatever its schema says.
//!
//! Agents write it, the engine accepts it, and the moderator routes by it; the rule is here. It need not fit the role's
//! schema, so its output node has the type [`crate::schemas::OBJECT`].

use serde_json::Value;

use crate::ids::Status;

/// The field of an answer that an edge is picked by.
pub const STATUS_FIELD: &str = "$status";

/// The field of a suspending answer that says why.
pub const REASON_FIELD: &str = "reason";

/// Returns the reason if the output suspends the thread: `$status` is `$SUSPEND` and `reason` says something.
#[must_use]
pub fn is_suspension(output: &Value) -> Option<&str> {
    if output.get(STATUS_FIELD)?.as_str()? != Status::SUSPEND {
        return None;
    }
    let reason = output.get(REASON_FIELD)?.as_str()?;
    (!reason.trim().is_empty()).then_some(reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_output_suspends_by_status_and_reason() {
        let check = |output: Value, reason: Option<&str>| {
            assert_eq!(is_suspension(&output), reason, "{output}");
        };
        check(
            json!({ "$status": "$SUSPEND", "reason": "which one?" }),
            Some("which one?"),
        );
        check(json!({ "$status": "$SUSPEND", "reason": "  " }), None);
        check(json!({ "$status": "$SUSPEND" }), None);
        check(json!({ "$status": "done", "reason": "x" }), None);
        check(json!("$SUSPEND"), None);
    }
}
