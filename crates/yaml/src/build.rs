//! Builds the tree of one YAML text from the events of the parser.

use std::collections::HashMap;
use std::ops::ControlFlow;

use serde_saphyr::granit_parser::{Event, Marker, Options, Parser, ScalarStyle, Span, Tag};

use crate::{At, Data, Key, Node, Problem, scalar};

/// How many levels of collections may be inside each other, includes and aliases counted.
pub const MAX_DEPTH: usize = 100;
/// How much memory the trees may take, roughly: aliases and repeated includes are copies.
const MAX_TREE_BYTES: usize = 32 << 20;

/// The key of YAML 1.1 that merges mappings. In quotes it is a key like others.
const MERGE: &str = "<<";

/// How scalars are understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// As the core schema of YAML 1.2 says. Numbers that JSON does not have are problems, and so are keys that are no
    /// strings.
    Strict,
    /// For texts whose scalars may be ids: numbers with leading zeros and numbers that JSON does not have are strings,
    /// and any scalar can be a key.
    Tolerant,
}

/// Who asked for a text to be read.
pub trait Host {
    /// Returns how scalars are understood.
    fn dialect(&self) -> Dialect;
    /// Returns what all texts together may take.
    fn budget(&mut self) -> &mut Budget;
    /// Returns how many lines stand before the text, so that places are counted from there.
    fn lines_before(&self) -> usize;
    /// Takes a problem. Reading goes on where that makes sense.
    fn report(&mut self, problem: Problem);
    /// Returns what is said about a tag that has no meaning.
    fn tag_hint(&self) -> Option<&'static str>;
    /// Reads what `!include` names, `depth` collections deep in its own text; `None` if nothing can be included.
    fn include(&mut self, at: At, path: &str, depth: usize) -> Option<Node>;
}

/// What all texts of a host together may take.
#[derive(Debug, Default)]
pub struct Budget {
    /// The levels of collections around the text that is being read.
    pub depth: usize,
    bytes: usize,
}

impl Budget {
    /// Tells whether so many levels more are allowed.
    fn is_too_deep(&self, levels: usize) -> bool {
        self.depth + levels > MAX_DEPTH
    }

    /// Notes that the trees grow by so many bytes.
    fn take(&mut self, bytes: usize) -> Room {
        let fitted = self.bytes <= MAX_TREE_BYTES;
        self.bytes = self.bytes.saturating_add(bytes);
        match (fitted, self.bytes <= MAX_TREE_BYTES) {
            (_, true) => Room::Enough,
            (true, false) => Room::JustSpent,
            (false, false) => Room::None,
        }
    }
}

/// Whether there is room for a value.
enum Room {
    Enough,
    /// Not any more, which has not been said yet.
    JustSpent,
    None,
}

/// Reads one text, `None` if it has no content; what is not YAML is reported and comes back as [`Data::Broken`].
pub fn read(host: &mut dyn Host, file: usize, text: &str) -> Option<Node> {
    let mut options = Options::default();
    options.set_emit_comments(false);
    let mut builder = Builder {
        host,
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
                let problem = builder.not_yaml(at, &error.info());
                let problem = problem.with_excerpt(text, builder.host.lines_before());
                builder.host.report(problem);
                ControlFlow::Break(())
            }
        };
        if flow.is_break() {
            return Some(Node::new(At::start_of(file), Data::Broken));
        }
    }
    builder.root
}

struct Builder<'h> {
    host: &'h mut dyn Host,
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

impl Builder<'_> {
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
        if self.host.budget().is_too_deep(self.frames.len() + 1) {
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
        self.add(Node::new(frame.at, data), frame.anchor)
    }

    /// Puts a complete value where it belongs: into the collection around it, as a key or a value.
    fn add(&mut self, node: Node, anchor: usize) -> ControlFlow<()> {
        // The parts of a collection were counted one by one; a copy is counted whole.
        let own = match node.data {
            Data::List(_) | Data::Map(_) => size_of::<Node>(),
            _ => node.cost(),
        };
        let copy = if anchor == 0 { 0 } else { node.cost() };
        self.make_room(own + copy, node.at)?;
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        self.place(node);
        ControlFlow::Continue(())
    }

    fn make_room(&mut self, bytes: usize, at: At) -> ControlFlow<()> {
        match self.host.budget().take(bytes) {
            Room::Enough => ControlFlow::Continue(()),
            Room::JustSpent => self.fail(
                at,
                "the text is too large with its aliases and includes written out",
            ),
            Room::None => ControlFlow::Break(()),
        }
    }

    fn place(&mut self, node: Node) {
        match self.frames.last_mut().map(|frame| &mut frame.holds) {
            None => self.root = Some(node),
            Some(Holds::List(items)) => items.push(node),
            Some(Holds::Map(entries, next)) => match std::mem::replace(next, Next::Key) {
                Next::Key => *next = Next::ValueOf(as_key(&node, self.host)),
                Next::ValueOf(Some(key)) => entries.push((key, node)),
                Next::ValueOf(None) => {}
            },
        }
    }

    fn alias(&mut self, at: At, anchor: usize) -> ControlFlow<()> {
        let Some(node) = self.anchors.get(&anchor).cloned() else {
            return self.fail(at, "the alias stands inside the value that it names");
        };
        let levels = self.frames.len() + node.height();
        if self.host.budget().is_too_deep(levels) {
            return self.fail(at, too_deep());
        }
        self.make_room(node.cost(), at)?;
        self.place(node);
        ControlFlow::Continue(())
    }

    fn scalar(&mut self, at: At, text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Node {
        let string = || Data::Text(text.to_owned());
        let data = match tag {
            None if style == ScalarStyle::Plain => match self.host.dialect() {
                Dialect::Strict => scalar::plain(text),
                Dialect::Tolerant => Ok(scalar::tolerant(text)),
            },
            None => Ok(string()),
            Some(tag) if is_bare(tag) || tag.core_suffix() == Some("str") => Ok(string()),
            Some(tag) if tag.original() == "!include" => {
                if let Some(included) = self.host.include(at, text, self.frames.len()) {
                    return included;
                }
                self.report_tag(at, tag);
                Ok(Data::Broken)
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
            self.host.report(Problem::new(at, message).hint(hint));
            Data::Broken
        });
        let is_merge = style == ScalarStyle::Plain && tag.is_none() && text == MERGE;
        let is_text = matches!(data, Data::Text(_)) && !is_merge;
        let written = (!is_text).then(|| text.into());
        Node { at, data, written }
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
                    self.host.report(Problem::new(key.at, message));
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
        let hint = self.host.tag_hint().map(str::to_owned);
        self.host.report(Problem {
            hint,
            ..Problem::new(at, message)
        });
    }

    /// Returns what is said where the parser gives up. It names the line that does not fit what came before; where that
    /// is a matter of indentation, the collection that began otherwise is the more likely slip.
    fn not_yaml(&self, at: At, problem: &str) -> Problem {
        let before = self.closed;
        match before.filter(|before| before.line < at.line && before.column > at.column) {
            Some(before) if problem.contains("while parsing a block") => {
                let message = format!(
                    "invalid YAML: this is indented by {}, and line {}, which goes on after it, by {}",
                    before.column - 1,
                    at.line,
                    at.column - 1
                );
                Problem::new(before, message)
                    .hint("entries of one mapping or list start in the same column")
            }
            Some(_) | None => Problem::new(at, format!("invalid YAML: {problem}")),
        }
    }

    fn fail(&mut self, at: At, message: impl Into<String>) -> ControlFlow<()> {
        self.host.report(Problem::new(at, message));
        ControlFlow::Break(())
    }

    fn at(&self, marker: Marker) -> At {
        At {
            file: self.file,
            line: marker.line() + self.host.lines_before(),
            column: marker.col() + 1,
        }
    }
}

/// Returns the key that a value spells; `None`, reported, if it is none.
fn as_key(node: &Node, host: &mut dyn Host) -> Option<Key> {
    let problem = match &node.data {
        Data::Text(text) if text == MERGE && node.written.is_some() => {
            Problem::new(node.at, "merge keys (`<<`) are not part of YAML 1.2")
                .hint("repeat the entries, or use an alias for a whole value")
        }
        Data::Text(text) => {
            let text = text.clone();
            return Some(Key { at: node.at, text });
        }
        Data::Null | Data::Bool(_) | Data::Number(_) if host.dialect() == Dialect::Tolerant => {
            let text = node.as_written().unwrap_or_default().to_owned();
            return Some(Key { at: node.at, text });
        }
        Data::Null | Data::Bool(_) | Data::Number(_) => {
            let text = node.to_json();
            let message = format!("the key `{text}` is {}, and keys are strings", node.kind());
            Problem::new(node.at, message).hint(format!("write `\"{text}\"`"))
        }
        Data::List(_) | Data::Map(_) => {
            Problem::new(node.at, format!("{} cannot be a key", node.kind()))
        }
        Data::Broken => return None,
    };
    host.report(problem);
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
