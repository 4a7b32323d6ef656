//! Prints results: data on stdout as JSON, YAML or text. No other module prints data.

mod raw;

use std::ffi::OsString;
use std::io::{IsTerminal, Write};

use clap::ValueEnum;
use clap::builder::PossibleValue;
use rustix::termios::tcgetwinsize;
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_saphyr::DoubleQuoted;
use uwf_storage::Env;
use uwf_util::printable::{is_terminal_control, printable, with_json_escapes};

pub(crate) use raw::Raw;

use crate::failure::Failure;
use crate::pager::Pager;
use crate::stderr::Messages;
use crate::style;
use crate::text::Page;

/// The format of printed data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// One line of compact JSON.
    Json,
    /// A YAML document.
    Yaml,
    /// Text for people.
    Text,
}

/// The format of a result that also has drawings. Every command has `--format`; one with drawings has more values for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Data, as of every command.
    Data(Format),
    /// A drawing.
    Drawing(Drawing),
}

/// The language of a drawing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Drawing {
    /// A flowchart in the language of Mermaid, which is drawn in Markdown on many sites.
    Mermaid,
    /// A graph in the language of Graphviz.
    Dot,
    /// A picture.
    Svg,
}

impl Form {
    /// Returns the format of data, if it is one.
    pub(crate) fn data(self) -> Option<Format> {
        match self {
            Self::Data(format) => Some(format),
            Self::Drawing(_) => None,
        }
    }
}

impl ValueEnum for Form {
    fn value_variants<'a>() -> &'a [Self] {
        &[
            Self::Data(Format::Text),
            Self::Drawing(Drawing::Mermaid),
            Self::Drawing(Drawing::Dot),
            Self::Drawing(Drawing::Svg),
            Self::Data(Format::Json),
            Self::Data(Format::Yaml),
        ]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Self::Data(format) => format.to_possible_value(),
            Self::Drawing(Drawing::Mermaid) => {
                Some(PossibleValue::new("mermaid").help("A flowchart in the language of Mermaid"))
            }
            Self::Drawing(Drawing::Dot) => {
                Some(PossibleValue::new("dot").help("A graph in the language of Graphviz"))
            }
            Self::Drawing(Drawing::Svg) => Some(PossibleValue::new("svg").help("A picture")),
        }
    }
}

impl Format {
    /// Returns its name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Yaml => "yaml",
            Self::Text => "text",
        }
    }

    /// Returns the requested format, from the flag or from `UWF_FORMAT`.
    pub(crate) fn asked(flag: Option<Self>, env: &Env) -> Result<Option<Self>, Failure> {
        let of_env = env.var("UWF_FORMAT").filter(|name| !name.is_empty());
        match (flag, of_env) {
            (Some(format), _) => Ok(Some(format)),
            (None, Some(name)) => Self::from_str(name, true).map(Some).map_err(|_| {
                Failure::usage(format!("`{name}` in `UWF_FORMAT` is not a format"))
                    .hint("formats are json, yaml and text")
            }),
            (None, None) => Ok(None),
        }
    }

    /// Returns the form of messages that a command line asks for, before it is parsed: its own mistakes are reported in
    /// that form, too.
    pub(crate) fn of_messages(args: &[OsString], env: &Env) -> Messages {
        let texts = args.iter().map(|arg| arg.to_str().unwrap_or_default());
        let options: Vec<&str> = texts.take_while(|arg| *arg != "--").collect();
        let mut attached = options
            .iter()
            .filter_map(|arg| arg.strip_prefix("--format="));
        let mut separate = options.windows(2).filter(|pair| pair[0] == "--format");
        let flag = attached
            .next_back()
            .or(separate.next_back().map(|pair| pair[1]));
        let name = flag.or(env.var("UWF_FORMAT"));
        let format = name.and_then(|name| Self::from_str(name, true).ok());
        match format {
            Some(Self::Json) => Messages::Json,
            Some(Self::Yaml | Self::Text) | None => Messages::Text,
        }
    }

    /// Returns the default format of data: text on a terminal, JSON elsewhere.
    pub(crate) fn usual() -> Self {
        match std::io::stdout().is_terminal() {
            true => Self::Text,
            false => Self::usual_elsewhere(),
        }
    }

    /// Returns the default format of data where no terminal is.
    pub(crate) fn usual_elsewhere() -> Self {
        Self::Json
    }
}

/// A result that can be printed as data or as text.
pub(crate) trait Show: Serialize {
    /// Whether the text has colours if the page has. Then every part of it that others wrote is printable already: what a
    /// terminal obeys in it is ours.
    const HAS_COLOUR: bool = false;

    /// Returns the text for people, without a final line break.
    fn text(&self, page: Page) -> String;
}

/// Returns a result as text for people, with the characters that a terminal obeys spelled out.
pub(crate) fn as_page(result: &impl Show) -> String {
    on_page(result, page())
}

fn on_page<T: Show>(result: &T, page: Page) -> String {
    if T::HAS_COLOUR && page.colour {
        return result.text(page);
    }
    let plain = Page {
        colour: false,
        ..page
    };
    printable(&result.text(plain)).into_owned()
}

/// Prints a result.
pub(crate) fn print(result: &impl Show, format: Format) -> Result<(), Failure> {
    match rendered(result, format, page())? {
        text if text.is_empty() => Ok(()),
        text => write(&text),
    }
}

/// Prints data as a YAML document.
pub(crate) fn print_yaml(data: &impl Serialize) -> Result<(), Failure> {
    write(&yaml(&serde_json::to_value(data).map_err(unprintable)?)?)
}

/// Returns a result as it is printed, without a final line break.
pub(crate) fn rendered(result: &impl Show, format: Format, page: Page) -> Result<String, Failure> {
    match format {
        Format::Text => Ok(on_page(result, page)),
        Format::Json => json(result),
        Format::Yaml => yaml(&serde_json::to_value(result).map_err(unprintable)?),
    }
}

/// Prints a result that may be long: its text goes to the pager.
pub(crate) fn print_long(result: &impl Show, format: Format, pager: &Pager) -> Result<(), Failure> {
    if format != Format::Text {
        return print(result, format);
    }
    match as_page(result) {
        text if text.is_empty() => Ok(()),
        text => write_long(&text, pager),
    }
}

/// Prints paths, which programs open: their text is unchanged, unless a terminal shows it.
pub(crate) fn print_paths(paths: &impl Show, format: Format) -> Result<(), Failure> {
    if format != Format::Text || std::io::stdout().is_terminal() {
        return print(paths, format);
    }
    match paths.text(page()) {
        text if text.is_empty() => Ok(()),
        text => write(&text),
    }
}

/// Returns the page of stdout: as wide as the terminal, if it is one.
fn page() -> Page {
    let size = tcgetwinsize(std::io::stdout()).ok();
    let width = size.map(|size| usize::from(size.ws_col));
    Page {
        width: width.filter(|width| *width > 0),
        colour: style::on_stdout(),
    }
}

/// Prints data as a line of JSON, such as one record of many.
pub(crate) fn print_line(record: &impl Serialize) -> Result<(), Failure> {
    write(&json(record)?)
}

/// Returns the result as one line of JSON. Characters that a terminal would obey are escaped, because the line may be
/// printed on one.
fn json(result: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string(result).map_err(unprintable)?;
    Ok(with_json_escapes(&text).into_owned())
}

/// Returns the value as a YAML document without a final line break, with escapes as in JSON.
pub(crate) fn yaml(value: &Value) -> Result<String, Failure> {
    let text = serde_saphyr::to_string(&Escapable(value)).map_err(unprintable)?;
    Ok(with_json_escapes(text.trim_end()).into_owned())
}

/// A value whose strings are double-quoted in YAML if they need escapes. No other style of YAML has escapes.
struct Escapable<'a>(&'a Value);

impl Serialize for Escapable<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::String(text) if text.contains(is_terminal_control) => {
                DoubleQuoted(text).serialize(serializer)
            }
            Value::Array(items) => serializer.collect_seq(items.iter().map(Escapable)),
            Value::Object(map) => serializer.collect_map(
                map.iter()
                    .map(|(key, value)| (EscapableKey(key), Escapable(value))),
            ),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                self.0.serialize(serializer)
            }
        }
    }
}

/// See [`Escapable`].
struct EscapableKey<'a>(&'a str);

impl Serialize for EscapableKey<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.contains(is_terminal_control) {
            return DoubleQuoted(self.0).serialize(serializer);
        }
        self.0.serialize(serializer)
    }
}

/// Prints a Markdown document for people, or its data if JSON or YAML was requested. Characters that a terminal would obey
/// are spelled out, also in a pipe: another program may show it on one.
pub(crate) fn print_document(
    data: &impl Serialize,
    document: &str,
    asked: Option<Format>,
    pager: &Pager,
) -> Result<(), Failure> {
    print_source(data, &printable(document), asked, pager)
}

/// Prints a source that programs read, or its data if JSON or YAML was requested.
pub(crate) fn print_source(
    data: &impl Serialize,
    source: &str,
    asked: Option<Format>,
    pager: &Pager,
) -> Result<(), Failure> {
    match asked {
        Some(Format::Json) => write(&json(data)?),
        Some(Format::Yaml) => write(&yaml(&serde_json::to_value(data).map_err(unprintable)?)?),
        Some(Format::Text) | None => write_document(source, pager),
    }
}

/// Writes a document to stdout, unchanged if it is not a terminal. For a terminal, characters that it would obey are
/// spelled out.
pub(crate) fn write_document(document: &str, pager: &Pager) -> Result<(), Failure> {
    let document = document.trim_end();
    if std::io::stdout().is_terminal() {
        write_long(&printable(document), pager)
    } else {
        write(document)
    }
}

/// Shows a text in the pager, or writes it.
fn write_long(text: &str, pager: &Pager) -> Result<(), Failure> {
    if pager.shows(text) {
        return Ok(());
    }
    write(text)
}

/// Whether somebody still reads what we write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    There,
    Gone,
}

/// Prints one of many results as soon as it is there: text, or a line of JSON, or a document of YAML.
pub(crate) fn print_each(result: &impl Show, format: Format) -> Result<Reader, Failure> {
    match format {
        Format::Text => match result.text(page()) {
            text if text.is_empty() => Ok(Reader::There),
            text => write_to_reader(&printable(&text)),
        },
        Format::Json => write_to_reader(&json(result)?),
        Format::Yaml => {
            let value = serde_json::to_value(result).map_err(unprintable)?;
            write_to_reader(&format!("---\n{}", yaml(&value)?))
        }
    }
}

/// Writes text and a line break to stdout.
///
/// A closed pipe is no failure: the work is done and recorded.
pub(crate) fn write(text: &str) -> Result<(), Failure> {
    write_to_reader(text).map(|_| ())
}

/// Writes text and a line break to stdout, and tells whether somebody reads it.
fn write_to_reader(text: &str) -> Result<Reader, Failure> {
    let mut out = std::io::stdout().lock();
    let written = out
        .write_all(format!("{text}\n").as_bytes())
        .and_then(|()| out.flush());
    match written {
        Ok(()) => Ok(Reader::There),
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(Reader::Gone),
        Err(error) => Err(Failure::request("cannot write the result to stdout").cause(&error)),
    }
}

fn unprintable(error: impl std::fmt::Display) -> Failure {
    Failure::request("the result cannot be printed").cause(&error)
}
