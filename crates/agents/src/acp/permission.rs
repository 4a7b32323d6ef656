//! Answers requests for permission by a policy, and never by the order of the offered options.

use serde_json::{Value, json};

/// Which requests are permitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Policy {
    /// Nothing.
    Deny,
    /// Tools that only read or search, once for each request.
    #[default]
    ReadOnly,
    /// All tools, once for each request.
    AllowOnce,
    /// All tools, for good.
    AllowAlways,
}

impl Policy {
    /// The names of the policies, as options give them.
    pub(crate) const NAMES: [&str; 4] = ["deny", "read-only", "allow-once", "allow-always"];

    /// Reads a policy's name.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        let all = [
            Self::Deny,
            Self::ReadOnly,
            Self::AllowOnce,
            Self::AllowAlways,
        ];
        all.into_iter().find(|policy| policy.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::ReadOnly => "read-only",
            Self::AllowOnce => "allow-once",
            Self::AllowAlways => "allow-always",
        }
    }

    /// Returns the kinds of options that match the policy, the best one first. None of them permits more than the
    /// policy.
    fn answers(self, tool_kind: &str) -> &'static [&'static str] {
        const REJECT: &[&str] = &["reject_once", "reject_always"];
        const ONCE: &[&str] = &["allow_once"];
        match self {
            Self::Deny => REJECT,
            Self::ReadOnly if ["read", "search"].contains(&tool_kind) => ONCE,
            Self::ReadOnly => REJECT,
            Self::AllowOnce => ONCE,
            Self::AllowAlways => &["allow_always", "allow_once"],
        }
    }
}

/// The answer to a request, with a line about it for people.
#[derive(Debug, PartialEq)]
pub(super) struct Decision {
    /// The result that goes back to the agent.
    pub(super) result: Value,
    /// One line about it.
    pub(super) words: String,
    /// Whether it permits what was asked for.
    pub(super) permits: bool,
}

/// Decides about a request for permission. `tool_kind` is the agent's word for the kind of tool; empty if unknown.
pub(super) fn decide(policy: Policy, tool_kind: &str, title: &str, options: &Value) -> Decision {
    let options = options.as_array().map_or(&[][..], Vec::as_slice);
    let answers = policy.answers(tool_kind);
    let chosen = answers.iter().find_map(|answer| {
        let option = options.iter().find(|option| option["kind"] == *answer)?;
        Some((*answer, option["optionId"].as_str()?))
    });
    let kind = if tool_kind.is_empty() {
        "unknown kind"
    } else {
        tool_kind
    };
    let asked = format!("permission for `{title}` ({kind})");
    let by = format!("by the policy `{}`", policy.name());
    match chosen {
        Some((answer, id)) => Decision {
            result: json!({ "outcome": { "outcome": "selected", "optionId": id } }),
            words: format!("{asked}: {} {by}, option `{id}`", described(answer)),
            permits: answer.starts_with("allow"),
        },
        None => Decision {
            result: json!({ "outcome": { "outcome": "cancelled" } }),
            words: format!("{asked}: cancelled, no option says what {by} must be said"),
            permits: false,
        },
    }
}

fn described(answer: &str) -> &'static str {
    match answer {
        "allow_once" => "allowed once",
        "allow_always" => "allowed for good",
        "reject_always" => "rejected for good",
        _ => "rejected",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(kinds: &[&str]) -> Value {
        let option = |kind: &&str| json!({ "optionId": format!("id-{kind}"), "kind": kind });
        kinds.iter().map(option).collect()
    }

    /// Returns the id of the option that is chosen, or `cancelled`.
    fn chosen(policy: Policy, tool_kind: &str, options: &Value) -> String {
        let decision = decide(policy, tool_kind, "a title", options);
        let outcome = &decision.result["outcome"];
        let id = outcome["optionId"].as_str().or(outcome["outcome"].as_str());
        id.unwrap().to_owned()
    }

    #[test]
    fn each_policy_finds_its_answer_wherever_it_stands() {
        let all = options(&["allow_always", "allow_once", "reject_always", "reject_once"]);
        let check = |policy, kind, id: &str| assert_eq!(chosen(policy, kind, &all), id);
        check(Policy::Deny, "read", "id-reject_once");
        check(Policy::ReadOnly, "read", "id-allow_once");
        check(Policy::ReadOnly, "search", "id-allow_once");
        for kind in ["edit", "execute", "fetch", "delete", "other", ""] {
            check(Policy::ReadOnly, kind, "id-reject_once");
        }
        check(Policy::AllowOnce, "execute", "id-allow_once");
        check(Policy::AllowAlways, "execute", "id-allow_always");
    }

    #[test]
    fn no_answer_permits_more_than_the_policy() {
        let check = |policy, kinds: &[&str], id: &str| {
            assert_eq!(chosen(policy, "edit", &options(kinds)), id, "{kinds:?}");
        };
        check(
            Policy::AllowOnce,
            &["allow_always", "reject_once"],
            "cancelled",
        );
        check(
            Policy::AllowAlways,
            &["allow_once", "reject_once"],
            "id-allow_once",
        );
        check(Policy::AllowAlways, &["reject_once"], "cancelled");
        check(Policy::Deny, &["allow_once"], "cancelled");
        check(
            Policy::Deny,
            &["allow_once", "reject_always"],
            "id-reject_always",
        );
        check(Policy::ReadOnly, &["made_up"], "cancelled");
        assert_eq!(chosen(Policy::AllowOnce, "edit", &Value::Null), "cancelled");
    }

    #[test]
    fn a_decision_is_told_in_words() {
        let decision = decide(
            Policy::ReadOnly,
            "edit",
            "write: a.txt",
            &options(&["reject_once"]),
        );
        assert_eq!(
            decision.words,
            "permission for `write: a.txt` (edit): rejected by the policy `read-only`, option `id-reject_once`"
        );
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        for name in Policy::NAMES {
            assert_eq!(Policy::parse(name).unwrap().name(), name);
        }
        assert_eq!(Policy::parse("yolo"), None);
    }
}
