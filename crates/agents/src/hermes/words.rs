//! Interprets the output of hermes: the line with its session, and its error messages. Pure.

use std::sync::LazyLock;

use regex::Regex;
use uwf_agent_kit::AdapterError;
use uwf_protocol::failure::FailureClass;

use crate::{complaint, signs};

/// The hint if the program does not exist.
pub(super) const INSTALL: &str = "install hermes (`pip install 'hermes-agent[acp]'`) and run `hermes setup`, or give \
    its full path by `--program` in the agent's `args`";

static SESSION: LazyLock<Regex> = LazyLock::new(|| {
    // The id is later used as an argument, and in the name of a file.
    let regex = Regex::new(r"(?im)^[ \t]*session_id:[ \t]*([\w][\w.-]*)[ \t\r]*$");
    regex.expect("the expression is fixed")
});

/// Finds the session that is named in what hermes printed.
pub(super) fn session(text: &str) -> Option<&str> {
    Some(SESSION.captures(text)?.get(1)?.as_str())
}

/// Returns what hermes printed without the line that names the session.
pub(super) fn without_session(text: &str) -> String {
    SESSION.replace(text, "").into_owned()
}

/// Returns the error for a process that failed, with its error message and a hint.
pub(super) fn failed(how: &str, complaint: &str) -> AdapterError {
    let message = match complaint::complaint(complaint).as_str() {
        "" => how.to_owned(),
        complaint => format!("{how}: {complaint}"),
    };
    AdapterError {
        hint: hint(complaint).map(ToOwned::to_owned),
        session_gone: complaint.contains("Session not found"),
        ..AdapterError::failed(message).class(class(complaint))
    }
}

/// Returns the failure class of an error message of hermes.
pub(super) fn class(complaint: &str) -> FailureClass {
    match complaint {
        _ if NOT_SET_UP.iter().any(|words| complaint.contains(words)) => FailureClass::Auth,
        _ => signs::class_in([complaint]),
    }
}

/// How hermes says that it has no provider yet.
const NOT_SET_UP: &[&str] = &[
    "isn't configured",
    "No LLM provider configured",
    "No inference provider",
];

/// Returns the hint for an error message of hermes.
pub(super) fn hint(complaint: &str) -> Option<&'static str> {
    const HINTS: [(&[&str], &str); 5] = [
        (
            NOT_SET_UP,
            "`hermes setup` chooses a provider and a model; `hermes doctor` says what is missing",
        ),
        (
            &["HTTP 401", "HTTP 403", "Invalid API key", "invalid_api_key"],
            "the provider refuses the key of hermes: `hermes setup` and `hermes auth` change it",
        ),
        (
            &["HTTP 402", "HTTP 429", "rate limit"],
            "the provider's quota is used up; the next `uwf thread step` goes on with the session",
        ),
        (
            &["unrecognized arguments", "invalid choice"],
            "this hermes does not know an option that `uwf` needs: `hermes update` brings a newer one",
        ),
        (
            &[
                "No module named 'acp'",
                "agent-client-protocol",
                "ACP dependencies",
            ],
            "the agent client protocol is an extra of hermes: `pip install 'hermes-agent[acp]'`",
        ),
    ];
    let says = |words: &&(&[&str], &str)| words.0.iter().any(|word| complaint.contains(word));
    HINTS.iter().find(says).map(|(_, hint)| *hint)
}

/// Returns the answer if it is nothing but an error message of the provider. Over the protocol, hermes returns failed
/// calls of its model as answers.
pub(super) fn provider_complaint(answer: &str) -> Option<&str> {
    let answer = answer.trim();
    let code = answer.strip_prefix("HTTP ")?.split_once(':')?.0;
    let is_code = code.len() == 3 && code.bytes().all(|byte| byte.is_ascii_digit());
    (is_code && !answer.contains("---")).then_some(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_session_is_a_line_of_its_own() {
        let check = |text: &str, id: Option<&str>| assert_eq!(session(text), id, "{text:?}");
        check(
            "\nsession_id: 20261122_011522_30ba39\n",
            Some("20261122_011522_30ba39"),
        );
        check(
            "noise\n Session_ID:\tabc-1 \r\nsession_id: second\n",
            Some("abc-1"),
        );
        check("the session_id: x stands in a text", None);
        check("session_id: --yolo\n", None);
        check("session_id: ../../etc\n", None);
        check("session_id:\n", None);
        check("", None);
        assert_eq!(without_session("session_id: a\nanswer\n").trim(), "answer");
    }

    #[test]
    fn complaints_have_hints() {
        let check = |complaint: &str, part: &str| {
            let found = hint(complaint).unwrap_or_default();
            assert!(found.contains(part), "{complaint}: {found}");
        };
        check(
            "It looks like Hermes isn't configured yet -- no API keys",
            "hermes setup",
        );
        check(
            "Internal error: No LLM provider configured. Run",
            "hermes setup",
        );
        check("HTTP 401: Invalid API key", "refuses the key");
        check("HTTP 429: slow down", "quota");
        check(
            "hermes: error: unrecognized arguments: --no-restore-cwd",
            "hermes update",
        );
        check(
            "Error: ACP dependencies not installed.",
            "hermes-agent[acp]",
        );
        assert_eq!(hint("Traceback"), None);
    }

    #[test]
    fn a_session_that_is_gone_is_recognised() {
        let error = failed(
            "`hermes` exited with code 1",
            "Session not found: x\nUse a session ID",
        );
        assert!(error.session_gone);
        assert_eq!(
            error.message,
            "`hermes` exited with code 1: Session not found: x\nUse a session ID"
        );
        assert!(!failed("`hermes` exited with code 1", "").session_gone);
    }

    #[test]
    fn a_failed_call_of_the_model_is_no_answer() {
        assert!(provider_complaint("HTTP 401: Invalid API key\n").is_some());
        for answer in [
            "HTTP 401 is what the server says: unauthorized",
            "---\nnote: HTTP 401: x\n---",
            "HTTP 401: x\n---\nnote: x\n---",
            "",
        ] {
            assert_eq!(provider_complaint(answer), None, "{answer}");
        }
    }
}
