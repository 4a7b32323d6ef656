//! What an agent is told: the whole prompt of a visit, and the correction after an answer that did not fit.
//!
//! Pure: texts out of plain inputs. Where the inputs come from is said in [`crate::context`].

mod deliverable;
mod history;

use serde_json::Value;
use uwf_protocol::ids::{RoleName, ThreadId};
use uwf_protocol::workflow::Role;

pub use deliverable::deliverable;
pub(crate) use deliverable::{REPORT, stand_ins};
pub use history::{BUDGET, Budget, History, PastStep};

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
    /// The position of the step that is to be done, from 1.
    pub step: u64,
    /// Which visit of the role this is, from 1.
    pub visit: u64,
    /// What the user asked of the thread.
    pub task: &'a str,
    /// What the role is told about the past.
    pub history: &'a History,
    /// The step that is to be done again, rendered, if there is one.
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
        section("Task", inputs.task),
        history::section(inputs.history),
        inputs.earlier.map(again),
        section("Moderator Instruction", inputs.instruction),
    ];
    let sections: Vec<String> = sections.into_iter().flatten().collect();
    sections.join("\n")
}

/// Returns what an agent is told when its answer was not accepted.
#[must_use]
pub fn correction(problem: &str, schema: &Value) -> String {
    format!(
        "Your answer was not accepted: {}\n\n\
         Your work is not lost. Do not do it again: answer once more, with the corrected block first.\n\n{}",
        problem.trim_end(),
        deliverable(schema),
    )
}

/// Returns what an agent is told when an earlier attempt at the same step failed and its session goes on,
/// with the instruction if it has changed since.
#[must_use]
pub fn continuation(error: &str, instruction: Option<&str>, schema: &Value) -> String {
    let said = instruction.map_or(String::new(), |instruction| {
        format!(
            "The instruction is another one now; it counts instead of the one before:\n\n{}\n\n",
            instruction.trim_end()
        )
    });
    format!(
        "Your last attempt at this step failed: {}\n\n\
         Your work is not lost. See how far you got, finish what is missing, and give your answer.\n\n{said}{}",
        error.trim_end(),
        deliverable(schema),
    )
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

/// Returns the section with the answer that is to be bettered.
fn again(earlier: &str) -> String {
    format!(
        "## The Answer to Replace\n\n\
         This step was done before, with this answer. It was not good enough: do the step again and give a better \
         answer, in full, which takes its place in the thread.\n\n{earlier}"
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
        "You can look up more about this thread; these commands change nothing:\n\n\
         - `uwf thread read {thread}`: task and answers as Markdown\n\
         - `uwf thread steps {thread}`: every step with its data and hash\n\
         - `uwf step read <step-hash>`: one step in full\n\
         - `uwf cas get <hash>`: any node\n\n\
         Do not run commands that step, resume or end threads."
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
