//! The cursor agent: Cursor's agent without its terminal, in one of the two forms that it exists in.
//!
//! `cursor-agent -p` prints its work as JSON lines and has sessions; the prompt is on its stdin. The older
//! `cursor -p <prompt>` prints only an answer.

mod print;

use serde_json::{Map, Value};
use uwf_protocol::nodes::ToolCall;
use uwf_storage::Env;

use crate::call;
use crate::json::{count, plain, text};
use crate::options::Known;
use crate::stream::{self, Counts, Options, Tool, Transcript, no_variables};

pub(crate) const USAGE: &str = "uwf-cursor [--form agent|cursor] [--program <path>] [--timeout <duration>] \
    [--model <model>] [--force] [-- <more arguments>] <thread> <role>";

const INSTALL: &str = "install Cursor's command line agent as its documentation says, or say where it is with \
    `--program <path>` in the agent's `args`";
const LOGIN: &str =
    "log in with `cursor-agent login`, or set CURSOR_API_KEY in the `.env` of the storage root";
const LOGGED_OUT: &[&str] = &[
    "not logged in",
    "authentication required",
    "invalid api key",
];

pub(crate) const OPTIONS: &[Known] = &[
    Known::Valued(
        "--form",
        "Which program: agent (cursor-agent, unless said otherwise) or cursor",
    ),
    Known::Valued("--model", "The model"),
    Known::Flag("--force", "Allows everything without asking"),
];

const AGENT: Tool = Tool {
    label: "uwf-cursor",
    program: "cursor-agent",
    install: INSTALL,
    login: LOGIN,
    logged_out: LOGGED_OUT,
    gone: &["session not found", "chat not found", "no such chat"],
    options: OPTIONS,
    args,
    variables: no_variables,
    read,
    counts: Counts::Calls,
    structured: None,
};

/// Returns the default program of a form.
pub(crate) fn program(form: Option<&str>) -> &'static str {
    match form {
        Some("cursor") => print::PROGRAM,
        _ => AGENT.program,
    }
}

/// Serves one call.
pub(crate) fn serve(args: &[String], env: &Env) -> anyhow::Result<i32> {
    let (own, call) = call::split(args)?;
    let mut options = Options::parse(&AGENT, own).map_err(anyhow::Error::msg)?;
    match options.take("--form").as_deref() {
        None | Some("agent") => Ok(stream::serve(&AGENT, options, &call, env)),
        Some("cursor") => Ok(print::serve(options, &call, env)),
        Some(form) => anyhow::bail!("`{form}` is no form: `agent` and `cursor` are"),
    }
}

fn args(options: &Options, session: Option<&str>) -> Vec<String> {
    options.after(&["-p", "--output-format", "stream-json"], session)
}

fn read(event: &Value, seen: &mut Transcript) {
    if let Some(session) = text(event, "/session_id") {
        seen.session_id = Some(session.to_owned());
    }
    match (text(event, "/type"), text(event, "/subtype")) {
        (Some("system"), _) => seen.model = text(event, "/model").map(ToOwned::to_owned),
        (Some("assistant"), _) => {
            let blocks = event.pointer("/message/content").and_then(Value::as_array);
            let texts = blocks.into_iter().flatten();
            let texts: Vec<&str> = texts.filter_map(|block| text(block, "/text")).collect();
            seen.assistant(&texts.join("\n"), Vec::new(), "");
        }
        (Some("tool_call"), Some("completed")) => read_tool_call(&event["tool_call"], seen),
        (Some("tool_call"), _) => seen.tell("begins a tool call"),
        (Some("result"), _) => read_result(event, seen),
        (Some(_), _) | (None, _) => {}
    }
}

/// Reads `{"readToolCall": {"args": …, "result": …}}`; what it holds depends on the tool.
fn read_tool_call(tool_call: &Value, seen: &mut Transcript) {
    let empty = Map::new();
    for (name, call) in tool_call.as_object().unwrap_or(&empty) {
        let name = name.strip_suffix("ToolCall").unwrap_or(name).to_owned();
        let args = plain(&call["args"]);
        let called = ToolCall {
            name: name.clone(),
            args,
            id: None,
        };
        seen.assistant("", vec![called], "");
        let result = &call["result"];
        if ["rejected", "permissionDenied"]
            .iter()
            .any(|key| result.get(key).is_some())
        {
            seen.refused("", Some(&name));
        }
        let content = text(result, "/success/content");
        seen.tool(&content.map_or_else(|| plain(result), ToOwned::to_owned));
    }
}

fn read_result(event: &Value, seen: &mut Transcript) {
    seen.usage.duration_ms = count(event, "/duration_ms");
    let result = text(event, "/result").unwrap_or_default();
    let is_error = event["is_error"] == true || text(event, "/subtype") != Some("success");
    if is_error {
        let message = if result.is_empty() {
            "unknown error"
        } else {
            result
        };
        seen.error = Some(message.to_owned());
        return;
    }
    // The result is all that was said, run together; the answer is the last message of it.
    let last = seen.last_text.clone();
    let answer = last.filter(|last| result.trim_end().ends_with(last.trim_end()));
    seen.answer = Some(answer.unwrap_or_else(|| result.to_owned()));
}

#[cfg(test)]
mod tests;
