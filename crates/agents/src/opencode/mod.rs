//! The opencode agent: opencode without its terminal, `opencode run --format json`.

use std::time::Duration;

use serde_json::{Map, Value};
use uwf_agent_kit::TryAgain;
use uwf_protocol::failure::FailureClass;
use uwf_protocol::nodes::{Outcome, ToolCall, Usage};
use uwf_protocol::permissions::{Permissions, UnknownPermissions};
use uwf_storage::Env;

use crate::call;
use crate::json::{count, plain, text};
use crate::options::Known;
use crate::signs::of_status;
use crate::stream::{self, Counts, Options, Tool, Transcript};

pub(crate) const USAGE: &str = "uwf-opencode [--program <path>] [--timeout <duration>] [--model <provider/model>] \
    [--agent <name>] [--variant <name>] [--thinking] [--permissions read|edit|run|all] [-- <more arguments of opencode run>] \
    <thread> <role>";

pub(crate) const TOOL: Tool = Tool {
    label: "uwf-opencode",
    program: "opencode",
    install: "install opencode (`npm install -g opencode-ai`), or say where it is with `--program <path>` in \
        the agent's `args`",
    login: "log in with `opencode auth login`, or set the key of the provider in the `.env` of the storage root",
    logged_out: &["opencode auth login", "api key is missing"],
    gone: &["session not found"],
    options: &[
        Known::Valued("--model", "The model, as `provider/model`"),
        Known::Valued("--agent", "The agent of opencode's own config"),
        Known::Valued(
            "--variant",
            "How much the model thinks, in the words of its provider",
        ),
        Known::Flag("--thinking", "Records what the model thinks, too"),
        Known::Valued(
            PERMISSIONS,
            "What it may do, as `permission` of its own config, in JSON",
        ),
    ],
    args,
    variables,
    read,
    counts: Counts::Calls,
    structured: None,
};

/// The option that becomes a variable of opencode.
const PERMISSIONS: &str = "--permissions";

/// What opencode may do with every word.
const LOOK: [&str; 7] = ["read", "glob", "grep", "list", "lsp", "skill", "todowrite"];
/// What it may do with `run` and `all`, beside `edit`.
const WORK: [&str; 5] = ["bash", "task", "webfetch", "websearch", "codesearch"];
/// What it may do with `all`.
const BEYOND: [&str; 2] = ["external_directory", "doom_loop"];

/// Parts of tool results that say that the call was not permitted.
const REFUSALS: [&str; 2] = [
    "rejected permission to use this",
    "a rule which prevents you from using this",
];

/// Serves one call.
pub(crate) fn serve(args: &[String], env: &Env) -> anyhow::Result<i32> {
    let (own, call) = call::split(args)?;
    let options = Options::parse(&TOOL, own).map_err(anyhow::Error::msg)?;
    if let Some(word) = options.clone().take(PERMISSIONS) {
        let _: Permissions = word
            .parse()
            .map_err(|error: UnknownPermissions| anyhow::anyhow!("{error}"))?;
    }
    Ok(stream::serve(&TOOL, options, &call, env))
}

fn args(options: &Options, session: Option<&str>) -> Vec<String> {
    let fixed = ["run", "--format", "json"].map(ToOwned::to_owned);
    let session = session.map(|session| ["--session".to_owned(), session.to_owned()]);
    let mut options = options.clone();
    options.take(PERMISSIONS);
    fixed
        .into_iter()
        .chain(session.into_iter().flatten())
        .chain(options.passed)
        .chain(options.extra)
        .collect()
}

fn variables(options: &Options) -> Vec<(&'static str, String)> {
    let word = options.clone().take(PERMISSIONS);
    let permissions = word.and_then(|word| word.parse().ok());
    permissions
        .map(|permissions| ("OPENCODE_PERMISSION", rules(permissions).to_string()))
        .into_iter()
        .collect()
}

/// Returns the rules of opencode for our permissions. They name every tool: a rule for one tool that stands only in opencode's
/// own config would go before the general rule. What is denied is told to the model, which can answer without it. What opencode
/// would ask for would end its turn.
fn rules(permissions: Permissions) -> Value {
    let mut rules = Map::new();
    let mut rule = |name: &str, least: Permissions| {
        let action = if permissions >= least {
            "allow"
        } else {
            "deny"
        };
        rules.insert(name.to_owned(), action.into());
    };
    rule("*", Permissions::Run);
    rule("edit", Permissions::Edit);
    LOOK.iter().for_each(|name| rule(name, Permissions::Read));
    WORK.iter().for_each(|name| rule(name, Permissions::Run));
    BEYOND.iter().for_each(|name| rule(name, Permissions::All));
    // Nobody is there to answer.
    rules.insert("question".to_owned(), "deny".into());
    Value::Object(rules)
}

fn read(event: &Value, seen: &mut Transcript) {
    if let Some(session) = text(event, "/sessionID") {
        seen.session_id = Some(session.to_owned());
    }
    let part = &event["part"];
    let said = text(part, "/text").unwrap_or_default();
    match text(event, "/type") {
        Some("text") => seen.assistant(said, Vec::new(), ""),
        Some("reasoning") => seen.assistant("", Vec::new(), said),
        Some("tool_use") => read_call(part, seen),
        Some("step_finish") => read_end(part, seen),
        Some("error") => read_error(&event["error"], seen),
        Some(_) | None => {}
    }
}

/// Reads a call of a tool, which comes when it has ended.
fn read_call(part: &Value, seen: &mut Transcript) {
    let (id, name) = (plain(&part["callID"]), plain(&part["tool"]));
    let state = &part["state"];
    let call = ToolCall {
        name: name.clone(),
        args: plain(&state["input"]),
        id: text(part, "/callID").map(ToOwned::to_owned),
    };
    seen.assistant("", vec![call], "");
    let Some(error) = text(state, "/error") else {
        let output = text(state, "/output").unwrap_or_default();
        return seen.answer_to(&id, output, Outcome::Ok);
    };
    seen.answer_to(&id, error, Outcome::Error);
    if REFUSALS.iter().any(|sign| error.contains(sign)) {
        seen.refused(&id, Some(&name));
    }
}

/// Reads the end of a message of the model. The last one ends the turn.
fn read_end(part: &Value, seen: &mut Transcript) {
    let tokens = &part["tokens"];
    let (cached, written) = (count(tokens, "/cache/read"), count(tokens, "/cache/write"));
    let beside = cached.unwrap_or(0).saturating_add(written.unwrap_or(0));
    let thought = count(tokens, "/reasoning").unwrap_or(0);
    // opencode tells 0 for a model whose price it does not know.
    let cost = part["cost"].as_f64().filter(|cost| *cost > 0.0);
    let usage = Usage {
        input_tokens: count(tokens, "/input").map(|input| input.saturating_add(beside)),
        output_tokens: count(tokens, "/output").map(|output| output.saturating_add(thought)),
        cached_tokens: cached,
        cache_write_tokens: written,
        turns: Some(1),
        cost_usd: cost,
        ..Usage::default()
    };
    seen.used(&plain(&part["messageID"]), usage);
    match text(part, "/reason") {
        Some("stop") => {
            seen.error = None;
            seen.answer = seen.last_text.clone();
        }
        Some("length") => {
            seen.error = Some("the model's answer was cut off at its limit of length".to_owned());
        }
        Some(_) | None => {}
    }
}

fn read_error(error: &Value, seen: &mut Transcript) {
    let name = text(error, "/name").unwrap_or("unknown error");
    let message = text(error, "/data/message").filter(|message| !message.is_empty());
    seen.error = Some(match message {
        Some(message) => format!("{name}: {message}"),
        None => name.to_owned(),
    });
    let by_status = count(error, "/data/statusCode").and_then(of_status);
    seen.class = match name {
        "ContextOverflowError" => Some(FailureClass::ContextTooLong),
        "ProviderAuthError" => Some(FailureClass::Auth),
        _ => by_status,
    };
    let wait = text(error, "/data/responseHeaders/retry-after");
    let wait = wait.and_then(|seconds| seconds.parse().ok());
    seen.try_again = wait.map(|seconds| TryAgain::After(Duration::from_secs(seconds)));
}

#[cfg(test)]
mod tests;
