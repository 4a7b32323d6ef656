//! V02: the entries of a mapping with known keys.

use uwf_util::suggest;
use uwf_yaml::{At, Data, Key, Node};

use super::elsewhere;
use super::reader::Reader;
use super::values::{misfit, misfit_with};
use crate::Code;
use crate::problem::Finding;

/// A mapping of the format.
pub(super) struct Fields<'t> {
    node: &'t Node,
    /// The place of the mapping in messages: its key, if it has one.
    pub(super) at: At,
    /// The name of the mapping in messages, such as "step `Build`".
    pub(super) what: String,
}

impl<'t> Fields<'t> {
    /// Reads a mapping, and reports its unknown keys. Keys that start with `x-` are for other tools.
    pub(super) fn of(
        node: &'t Node,
        at: At,
        what: &str,
        known: &[&str],
        reader: &mut Reader,
    ) -> Option<Self> {
        let Data::Map(entries) = &node.data else {
            let hint = match is_condition(known) {
                true => elsewhere::of_condition(node.as_written()).to_owned(),
                false => format!("its keys are `{}`", known.join("`, `")),
            };
            misfit_with(node, (what, "a mapping"), Some(hint), reader);
            return None;
        };
        for (key, _) in entries {
            if !known.contains(&key.text.as_str()) && !key.text.starts_with("x-") {
                reader.report(unknown_key(key, what, known));
            }
        }
        Some(Self {
            node,
            at,
            what: what.to_owned(),
        })
    }

    /// Returns an entry, which may be empty.
    pub(super) fn get(&self, name: &str) -> Option<(&'t Key, &'t Node)> {
        self.node.entry(name)
    }

    /// Tells whether there is such an entry.
    pub(super) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Returns the name of an entry in messages.
    pub(super) fn name_of(&self, key: &str) -> String {
        format!("`{key}` of {}", self.what)
    }
}

/// Returns the entries of a mapping. A value that is no mapping is reported as a problem.
pub(super) fn entries<'t>(
    node: &'t Node,
    what: &str,
    reader: &mut Reader,
) -> Option<&'t [(Key, Node)]> {
    if let Data::Map(entries) = &node.data {
        return Some(entries);
    }
    misfit(node, what, "a mapping", reader);
    None
}

/// Tells whether the keys are those of the condition of a step.
fn is_condition(known: &[&str]) -> bool {
    known.contains(&"not_exists")
}

fn unknown_key(key: &Key, what: &str, known: &[&str]) -> Finding {
    let near = || suggest::nearest(&key.text, known.iter().copied());
    let hint = match (elsewhere::hint(&key.text, known), near()) {
        (Some(hint), _) => hint,
        (None, Some(near)) => format!("did you mean `{near}`?"),
        (None, None) => format!("the keys are `{}`", known.join("`, `")),
    };
    let message = format!("unknown key `{}` in {what}", key.text);
    Finding::new(key.at, Code::UnknownKey, message).hint(hint)
}
