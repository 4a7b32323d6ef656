//! V05 and V16: the names of steps, secrets and items.

use uwf_yaml::{At, Node};

use super::reader::Reader;
use super::values::texts;
use crate::Code;
use crate::problem::Finding;
use crate::template::is_identifier;

/// How long the name of a step may be, in bytes.
const MAX_NAME_BYTES: usize = 100;
/// How long the longest key of a step may be, in bytes.
const MAX_KEY_BYTES: usize = 200;
/// What a key says about the item of a loop, at its longest.
pub(super) const LONGEST_INDEX: &str = "[99999]";

/// The name of the record of what became of an item, beside the steps of a body.
const LIFECYCLE: &str = "lifecycle";
/// The variables that no item can hide.
const TAKEN: [&str; 7] = ["run", "loop", "steps", "context", "env", "inputs", "PROMPT"];

/// Reports a name that no step of the current list may have, and a key that would be too long.
pub(super) fn check_step_name(at: At, name: &str, is_loop: bool, reader: &mut Reader) {
    let scope = &reader.scopes[reader.scope];
    let longest = if is_loop { LONGEST_INDEX.len() } else { 0 };
    let key_bytes = scope.key_bytes + name.len() + longest;
    let is_body = scope.parent.is_some();
    let finding = Finding::new(at, Code::BadName, "");
    let finding = if let Some(why) = name_problem(name) {
        let hint = "a name has 1 to 100 letters, digits, `_` and `-`, with blanks and dots inside";
        finding
            .hint(hint)
            .saying(format!("`{name}` cannot name a step: {why}"))
    } else if is_body && name == LIFECYCLE {
        finding.saying("`lifecycle` cannot name a step of a loop: it names what became of an item")
    } else if key_bytes > MAX_KEY_BYTES {
        finding.saying(format!(
            "the names of step `{name}` and the loops around it are longer than {MAX_KEY_BYTES} bytes together"
        ))
    } else {
        return;
    };
    reader.report(finding);
}

impl Finding {
    fn saying(mut self, message: impl Into<String>) -> Self {
        self.message = message.into();
        self
    }
}

fn name_problem(name: &str) -> Option<&'static str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ' ' | '.');
    if name.is_empty() {
        Some("it is empty")
    } else if name.len() > MAX_NAME_BYTES {
        Some("it is too long")
    } else if !name.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        Some("it does not begin with a letter or digit")
    } else if !name.chars().all(fits) {
        Some("it has another character")
    } else if name.ends_with([' ', '.']) {
        Some("it ends with a blank or a dot")
    } else {
        None
    }
}

/// V16: reports a name that no item may have.
pub(super) fn check_alias(at: At, alias: &str, reader: &mut Reader) {
    let why = if TAKEN.contains(&alias) {
        "the name is taken"
    } else if !is_identifier(alias) {
        "a variable has letters, digits and `_`, and no digit first"
    } else {
        return;
    };
    let message = format!("`{alias}` cannot name the items of a loop: {why}");
    reader.problem(at, Code::BadAlias, message);
}

/// Reads the names of secrets, sorted, each once.
pub(super) fn secrets(node: &Node, what: &str, reader: &mut Reader) -> Option<Vec<String>> {
    let names = texts(node, what, reader)?;
    for (node, name) in names.iter().filter(|(_, name)| !is_identifier(name)) {
        let message = format!("`{name}` cannot name a secret");
        let hint = "a name has letters, digits and `_`, and no digit first";
        reader.report(Finding::new(node.at, Code::BadName, message).hint(hint));
    }
    let mut names: Vec<String> = names.into_iter().map(|(_, name)| name).collect();
    names.sort();
    names.dedup();
    Some(names)
}
