//! What an agent is told about the checks of its role: before it works, and when they failed.

use serde_json::Value;
use uwf_protocol::checks::{CheckResult, Checks, line};
use uwf_protocol::ids::CasRef;
use uwf_util::markdown::block;
use uwf_util::text::shorten;

use super::deliverable;

/// How much of its own answer an agent without a session is shown, in bytes.
const OWN_ANSWER: usize = 16 * 1024;
/// How much of the output of all failed checks it is shown, in bytes. With the answer and the task, this fits on a command line.
const ALL_OUTPUT: usize = 32 * 1024;

/// Returns the section about the checks that will run.
pub(super) fn section(checks: &Checks) -> String {
    let commands = checks.run.iter().map(|check| {
        let command = check.line();
        match check.name == command {
            true => format!("- `{command}`\n"),
            false => format!("- {}: `{command}`\n", check.name),
        }
    });
    let commands: String = commands.collect();
    format!(
        "## Checks\n\n\
         After your answer, these commands run in your working directory. Each must end with exit code 0, or your work does \
         not count. Do not change the files of the checks themselves.\n\n{commands}"
    )
}

/// Returns the message to an agent whose work did not pass the checks.
#[must_use]
pub fn failed_checks(failed: &[CheckResult], schema: &Value) -> String {
    format!(
        "Your work did not pass the checks.\n\n{}\n\n\
         Your work is kept. Fix what the checks report, and give your whole answer again.\n\n{}",
        said_by_checks(failed, usize::MAX),
        deliverable(schema),
    )
}

/// Returns the whole prompt for an agent that does not know what it was asked: the prompt of the task, the agent's own answer
/// to it, and the checks that its work did not pass.
#[must_use]
pub fn again_after_checks(prompt: &str, answer: &str, failed: &[CheckResult]) -> String {
    format!(
        "{}\n\n## Your Answer\n\n\
         You have worked on this already. Your work is kept, and this was your answer:\n\n{}\n\n\
         ## Failed Checks\n\n\
         Your work did not pass the checks.\n\n{}\n\n\
         Fix what the checks report, and give your whole answer again, as the Deliverable says.\n",
        prompt.trim_end(),
        block(&shorten(answer.trim(), OWN_ANSWER)),
        said_by_checks(failed, ALL_OUTPUT / failed.len().max(1)),
    )
}

/// Returns the section about an earlier attempt at the step whose work did not pass the checks. `said` is what they said,
/// `answer` the node with the whole answer.
#[must_use]
pub fn failed_before(said: &str, answer: Option<CasRef>) -> String {
    let whole = answer.map(|node| format!(" `uwf cas cat {node}` prints its answer."));
    format!(
        "\n## The Attempt before This One\n\n\
         An attempt at this step was made before. Its work is kept, but it did not pass the checks.{}\n\n{}\n\n\
         Check how far the work is, fix what the checks report, and give your whole answer.\n",
        whole.unwrap_or_default(),
        said.trim_end(),
    )
}

/// Returns what failed checks say, with at most so many bytes of the end of each output.
#[must_use]
pub fn said_by_checks(failed: &[CheckResult], limit: usize) -> String {
    let parts: Vec<String> = failed.iter().map(|result| said(result, limit)).collect();
    parts.join("\n\n")
}

fn said(result: &CheckResult, limit: usize) -> String {
    let problem = result.problem.as_deref().unwrap_or_default();
    let command = line(&result.command);
    let output = result.output.trim_end();
    let start = output.ceil_char_boundary(output.len().saturating_sub(limit));
    let output = &output[start..];
    let what = match result.name == command {
        true => format!("The check `{command}` failed: {problem}."),
        false => format!(
            "The check `{}` (`{command}`) failed: {problem}.",
            result.name
        ),
    };
    match output.is_empty() {
        true => what,
        false => format!("{what} The end of its output:\n\n{}", block(output)),
    }
}
