//! Tells files of the other language from pipelines, for messages: both are YAML, and people mix them up.

use uwf_yaml::{Data, Dialect, parse};

use crate::MAX_FILE_BYTES;

/// Tells whether the bytes of a YAML file are meant as a workflow of roles: they have roles and a graph, and no steps.
#[must_use]
pub fn is_workflow(bytes: &[u8]) -> bool {
    let text = std::str::from_utf8(bytes).ok();
    let text = text.filter(|text| text.len() <= MAX_FILE_BYTES);
    let root = text.and_then(|text| parse(text, Dialect::Tolerant).ok().flatten());
    let Some(Data::Map(entries)) = root.map(|root| root.data) else {
        return false;
    };
    let has = |name: &str| entries.iter().any(|(key, _)| key.text == name);
    has("roles") && has("graph") && !has("steps")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workflow_of_roles_is_told_from_a_pipeline() {
        assert!(is_workflow(b"name: w\nroles: {}\ngraph: {}\n"));
        assert!(!is_workflow(b"steps: []\n"));
        assert!(!is_workflow(b"roles: {}\ngraph: {}\nsteps: []\n"));
        assert!(!is_workflow(b"roles: {}\n"));
        assert!(!is_workflow(b"[roles, graph]\n"));
        assert!(!is_workflow(b"\xff"));
        assert!(!is_workflow(b""));
    }
}
