//! What to type next after an error. The other crates return errors as data; only this crate knows the commands.

pub(crate) mod bundle;
pub(crate) mod config;
mod engine;
mod files;
pub(crate) mod fix;
pub(crate) mod foreign;
pub(crate) mod pipeline;
pub(crate) mod queues;
pub(crate) mod run_folder;
pub(crate) mod run_name;
pub(crate) mod runs;
pub(crate) mod sharing;
pub(crate) mod stopped_runs;
pub(crate) mod storage;
pub(crate) mod store;
pub(crate) mod thread;
pub(crate) mod workspace;

use std::borrow::Cow;
use std::path::Path;
use std::sync::OnceLock;

use uwf_engine::AgentChoice;
use uwf_engine::EngineError;
use uwf_util::shell_words;

/// The start of a command with the `--root` of this call. The commands that it proposes need the same root.
static ROOT: OnceLock<String> = OnceLock::new();

/// Records the root from the command line, before a command runs.
pub(crate) fn set_root(root: &Path) {
    let root = root.display().to_string();
    let _ = ROOT.set(format!("uwf --root {} ", shell_words::quote(&root)));
}

/// Adds the `--root` of this call to the commands in a hint. A command that names another root keeps it.
pub(crate) fn here(text: &str) -> Cow<'_, str> {
    match ROOT.get() {
        Some(uwf) => Cow::Owned(with_root(text, uwf)),
        None => Cow::Borrowed(text),
    }
}

fn with_root(text: &str, uwf: &str) -> String {
    let mut parts = text.split("uwf ");
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        // A command begins the text, or follows a quote or the pipe that it reads from.
        let is_command = shown.is_empty() || shown.ends_with('`') || shown.ends_with("| ");
        let has_root = part.starts_with("--root ");
        shown.push_str(if is_command && !has_root { uwf } else { "uwf " });
        shown.push_str(part);
    }
    shown
}

/// Returns what to type next, if anything.
pub(crate) fn of(error: &EngineError) -> Option<String> {
    engine::hint(error, Given::default())
}

/// Returns the command that lets a thread go on, if a person has to type it first.
pub(crate) fn command(error: &EngineError, given: Given<'_>) -> Option<String> {
    engine::command(error, given)
}

/// What a call was given that the next one needs, too.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Given<'a> {
    /// What was chosen for the agent.
    pub(crate) choice: Option<&'a AgentChoice>,
    /// What a person says to the thread.
    pub(crate) message: Option<&'a str>,
}

impl Given<'_> {
    /// Returns the options that choose the same agent.
    fn options(self) -> String {
        self.choice.map(AgentChoice::options).unwrap_or_default()
    }
}

/// Returns what to type next, if there is something, after a call that was given this.
pub(crate) fn after(error: &EngineError, given: Given<'_>) -> Option<String> {
    engine::hint(error, given)
}

#[cfg(test)]
mod tests {
    use super::with_root;

    #[test]
    fn commands_of_this_root_get_it_and_those_of_another_keep_theirs() {
        let check = |text: &str, expected: &str| {
            assert_eq!(with_root(text, "uwf --root r "), expected);
        };
        check("uwf thread list", "uwf --root r thread list");
        check(
            "`uwf thread list` shows it, not uwf alone",
            "`uwf --root r thread list` shows it, not uwf alone",
        );
        check(
            "`uwf --root o thread export -o - | uwf thread import -`",
            "`uwf --root o thread export -o - | uwf --root r thread import -`",
        );
        check("nothing to type", "nothing to type");
    }
}
