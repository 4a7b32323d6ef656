//! The gemini agent: Gemini CLI without its terminal, as a stream of JSON lines.

use serde_json::Value;
use uwf_protocol::nodes::{Outcome, ToolCall};

use crate::json::{count, plain, text};
use crate::options::Known;
use crate::stream::{Counts, Options, Tool, Transcript, no_variables};

pub(crate) const USAGE: &str = "uwf-gemini [--program <path>] [--timeout <duration>] [--model <model>] \
    [--approval-mode <mode>] [--sandbox] [--skip-trust] [-- <more arguments of gemini>] <thread> <role>";

pub(crate) const TOOL: Tool = Tool {
    label: "uwf-gemini",
    program: "gemini",
    install: "install Gemini CLI (`npm install -g @google/gemini-cli`), or say where it is with \
        `--program <path>` in the agent's `args`",
    login: "run `gemini` once to log in, or set GEMINI_API_KEY in the `.env` of the storage root",
    logged_out: &[
        "set an auth method",
        "invalid auth method",
        "unauthenticated",
        "api key not valid",
    ],
    gone: &["invalid session identifier", "no previous sessions found"],
    options: &[
        Known::Valued("--model", "The model"),
        Known::Valued(
            "--approval-mode",
            "What is allowed without asking: default, auto_edit or yolo",
        ),
        Known::Flag("--sandbox", "Runs tools in a sandbox"),
        Known::Flag(
            "--skip-trust",
            "Runs in folders that it was not told to trust",
        ),
    ],
    args,
    variables: no_variables,
    read,
    counts: Counts::Calls,
    structured: None,
};

fn args(options: &Options, session: Option<&str>) -> Vec<String> {
    options.after(&["--output-format", "stream-json"], session)
}

fn read(event: &Value, seen: &mut Transcript) {
    match text(event, "/type") {
        Some("init") => {
            seen.session_id = text(event, "/session_id").map(ToOwned::to_owned);
            seen.model = text(event, "/model").map(ToOwned::to_owned);
        }
        Some("message") if event["role"] == "assistant" => {
            seen.piece(text(event, "/content").unwrap_or_default());
            if event["delta"] != true {
                seen.end_of_pieces(Vec::new());
            }
        }
        Some("tool_use") => {
            seen.called(&plain(&event["tool_id"]), &plain(&event["tool_name"]));
            seen.end_of_pieces(vec![ToolCall {
                id: text(event, "/tool_id").map(ToOwned::to_owned),
                name: plain(&event["tool_name"]),
                args: plain(&event["parameters"]),
            }]);
        }
        Some("tool_result") => {
            let error = text(event, "/error/message");
            let outcome = match event["status"] == "error" {
                true => Outcome::Error,
                false => Outcome::Ok,
            };
            let said = error.or(text(event, "/output")).unwrap_or_default();
            seen.answer_to(&plain(&event["tool_id"]), said, outcome);
            if event["status"] == "error" && was_refused(event) {
                seen.refused(&plain(&event["tool_id"]), None);
            }
        }
        // It goes on after a warning, and tells an error again in its result.
        Some("error") => seen.tell(text(event, "/message").unwrap_or("unknown error")),
        Some("result") => read_result(event, seen),
        Some(_) | None => {}
    }
}

/// Tells whether a tool is not there, as those are that would need a person's consent, or was forbidden by a rule.
fn was_refused(event: &Value) -> bool {
    const KINDS: [&str; 3] = [
        "tool_not_registered",
        "policy_violation",
        "permission_denied",
    ];
    const WORDS: [&str; 3] = [
        "not found in registry",
        "denied by policy",
        "user confirmation",
    ];
    let kind = text(event, "/error/type").unwrap_or_default();
    let message = text(event, "/error/message").unwrap_or_default();
    KINDS.contains(&kind) || WORDS.iter().any(|words| message.contains(words))
}

fn read_result(event: &Value, seen: &mut Transcript) {
    seen.end_of_pieces(Vec::new());
    let usage = &mut seen.usage;
    usage.input_tokens = count(event, "/stats/input_tokens");
    // What the model thinks is in the total only.
    let total = count(event, "/stats/total_tokens");
    let rest = total.and_then(|total| total.checked_sub(usage.input_tokens?));
    let output = count(event, "/stats/output_tokens");
    usage.output_tokens = output.map(|output| output.max(rest.unwrap_or(0)));
    usage.cached_tokens = count(event, "/stats/cached");
    usage.duration_ms = count(event, "/stats/duration_ms");
    if text(event, "/status") == Some("success") {
        seen.answer = seen.last_text.clone();
    } else {
        let message = text(event, "/error/message").unwrap_or("unknown error");
        seen.error = Some(message.to_owned());
    }
}

#[cfg(test)]
mod tests;
