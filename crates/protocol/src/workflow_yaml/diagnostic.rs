//! The diagnostics of a workflow file: a message, its place, and a hint.

use std::fmt;

use uwf_util::printable::shortened;
use uwf_yaml::{At, Data, Node};

use crate::workflow::Problem;

/// The keys of a role's schema, in the three formats that have been in use.
const SCHEMA_KEYS: [&str; 3] = ["frontmatter", "meta", "schema"];
/// How many diagnostics are shown: nobody fixes more than that at once.
const MAX_DIAGNOSTICS: usize = 100;
/// How long a message may be, in characters: it may contain names of any length.
const MAX_MESSAGE_CHARS: usize = 500;

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// The path as messages show it.
    pub file: String,
    /// The line, from 1.
    pub line: u64,
    /// The column in characters, from 1.
    pub column: u64,
}

/// One thing that is wrong with a workflow file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Where it is, if it is at one place.
    pub position: Option<Position>,
    /// What is wrong, in lower case and without a full stop.
    pub message: String,
    /// What was probably meant, or how to write it.
    pub hint: Option<String>,
    /// The line of the file with a mark under the place, if the message alone does not show the mistake.
    pub excerpt: Option<String>,
}

/// Where the parts of a workflow were written.
#[derive(Debug, Clone)]
pub struct Positions {
    files: Vec<String>,
    root: Node,
}

/// A diagnostic that does not know the names of the files yet.
#[derive(Debug)]
pub(super) struct Finding {
    pub(super) at: At,
    pub(super) message: String,
    pub(super) hint: Option<String>,
    pub(super) excerpt: Option<String>,
    /// Whether something is there that should not be: the rest of the file is complete without it.
    pub(super) is_surplus: bool,
}

impl Finding {
    pub(super) fn new(at: At, message: impl Into<String>) -> Self {
        Self {
            at,
            message: message.into(),
            hint: None,
            excerpt: None,
            is_surplus: false,
        }
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(super) fn surplus(mut self) -> Self {
        self.is_surplus = true;
        self
    }
}

impl From<uwf_yaml::Problem> for Finding {
    fn from(problem: uwf_yaml::Problem) -> Self {
        Self {
            at: problem.at,
            message: problem.message,
            hint: problem.hint,
            excerpt: problem.excerpt,
            is_surplus: false,
        }
    }
}

/// Returns the findings in the order of files and lines. If there are too many, the last diagnostic counts the rest.
pub(super) fn sorted(files: &[String], mut findings: Vec<Finding>) -> Vec<Diagnostic> {
    findings.sort_by_key(|finding| finding.at);
    let more = findings.len().saturating_sub(MAX_DIAGNOSTICS);
    findings.truncate(MAX_DIAGNOSTICS);
    let shown = findings.into_iter().map(|finding| Diagnostic {
        position: Some(position(files, finding.at)),
        message: shortened(&finding.message, MAX_MESSAGE_CHARS),
        hint: finding.hint.map(|hint| shortened(&hint, MAX_MESSAGE_CHARS)),
        excerpt: finding.excerpt,
    });
    let rest = (more > 0).then(|| Diagnostic {
        position: None,
        message: format!("{more} more mistakes are not shown"),
        hint: None,
        excerpt: None,
    });
    shown.chain(rest).collect()
}

fn position(files: &[String], at: At) -> Position {
    Position {
        file: files[at.file].clone(),
        line: at.line as u64,
        column: at.column as u64,
    }
}

impl Positions {
    pub(super) fn new(files: Vec<String>, root: Node) -> Self {
        Self { files, root }
    }

    /// Gives a problem its place.
    pub(super) fn finding(&self, problem: Problem) -> Finding {
        Finding::new(self.at(&problem.path), problem.message)
    }

    /// Returns the names of the files, by their numbers.
    pub(super) fn files(&self) -> &[String] {
        &self.files
    }

    /// Returns the position of the part at a path of keys, or of the innermost existing part around it.
    ///
    /// The position of a scalar is its value; the position of a mapping or list is its key. The schema of a role is found
    /// under any of its keys: `frontmatter`, `meta` or `schema`.
    #[must_use]
    pub fn of(&self, path: &[String]) -> Option<Position> {
        Some(position(&self.files, self.at(path)))
    }

    fn at(&self, path: &[String]) -> At {
        let mut node = &self.root;
        let mut at = node.at;
        for (depth, name) in path.iter().enumerate() {
            let is_role_key = depth == 2 && path[0] == "roles";
            let synonyms: &[&str] = if is_role_key { &SCHEMA_KEYS } else { &[] };
            let Some((next, place)) = step(node, name, synonyms) else {
                break;
            };
            (node, at) = (next, place);
        }
        at
    }
}

/// Returns the child that a name, or any of its synonyms, leads to, and its place.
fn step<'a>(node: &'a Node, name: &str, synonyms: &[&str]) -> Option<(&'a Node, At)> {
    if let Data::List(items) = &node.data {
        let item = items.get(name.parse::<usize>().ok()?)?;
        return Some((item, item.at));
    }
    let mut found = node.entry(name);
    if found.is_none() && synonyms.contains(&name) {
        found = synonyms.iter().find_map(|key| node.entry(key));
    }
    let (key, value) = found?;
    let at = match value.data {
        Data::List(_) | Data::Map(_) => key.at,
        _ => value.at,
    };
    Some((value, at))
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// `demo.yaml:12:5: message (hint)`.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(position) = &self.position {
            write!(f, "{position}: ")?;
        }
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}
