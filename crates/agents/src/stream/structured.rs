//! Structured answers: a tool that can be given the JSON Schema of its answer is given that of the role, if the user wants it.
//!
//! The schema says all that front matter would, with the Markdown in a field of its own. What the tool answers becomes an
//! answer with front matter, so the kit reads, records and corrects it like any other. A tool or a provider that refuses
//! the schema is asked again without it: then front matter is the answer, as without this option.

use serde_json::Value;
use uwf_agent_kit::{AdapterError, Task};
use uwf_protocol::agent::MAX_ARGUMENT;
use uwf_storage::RunDir;

use crate::options::Known;
use crate::progress;
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

/// Returns what a call for a structured answer has more; `None` if front matter is asked for. Tells the user if that is so
/// because of the role's schema.
pub(super) fn request(tool: &Tool, options: &Options, task: &Task) -> Option<Request> {
    let structured = tool.structured.filter(|_| options.structured)?;
    // The user's own schema for the tool stays.
    if options
        .extra
        .iter()
        .any(|arg| arg.starts_with(structured.option))
    {
        return None;
    }
    let request = ResultSchema::new(&task.schema).ok().and_then(|role| {
        let schema = (structured.schema)(&role)?.to_string();
        let value = value(structured.passed, schema, task)?;
        let how = structured.how;
        Some(Request {
            args: vec![structured.option.to_owned(), value],
            note: format!("\n\n## Structured answer\n\n{how} {}\n", role.explain()),
        })
    });
    if request.is_none() {
        let role = &task.role;
        let why = format!("cannot be given the schema of `{role}`, and answers with front matter");
        progress::line(tool.label, &why);
    }
    request
}

/// Returns the value of the option, or `None` if the schema cannot be passed.
fn value(passed: Passed, schema: String, task: &Task) -> Option<String> {
    match passed {
        Passed::Inline => (schema.len() < MAX_ARGUMENT).then_some(schema),
        Passed::File => {
            let scratch = RunDir::at(task.run_dir.clone()).scratch;
            scratch.write_answer_schema(&schema).ok()?;
            Some(scratch.answer_schema_file().to_str()?.to_owned())
        }
    }
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
