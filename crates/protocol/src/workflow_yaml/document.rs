//! Reads a document and what it includes into one tree, within limits.

use serde::de::IgnoredAny;

use super::diagnostic::Finding;
use super::tree::{At, Data, Node};
use super::{Included, MAX_FILE_BYTES, Resolve, Source, build};

/// How many levels of collections may be inside each other, includes and aliases counted.
pub(super) const MAX_DEPTH: usize = 100;
/// How many files may be open at once, each including the next.
const MAX_OPEN_FILES: usize = 32;
/// How many includes one workflow may have.
const MAX_INCLUDES: usize = 1_000;
/// How much memory the tree may take, roughly: aliases and repeated includes are copies.
const MAX_TREE_BYTES: usize = 32 << 20;

/// The documents of one workflow: the file itself and its includes.
pub(super) struct Documents<'a> {
    include: &'a Resolve<'a>,
    /// The names of all files in the order of reading.
    files: Vec<String>,
    /// The files that are being read, the outermost first.
    open: Vec<usize>,
    /// The levels of collections around the file that is being read.
    depth: usize,
    tree_bytes: usize,
    findings: Vec<Finding>,
}

impl<'a> Documents<'a> {
    pub(super) fn new(include: &'a Resolve<'a>) -> Self {
        Self {
            include,
            files: Vec::new(),
            open: Vec::new(),
            depth: 0,
            tree_bytes: 0,
            findings: Vec::new(),
        }
    }

    /// Returns the names of the files and what was found wrong.
    pub(super) fn finish(self) -> (Vec<String>, Vec<Finding>) {
        (self.files, self.findings)
    }

    /// Reads a YAML text; what cannot be read is reported and comes back as [`Data::Broken`].
    pub(super) fn read(&mut self, source: Source<'_>) -> Node {
        let file = self.files.len();
        self.files.push(source.name.to_owned());
        if let Some(broken) = self.too_large(file, source.text) {
            return broken;
        }
        self.open.push(file);
        let root = build::tree(self, file, without_bom(source.text));
        self.open.pop();
        root
    }

    /// Reads what `!include` names; `depth` is the number of collections around it in its own file.
    pub(super) fn include(&mut self, at: At, path: &str, depth: usize) -> Node {
        match self.resolve(at, path) {
            Ok(included) => {
                self.depth += depth;
                let node = self.read_included(path, &included);
                self.depth -= depth;
                node
            }
            Err(message) => {
                self.report(Finding::new(
                    at,
                    format!("cannot include `{path}`: {message}"),
                ));
                broken(at)
            }
        }
    }

    pub(super) fn report(&mut self, finding: Finding) {
        self.findings.push(finding);
    }

    /// Tells whether so many levels more are allowed.
    pub(super) fn is_too_deep(&self, levels: usize) -> bool {
        self.depth + levels > MAX_DEPTH
    }

    /// Notes that the tree grows by so many bytes; false, from then on, when that is too much.
    pub(super) fn has_room_for(&mut self, bytes: usize, at: At) -> bool {
        let fitted = self.tree_bytes <= MAX_TREE_BYTES;
        self.tree_bytes = self.tree_bytes.saturating_add(bytes);
        let fits = self.tree_bytes <= MAX_TREE_BYTES;
        if fitted && !fits {
            self.report(Finding::new(
                at,
                "the workflow is too large with its aliases and includes written out",
            ));
        }
        fits
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

    /// Reads a file as the extension of the path says, as it was written: a link may have another name.
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
        self.too_large(file, text).unwrap_or_else(|| Node {
            at: start_of(file),
            data: Data::Text(text.clone()),
        })
    }

    /// Reads JSON as the YAML that it also is, so that its parts have places, once it is known to be JSON.
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
        self.report(Finding::new(at, format!("invalid JSON: {message}")));
        broken(at)
    }

    fn too_large(&mut self, file: usize, text: &str) -> Option<Node> {
        if text.len() <= MAX_FILE_BYTES {
            return None;
        }
        let at = start_of(file);
        let mib = MAX_FILE_BYTES >> 20;
        self.report(Finding::new(
            at,
            format!("the file is larger than {mib} MiB"),
        ));
        Some(broken(at))
    }
}

fn without_bom(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// Returns the place of the first character of a file.
pub(super) fn start_of(file: usize) -> At {
    At {
        file,
        line: 1,
        column: 1,
    }
}

/// Returns a value that was reported and of which nothing more is to be said.
pub(super) fn broken(at: At) -> Node {
    Node {
        at,
        data: Data::Broken,
    }
}
