//! Reading a document and its includes into one tree, within limits.

use serde::de::IgnoredAny;

use uwf_yaml::{At, Budget, Data, Dialect, Host, Node, Problem, without_bom};

use super::diagnostic::Finding;
use super::{Included, MAX_FILE_BYTES, Resolve, Source};

/// How many files may be open at once, each including the next.
const MAX_OPEN_FILES: usize = 32;
/// How many includes one workflow may have.
const MAX_INCLUDES: usize = 1_000;

/// The documents of one workflow: the file itself and its includes.
pub(super) struct Documents<'a> {
    include: &'a Resolve<'a>,
    /// The names of all files in the order of reading.
    files: Vec<String>,
    /// The files that are being read, the outermost first.
    open: Vec<usize>,
    budget: Budget,
    findings: Vec<Finding>,
}

impl<'a> Documents<'a> {
    pub(super) fn new(include: &'a Resolve<'a>) -> Self {
        Self {
            include,
            files: Vec::new(),
            open: Vec::new(),
            budget: Budget::default(),
            findings: Vec::new(),
        }
    }

    /// Returns the names of the files and the findings.
    pub(super) fn finish(self) -> (Vec<String>, Vec<Finding>) {
        (self.files, self.findings)
    }

    /// Reads a YAML text. A part that cannot be read is reported and becomes [`Data::Broken`].
    pub(super) fn read(&mut self, source: Source<'_>) -> Node {
        let file = self.files.len();
        self.files.push(source.name.to_owned());
        if let Some(broken) = self.too_large(file, source.text) {
            return broken;
        }
        self.open.push(file);
        let root = uwf_yaml::read(self, file, without_bom(source.text));
        self.open.pop();
        root.unwrap_or_else(|| {
            let at = At::start_of(file);
            self.findings.push(Finding::new(at, "the file is empty"));
            broken(at)
        })
    }

    fn resolve(&self, at: At, path: &str) -> Result<Included, String> {
        if self.open.len() >= MAX_OPEN_FILES {
            return Err(format!(
                "more than {MAX_OPEN_FILES} files include each other in a row"
            ));
        }
        if self.files.len() > MAX_INCLUDES {
            return Err(format!("there are more than {MAX_INCLUDES} includes"));
        }
        let included = (self.include)(&self.files[at.file], path)?;
        if self
            .open
            .iter()
            .any(|open| self.files[*open] == included.name)
        {
            let chain: Vec<&str> = self
                .open
                .iter()
                .map(|open| self.files[*open].as_str())
                .collect();
            return Err(format!(
                "it includes itself: {} → {}",
                chain.join(" → "),
                included.name
            ));
        }
        Ok(included)
    }

    /// Reads a file by the extension of the path in the include. A link may lead to a file with another extension.
    fn read_included(&mut self, path: &str, included: &Included) -> Node {
        let Included { name, text } = included;
        let source = Source { name, text };
        if path.ends_with(".yaml") || path.ends_with(".yml") {
            return self.read(source);
        }
        if path.ends_with(".json") {
            return self.read_json(source);
        }
        let file = self.files.len();
        self.files.push(name.clone());
        self.too_large(file, text)
            .unwrap_or_else(|| Node::new(At::start_of(file), Data::Text(text.clone())))
    }

    /// Reads JSON. The JSON parser only checks it: the YAML parser reads it, because that one keeps places.
    fn read_json(&mut self, source: Source<'_>) -> Node {
        let Err(error) = serde_json::from_str::<IgnoredAny>(without_bom(source.text)) else {
            return self.read(source);
        };
        let at = At {
            file: self.files.len(),
            line: error.line().max(1),
            column: error.column().max(1),
        };
        self.files.push(source.name.to_owned());
        let text = error.to_string();
        let message = text.split(" at line ").next().unwrap_or(&text);
        self.findings
            .push(Finding::new(at, format!("invalid JSON: {message}")));
        broken(at)
    }

    fn too_large(&mut self, file: usize, text: &str) -> Option<Node> {
        if text.len() <= MAX_FILE_BYTES {
            return None;
        }
        let at = At::start_of(file);
        let mib = MAX_FILE_BYTES >> 20;
        self.findings.push(Finding::new(
            at,
            format!("the file is larger than {mib} MiB"),
        ));
        Some(broken(at))
    }
}

/// Returns a value that was reported already, so that later checks skip it.
fn broken(at: At) -> Node {
    Node::new(at, Data::Broken)
}

impl Host for Documents<'_> {
    fn dialect(&self) -> Dialect {
        Dialect::Strict
    }

    fn budget(&mut self) -> &mut Budget {
        &mut self.budget
    }

    fn lines_before(&self) -> usize {
        0
    }

    fn report(&mut self, problem: Problem) {
        self.findings.push(problem.into());
    }

    fn tag_hint(&self) -> Option<&'static str> {
        Some("the tag of workflows is `!include <path>`")
    }

    fn include(&mut self, at: At, path: &str, depth: usize) -> Option<Node> {
        Some(match self.resolve(at, path) {
            Ok(included) => {
                self.budget.depth += depth;
                let node = self.read_included(path, &included);
                self.budget.depth -= depth;
                node
            }
            Err(message) => {
                let message = format!("cannot include `{path}`: {message}");
                self.findings.push(Finding::new(at, message));
                broken(at)
            }
        })
    }
}
