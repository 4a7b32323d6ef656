//! What to type next after an error. The other crates return errors as data; only this crate knows the commands.

pub(crate) mod bundle;
pub(crate) mod config;
mod engine;
pub(crate) mod fix;
pub(crate) mod foreign;
pub(crate) mod storage;
pub(crate) mod store;
pub(crate) mod thread;

use std::borrow::Cow;
use std::path::Path;
use std::sync::OnceLock;

use uwf_engine::EngineError;
use uwf_util::shell_words;

/// The start of a command with the `--root` of this call. The commands that it proposes need the same root.
static ROOT: OnceLock<String> = OnceLock::new();

/// Records the root from the command line, before a command runs.
pub(crate) fn set_root(root: &Path) {
    let root = root.display().to_string();
    let _ = ROOT.set(format!("uwf --root {} ", shell_words::quote(&root)));
}

/// Adds the `--root` of this call to the commands in a hint.
pub(crate) fn here(text: &str) -> Cow<'_, str> {
    let Some(uwf) = ROOT.get() else {
        return Cow::Borrowed(text);
    };
    let quoted = text.replace("`uwf ", &format!("`{uwf}"));
    Cow::Owned(match quoted.strip_prefix("uwf ") {
        Some(command) => format!("{uwf}{command}"),
        None => quoted,
    })
}

/// Returns what to type next, if anything.
pub(crate) fn of(error: &EngineError) -> Option<String> {
    engine::hint(error, Given::default())
}

/// What a call was given that the next one needs, too.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Given<'a> {
    /// The agent that was chosen.
    pub(crate) agent: Option<&'a str>,
    /// What a person says to the thread.
    pub(crate) message: Option<&'a str>,
}

/// Returns what to type next, if there is something, after a call that was given this.
pub(crate) fn after(error: &EngineError, given: Given<'_>) -> Option<String> {
    engine::hint(error, given)
}
