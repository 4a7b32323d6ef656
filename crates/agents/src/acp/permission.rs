//! Answers requests for permission by a policy, and never by the order of the offered options.

use serde_json::{Value, json};
use uwf_protocol::permissions::{
    self, ALLOW_ONCE, AskedPermission, DecidedPermission, PermissionOption,
};
use uwf_util::suggest;

use super::transcript::Announced;

/// The kinds of options that refuse a request, the best one first.
const REJECT: &[&str] = &["reject_once", "reject_always"];

/// What becomes of a request that the policy does not permit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Otherwise {
    /// It is refused.
    #[default]
    Refuse,
    /// The thread is suspended, and a person is asked.
    Suspend,
}

impl Otherwise {
    /// The names, as the option `--ask` gives them.
    pub(crate) const NAMES: [&str; 2] = ["refuse", "suspend"];

    /// Reads a name.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        match name {
            "refuse" => Some(Self::Refuse),
            "suspend" => Some(Self::Suspend),
            _ => None,
        }
    }
}

/// Which requests are permitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Policy {
    /// Nothing.
    Deny,
    /// Tools that only read or search, once for each request.
    #[default]
    ReadOnly,
    /// Tools that read, search, or change files, once for each request.
    AllowEdits,
    /// All tools, once for each request.
    AllowOnce,
    /// All tools, for good.
    AllowAlways,
}

impl Policy {
    /// The names of the policies, as options give them.
    pub(crate) const NAMES: [&str; 5] = [
        "deny",
        "read-only",
        "allow-edits",
        "allow-once",
        "allow-always",
    ];

    /// Reads a policy's name.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        let all = [
            Self::Deny,
            Self::ReadOnly,
            Self::AllowEdits,
            Self::AllowOnce,
            Self::AllowAlways,
        ];
        all.into_iter().find(|policy| policy.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::ReadOnly => "read-only",
            Self::AllowEdits => "allow-edits",
            Self::AllowOnce => "allow-once",
            Self::AllowAlways => "allow-always",
        }
    }

    /// Returns the kinds of options that match the policy, the best one first. None of them permits more than the
    /// policy.
    fn answers(self, tool_kind: &str) -> &'static [&'static str] {
        const ONCE: &[&str] = &["allow_once"];
        const READS: [&str; 2] = ["read", "search"];
        const EDITS: [&str; 3] = ["edit", "move", "delete"];
        match self {
            Self::Deny => REJECT,
            Self::ReadOnly | Self::AllowEdits if READS.contains(&tool_kind) => ONCE,
            Self::AllowEdits if EDITS.contains(&tool_kind) => ONCE,
            Self::ReadOnly | Self::AllowEdits => REJECT,
            Self::AllowOnce => ONCE,
            Self::AllowAlways => &["allow_always", "allow_once"],
        }
    }
}

/// Reads the value of the option that names a policy.
pub(crate) fn policy(value: &str) -> Result<Policy, String> {
    Policy::parse(value).ok_or_else(|| unknown("policy", value, &Policy::NAMES))
}

/// Reads the value of the option `--ask`.
pub(crate) fn otherwise(value: &str) -> Result<Otherwise, String> {
    Otherwise::parse(value).ok_or_else(|| unknown("answer", value, &Otherwise::NAMES))
}

fn unknown(what: &str, value: &str, known: &[&str]) -> String {
    match suggest::nearest(value, known.iter().copied()) {
        Some(near) => format!("unknown {what} `{value}`; did you mean `{near}`?"),
        None => {
            let names = known.join("`, `");
            format!("unknown {what} `{value}`; there are `{names}`")
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

/// Returns what an agent asks permission for. `announced` is what it said of the call before.
pub(super) fn asked(params: &Value, announced: Option<&Announced>) -> AskedPermission {
    let call = &params["toolCall"];
    let title = call["title"].as_str().or(call["toolCallId"].as_str());
    let kind = call["kind"].as_str();
    let kind = kind.or(announced.map(|announced| announced.kind.as_str()));
    let input = match (&call["rawInput"], announced) {
        (Value::Null, Some(announced)) => &announced.input,
        (input, _) => input,
    };
    let options = params["options"].as_array().map_or(&[][..], Vec::as_slice);
    AskedPermission {
        title: title.unwrap_or("a tool").to_owned(),
        kind: kind.unwrap_or_default().to_owned(),
        input: match input {
            Value::Null => changes(&call["content"]),
            input => input.to_string(),
        },
        options: options.iter().filter_map(option).collect(),
    }
}

/// Returns the changes to files that a call shows. An agent that does not tell with what a tool is called may tell them.
fn changes(content: &Value) -> String {
    let items = content.as_array().map_or(&[][..], Vec::as_slice);
    let is_change = |item: &&Value| item["type"] == "diff";
    let changes = items.iter().filter(is_change);
    let change = |item: &Value| json!({ "path": item["path"], "newText": item["newText"] });
    match changes.map(change).collect::<Vec<Value>>() {
        changes if changes.is_empty() => String::new(),
        changes => json!(changes).to_string(),
    }
}

fn option(offered: &Value) -> Option<PermissionOption> {
    let id = offered["optionId"].as_str()?;
    Some(PermissionOption {
        id: id.to_owned(),
        name: offered["name"].as_str().unwrap_or(id).to_owned(),
        kind: offered["kind"].as_str().unwrap_or_default().to_owned(),
    })
}

/// Decides about a request for permission by a policy.
pub(super) fn decide(policy: Policy, asked: &AskedPermission) -> Decision {
    let by = format!("by the policy `{}`", policy.name());
    answered(asked, policy.answers(&asked.kind), &by)
}

/// Answers a request as a person has decided about the same call before.
pub(super) fn decide_as_said(decided: &DecidedPermission, asked: &AskedPermission) -> Decision {
    let by = "by a person";
    match decided.decision() {
        permissions::Decision::Once => answered(asked, &[ALLOW_ONCE], by),
        permissions::Decision::Refused => answered(asked, REJECT, by),
        permissions::Decision::Option(chosen) => {
            let kind = [chosen.kind.as_str()];
            match asked.options.iter().find(|option| option.id == chosen.id) {
                Some(option) => selected(asked, option, by),
                None => answered(asked, &kind, by),
            }
        }
    }
}

/// Leaves a request open: a person is to decide it.
pub(super) fn left_to_a_person(asked: &AskedPermission) -> Decision {
    cancelled(asked, "left to a person, who is asked when the step ends")
}

/// Answers with the first of these kinds that is offered.
fn answered(asked: &AskedPermission, kinds: &[&str], by: &str) -> Decision {
    let mut offered = kinds
        .iter()
        .filter_map(|kind| asked.options.iter().find(|option| option.kind == *kind));
    match offered.next() {
        Some(option) => selected(asked, option, by),
        None => cancelled(
            asked,
            &format!("cancelled, no option says what {by} must be said"),
        ),
    }
}

fn selected(asked: &AskedPermission, option: &PermissionOption, by: &str) -> Decision {
    let PermissionOption { id, kind, .. } = option;
    Decision {
        result: json!({ "outcome": { "outcome": "selected", "optionId": id } }),
        words: format!(
            "{}: {} {by}, option `{id}`",
            subject(asked),
            described(kind)
        ),
        permits: kind.starts_with("allow"),
    }
}

fn cancelled(asked: &AskedPermission, what: &str) -> Decision {
    Decision {
        result: json!({ "outcome": { "outcome": "cancelled" } }),
        words: format!("{}: {what}", subject(asked)),
        permits: false,
    }
}

fn subject(asked: &AskedPermission) -> String {
    let kind = match asked.kind.as_str() {
        "" => "unknown kind",
        kind => kind,
    };
    format!("permission for `{}` ({kind})", asked.title)
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

    fn request(kind: &str, title: &str, options: &Value) -> AskedPermission {
        let call = json!({ "title": title, "kind": kind });
        asked(&json!({ "toolCall": call, "options": options }), None)
    }

    /// Returns the id of the option that is chosen, or `cancelled`.
    fn chosen(policy: Policy, tool_kind: &str, options: &Value) -> String {
        let decision = decide(policy, &request(tool_kind, "a title", options));
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
        for kind in ["read", "edit", "move", "delete"] {
            check(Policy::AllowEdits, kind, "id-allow_once");
        }
        check(Policy::AllowEdits, "execute", "id-reject_once");
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
        let request = request("edit", "write: a.txt", &options(&["reject_once"]));
        let decision = decide(Policy::ReadOnly, &request);
        assert_eq!(
            decision.words,
            "permission for `write: a.txt` (edit): rejected by the policy `read-only`, option `id-reject_once`"
        );
    }

    #[test]
    fn a_person_permits_the_call_once_refuses_it_or_chooses_an_answer() {
        let all = options(&["allow_always", "allow_once", "reject_once"]);
        let decided = |answer: &str, options: &Value| {
            let asked = request("execute", "x", options);
            let decided = DecidedPermission {
                asked: asked.clone(),
                answer: answer.to_owned(),
            };
            decide_as_said(&decided, &asked).result["outcome"].clone()
        };
        let id = |answer: &str| decided(answer, &all)["optionId"].clone();
        assert_eq!(id("yes"), "id-allow_once");
        assert_eq!(id("no"), "id-reject_once");
        assert_eq!(id("use git instead"), "id-reject_once");
        assert_eq!(id("id-allow_always"), "id-allow_always");
        let only_always = options(&["allow_always"]);
        assert_eq!(decided("yes", &only_always)["outcome"], "cancelled");
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        for name in Policy::NAMES {
            assert_eq!(Policy::parse(name).unwrap().name(), name);
        }
        assert_eq!(Policy::parse("yolo"), None);
        assert!(
            Otherwise::NAMES
                .iter()
                .all(|name| Otherwise::parse(name).is_some())
        );
    }
}
