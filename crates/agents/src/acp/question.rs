//! Turns a call that a person must decide into the answer of the step: it suspends the thread and asks the person.

use serde_json::{Map, Value};
use uwf_agent_kit::Reply;
use uwf_protocol::answer::{REASON_FIELD, STATUS_FIELD};
use uwf_protocol::ids::Status;
use uwf_protocol::permissions::{AskedPermission, PermissionOption};
use uwf_util::mask::Masks;
use uwf_util::text::shorten;

use super::client::Outcome;
use crate::answer::render;

/// How much of a call's input the question shows, in bytes.
const INPUT_SHOWN: usize = 2000;

/// Returns the reply of an agent: its answer, or the question at which it was stopped.
pub(crate) fn reply(outcome: Outcome, masks: &Masks) -> Reply {
    let text = match &outcome.asked {
        None => outcome.text,
        Some(asked) => suspension(asked, &outcome.text, masks),
    };
    Reply {
        text,
        session_id: outcome.session_id,
        model: outcome.model,
        turns: outcome.turns,
        usage: Some(outcome.usage),
        refused: outcome.refused,
        asked: outcome.asked,
    }
}

/// Returns the answer that asks, with what the agent has said before.
fn suspension(asked: &AskedPermission, said: &str, masks: &Masks) -> String {
    let fields = [
        (STATUS_FIELD, Status::SUSPEND.to_owned()),
        (REASON_FIELD, question(asked, masks)),
    ];
    let fields = fields.map(|(name, text)| (name.to_owned(), Value::from(text)));
    render(&Map::from_iter(fields), said)
}

fn question(asked: &AskedPermission, masks: &Masks) -> String {
    let kind = match asked.kind.as_str() {
        "" => String::new(),
        kind => format!(" ({kind})"),
    };
    // Some agents mark commands in their titles themselves.
    let title = asked.title.trim_matches('`');
    let mut text = format!("May this be done? `{title}`{kind}");
    if !asked.input.is_empty() {
        // Secrets go before anything is cut.
        let input = shorten(&masks.text(&asked.input), INPUT_SHOWN);
        text += &format!(", with {input}");
    }
    text += match asked.may_be_permitted_once() {
        true => "\n`-p yes` permits it once, and `-p no` refuses it.",
        false => {
            "\n`-p no` refuses it. The agent does not offer to permit it once, so `-p yes` refuses it, too."
        }
    };
    let others: Vec<String> = asked.options.iter().map(offered).collect();
    if !others.is_empty() {
        text += &format!(
            " The agent offers these answers, too: {}.",
            others.join(", ")
        );
    }
    text + " Anything else refuses it, and is told to the agent."
}

fn offered(option: &PermissionOption) -> String {
    let PermissionOption { id, name, .. } = option;
    match id == name {
        true => format!("`{id}`"),
        false => format!("`{id}` ({name})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn option(id: &str, name: &str, kind: &str) -> PermissionOption {
        let [id, name, kind] = [id, name, kind].map(str::to_owned);
        PermissionOption { id, name, kind }
    }

    #[test]
    fn the_question_says_what_is_asked_and_what_can_be_answered() {
        let mut asked = AskedPermission {
            title: "`rm -r out`".to_owned(),
            kind: "execute".to_owned(),
            input: r#"{"command":"rm -r out"}"#.to_owned(),
            options: vec![option("always", "Always allow", "allow_always")],
        };
        let begin = "May this be done? `rm -r out` (execute), with {\"command\":\"rm -r out\"}\n";
        let offers = " The agent offers these answers, too: `always` (Always allow)";
        let end = ". Anything else refuses it, and is told to the agent.";
        assert_eq!(
            question(&asked, &Masks::default()),
            format!(
                "{begin}`-p no` refuses it. The agent does not offer to permit it once, so `-p yes` refuses it, too.{offers}{end}"
            )
        );
        asked.options.push(option("once", "once", "allow_once"));
        assert_eq!(
            question(&asked, &Masks::default()),
            format!(
                "{begin}`-p yes` permits it once, and `-p no` refuses it.{offers}, `once`{end}"
            )
        );
    }

    #[test]
    fn no_part_of_a_secret_is_left_where_an_input_is_shortened() {
        let secret = "ghp_a_secret_of_some_length";
        // The beginning that is kept ends within the secret.
        let kept = INPUT_SHOWN / 4 * 3;
        let asked = AskedPermission {
            title: "write".to_owned(),
            kind: String::new(),
            input: format!(
                "{}{secret}{}",
                "a".repeat(kept - 10),
                "b".repeat(INPUT_SHOWN)
            ),
            options: Vec::new(),
        };
        let asks = question(&asked, &Masks::of([secret.as_bytes()]));
        assert!(
            asks.contains("left out") && !asks.contains("ghp_"),
            "{asks}"
        );
    }
}
