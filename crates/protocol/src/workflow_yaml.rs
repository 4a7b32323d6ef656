//! Reading a workflow from YAML, in every form that has been in use.
//!
//! Reading has two stages. `document` parses the texts into one tree in which every key and value knows its place; aliases
//! and includes are resolved. `shape` walks the tree and builds the [`Workflow`]. Both stages go on after a mistake, so that
//! all mistakes are reported at once. The caller brings three functions: one opens included files, one knows
//! how other workflows end, and one checks whether the graph makes sense.

mod checks;
mod diagnostic;
mod document;
mod fields;
mod graph;
mod options;
mod shape;
#[cfg(test)]
mod tests;
mod work;

use serde_json::Value;

use crate::ids::Status;
use crate::workflow::{Problem, Severity, Workflow};
pub use diagnostic::{Diagnostic, Position, Positions};

/// The size of the largest file that is read, in bytes; includes count each for itself.
pub const MAX_FILE_BYTES: usize = 4 << 20;

/// A text to read.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// The path that messages show.
    pub name: &'a str,
    /// The whole text.
    pub text: &'a str,
}

/// A file that an `!include` named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Included {
    /// The path that messages show. The same file must have the same name each time: cycles are found by it.
    pub name: String,
    /// The whole text.
    pub text: String,
}

/// Finds what an `!include` names, given the name of the including file and the path as it was written.
/// The error says what is wrong with the path.
pub type Resolve<'a> = dyn Fn(&str, &str) -> Result<Included, String> + 'a;

/// Returns the statuses with which another workflow can end, given its name as it was written: a name, a hash, or a path
/// that starts at the folder of the workflow file. The error says what is wrong with it.
pub type Statuses<'a> = dyn Fn(&str) -> Result<Vec<Status>, String> + 'a;

/// Says what is wrong with the meaning of a workflow.
pub type Check<'a> = dyn Fn(&Workflow<Value>) -> Vec<Problem> + 'a;

/// A workflow with the places where its parts were written.
#[derive(Debug, Clone)]
pub struct LoadedWorkflow {
    /// The workflow; the schemas of the roles are JSON Schemas as they were written.
    pub workflow: Workflow<Value>,
    /// Where everything is.
    pub positions: Positions,
    /// What is probably not meant, in the order of the files and lines.
    pub warnings: Vec<Diagnostic>,
}

/// Reads a workflow.
///
/// `goal` and the schema (`frontmatter`, or `meta`) are required in a role; `capabilities` may be absent and
/// is then empty, as are `description`, `procedure` and `output`. A file that has them all, as the reference
/// program demands, gives the same workflow here and there. `version` and keys that start with `x-` are
/// accepted and dropped, every other unknown key is an error.
///
/// A role that another workflow plays needs no schema: `statuses` tells what it answers.
///
/// What was read is given to `check`, which says what is wrong with its meaning; not if a part of it is missing or
/// could not be read, since then most of what it said would only follow from that.
///
/// # Errors
/// Everything that is wrong, in the order of the files and lines; of more than a hundred mistakes, the first
/// hundred and how many more there are.
pub fn load(
    source: Source<'_>,
    include: &Resolve<'_>,
    statuses: &Statuses<'_>,
    check: &Check<'_>,
) -> Result<LoadedWorkflow, Vec<Diagnostic>> {
    let mut documents = document::Documents::new(include);
    let root = documents.read(source);
    let (files, mut findings) = documents.finish();
    let workflow = shape::workflow(&root, statuses, &mut findings);
    let positions = Positions::new(files, root);
    let is_whole = findings.iter().all(|finding| finding.is_surplus);
    if let Some(workflow) = workflow.filter(|_| is_whole) {
        let mut warnings = Vec::new();
        for problem in check(&workflow) {
            match problem.severity {
                Severity::Error => findings.push(positions.finding(problem)),
                Severity::Warning => warnings.push(positions.finding(problem)),
            }
        }
        if findings.is_empty() {
            let warnings = diagnostic::sorted(positions.files(), warnings);
            return Ok(LoadedWorkflow {
                workflow,
                positions,
                warnings,
            });
        }
    }
    Err(diagnostic::sorted(positions.files(), findings))
}
