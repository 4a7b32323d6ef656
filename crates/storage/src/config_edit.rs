//! Changing one value in a YAML text of mappings in block style, so that comments and layout stay.
//!
//! This looks at lines and indentation only and may be mistaken about other styles: the caller reads the
//! result back and compares.

use std::ops::Range;

use serde_json::{Map, Value};

use crate::config_key::Setting;
use crate::yaml;

/// Returns the text with the setting in it, if its keys are found as lines of block mappings.
pub(crate) fn edit(text: &str, setting: &Setting) -> Option<String> {
    let lines: Vec<&str> = text.lines().collect();
    let mut block = 0..lines.len();
    let mut indent = 0;
    for (depth, key) in setting.path.iter().enumerate() {
        let Some(at) = find_key(&lines, block.clone(), indent, key) else {
            let new = new_lines(&setting.path[depth..], &setting.value, indent)?;
            return Some(insert(&lines, block, &new));
        };
        if depth + 1 == setting.path.len() {
            let new = changed_line(lines[at], key, &setting.value, indent)?;
            return Some(join(&lines[..at], &[new], &lines[at + 1..]));
        }
        block = children(&lines, at + 1..block.end, indent);
        let first = lines[block.clone()].iter().find(|line| !is_blank(line));
        indent = first.map_or(indent + 2, |line| indent_of(line));
    }
    None
}

/// Finds the line that has the key at this indentation.
fn find_key(lines: &[&str], mut block: Range<usize>, indent: usize, key: &str) -> Option<usize> {
    block.find(|at| {
        let line = lines[*at];
        indent_of(line) == indent && key_of(line) == Some(key)
    })
}

fn key_of(line: &str) -> Option<&str> {
    let line = line.trim();
    let key = match line.split_once(": ") {
        Some((key, _)) => key,
        None => line.strip_suffix(':')?,
    };
    let inner = |quote: char| key.strip_prefix(quote)?.strip_suffix(quote);
    Some(inner('"').or_else(|| inner('\'')).unwrap_or(key))
}

/// Returns the lines of the range that belong to the key before it: up to one that is not indented more.
fn children(lines: &[&str], range: Range<usize>, indent: usize) -> Range<usize> {
    let belongs = |line: &&str| is_blank(line) || indent_of(line) > indent;
    let count = lines[range.clone()]
        .iter()
        .take_while(|line| belongs(line))
        .count();
    range.start..range.start + count
}

/// Puts new lines at the end of a block, before the blank lines and comments that end it.
fn insert(lines: &[&str], block: Range<usize>, new: &[String]) -> String {
    let trailing = lines[block.clone()]
        .iter()
        .rev()
        .take_while(|line| is_blank(line))
        .count();
    let (before, after) = lines.split_at(block.end - trailing);
    // In a file of comments only, the first key goes below them.
    if before.is_empty() {
        return join(after, new, &[]);
    }
    join(before, new, after)
}

fn join(before: &[&str], new: &[String], after: &[&str]) -> String {
    let lines = before.iter().copied();
    let lines = lines
        .chain(new.iter().map(String::as_str))
        .chain(after.iter().copied());
    lines.map(|line| format!("{line}\n")).collect()
}

/// Returns the line with another value, and with the comment that it had.
fn changed_line(line: &str, key: &str, value: &Value, indent: usize) -> Option<String> {
    let new = one_line(key, value)?;
    let old = line.split_once(": ").map_or("", |(_, value)| value);
    let value_end = old.rfind(['"', '\'']).unwrap_or(0);
    let comment = old[value_end..]
        .find(" #")
        .map_or("", |at| &old[value_end + at..]);
    Some(format!("{:indent$}{new}{comment}", ""))
}

/// Returns the lines of keys, each in the one before, that lead to a value.
fn new_lines(keys: &[String], value: &Value, indent: usize) -> Option<Vec<String>> {
    let (last, parents) = keys.split_last()?;
    let mut lines = Vec::new();
    let mut depth = indent;
    for parent in parents {
        let line = one_line(parent, &Value::String("x".to_owned()))?;
        lines.push(format!("{:depth$}{}", "", line.strip_suffix(" x")?));
        depth += 2;
    }
    lines.push(format!("{:depth$}{}", "", one_line(last, value)?));
    Some(lines)
}

/// Returns `key: value`, quoted where needed, if that is one line. Lists are written in brackets.
fn one_line(key: &str, value: &Value) -> Option<String> {
    let scalar = if value.is_string() {
        value.clone()
    } else {
        "x".into()
    };
    let text = yaml::render(&Map::from_iter([(key.to_owned(), scalar)]));
    let line = text
        .strip_suffix('\n')
        .filter(|line| !line.contains('\n'))?;
    if value.is_string() {
        return Some(line.to_owned());
    }
    Some(format!("{} {value}", line.strip_suffix(" x")?))
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

fn is_blank(line: &str) -> bool {
    let line = line.trim_start();
    line.is_empty() || line.starts_with('#')
}
