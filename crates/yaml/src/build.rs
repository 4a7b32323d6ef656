//! Builds the tree of one YAML text from the events of the parser.

use std::collections::HashMap;
use std::ops::ControlFlow;

use serde_saphyr::granit_parser::{Event, Marker, Options, Parser, ScalarStyle, Span, Tag};

use crate::{At, Data, Key, Node, Problem, scalar};

/// How deep collections may be nested, with includes and aliases counted.
pub const MAX_DEPTH: usize = 100;
/// How much memory all trees of a host may take, roughly. Aliases and repeated includes are copies and count each time.
const MAX_TREE_BYTES: usize = 32 << 20;

/// The key of YAML 1.1 that merges mappings. In quotes it is an ordinary key.
const MERGE: &str = "<<";

/// How scalars are understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// As in the core schema of YAML 1.2. A number that JSON does not have is a problem, and so is a key that is not a
    /// string.
    Strict,
    /// For texts whose scalars may be ids: numbers with leading zeros and numbers that JSON does not have are strings,
    /// and any scalar can be a key.
    Tolerant,
}

/// The caller of [`read`]: it sets the rules, and it gets the problems and the includes.
pub trait Host {
    /// Returns how scalars are understood.
    fn dialect(&self) -> Dialect;
    /// Returns what is left for all texts together.
    fn budget(&mut self) -> &mut Budget;
    /// Returns how many lines come before the text in its file. Places count them.
    fn lines_before(&self) -> usize;
    /// Records a problem. The reader continues if it can.
    fn report(&mut self, problem: Problem);
    /// Returns the hint for a tag that has no meaning.
    fn tag_hint(&self) -> Option<&'static str>;
    /// Reads the file that `!include` names. The tag stands `depth` collections deep in its own text. Returns `None` if
    /// this host includes nothing.
    fn include(&mut self, at: At, path: &str, depth: usize) -> Option<Node>;
}

/// The limits of depth and memory for all texts of a host together.
#[derive(Debug, Default)]
pub struct Budget {
    /// The levels of collections around the text that is being read.
    pub depth: usize,
    bytes: usize,
}

impl Budget {
    /// Tells whether this many further levels exceed the limit.
    fn is_too_deep(&self, levels: usize) -> bool {
        self.depth + levels > MAX_DEPTH
    }

    /// Counts the bytes by which the trees grow.
    fn spend(&mut self, bytes: usize) -> Spent {
        let was_exceeded = self.bytes > MAX_TREE_BYTES;
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes <= MAX_TREE_BYTES {
            Spent::WithinLimit
        } else if was_exceeded {
            Spent::BeyondLimit
        } else {
            Spent::LimitJustExceeded
        }
    }
}

/// What spending memory led to.
enum Spent {
    WithinLimit,
    /// The limit is exceeded, and nobody has reported it yet.
    LimitJustExceeded,
    BeyondLimit,
}

/// Reads one text and returns its tree, or `None` if it has no content. A text that is not YAML is reported and becomes
/// [`Data::Broken`].
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
    /// The open collections, the outermost first.
    frames: Vec<Frame>,
    /// The start of the collection that was closed last.
    closed: Option<At>,
    /// The complete values that an alias may name, by the parser's number for the anchor.
    anchors: HashMap<usize, Node>,
    root: Option<Node>,
    document_count: usize,
}

/// An open collection.
struct Frame {
    at: At,
    anchor: usize,
    contents: Contents,
}

enum Contents {
    List(Vec<Node>),
    /// The entries so far, and what comes next.
    Map(Vec<(Key, Node)>, Next),
}

enum Next {
    Key,
    /// The value of this key. `None`: the key was rejected, and its value is dropped.
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
                let contents = Contents::List(Vec::new());
                return self.open(at, anchor, contents, tag.as_deref(), "seq");
            }
            Event::MappingStart(_, anchor, tag) => {
                let contents = Contents::Map(Vec::new(), Next::Key);
                return self.open(at, anchor, contents, tag.as_deref(), "map");
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
        contents: Contents,
        tag: Option<&Tag>,
        core: &str,
    ) -> ControlFlow<()> {
        if let Some(tag) = tag.filter(|tag| !is_bare(tag) && tag.core_suffix() != Some(core)) {
            self.report_tag(at, tag);
        }
        if self.host.budget().is_too_deep(self.frames.len() + 1) {
            return self.fail(at, too_deep());
        }
        self.frames.push(Frame {
            at,
            anchor,
            contents,
        });
        ControlFlow::Continue(())
    }

    fn close(&mut self) -> ControlFlow<()> {
        self.closed = self.frames.last().map(|frame| frame.at);
        let Some(frame) = self.frames.pop() else {
            return ControlFlow::Break(());
        };
        let data = match frame.contents {
            Contents::List(items) => Data::List(items),
            Contents::Map(entries, _) => Data::Map(self.unique(entries)),
        };
        self.add(Node::new(frame.at, data), frame.anchor)
    }

    /// Adds a complete value to the tree, and keeps a copy if it has an anchor.
    fn add(&mut self, node: Node, anchor: usize) -> ControlFlow<()> {
        // The parts of a collection were counted one by one. A copy counts as a whole.
        let own = match node.data {
            Data::List(_) | Data::Map(_) => size_of::<Node>(),
            _ => node.cost(),
        };
        let copy = if anchor == 0 { 0 } else { node.cost() };
        self.spend(own + copy, node.at)?;
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        self.place(node);
        ControlFlow::Continue(())
    }

    fn spend(&mut self, bytes: usize, at: At) -> ControlFlow<()> {
        match self.host.budget().spend(bytes) {
            Spent::WithinLimit => ControlFlow::Continue(()),
            Spent::LimitJustExceeded => self.fail(
                at,
                "the text is too large with its aliases and includes written out",
            ),
            Spent::BeyondLimit => ControlFlow::Break(()),
        }
    }

    /// Puts a complete value into the collection around it, as an item, a key or a value.
    fn place(&mut self, node: Node) {
        match self.frames.last_mut().map(|frame| &mut frame.contents) {
            None => self.root = Some(node),
            Some(Contents::List(items)) => items.push(node),
            Some(Contents::Map(entries, next)) => match std::mem::replace(next, Next::Key) {
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
        self.spend(node.cost(), at)?;
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

    /// Reports and drops each entry whose key an earlier entry has.
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

    /// Returns the problem at the place where the parser gives up. The parser names the line that does not fit what came
    /// before. If that is a matter of indentation, the mistake is more likely in the collection before that line, so the
    /// problem names both.
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

/// Returns a value as a key. A value that cannot be a key is reported and gives `None`.
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

/// Returns the data of a scalar with a tag of the core schema.
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

/// Tells whether the tag is a lone `!`, which makes every scalar a string.
fn is_bare(tag: &Tag) -> bool {
    tag.original() == "!"
}
