//! V01: the bytes of a file as a tree, within limits.

use uwf_yaml::{At, Budget, Data, Dialect, Host, Node, Problem, without_bom};

use super::reader::Reader;
use crate::Code;
use crate::problem::Finding;

/// How large a workflow file may be.
pub const MAX_FILE_BYTES: usize = 4 << 20;
/// How many values it may have, with its aliases written out.
const MAX_NODES: usize = 100_000;

/// Returns the tree of a file. What cannot be read is reported and becomes [`Data::Broken`].
pub(super) fn read(bytes: &[u8], reader: &mut Reader) -> Node {
    let root = text_of(bytes).and_then(|text| {
        let root = tree(text, reader);
        mistake(root.as_ref()).map_or(Ok(root), Err)
    });
    let start = At::start_of(0);
    match root {
        Ok(root) => root.unwrap_or_else(|| Node::new(start, Data::Broken)),
        Err(finding) => {
            reader.report(finding);
            Node::new(start, Data::Broken)
        }
    }
}

fn text_of(bytes: &[u8]) -> Result<&str, Finding> {
    if bytes.len() > MAX_FILE_BYTES {
        let mib = MAX_FILE_BYTES >> 20;
        let message = format!("the file is larger than {mib} MiB");
        return Err(Finding::new(At::start_of(0), Code::NotYaml, message));
    }
    std::str::from_utf8(bytes).map_err(|error| {
        let at = end_of(&bytes[..error.valid_up_to()]);
        Finding::new(at, Code::NotYaml, "the file is not UTF-8")
    })
}

/// Tells whether the bytes of a YAML file are meant as a pipeline: they have steps, and neither roles nor a graph.
#[must_use]
pub fn is_pipeline(bytes: &[u8]) -> bool {
    let Ok(text) = text_of(bytes) else {
        return false;
    };
    let Some(root) = tree(text, &mut Reader::default()) else {
        return false;
    };
    let Data::Map(entries) = root.data else {
        return false;
    };
    let has = |name: &str| entries.iter().any(|(key, _)| key.text == name);
    has("steps") && !has("roles") && !has("graph")
}

/// Returns the tree of a text; `None` if it has no content.
fn tree(text: &str, reader: &mut Reader) -> Option<Node> {
    let mut document = Document::default();
    let root = uwf_yaml::read(&mut document, 0, without_bom(text));
    for problem in document.problems {
        reader.report(Finding {
            hint: problem.hint,
            ..Finding::new(problem.at, Code::NotYaml, problem.message)
        });
    }
    root
}

/// Returns why a tree cannot be a workflow.
fn mistake(root: Option<&Node>) -> Option<Finding> {
    let at = root.map_or(At::start_of(0), |root| root.at);
    let message = match root {
        None => "the file is empty".to_owned(),
        Some(root) => match &root.data {
            Data::Broken => return None,
            Data::Map(_) if count(root) <= MAX_NODES => return None,
            Data::Map(_) => {
                "the file has more than 100,000 values with its aliases written out".to_owned()
            }
            Data::Null => "the file is empty".to_owned(),
            _ => format!("the file must be a mapping, not {}", root.kind()),
        },
    };
    Some(Finding::new(at, Code::NotYaml, message))
}

/// Returns the place after a text.
fn end_of(text: &[u8]) -> At {
    let text = String::from_utf8_lossy(text);
    let last = text.rsplit('\n').next().unwrap_or_default();
    At {
        file: 0,
        line: text.matches('\n').count() + 1,
        column: last.chars().count() + 1,
    }
}

/// Counts the values of a tree.
fn count(node: &Node) -> usize {
    1 + match &node.data {
        Data::List(items) => items.iter().map(count).sum(),
        Data::Map(entries) => entries.iter().map(|(_, value)| count(value)).sum(),
        _ => 0,
    }
}

#[derive(Default)]
struct Document {
    budget: Budget,
    problems: Vec<Problem>,
}

impl Host for Document {
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
        self.problems.push(problem);
    }

    fn tag_hint(&self) -> Option<&'static str> {
        None
    }

    fn include(&mut self, _at: At, _path: &str, _depth: usize) -> Option<Node> {
        None
    }
}
