//! Reads a single text, without includes.

use crate::{At, Budget, Dialect, Host, Node, Problem, read, without_bom};

/// Reads a single text; `None` if it has no content.
///
/// # Errors
/// The first problem in it.
pub fn parse(text: &str, dialect: Dialect) -> Result<Option<Node>, Problem> {
    parse_after(text, dialect, 0)
}

/// Reads a text that has `lines_before` lines before it in its file. Places count those lines.
///
/// # Errors
/// Those of [`parse`].
pub fn parse_after(
    text: &str,
    dialect: Dialect,
    lines_before: usize,
) -> Result<Option<Node>, Problem> {
    let mut host = Single {
        dialect,
        lines_before,
        budget: Budget::default(),
        first: None,
    };
    let root = read(&mut host, 0, without_bom(text));
    match host.first {
        Some(problem) => Err(problem),
        None => Ok(root),
    }
}

struct Single {
    dialect: Dialect,
    lines_before: usize,
    budget: Budget,
    first: Option<Problem>,
}

impl Host for Single {
    fn dialect(&self) -> Dialect {
        self.dialect
    }

    fn budget(&mut self) -> &mut Budget {
        &mut self.budget
    }

    fn lines_before(&self) -> usize {
        self.lines_before
    }

    fn report(&mut self, problem: Problem) {
        if self
            .first
            .as_ref()
            .is_none_or(|first| problem.at < first.at)
        {
            self.first = Some(problem);
        }
    }

    fn tag_hint(&self) -> Option<&'static str> {
        None
    }

    fn include(&mut self, _at: At, _path: &str, _depth: usize) -> Option<Node> {
        None
    }
}
