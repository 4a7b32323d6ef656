//! Builds the tree of one YAML text from the events of the parser.

use std::collections::HashMap;
use std::ops::ControlFlow;

use serde_saphyr::granit_parser::{Event, Marker, Options, Parser, ScalarStyle, Span, Tag};

use super::diagnostic::Finding;
use super::document::{Documents, MAX_DEPTH, broken, start_of};
use super::scalar;
use super::tree::{At, Data, Key, Node};

/// Reads one text; what is not YAML is reported and comes back as [`Data::Broken`].
pub(super) fn tree(documents: &mut Documents<'_>, file: usize, text: &str) -> Node {
    let mut options = Options::default();
    options.set_emit_comments(false);
    let mut builder = Builder {
        documents,
        file,
        frames: Vec::new(),
        closed: None,
        anchors: HashMap::new(),
        root: None,
        document_count: 0,
    };
    for event in Parser::new_from_str_with_options(text, options) {
        let flow = match event {
            Ok((event, span)) => builder.event(event, span),
            Err(error) => {
                let at = builder.at(*error.marker());
                let finding = builder.not_yaml(at, &error.info()).with_excerpt(text);
                builder.documents.report(finding);
                ControlFlow::Break(())
            }
        };
        if flow.is_break() {
            return broken(start_of(file));
        }
    }
    builder.root.unwrap_or_else(|| {
        let at = start_of(file);
        documents.report(Finding::new(at, "the file is empty"));
        broken(at)
    })
}

struct Builder<'d, 'a> {
    documents: &'d mut Documents<'a>,
    file: usize,
    /// The collections that are open, the outermost first.
    frames: Vec<Frame>,
    /// Where the collection began that was closed last.
    closed: Option<At>,
    /// Complete values that an alias may name, by the parser's number of the anchor.
    anchors: HashMap<usize, Node>,
    root: Option<Node>,
    document_count: usize,
}

struct Frame {
    at: At,
    anchor: usize,
    holds: Holds,
}

enum Holds {
    List(Vec<Node>),
    /// The entries so far, and what comes next.
    Map(Vec<(Key, Node)>, Next),
}

enum Next {
    Key,
    /// The value of this key; `None` if the key was no good, and the value goes with it.
    ValueOf(Option<Key>),
}

impl Builder<'_, '_> {
    fn event(&mut self, event: Event<'_>, span: Span) -> ControlFlow<()> {
        let at = self.at(span.start);
        match event {
            Event::DocumentStart(..) => {
                self.document_count += 1;
                if self.document_count > 1 {
                    return self.fail(at, "a second document starts here, and a file holds one");
                }
            }
            Event::Scalar(text, style, anchor, tag) => {
                let node = self.scalar(at, &text, style, tag.as_deref());
                return self.add(node, anchor);
            }
            Event::SequenceStart(_, anchor, tag) => {
                return self.open(at, anchor, Holds::List(Vec::new()), tag.as_deref(), "seq");
            }
            Event::MappingStart(_, anchor, tag) => {
                let holds = Holds::Map(Vec::new(), Next::Key);
                return self.open(at, anchor, holds, tag.as_deref(), "map");
            }
            Event::SequenceEnd | Event::MappingEnd => return self.close(),
            Event::Alias(anchor) => return self.alias(at, anchor),
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn open(
        &mut self,
        at: At,
        anchor: usize,
        holds: Holds,
        tag: Option<&Tag>,
        core: &str,
    ) -> ControlFlow<()> {
        if let Some(tag) = tag.filter(|tag| !is_bare(tag) && tag.core_suffix() != Some(core)) {
            self.report_tag(at, tag);
        }
        if self.documents.is_too_deep(self.frames.len() + 1) {
            return self.fail(at, too_deep());
        }
        self.frames.push(Frame { at, anchor, holds });
        ControlFlow::Continue(())
    }

    fn close(&mut self) -> ControlFlow<()> {
        self.closed = self.frames.last().map(|frame| frame.at);
        let Some(frame) = self.frames.pop() else {
            return ControlFlow::Break(());
        };
        let data = match frame.holds {
            Holds::List(items) => Data::List(items),
            Holds::Map(entries, _) => Data::Map(self.unique(entries)),
        };
        let node = Node { at: frame.at, data };
        self.add(node, frame.anchor)
    }

    /// Puts a complete value where it belongs: into the collection around it, as a key or a value.
    fn add(&mut self, node: Node, anchor: usize) -> ControlFlow<()> {
        // The parts of a collection were counted one by one; a copy is counted whole.
        let own = match node.data {
            Data::List(_) | Data::Map(_) => size_of::<Node>(),
            _ => node.cost(),
        };
        let copy = if anchor == 0 { 0 } else { node.cost() };
        if !self.documents.has_room_for(own + copy, node.at) {
            return ControlFlow::Break(());
        }
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        self.place(node);
        ControlFlow::Continue(())
    }

    fn place(&mut self, node: Node) {
        match self.frames.last_mut().map(|frame| &mut frame.holds) {
            None => self.root = Some(node),
            Some(Holds::List(items)) => items.push(node),
            Some(Holds::Map(entries, next)) => match std::mem::replace(next, Next::Key) {
                Next::Key => *next = Next::ValueOf(as_key(&node, self.documents)),
                Next::ValueOf(Some(key)) => entries.push((key, node)),
                Next::ValueOf(None) => {}
            },
        }
    }

    fn alias(&mut self, at: At, anchor: usize) -> ControlFlow<()> {
        let Some(node) = self.anchors.get(&anchor).cloned() else {
            return self.fail(at, "the alias stands inside the value that it names");
        };
        if self
            .documents
            .is_too_deep(self.frames.len() + node.height())
        {
            return self.fail(at, too_deep());
        }
        if !self.documents.has_room_for(node.cost(), at) {
            return ControlFlow::Break(());
        }
        self.place(node);
        ControlFlow::Continue(())
    }

    fn scalar(&mut self, at: At, text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Node {
        let string = || Data::Text(text.to_owned());
        let data = match tag {
            None if style == ScalarStyle::Plain => scalar::plain(text),
            None => Ok(string()),
            Some(tag) if is_bare(tag) || tag.core_suffix() == Some("str") => Ok(string()),
            Some(tag) if tag.original() == "!include" => {
                return self.documents.include(at, text, self.frames.len());
            }
            Some(tag) => match tag.core_suffix() {
                Some(core) => tagged(text, core),
                None => {
                    self.report_tag(at, tag);
                    Ok(Data::Broken)
                }
            },
        };
        let data = data.unwrap_or_else(|message| {
            let hint = "put it in quotes if it is meant as text";
            self.documents.report(Finding::new(at, message).hint(hint));
            Data::Broken
        });
        Node { at, data }
    }

    /// Drops the entries whose key was there before, and reports them.
    fn unique(&mut self, entries: Vec<(Key, Node)>) -> Vec<(Key, Node)> {
        let mut seen: HashMap<String, usize> = HashMap::new();
        let mut kept = Vec::with_capacity(entries.len());
        for (key, value) in entries {
            match seen.get(&key.text) {
                Some(line) => {
                    let message = format!(
                        "the key `{}` is given twice, first on line {line}",
                        key.text
                    );
                    self.documents.report(Finding::new(key.at, message));
                }
                None => {
                    seen.insert(key.text.clone(), key.at.line);
                    kept.push((key, value));
                }
            }
        }
        kept
    }

    fn report_tag(&mut self, at: At, tag: &Tag) {
        let message = format!("the tag `{}` has no meaning here", tag.original());
        let hint = "the tag of workflows is `!include <path>`";
        self.documents.report(Finding::new(at, message).hint(hint));
    }

    /// Returns what is said where the parser gives up. It names the line that does not fit what came before; where that
    /// is a matter of indentation, the collection that began otherwise is the more likely slip.
    fn not_yaml(&self, at: At, problem: &str) -> Finding {
        let before = self.closed;
        match before.filter(|before| before.line < at.line && before.column > at.column) {
            Some(before) if problem.contains("while parsing a block") => {
                let message = format!(
                    "invalid YAML: this is indented by {}, and line {}, which goes on after it, by {}",
                    before.column - 1,
                    at.line,
                    at.column - 1
                );
                Finding::new(before, message)
                    .hint("entries of one mapping or list start in the same column")
            }
            Some(_) | None => Finding::new(at, format!("invalid YAML: {problem}")),
        }
    }

    fn fail(&mut self, at: At, message: impl Into<String>) -> ControlFlow<()> {
        self.documents.report(Finding::new(at, message));
        ControlFlow::Break(())
    }

    fn at(&self, marker: Marker) -> At {
        At {
            file: self.file,
            line: marker.line(),
            column: marker.col() + 1,
        }
    }
}

/// Returns the key that a value spells; `None`, reported, if it is none.
fn as_key(node: &Node, documents: &mut Documents<'_>) -> Option<Key> {
    let finding = match &node.data {
        Data::Text(text) if text == "<<" => {
            Finding::new(node.at, "merge keys (`<<`) are not part of YAML 1.2")
                .hint("repeat the entries, or use an alias for a whole value")
        }
        Data::Text(text) => {
            let text = text.clone();
            return Some(Key { at: node.at, text });
        }
        Data::Null | Data::Bool(_) | Data::Number(_) => {
            let text = node.to_json();
            let message = format!("the key `{text}` is {}, and keys are strings", node.kind());
            Finding::new(node.at, message).hint(format!("write `\"{text}\"`"))
        }
        Data::List(_) | Data::Map(_) => {
            Finding::new(node.at, format!("{} cannot be a key", node.kind()))
        }
        Data::Broken => return None,
    };
    documents.report(finding);
    None
}

/// Returns what a scalar with a tag of the core schema is.
fn tagged(text: &str, core: &str) -> Result<Data, String> {
    let data = scalar::plain(text)?;
    let fits = match (&data, core) {
        (Data::Null, "null") | (Data::Bool(_), "bool") | (Data::Number(_), "float") => true,
        (Data::Number(number), "int") => !number.is_f64(),
        _ => false,
    };
    if fits {
        return Ok(data);
    }
    Err(format!("`{text}` is not what its tag `!!{core}` says"))
}

fn too_deep() -> String {
    format!("collections are nested more than {MAX_DEPTH} levels deep")
}

/// Tells whether the tag is a lone `!`, which says that a value is not to be guessed at.
fn is_bare(tag: &Tag) -> bool {
    tag.original() == "!"
}
