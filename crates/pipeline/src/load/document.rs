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
    let start = At::start_of(0);
    let mut fail = |at: At, message: String| {
        reader.report(Finding::new(at, Code::NotYaml, message));
        Node::new(start, Data::Broken)
    };
    if bytes.len() > MAX_FILE_BYTES {
        let mib = MAX_FILE_BYTES >> 20;
        return fail(start, format!("the file is larger than {mib} MiB"));
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let at = end_of(&bytes[..error.valid_up_to()]);
            return fail(at, "the file is not UTF-8".to_owned());
        }
    };
    let mut document = Document::default();
    let root = uwf_yaml::read(&mut document, 0, without_bom(text));
    let is_reported = !document.problems.is_empty();
    for problem in document.problems {
        reader.report(Finding {
            hint: problem.hint,
            ..Finding::new(problem.at, Code::NotYaml, problem.message)
        });
    }
    let mut fail = |at: At, message: &str| {
        reader.report(Finding::new(at, Code::NotYaml, message));
        Node::new(start, Data::Broken)
    };
    match root {
        _ if is_reported && root.as_ref().is_none_or(Node::is_null) => {
            Node::new(start, Data::Broken)
        }
        None => fail(start, "the file is empty"),
        Some(root) if root.is_null() => fail(start, "the file is empty"),
        Some(root) if count(&root) > MAX_NODES => fail(
            start,
            "the file has more than 100,000 values with its aliases written out",
        ),
        Some(root) => match root.data {
            Data::Map(_) | Data::Broken => root,
            _ => fail(
                root.at,
                &format!("the file must be a mapping, not {}", root.kind()),
            ),
        },
    }
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
