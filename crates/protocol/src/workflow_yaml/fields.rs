//! Reads the entries of a mapping whose keys are known, and reports what does not fit.

use uwf_util::suggest;

use uwf_yaml::{At, Data, Key, Node};

use super::diagnostic::Finding;

/// A mapping of the format: the workflow, a role, a condition or an edge.
pub(super) struct Fields<'t> {
    node: &'t Node,
    /// Where the mapping is said to be: at its key, if it has one.
    at: At,
    /// What the mapping is, for messages: "role `writer`".
    what: String,
}

impl<'t> Fields<'t> {
    /// Returns the mapping after reporting its unknown keys; `None`, reported, if it is none.
    ///
    /// Keys that start with `x-` are for other tools and always fine.
    pub(super) fn of(
        node: &'t Node,
        at: At,
        what: String,
        known: &[&str],
        findings: &mut Vec<Finding>,
    ) -> Option<Self> {
        for (key, _) in entries(node, &what, findings)? {
            if !known.contains(&key.text.as_str()) && !key.text.starts_with("x-") {
                findings.push(unknown_key(key, &what, known));
            }
        }
        Some(Self { node, at, what })
    }

    /// Returns what the mapping is, for messages.
    pub(super) fn what(&self) -> &str {
        &self.what
    }

    /// Returns an entry that is there and not empty.
    pub(super) fn get(&self, name: &str) -> Option<(&'t Key, &'t Node)> {
        let entry = self.node.entry(name)?;
        (!matches!(entry.1.data, Data::Null)).then_some(entry)
    }

    /// Returns the text of an entry; reports one that is no string, and one that is absent or empty.
    pub(super) fn required_text(&self, name: &str, findings: &mut Vec<Finding>) -> Option<String> {
        if self.get(name).is_none() {
            findings.push(self.lacks(name));
        }
        self.text(name, findings)
    }

    /// Returns the text of an entry, if it has one; reports one that is no string.
    pub(super) fn text(&self, name: &str, findings: &mut Vec<Finding>) -> Option<String> {
        let (_, node) = self.get(name)?;
        text(node, &format!("`{name}` of {}", self.what), findings)
    }

    /// Says that an entry is missing.
    pub(super) fn lacks(&self, name: &str) -> Finding {
        Finding::new(self.at, format!("{} has no `{name}`", self.what))
    }
}

/// Returns the entries of a mapping; `None`, reported, if it is none.
pub(super) fn entries<'t>(
    node: &'t Node,
    what: &str,
    findings: &mut Vec<Finding>,
) -> Option<&'t [(Key, Node)]> {
    if let Data::Map(entries) = &node.data {
        return Some(entries);
    }
    findings.extend(misfit(node, what, "a mapping"));
    None
}

/// Returns the items of a list; `None`, reported, if it is none.
pub(super) fn items<'t>(
    node: &'t Node,
    what: &str,
    findings: &mut Vec<Finding>,
) -> Option<&'t [Node]> {
    if let Data::List(items) = &node.data {
        return Some(items);
    }
    findings.extend(misfit(node, what, "a list"));
    None
}

/// Returns the text of a string; `None`, reported, if it is none.
pub(super) fn text(node: &Node, what: &str, findings: &mut Vec<Finding>) -> Option<String> {
    if let Data::Text(text) = &node.data {
        return Some(text.clone());
    }
    let quotes = matches!(node.data, Data::Bool(_) | Data::Number(_));
    let finding = misfit(node, what, "a string");
    findings.extend(finding.map(|finding| match quotes {
        true => finding.hint("put it in quotes"),
        false => finding,
    }));
    None
}

/// Says that a value is not of the kind it must be; nothing is said about what could not be read.
pub(super) fn misfit(node: &Node, what: &str, wanted: &str) -> Option<Finding> {
    let actual = match node.data {
        Data::Broken => return None,
        Data::Null => "but is empty".to_owned(),
        _ => format!("not {}", node.kind()),
    };
    let message = format!("{what} must be {wanted}, {actual}");
    Some(Finding::new(node.at, message))
}

fn unknown_key(key: &Key, what: &str, known: &[&str]) -> Finding {
    let hint = match suggest::nearest(&key.text, known.iter().copied()) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => format!("the keys are `{}`", known.join("`, `")),
    };
    let message = format!("unknown key `{}` in {what}", key.text);
    Finding::new(key.at, message).hint(hint).surplus()
}
