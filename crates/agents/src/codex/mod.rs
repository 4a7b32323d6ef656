//! The codex agent: Codex without its terminal, `codex exec --json`.

use serde_json::Value;
use uwf_protocol::nodes::{Outcome, ToolCall};

use crate::json::{count, plain, text};
use crate::options::Known;
use crate::result_schema::ResultSchema;
use crate::stream::{
    Counts, Options, Passed, STRUCTURED, Structured, Tool, Transcript, no_variables,
};

pub(crate) const USAGE: &str = "uwf-codex [--program <path>] [--timeout <duration>] [--model <model>] \
    [--sandbox <mode>] [--profile <name>] [--config <key=value>]… [--skip-git-repo-check] [--structured] \
    [-- <more arguments of codex exec>] <thread> <role>";

pub(crate) const TOOL: Tool = Tool {
    label: "uwf-codex",
    program: "codex",
    install: "install Codex (`npm install -g @openai/codex`), or say where it is with `--program <path>` in \
        the agent's `args`",
    login: "log in with `codex login`, or set CODEX_API_KEY in the `.env` of the storage root",
    logged_out: &["not logged in", "401 unauthorized", "codex login"],
    gone: &["no rollout found", "no saved session found"],
    options: &[
        Known::Valued("--model", "The model"),
        Known::Valued(
            "--sandbox",
            "What commands may do: read-only, workspace-write or danger-full-access",
        ),
        Known::Valued("--profile", "A profile of Codex's own config"),
        Known::Valued(
            "--config",
            "A key of its config and a value; may be repeated",
        ),
        Known::Flag(
            "--skip-git-repo-check",
            "Runs outside git repositories, too",
        ),
        STRUCTURED,
    ],
    args,
    variables: no_variables,
    read,
    counts: Counts::Sessions,
    structured: Some(&Structured {
        option: "--output-schema",
        passed: Passed::File,
        schema: ResultSchema::strict_parameters,
        how: "Your answer is one JSON object, whose format you are given. It replaces the YAML block and the Markdown. \
            Write no message before you have done the work. A field that you would leave out is null.",
        refusals: &[
            "unexpected argument '--output-schema'",
            "codex_output_schema",
            "invalid_json_schema",
            "text.format",
            "response_format",
        ],
    }),
};

fn args(options: &Options, session: Option<&str>) -> Vec<String> {
    // All options are accepted before `resume`, but only some after it.
    let own = |arg: &str| vec![arg.to_owned()];
    let resume = session.map(|session| vec!["resume".to_owned(), session.to_owned()]);
    [
        vec!["exec".to_owned(), "--json".to_owned()],
        options.schema.clone(),
        options.passed.clone(),
        options.extra.clone(),
        resume.unwrap_or_default(),
        own("-"),
    ]
    .concat()
}

fn read(event: &Value, seen: &mut Transcript) {
    match text(event, "/type") {
        Some("thread.started") => {
            seen.session_id = text(event, "/thread_id").map(ToOwned::to_owned);
        }
        Some("item.started") => {
            let kind = text(event, "/item/type").unwrap_or_default();
            seen.tell(&format!("begins {kind}"));
        }
        Some("item.completed") => read_item(&event["item"], seen),
        Some("turn.completed") => {
            seen.usage.input_tokens = count(event, "/usage/input_tokens");
            seen.usage.output_tokens = count(event, "/usage/output_tokens");
            seen.usage.cached_tokens = count(event, "/usage/cached_input_tokens");
            seen.error = None;
            seen.answer = seen.last_text.clone();
        }
        Some("turn.failed") => {
            let message = text(event, "/error/message").unwrap_or("the turn failed");
            seen.error = Some(message.to_owned());
        }
        // Codex may retry. The error stands unless a turn is completed later.
        Some("error") => {
            let message = text(event, "/message").unwrap_or("unknown error");
            seen.tell(message);
            seen.error = Some(message.to_owned());
        }
        Some(_) | None => {}
    }
}

fn read_item(item: &Value, seen: &mut Transcript) {
    let said = text(item, "/text").unwrap_or_default();
    match text(item, "/type") {
        Some("agent_message") => seen.assistant(said, Vec::new(), ""),
        Some("reasoning") => seen.assistant("", Vec::new(), said),
        Some("error") => seen.tell(text(item, "/message").unwrap_or_default()),
        Some("command_execution") => {
            let id = call(seen, item, "command_execution", &item["command"]);
            let output = text(item, "/aggregated_output").unwrap_or_default();
            let (output, outcome) = match item["exit_code"].as_i64() {
                Some(0) | None => (output.to_owned(), Outcome::Ok),
                Some(code) => (format!("{output}[exit code {code}]"), Outcome::Error),
            };
            seen.answer_to(&id, &output, outcome);
            let by_sandbox = outcome == Outcome::Error && says_read_only(&output);
            if item["status"] == "declined" || by_sandbox {
                seen.refused(&id, Some("command_execution"));
            }
        }
        Some("mcp_tool_call") => {
            let name = format!("{}.{}", plain(&item["server"]), plain(&item["tool"]));
            let id = call(seen, item, &name, &item["arguments"]);
            match text(item, "/error/message") {
                Some(error) => seen.answer_to(&id, error, Outcome::Error),
                None => seen.answer_to(&id, &plain(&item["result"]), Outcome::Ok),
            }
        }
        Some("file_change") => {
            let id = call(seen, item, "file_change", &item["changes"]);
            if item["status"] == "declined" || item["status"] == "failed" {
                seen.refused(&id, Some("file_change"));
            }
        }
        Some("web_search") => drop(call(seen, item, "web_search", &item["query"])),
        Some("todo_list") => drop(call(seen, item, "todo_list", &item["items"])),
        Some(_) | None => {}
    }
}

/// Tells whether the output of a command that failed shows that the sandbox kept it from writing.
fn says_read_only(output: &str) -> bool {
    output.to_lowercase().contains("read-only file system")
}

/// Adds the call that an item is, and returns the item's id.
fn call(seen: &mut Transcript, item: &Value, name: &str, args: &Value) -> String {
    let id = text(item, "/id").map(ToOwned::to_owned);
    let call = ToolCall {
        name: name.to_owned(),
        args: plain(args),
        id: id.clone(),
    };
    seen.assistant("", vec![call], "");
    id.unwrap_or_default()
}

#[cfg(test)]
mod tests;
