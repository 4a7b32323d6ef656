//! The claude-code agent: Claude Code without its terminal, `claude -p`, as a stream of JSON lines.

use serde_json::Value;
use uwf_agent_kit::TryAgain;
use uwf_protocol::failure::FailureClass;
use uwf_protocol::nodes::{Outcome, ToolCall, Usage};

use crate::json::{count, plain, text};
use crate::options::Known;
use crate::signs::of_status;
use crate::stream::{
    Counts, Options, Passed, STRUCTURED, Structured, Tool, Transcript, no_variables,
};

pub(crate) const USAGE: &str = "uwf-claude-code [--program <path>] [--timeout <duration>] [--model <model>] \
    [--max-turns <n>] [--permission-mode <mode>] [--allowed-tools <tools>] [--disallowed-tools <tools>] \
    [--dangerously-skip-permissions] [--structured] [-- <more arguments of claude>] <thread> <role>";

pub(crate) const TOOL: Tool = Tool {
    label: "uwf-claude-code",
    program: "claude",
    install: "install Claude Code (`npm install -g @anthropic-ai/claude-code`), or say where it is with \
        `--program <path>` in the agent's `args`",
    login: "log in with `claude auth login`, or set ANTHROPIC_API_KEY in the `.env` of the storage root",
    logged_out: &[
        "not logged in",
        "please run /login",
        "invalid api key",
        "authentication_failed",
        "authentication_error",
        "oauth token has expired",
    ],
    gone: &[
        "no conversation found with session id",
        "--resume requires a valid session id",
    ],
    options: &[
        Known::Valued("--model", "The model, by Claude Code's name or alias"),
        Known::Valued("--max-turns", "How often the model may answer in one call"),
        Known::Valued(
            "--permission-mode",
            "What is allowed without asking: default, acceptEdits, plan or bypassPermissions",
        ),
        Known::Valued(
            "--allowed-tools",
            "Tools that are allowed without asking, such as Bash or Bash(git:*)",
        ),
        Known::Valued("--disallowed-tools", "Tools that are never allowed"),
        Known::Flag(
            "--dangerously-skip-permissions",
            "Allows everything without asking",
        ),
        STRUCTURED,
    ],
    args,
    variables: no_variables,
    read,
    counts: Counts::Calls,
    structured: Some(&Structured {
        option: "--json-schema",
        passed: Passed::Inline,
        schema: |role| Some(role.parameters().clone()),
        how: "Submit your answer with the tool `StructuredOutput`, once, at the end. It replaces the YAML block and the \
            Markdown.",
        refusals: &[
            "unknown option '--json-schema'",
            "--json-schema is not a valid json schema",
            "input_schema",
        ],
    }),
};

/// Parts of tool results that say that the call was not permitted.
const REFUSALS: [&str; 4] = [
    "haven't granted it yet",
    "requires approval",
    "require approval",
    "has been denied",
];

fn args(options: &Options, session: Option<&str>) -> Vec<String> {
    options.after(
        &["-p", "--output-format", "stream-json", "--verbose"],
        session,
    )
}

fn read(event: &Value, seen: &mut Transcript) {
    if let Some(session) = text(event, "/session_id") {
        seen.session_id = Some(session.to_owned());
    }
    match text(event, "/type") {
        Some("system") => read_system(event, seen),
        Some("assistant") => read_assistant(event, seen),
        Some("user") => read_user(event, seen),
        Some("result") => read_result(event, seen),
        Some("rate_limit_event") => read_limit(&event["rate_limit_info"], seen),
        Some(_) | None => {}
    }
}

fn read_system(event: &Value, seen: &mut Transcript) {
    if let Some(model) = text(event, "/model") {
        seen.model = Some(model.to_owned());
    }
    if text(event, "/subtype") == Some("api_retry") {
        let why = text(event, "/error").unwrap_or("the model did not answer");
        seen.tell(&format!("tries again: {why}"));
    }
}

/// Reads whether a limit of the account is used up, and when it is free again. The newest report counts.
fn read_limit(limit: &Value, seen: &mut Transcript) {
    let is_used_up = text(limit, "/status") == Some("rejected");
    let at_seconds = limit["resetsAt"].as_i64().filter(|_| is_used_up);
    seen.try_again = at_seconds.map(|seconds| TryAgain::At(seconds.saturating_mul(1000)));
}

fn read_assistant(event: &Value, seen: &mut Transcript) {
    seen.class = text(event, "/error").and_then(class_of);
    if let Some(id) = text(event, "/message/id") {
        seen.used(id, tokens(&event["message"]["usage"]));
    }
    let of = |kind: &'static str| blocks(event).filter(move |block| block["type"] == kind);
    let said = joined(of("text"), "/text");
    let thought = joined(of("thinking"), "/thinking");
    for block in of("tool_use") {
        seen.called(&plain(&block["id"]), &plain(&block["name"]));
    }
    let calls = of("tool_use").map(|block| ToolCall {
        id: text(block, "/id").map(ToOwned::to_owned),
        name: plain(&block["name"]),
        args: plain(&block["input"]),
    });
    let before = seen.last_text.take();
    seen.assistant(&said, calls.collect(), &thought);
    // Messages of a sub-agent are not the answer.
    if seen.last_text.is_none() || text(event, "/parent_tool_use_id").is_some() {
        seen.last_text = before;
    }
}

fn read_user(event: &Value, seen: &mut Transcript) {
    for result in blocks(event).filter(|block| block["type"] == "tool_result") {
        let content = match &result["content"] {
            Value::Array(parts) => joined(parts.iter(), "/text"),
            content => plain(content),
        };
        let outcome = match result["is_error"] == true {
            true => Outcome::Error,
            false => Outcome::Ok,
        };
        seen.answer_to(&plain(&result["tool_use_id"]), &content, outcome);
        if result["is_error"] == true && REFUSALS.iter().any(|sign| content.contains(sign)) {
            seen.refused(&plain(&result["tool_use_id"]), None);
        }
    }
}

fn read_result(event: &Value, seen: &mut Transcript) {
    seen.usage = Usage {
        turns: count(event, "/num_turns"),
        duration_ms: count(event, "/duration_ms"),
        cost_usd: cost(event),
        ..tokens(&event["usage"])
    };
    // The list has the refused calls that were reported before, and others.
    for denial in event["permission_denials"].as_array().into_iter().flatten() {
        seen.refused(&plain(&denial["tool_use_id"]), text(denial, "/tool_name"));
    }
    let subtype = text(event, "/subtype").unwrap_or_default();
    let is_too_long = text(event, "/terminal_reason") == Some("prompt_too_long");
    let by_status = count(event, "/api_error_status").and_then(of_status);
    seen.class = match is_too_long {
        true => Some(FailureClass::ContextTooLong),
        false if subtype == "error_max_structured_output_retries" => Some(FailureClass::BadAnswer),
        false => by_status.or(seen.class),
    };
    let is_error = event["is_error"] == true || is_too_long;
    let result = text(event, "/result");
    if !is_error && !subtype.starts_with("error") {
        let structured = event["structured_output"].is_object();
        let structured = structured.then(|| event["structured_output"].to_string());
        seen.answer = structured.or(result.map(ToOwned::to_owned));
        return;
    }
    let errors = event["errors"].as_array().into_iter().flatten();
    let errors: Vec<&str> = errors.filter_map(Value::as_str).collect();
    seen.error = Some(match (result, errors.as_slice()) {
        (Some(result), _) if !result.trim().is_empty() => result.to_owned(),
        (_, []) => subtype.to_owned(),
        (_, errors) => format!("{subtype}: {}", errors.join("; ")),
    });
}

/// Returns the tokens of a message or of a whole call.
fn tokens(usage: &Value) -> Usage {
    let cached = count(usage, "/cache_read_input_tokens");
    let written = count(usage, "/cache_creation_input_tokens");
    Usage {
        // `input_tokens` excludes the tokens that were read from or written to the cache.
        input_tokens: count(usage, "/input_tokens")
            .map(|input| input + cached.unwrap_or_default() + written.unwrap_or_default()),
        output_tokens: count(usage, "/output_tokens"),
        cached_tokens: cached,
        cache_write_tokens: written,
        ..Usage::default()
    }
}

/// Returns the class of an error code in a message of the model.
fn class_of(error: &str) -> Option<FailureClass> {
    match error {
        "authentication_failed" | "oauth_org_not_allowed" => Some(FailureClass::Auth),
        "rate_limit" | "billing_error" => Some(FailureClass::RateLimit),
        "overloaded" | "server_error" => Some(FailureClass::Overloaded),
        _ => None,
    }
}

/// Returns the cost of this call. `total_cost_usd` can be that of the whole session.
fn cost(event: &Value) -> Option<f64> {
    let of_call = event["model_usage_since_last_result"].as_object();
    let costs = of_call.map(|models| models.values().map(|model| model["costUSD"].as_f64()));
    match costs {
        Some(mut costs) => costs.try_fold(0.0, |sum, cost| Some(sum + cost?)),
        None => event["total_cost_usd"].as_f64(),
    }
}

fn blocks(event: &Value) -> impl Iterator<Item = &Value> {
    let content = event.pointer("/message/content").and_then(Value::as_array);
    content.into_iter().flatten()
}

fn joined<'a>(blocks: impl Iterator<Item = &'a Value>, pointer: &str) -> String {
    let texts: Vec<&str> = blocks.filter_map(|block| text(block, pointer)).collect();
    texts.join("\n")
}

#[cfg(test)]
mod tests;
