//! V03, V11 and V18: single values of the types that the format has.

use serde_json::{Number, Value};
use uwf_util::shell_words;
use uwf_yaml::{Data, Key, Node};

use super::fields::{Fields, entries};
use super::literals::{warn_of_secret, warn_of_stars};
use super::reader::{Reader, Zone};
use crate::problem::Finding;
use crate::tree::{Tree, TreeMap};
use crate::{Code, Template, path_problem, text_of};

/// The longest time that a file may name: 31 days.
const MAX_SECONDS: f64 = 31.0 * 24.0 * 3600.0;

/// Reports a value of a wrong kind, unless it was reported already.
pub(super) fn misfit(node: &Node, what: &str, wanted: &str, reader: &mut Reader) {
    misfit_with(node, (what, wanted), None, reader);
}

/// Does the same with a hint for values that are not empty.
pub(super) fn misfit_with(
    node: &Node,
    (what, wanted): (&str, &str),
    hint: Option<String>,
    reader: &mut Reader,
) {
    let actual = match node.data {
        Data::Broken => return,
        Data::Null => "but is empty".to_owned(),
        _ => format!("not {}", node.kind()),
    };
    let message = format!("{what} must be {wanted}, {actual}");
    let mut finding = Finding::new(node.at, Code::WrongType, message);
    finding.hint = hint;
    if node.is_null() {
        finding.hint = Some(match node.as_written() {
            Some(written) if !written.is_empty() => {
                format!("write `\"{written}\"` if it is meant as text")
            }
            _ => "leave the key out to get its default".to_owned(),
        });
    }
    reader.report(finding);
}

/// Reads a text. Numbers and booleans become text.
pub(super) fn text(node: &Node, what: &str, reader: &mut Reader) -> Option<String> {
    match &node.data {
        Data::Text(text) => Some(text.clone()),
        Data::Number(_) if node.long_integer().is_some() => digits(node, reader),
        Data::Bool(_) | Data::Number(_) => Some(text_of(&node.to_json()).into_owned()),
        Data::Null | Data::List(_) | Data::Map(_) | Data::Broken => {
            misfit(node, what, "a text", reader);
            None
        }
    }
}

/// Returns the digits of an integer of more than 64 bits, without a `+` and leading zeros.
fn digits(node: &Node, reader: &mut Reader) -> Option<String> {
    let written = node.long_integer()?;
    let (sign, digits) = match written.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", written.strip_prefix('+').unwrap_or(written)),
    };
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        refuse_long_integer(node, reader);
        return None;
    }
    Some(format!("{sign}{}", digits.trim_start_matches('0')))
}

/// Reads data without variables.
pub(super) fn plain(node: &Node, reader: &mut Reader) -> Value {
    check_plain(node, reader);
    node.to_json()
}

fn check_plain(node: &Node, reader: &mut Reader) {
    match &node.data {
        Data::List(items) => {
            for item in items {
                check_plain(item, reader);
            }
        }
        Data::Map(members) => {
            for (key, value) in members {
                warn_of_secret(key, value, reader);
                check_plain(value, reader);
            }
        }
        Data::Number(_) => refuse_long_integer(node, reader),
        Data::Null | Data::Bool(_) | Data::Text(_) | Data::Broken => {}
    }
}

/// Reports an integer that has more than 64 bits: as data it would be rounded.
fn refuse_long_integer(node: &Node, reader: &mut Reader) {
    if let Some(written) = node.long_integer() {
        let message = format!("the integer `{written}` has more than 64 bits");
        let hint = format!("write `\"{written}\"`: a text keeps all digits");
        reader.report(Finding::new(node.at, Code::WrongType, message).hint(hint));
    }
}

/// Reads a list of texts with their nodes.
pub(super) fn texts<'t>(
    node: &'t Node,
    what: &str,
    reader: &mut Reader,
) -> Option<Vec<(&'t Node, String)>> {
    let Data::List(items) = &node.data else {
        misfit(node, what, "a list of texts", reader);
        return None;
    };
    let what = format!("each element of {what}");
    let texts = items
        .iter()
        .map(|item| Some((item, text(item, &what, reader)?)));
    // All elements are read, so that all mistakes are found.
    let texts: Vec<Option<(&Node, String)>> = texts.collect();
    texts.into_iter().collect()
}

/// Reads a boolean.
pub(super) fn boolean(node: &Node, what: &str, reader: &mut Reader) -> Option<bool> {
    match node.data {
        Data::Bool(value) => Some(value),
        _ => {
            misfit(node, what, "`true` or `false`", reader);
            None
        }
    }
}

/// Reads one of a few words.
pub(super) fn word<T: Copy>(
    node: &Node,
    what: &str,
    words: &[(&str, T)],
    reader: &mut Reader,
) -> Option<T> {
    let text = text(node, what, reader)?;
    let found = words.iter().find(|(word, _)| *word == text);
    if found.is_none() {
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let message = format!("{what} is one of `{}`, not `{text}`", known.join("`, `"));
        reader.problem(node.at, Code::WrongType, message);
    }
    found.map(|(_, value)| *value)
}

/// Reads a whole number within limits.
pub(super) fn whole(
    node: &Node,
    what: &str,
    least: u64,
    most: u64,
    reader: &mut Reader,
) -> Option<u64> {
    let Data::Number(number) = &node.data else {
        misfit(node, what, "a whole number", reader);
        return None;
    };
    let long = node.long_integer();
    if number.is_f64() && long.is_none() {
        let message = format!("{what} must be a whole number, not {number}");
        reader.problem(node.at, Code::WrongType, message);
        return None;
    }
    let found = number
        .as_u64()
        .filter(|found| (least..=most).contains(found));
    if found.is_none() {
        let range = if most == u64::MAX && long.is_none() {
            format!("at least {least}")
        } else {
            format!("from {least} to {most}")
        };
        let given = long.map_or_else(|| number.to_string(), str::to_owned);
        let message = format!("{what} must be {range}, not {given}");
        reader.problem(node.at, Code::OutOfRange, message);
    }
    found
}

/// Reads a time in seconds, which may have a fraction, and returns milliseconds.
pub(super) fn seconds(node: &Node, what: &str, reader: &mut Reader) -> Option<u64> {
    let Data::Number(number) = &node.data else {
        misfit(node, what, "a number of seconds", reader);
        return None;
    };
    let milliseconds = milliseconds(number);
    if milliseconds.is_none() {
        let message = format!("{what} must be more than 0 and at most 31 days, not {number}");
        reader.problem(node.at, Code::OutOfRange, message);
    }
    milliseconds
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the range was checked"
)]
fn milliseconds(seconds: &Number) -> Option<u64> {
    let seconds = seconds.as_f64()?;
    let fits = seconds > 0.0 && seconds <= MAX_SECONDS;
    fits.then(|| (seconds * 1000.0).ceil() as u64)
}

/// Reads a text with variables.
pub(super) fn template(
    node: &Node,
    what: &str,
    zone: Zone,
    reader: &mut Reader,
) -> Option<Template> {
    let source = text(node, what, reader)?;
    reader.template(node.at, &source, zone)
}

/// Reads a path, which may have variables.
pub(super) fn path(node: &Node, what: &str, reader: &mut Reader) -> Option<Template> {
    let template = template(node, what, Zone::Step, reader)?;
    // Two characters: a single one before a colon would look like a drive.
    check_path(node, what, &template.with_names_as("xx"), reader);
    Some(template)
}

/// Reads a pattern of paths, which may have variables.
pub(super) fn pattern(node: &Node, what: &str, reader: &mut Reader) -> Option<Template> {
    let pattern = path(node, what, reader)?;
    warn_of_stars(node, &pattern, reader);
    Some(pattern)
}

/// V11: reports a path that could leave the workspace.
pub(super) fn check_path(node: &Node, what: &str, path: &str, reader: &mut Reader) {
    if let Some(why) = path_problem(path) {
        let message = format!("{what} must be a path in the workspace: {why}");
        reader.problem(node.at, Code::BadPath, message);
    }
}

/// Reads an entry, if there is one, by one of the functions above.
pub(super) fn entry<'t, T>(
    fields: &Fields<'t>,
    key: &str,
    reader: &mut Reader,
    read: impl FnOnce(&'t Node, &str, &mut Reader) -> Option<T>,
) -> Option<T> {
    let (_, node) = fields.get(key)?;
    read(node, &fields.name_of(key), reader)
}

/// Reads the words of a command. A text is split as a POSIX shell does it, and one that only a shell understands gives a
/// warning.
pub(super) fn command(
    node: &Node,
    what: &str,
    zone: Zone,
    reader: &mut Reader,
) -> Option<Vec<Template>> {
    let words = match &node.data {
        Data::Text(line) if zone == Zone::Step => split(node, what, line, reader)?,
        _ => texts(node, what, reader)?,
    };
    if words.is_empty() {
        let message = format!("{what} must not be empty");
        reader.problem(node.at, Code::WrongType, message);
        return None;
    }
    let templates = words.iter().map(|(node, word)| {
        let template = reader.template(node.at, word, zone)?;
        warn_of_json(node, &template, reader);
        Some(template)
    });
    let templates: Vec<Option<Template>> = templates.collect();
    templates.into_iter().collect()
}

fn split<'t>(
    node: &'t Node,
    what: &str,
    line: &str,
    reader: &mut Reader,
) -> Option<Vec<(&'t Node, String)>> {
    let words = match shell_words::split(line) {
        Ok(words) => words,
        Err(error) => {
            let message = format!("{what} cannot be split into words: {error}");
            reader.problem(node.at, Code::WrongType, message);
            return None;
        }
    };
    if let Some(word) = words.iter().find(|word| is_shell_word(word)) {
        let message = format!("{what} runs without a shell, so `{word}` is an ordinary word");
        let hint = "write `[\"bash\", \"-c\", \"…\"]` for a shell";
        reader.report(Finding::new(node.at, Code::ShellWord, message).hint(hint));
    }
    Some(words.into_iter().map(|word| (node, word)).collect())
}

/// Tells whether a word means something to a shell: a pipe, a redirection, or the end of a command. A lone `;` is an
/// ordinary argument of `find`.
fn is_shell_word(word: &str) -> bool {
    let after_number = word.trim_start_matches(|c: char| c.is_ascii_digit());
    after_number.starts_with(['|', '&', '<', '>']) || (word.len() > 1 && word.ends_with(';'))
}

/// Warns of a variable within a JSON literal: a value with quotes breaks it.
fn warn_of_json(node: &Node, word: &Template, reader: &mut Reader) {
    let has_names = word.references().next().is_some();
    let starts = word.source().trim_start().starts_with(['{', '[']);
    let filled = word.with_names_as("0");
    if has_names && starts && serde_json::from_str::<Value>(&filled).is_ok() {
        let message = "a variable stands within JSON, which a value with quotes or newlines breaks";
        let hint = "let a program such as `jq` write the JSON";
        reader.report(Finding::new(node.at, Code::InsideJson, message).hint(hint));
    }
}

/// V08, V09: reports variables in the key of data, which is taken as it is.
fn check_key(key: &Key, reader: &mut Reader) {
    let names = match Template::parse(&key.text) {
        Ok(template) => template
            .references()
            .map(|(name, _)| name.to_owned())
            .collect(),
        Err(errors) => {
            reader.bad_names(key.at, &errors);
            Vec::new()
        }
    };
    for name in names {
        let message = format!("`${{{name}}}` stands in a key, and keys have no variables");
        let hint = "put it into a value";
        reader.report(Finding::new(key.at, Code::BadVariable, message).hint(hint));
    }
}

/// Reads data whose strings are templates. Nothing but its variables can be wrong.
pub(super) fn tree(node: &Node, zone: Zone, reader: &mut Reader) -> Tree {
    match &node.data {
        Data::Text(text) => match reader.template(node.at, text, zone) {
            Some(template) => Tree::Text(template),
            None => Tree::Plain(Value::Null),
        },
        Data::List(items) => {
            let items = items.iter().map(|item| tree(item, zone, reader));
            Tree::List(items.collect())
        }
        Data::Map(members) => Tree::Map(tree_members(members, zone, reader)),
        Data::Null | Data::Bool(_) | Data::Number(_) | Data::Broken => {
            Tree::Plain(plain(node, reader))
        }
    }
}

/// Reads a mapping whose strings are templates.
pub(super) fn tree_map(
    node: &Node,
    what: &str,
    zone: Zone,
    reader: &mut Reader,
) -> Option<TreeMap> {
    let members = entries(node, what, reader)?;
    Some(tree_members(members, zone, reader))
}

fn tree_members(members: &[(Key, Node)], zone: Zone, reader: &mut Reader) -> TreeMap {
    let members = members.iter().map(|(key, value)| {
        check_key(key, reader);
        warn_of_secret(key, value, reader);
        (key.text.clone(), tree(value, zone, reader))
    });
    TreeMap(members.collect())
}
