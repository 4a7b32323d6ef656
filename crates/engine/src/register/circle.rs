//! Workflows that would play themselves, because they name each other by names of the registry. A version that is named by its
//! hash is older than the file that names it, so it never leads back.

use std::collections::HashSet;
use std::fmt;

use uwf_protocol::ids::CasRef;
use uwf_protocol::program::Program;
use uwf_thread::read_program;

use super::{ChildWorkflow, Place};
use crate::{EngineError, Site};

/// A way from a workflow back to its own name.
pub(super) struct Circle {
    /// The names on the way: first and last are those of the workflow.
    names: Vec<String>,
    /// The name of the registry that leads back, and what it stands for now.
    by: (String, CasRef),
}

impl fmt::Display for Circle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.names.join("` plays `");
        let (word, hash) = &self.by;
        let way_out = way_out(word, *hash);
        write!(
            formatter,
            "`{names}`: a workflow cannot play itself; {way_out}"
        )
    }
}

/// Tells somebody who wrote a registered name how to mean what is registered.
pub(super) fn way_out(word: &str, hash: CasRef) -> String {
    format!("`{hash}` in place of `{word}` means the version that is registered now")
}

/// Returns how a workflow with this name would play itself, if the workflow that a word of its file means leads back to it.
pub(super) fn find(
    site: &Site,
    name: &str,
    word: &str,
    child: &ChildWorkflow,
) -> Result<Option<Circle>, EngineError> {
    let circle = below(site, name, word, child)?;
    Ok(circle.map(|circle| circle.after(name)))
}

impl Circle {
    /// Returns the way that begins one workflow earlier.
    fn after(mut self, name: &str) -> Self {
        self.names.insert(0, name.to_owned());
        self
    }
}

/// Returns the way from what a word means to a workflow with this name.
fn below(
    site: &Site,
    name: &str,
    word: &str,
    child: &ChildWorkflow,
) -> Result<Option<Circle>, EngineError> {
    match &child.place {
        // The steps of a pipeline find their workflows when they are done, and `maxDepth` bounds them.
        Place::Stored(_) | Place::Pipeline(_) => Ok(None),
        Place::Registered(hash) => {
            let names = below_stored(site, name, *hash, &mut HashSet::new())?;
            let by = (word.to_owned(), *hash);
            Ok(names.map(|names| Circle { names, by }))
        }
        Place::File(checked) => {
            for (word, child) in &checked.children {
                if let Some(circle) = below(site, name, word, child)? {
                    return Ok(Some(circle.after(&checked.workflow.name)));
                }
            }
            Ok(None)
        }
    }
}

/// Returns the names from a stored workflow to one with this name.
fn below_stored(
    site: &Site,
    name: &str,
    hash: CasRef,
    seen: &mut HashSet<CasRef>,
) -> Result<Option<Vec<String>>, EngineError> {
    if !seen.insert(hash) {
        return Ok(None);
    }
    let Program::Graph(workflow) = read_program(&site.store, hash)? else {
        return Ok(None);
    };
    if workflow.name == name {
        return Ok(Some(vec![workflow.name]));
    }
    for child in workflow
        .roles
        .values()
        .flat_map(|role| role.work.workflows())
    {
        if let Some(mut names) = below_stored(site, name, *child, seen)? {
            names.insert(0, workflow.name);
            return Ok(Some(names));
        }
    }
    Ok(None)
}
