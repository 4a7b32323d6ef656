//! Structured answers: a tool that can be given the JSON Schema of its answer is given that of the role, if the user wants it.
//!
//! The schema says all that front matter would, with the Markdown in a field of its own. What the tool answers becomes an
//! answer with front matter, so the kit reads, records and corrects it like any other. A tool or a provider that refuses
//! the schema is asked again without it: then front matter is the answer, as without this option.

use std::error::Error;

use serde_json::Value;
use uwf_agent_kit::{AdapterError, ModelUsage, Reply, Task};
use uwf_protocol::agent::MAX_ARGUMENT;
use uwf_protocol::nodes::Usage;
use uwf_storage::RunDir;

use crate::options::Known;
use crate::result_schema::ResultSchema;

use super::{Options, Tool};

/// The option of those adapters whose tool can give structured answers.
pub(crate) const OPTION: Known = Known::Flag(
    "--structured",
    "Asks for the answer by the tool's own structured output, with front matter if it refuses",
);

/// How a tool is asked for a structured answer.
pub(crate) struct Structured {
    /// The tool's option for the schema.
    pub(crate) option: &'static str,
    pub(crate) passed: Passed,
    /// Returns the schema for the tool, or `None` if the tool does not take one like that of the role.
    pub(crate) schema: fn(&ResultSchema) -> Option<Value>,
    /// Tells the model how it submits the answer.
    pub(crate) how: &'static str,
    /// Parts of the messages by which the tool or a provider refuses the option or the schema, in lower case.
    pub(crate) refusals: &'static [&'static str],
}

/// What the value of the option is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Passed {
    /// The schema.
    Inline,
    /// The path of a file with the schema.
    File,
}

/// What a call has more that asks for a structured answer.
pub(super) struct Request {
    pub(super) args: Vec<String>,
    /// What the message to the agent has more.
    pub(super) note: String,
}

/// Returns what a call for a structured answer has more; `None` if the user wants front matter. The error says why the tool
/// cannot be given the schema of the role.
pub(super) fn request(
    tool: &Tool,
    options: &Options,
    task: &Task,
) -> Option<Result<Request, String>> {
    let structured = tool.structured.filter(|_| options.structured)?;
    // The user's own schema for the tool stays.
    if options
        .extra
        .iter()
        .any(|arg| arg.starts_with(structured.option))
    {
        return None;
    }
    let role = ResultSchema::new(&task.schema).map_err(|error| first_cause(&error));
    let request = role.and_then(|role| {
        let schema = (structured.schema)(&role).ok_or("the tool does not take one like it")?;
        let value = value(structured.passed, &schema.to_string(), task)?;
        let how = structured.how;
        Ok(Request {
            args: vec![structured.option.to_owned(), value],
            note: format!("\n\n## Structured answer\n\n{how} {}\n", role.explain()),
        })
    });
    Some(request)
}

/// Returns the value of the option.
fn value(passed: Passed, schema: &str, task: &Task) -> Result<String, String> {
    match passed {
        Passed::Inline if schema.len() < MAX_ARGUMENT => Ok(schema.to_owned()),
        Passed::Inline => Err("it is too long for an argument".to_owned()),
        Passed::File => {
            let scratch = RunDir::at(task.run_dir.clone()).scratch;
            let written = scratch.write_answer_schema(schema);
            written.map_err(|error| first_cause(&error))?;
            let file = scratch.answer_schema_file();
            let file = file
                .to_str()
                .ok_or("the name of its file is not valid UTF-8")?;
            Ok(file.to_owned())
        }
    }
}

/// Returns what an error comes from in the end. A line of progress has no room for the rest.
fn first_cause(error: &dyn Error) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

/// Tells whether a call failed because the option or the schema was refused, before anything was done.
pub(super) fn is_refused(tool: &Tool, error: &AdapterError) -> bool {
    let refusals = tool
        .structured
        .map_or(&[][..], |structured| structured.refusals);
    let message = error.message.to_lowercase();
    let has_begun = error.turns.iter().any(|turn| turn.tool_calls.is_some());
    !has_begun && refusals.iter().any(|sign| message.contains(sign))
}

/// Adds what a refused call has used up to what the call after it has.
pub(super) fn with_spent(
    reply: Result<Reply, AdapterError>,
    spent: &Usage,
) -> Result<Reply, AdapterError> {
    match reply {
        Ok(reply) => Ok(Reply {
            usage: Some(spent.plus(&reply.usage.unwrap_or_default())),
            ..reply
        }),
        Err(error) => {
            let last = error.usage.map(|last| *last);
            let (usage, model) = last.map_or_else(Default::default, |it| (it.usage, it.model));
            let usage = spent.plus(&usage);
            Err(AdapterError {
                usage: Some(Box::new(ModelUsage { usage, model })),
                ..error
            })
        }
    }
}

/// Returns the answer with front matter that the text of a tool is, if that is a structured answer; else the text. `said` is
/// what the model said last.
pub(super) fn answer(options: &Options, task: &Task, text: String, said: Option<&str>) -> String {
    if !options.structured {
        return text;
    }
    let Ok(Value::Object(result)) = serde_json::from_str(text.trim()) else {
        return text;
    };
    let prose = said.filter(|said| said.trim() != text.trim());
    match ResultSchema::new(&task.schema) {
        Ok(role) => role.given(&result, prose.unwrap_or_default()),
        Err(_) => text,
    }
}

#[cfg(test)]
mod tests {
    use uwf_protocol::nodes::{ToolCall, Turn, TurnRole};

    use super::*;

    fn spent(tokens: u64) -> Usage {
        Usage {
            input_tokens: Some(tokens),
            ..Usage::default()
        }
    }

    #[test]
    fn a_call_in_which_a_tool_was_called_is_not_refused_whatever_it_says() {
        let refused = |error: &AdapterError| is_refused(&crate::codex::TOOL, error);
        let mut error = AdapterError::failed("Invalid_JSON_Schema");
        assert!(refused(&error));
        error.turns = vec![Turn::spoken(TurnRole::Assistant, "I look.")];
        assert!(refused(&error));
        error.turns[0].tool_calls = Some(vec![ToolCall {
            name: "shell".to_owned(),
            args: String::new(),
            id: None,
        }]);
        assert!(!refused(&error));
        assert!(!refused(&AdapterError::failed("no credit")));
    }

    #[test]
    fn what_a_refused_call_has_used_up_counts_with_the_next_one() {
        let reply = Reply {
            usage: Some(spent(2)),
            ..Reply::default()
        };
        let reply = with_spent(Ok(reply), &spent(5)).unwrap();
        assert_eq!(reply.usage, Some(spent(7)));
        let error = with_spent(Err(AdapterError::failed("no credit")), &spent(5)).unwrap_err();
        assert_eq!(error.usage.unwrap().usage, spent(5));
    }
}
