//! The texts for an agent: the whole prompt of a visit, the request to correct an answer that did not fit, and the
//! message that continues a session.
//!
//! Pure: texts out of plain inputs. [`crate::context`] reads the inputs.

mod checks;
mod deliverable;
mod history;

use serde_json::Value;
use uwf_protocol::ids::{RoleName, ThreadId};
use uwf_protocol::permissions::DecidedPermission;
use uwf_protocol::workflow::Role;

pub use checks::{again_after_checks, failed_before, failed_checks, said_by_checks};
pub use deliverable::deliverable;
pub(crate) use deliverable::{REPORT, stand_ins};
pub use history::{Budget, History, PastStep};

/// Everything that a prompt is made of.
#[derive(Debug, Clone)]
pub struct Inputs<'a> {
    /// The thread.
    pub thread: ThreadId,
    /// The name of the role.
    pub role_name: &'a RoleName,
    /// The role.
    pub role: &'a Role,
    /// The JSON Schema of its answer.
    pub schema: &'a Value,
    /// The position of the step in the thread, from 1.
    pub step: u64,
    /// Which visit of the role this is, from 1.
    pub visit: u64,
    /// What the user asked of the thread.
    pub task: &'a str,
    /// The part of the past that the prompt shows.
    pub history: &'a History,
    /// The step to redo, rendered, if there is one.
    pub earlier: Option<&'a str>,
    /// The instruction that the moderator rendered; may be blank.
    pub instruction: &'a str,
}

/// Returns the whole prompt of a visit.
#[must_use]
pub fn assemble(inputs: &Inputs<'_>) -> String {
    let role = inputs.role;
    let sections = [
        Some(deliverable(inputs.schema)),
        Some(progress(inputs)),
        section("Goal", &role.goal),
        section("Capabilities", &capabilities(&role.capabilities)),
        section("Prepare", &prepare(inputs.thread, &role.capabilities)),
        section("Procedure", &role.procedure),
        section("Output", &role.output),
        role.checks.as_ref().map(checks::section),
        section("Task", inputs.task),
        history::section(inputs.history),
        inputs.earlier.map(again),
        section("Moderator Instruction", inputs.instruction),
    ];
    let sections: Vec<String> = sections.into_iter().flatten().collect();
    sections.join("\n")
}

/// Returns the message to an agent whose answer was not accepted.
#[must_use]
pub fn correction(problem: &str, schema: &Value) -> String {
    format!(
        "Your answer was not accepted: {}\n\n\
         Your work is kept. Do not repeat it. Answer again, and begin with the corrected block.\n\n{}",
        problem.trim_end(),
        deliverable(schema),
    )
}

/// Returns the message that continues the session of a failed attempt at the same step, with the instruction if it has
/// changed since.
#[must_use]
pub fn continuation(error: &str, instruction: Option<&str>, schema: &Value) -> String {
    let said = instruction.map_or(String::new(), |instruction| {
        format!(
            "The instruction has changed. Follow this one instead of the earlier one:\n\n{}\n\n",
            instruction.trim_end()
        )
    });
    format!(
        "Your last attempt at this step failed: {}\n\n\
         Your work is kept. Check how far you got, finish what is missing, and give your answer.\n\n{said}{}",
        error.trim_end(),
        deliverable(schema),
    )
}

/// Returns the paragraph about a call for which the agent asked permission, and which a person has decided.
#[must_use]
pub fn decided(decided: &DecidedPermission) -> String {
    let title = &decided.asked.title;
    let what = match decided.permits() {
        true => {
            "A person permits it. Make exactly this call again, it will not be refused. Then go on."
        }
        false => "A person refuses it. Do not make this call again. Go on without it.",
    };
    format!("\nYou were stopped when you asked for permission for `{title}`. {what}\n")
}

fn progress(inputs: &Inputs<'_>) -> String {
    let Inputs {
        thread,
        step,
        visit,
        role_name,
        ..
    } = inputs;
    format!(
        "## Progress\n\nThread `{thread}`, step {step}, visit {visit} of the role `{role_name}`.\n"
    )
}

/// Returns the section with the answer to replace.
fn again(earlier: &str) -> String {
    format!(
        "## The Answer to Replace\n\n\
         This step already has the answer below. It was not good enough. Do the step again and give a better, \
         complete answer. Your answer replaces the old one.\n\n{earlier}"
    )
}

/// Returns a section with a heading, or nothing for a blank text.
fn section(heading: &str, text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty()).then(|| format!("## {heading}\n\n{text}\n"))
}

fn capabilities(list: &[String]) -> String {
    let items: Vec<String> = list.iter().map(|item| format!("- {item}")).collect();
    items.join("\n")
}

/// Returns the commands that show more of the thread without changing anything.
fn prepare(thread: ThreadId, capabilities: &[String]) -> String {
    let mut text = format!(
        "To look up more about this thread, use these commands. They change nothing:\n\n\
         - `uwf thread read {thread}`: task and answers as Markdown\n\
         - `uwf thread steps {thread}`: every step with its data and hash\n\
         - `uwf step read <step-hash>`: one step in full\n\
         - `uwf cas get <hash>`: any node\n\n\
         Never run commands that step, resume or end threads."
    );
    if !capabilities.is_empty() {
        text.push_str("\n\nLoad the skills that match your capabilities: ");
        text.push_str(&capabilities.join(", "));
        text.push('.');
    }
    text
}

#[cfg(test)]
mod tests;
