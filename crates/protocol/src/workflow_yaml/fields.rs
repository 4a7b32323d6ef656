//! Reading the entries of a mapping with known keys, and reporting entries that do not fit.

use uwf_util::suggest;

use uwf_yaml::{At, Data, Key, Node};

use super::diagnostic::Finding;

/// A mapping of the format: the workflow, a role, a condition or an edge.
pub(super) struct Fields<'t> {
    node: &'t Node,
    /// The place of the mapping in messages: its key, if it has one.
    at: At,
    /// The name of the mapping in messages, such as "role `writer`".
    what: String,
}

impl<'t> Fields<'t> {
    /// Reads a mapping and reports its unknown keys. Returns `None`, and reports that, if the node is not a mapping.
    ///
    /// Keys that start with `x-` are for other tools and always allowed.
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

    /// Returns the name of the mapping in messages.
    pub(super) fn what(&self) -> &str {
        &self.what
    }

    /// Returns an entry; `None` if it is absent or empty.
    pub(super) fn get(&self, name: &str) -> Option<(&'t Key, &'t Node)> {
        let entry = self.node.entry(name)?;
        (!matches!(entry.1.data, Data::Null)).then_some(entry)
    }

    /// Returns the text of an entry. Reports an entry that is absent, empty or not a string.
    pub(super) fn required_text(&self, name: &str, findings: &mut Vec<Finding>) -> Option<String> {
        if self.get(name).is_none() {
            findings.push(self.lacks(name));
        }
        self.text(name, findings)
    }

    /// Returns the text of an entry, if there is one. Reports an entry that is not a string.
    pub(super) fn text(&self, name: &str, findings: &mut Vec<Finding>) -> Option<String> {
        let (_, node) = self.get(name)?;
        text(node, &format!("`{name}` of {}", self.what), findings)
    }

    /// Returns the finding that an entry is missing.
    pub(super) fn lacks(&self, name: &str) -> Finding {
        Finding::new(self.at, format!("{} has no `{name}`", self.what))
    }
}

/// Returns the entries of a mapping. Reports a node that is not a mapping, and returns `None`.
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

/// Returns the items of a list. Reports a node that is not a list, and returns `None`.
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

/// Returns the text of a string. Reports a node that is not a string, and returns `None`.
pub(super) fn text(node: &Node, what: &str, findings: &mut Vec<Finding>) -> Option<String> {
    if let Data::Text(text) = &node.data {
        return Some(text.clone());
    }
    let mut finding = misfit(node, what, "a string");
    if matches!(node.data, Data::Bool(_) | Data::Number(_)) {
        finding = finding.map(|finding| finding.hint("put it in quotes"));
    }
    findings.extend(finding);
    None
}

/// Returns the finding that a value has the wrong kind; `None` for a value that could not be read, which was reported.
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
