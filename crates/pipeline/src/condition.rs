//! Whether a step is done: its `when`.

use crate::fill::Filling;
use crate::result::{ErrorKind, Failure};
use crate::scope::Scope;
use crate::{Template, When, path_problem};

/// What a condition depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// On nothing any more: it holds or it does not.
    Known(bool),
    /// On the disk.
    Path(PathTest),
}

/// A question about the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathTest {
    /// The pattern.
    pub glob: String,
    /// Whether the condition holds if a path matches, or if none does.
    pub holds_if: Matches,
}

/// How many paths match a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Matches {
    Some,
    None,
}

/// Evaluates a condition as far as no file is needed.
///
/// # Errors
/// When a variable has no value, or a pattern leads out of the workspace.
pub fn condition(when: &When, scope: &Scope<'_>) -> Result<Condition, Failure> {
    match when {
        When::Equals(equals) => {
            let mut filling = Filling::new(scope);
            let (left, right) = (filling.text(&equals.left), filling.text(&equals.right));
            filling.finish(&[])?;
            Ok(Condition::Known(left == right))
        }
        When::Exists(glob) => test(glob, Matches::Some, scope),
        When::NotExists(glob) => test(glob, Matches::None, scope),
    }
}

fn test(glob: &Template, holds_if: Matches, scope: &Scope<'_>) -> Result<Condition, Failure> {
    let mut filling = Filling::new(scope);
    let glob = filling.text(glob);
    filling.finish(&[])?;
    check_path(&glob)?;
    Ok(Condition::Path(PathTest { glob, holds_if }))
}

/// Checks a path after its variables were substituted.
pub(crate) fn check_path(path: &str) -> Result<(), Failure> {
    let Some(why) = path_problem(path) else {
        return Ok(());
    };
    let message = format!("`{path}` is not a path in the workspace: {why}");
    Err(Failure::new(ErrorKind::PathViolation, message).fact("path", path))
}
