//! What to type next about a blocked thread.

use uwf_engine::Fix;
use uwf_protocol::ids::ThreadId;

/// Returns the commands that a person may type next.
pub(crate) fn commands(fix: &Fix, thread: ThreadId) -> Vec<String> {
    match fix {
        Fix::Answer { statuses } => {
            let told = match statuses.as_slice() {
                [] => "…".to_owned(),
                some => format!("Answer with one of: {}", some.join(", ")),
            };
            vec![format!("uwf thread poke {thread} -p \"{told}\"")]
        }
        Fix::Workflow => vec![
            "uwf workflow put <file>".to_owned(),
            format!("uwf thread migrate {thread}"),
        ],
    }
}

/// Returns the same advice as a sentence.
pub(super) fn hint(fix: &Fix, thread: ThreadId) -> String {
    let commands = commands(fix, thread);
    let commands: Vec<String> = commands.iter().map(|one| format!("`{one}`")).collect();
    let commands = commands.join(" and ");
    match fix {
        Fix::Answer { .. } => format!(
            "{commands} redoes the last step, `uwf thread fork <step>` goes back to one that `uwf thread steps {thread}` lists; if the answer is right, correct the workflow, and `uwf thread migrate {thread}` goes on under it"
        ),
        Fix::Workflow => format!(
            "only a corrected workflow helps, and the thread keeps its workflow until it is told otherwise: {commands} go on under the corrected one"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_names_the_command_and_the_statuses_that_have_edges() {
        let thread: ThreadId = "01J7K9Z000000000000000000A".parse().unwrap();
        let statuses = vec!["good".to_owned(), "bad".to_owned()];
        let hint = hint(&Fix::Answer { statuses }, thread);
        let command = format!("`uwf thread poke {thread} -p \"Answer with one of: good, bad\"`");
        assert!(hint.starts_with(&command), "{hint}");
        let hint = super::hint(&Fix::Workflow, thread);
        assert!(hint.contains("`uwf workflow put <file>`"), "{hint}");
        assert!(!hint.contains("poke"), "{hint}");
    }
}
