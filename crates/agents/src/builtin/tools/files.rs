//! The tools that read and change files. The workspace decides which files they may open.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;
use serde::Deserialize;
use serde_json::{Value, json};
use uwf_util::mask::{Masks, STARS};
use uwf_util::size;

use super::MAX_SHOWN;
use super::workspace::Workspace;

/// The largest file that is read without `offset` and `limit`, in bytes.
const MAX_READ: u64 = 512 << 10;
/// The largest content to write, and the largest file to patch, in bytes.
const MAX_WRITE: u64 = 4 << 20;
/// How many places a message lists.
const MAX_PLACES: usize = 5;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadFile {
    path: String,
    /// The first line, from 1.
    offset: Option<u64>,
    /// How many lines.
    limit: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WriteFile {
    path: String,
    content: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PatchFile {
    path: String,
    search: String,
    replace: String,
}

impl ReadFile {
    pub(super) const DESCRIPTION: &str = "Reads a text file. `offset`: the first line to show, counted from 1. \
        `limit`: how many lines to show. Both are optional for files up to 512 KiB.";

    pub(super) fn parameters() -> Value {
        json!({
            "type": "object",
            "properties": {
                "path": { "type": "string" },
                "offset": { "type": "integer", "minimum": 1 },
                "limit": { "type": "integer", "minimum": 1 },
            },
            "required": ["path"],
            "additionalProperties": false,
        })
    }

    /// Reads the file. What is returned has no secrets: they go before anything is cut.
    pub(super) fn run(&self, workspace: &Workspace, masks: &Masks) -> Result<String, String> {
        let file = workspace.read(&self.path)?;
        let length = file.metadata().map_err(|error| self.broken(&error))?.len();
        if length > MAX_READ && self.offset.is_none() && self.limit.is_none() {
            return Err(format!(
                "`{}` has {}, more than {}; read it in parts, with `offset` and `limit`",
                self.path,
                size::format(length),
                size::format(MAX_READ)
            ));
        }
        let first = self.offset.unwrap_or(1).max(1);
        let last = first.saturating_add(self.limit.unwrap_or(u64::MAX));
        self.lines(BufReader::new(file), (first, last), masks)
    }

    /// Returns the lines from `first` up to but not including `last`, as many as a tool result can show.
    fn lines(
        &self,
        mut file: impl BufRead,
        (first, last): (u64, u64),
        masks: &Masks,
    ) -> Result<String, String> {
        let mut shown = String::new();
        let mut room = MAX_SHOWN;
        let mut number = 1;
        let mut line = Vec::new();
        while number < last {
            line.clear();
            // An endless line must not fill the memory.
            let most = (MAX_SHOWN * 4) as u64;
            let read = (&mut file).take(most).read_until(b'\n', &mut line);
            if read.map_err(|error| self.broken(&error))? == 0 {
                break;
            }
            if number >= first {
                let text = self.text(&line)?;
                let length = text.chars().count();
                if length > room {
                    let (shown, text) = (masks.text(&shown), masks.text(text));
                    return Ok(self.cut(shown, &text, room, number, first));
                }
                room -= length;
                shown.push_str(text);
            }
            number += u64::from(line.ends_with(b"\n"));
        }
        if shown.is_empty() && first > 1 {
            return Err(format!("`{}` ends before line {first}", self.path));
        }
        Ok(match shown.as_str() {
            "" => format!("(`{}` is empty)", self.path),
            _ => masks.text(&shown),
        })
    }

    /// Ends the shown text before the line that does not fit, or within that line if it is the first.
    fn cut(&self, mut shown: String, line: &str, room: usize, number: u64, first: u64) -> String {
        if number > first {
            if !shown.ends_with('\n') {
                shown.push('\n');
            }
            return format!("{shown}[cut here; go on with `offset` {number}]");
        }
        shown.extend(line.chars().take(room));
        format!("{shown}\n[line {number} is longer than can be shown; cut here]")
    }

    fn text<'a>(&self, line: &'a [u8]) -> Result<&'a str, String> {
        if line.contains(&0) {
            return Err(format!("`{}` is a binary file", self.path));
        }
        match str::from_utf8(line) {
            Ok(text) => Ok(text),
            // A long line is read in pieces, which may end within a character.
            Err(error) if error.error_len().is_none() && !line.ends_with(b"\n") => {
                Ok(str::from_utf8(&line[..error.valid_up_to()]).expect("it is valid up to there"))
            }
            Err(_) => Err(not_utf8(&self.path)),
        }
    }

    fn broken(&self, error: &io::Error) -> String {
        format!("could not read `{}`: {error}", self.path)
    }
}

impl WriteFile {
    pub(super) const DESCRIPTION: &str = "Writes a text file. Creates the file and its parent folders, or replaces the whole content.";

    pub(super) fn parameters() -> Value {
        json!({
            "type": "object",
            "properties": { "path": { "type": "string" }, "content": { "type": "string" } },
            "required": ["path", "content"],
            "additionalProperties": false,
        })
    }

    /// Writes the file, unless that would put stars in the place of a secret: a model has seen the file without it.
    pub(super) fn run(&self, workspace: &Workspace, masks: &Masks) -> Result<String, String> {
        if self.content.contains(STARS) && has_secret(workspace, &self.path, masks) {
            return Err(format!(
                "`{}` has a secret, which is shown as `{STARS}` and would be lost; change its other lines with `patch_file`",
                self.path
            ));
        }
        replace(workspace, &self.path, &self.content)?;
        Ok(format!(
            "wrote {} bytes to `{}`",
            self.content.len(),
            self.path
        ))
    }
}

impl PatchFile {
    pub(super) const DESCRIPTION: &str = "Replaces one part of a text file. `search` must match exactly, with all \
        whitespace and line ends, and occur exactly once. Include enough surrounding lines to make it unique.";

    pub(super) fn parameters() -> Value {
        json!({
            "type": "object",
            "properties": {
                "path": { "type": "string" },
                "search": { "type": "string" },
                "replace": { "type": "string" },
            },
            "required": ["path", "search", "replace"],
            "additionalProperties": false,
        })
    }

    pub(super) fn run(&self, workspace: &Workspace) -> Result<String, String> {
        let text = whole(&self.path, workspace.read(&self.path)?)?;
        let (patched, line) = patch(&text, &self.search, &self.replace)
            .map_err(|problem| format!("`{}`: {problem}", self.path))?;
        replace(workspace, &self.path, &patched)?;
        Ok(format!("replaced it in line {line} of `{}`", self.path))
    }
}

/// Tells whether a file is there and has a secret, also if it is not all text.
fn has_secret(workspace: &Workspace, path: &str, masks: &Masks) -> bool {
    let Ok(mut file) = workspace.read(path) else {
        return false;
    };
    let mut bytes = Vec::new();
    if file.read_to_end(&mut bytes).is_err() {
        return true;
    }
    let text = String::from_utf8_lossy(&bytes);
    masks.text(&text) != text
}

/// Returns the text of a file, if it is one that can be written.
fn whole(path: &str, file: File) -> Result<String, String> {
    let mut bytes = Vec::new();
    file.take(MAX_WRITE + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("could not read `{path}`: {error}"))?;
    if bytes.len() as u64 > MAX_WRITE {
        let limit = size::format(MAX_WRITE);
        return Err(format!(
            "`{path}` is larger than {limit} and cannot be patched"
        ));
    }
    String::from_utf8(bytes).map_err(|_| not_utf8(path))
}

fn not_utf8(path: &str) -> String {
    format!("`{path}` is not text in UTF-8")
}

fn replace(workspace: &Workspace, path: &str, content: &str) -> Result<(), String> {
    if content.len() as u64 > MAX_WRITE {
        let limit = size::format(MAX_WRITE);
        return Err(format!(
            "the content for `{path}` is larger than {limit}; write less at once"
        ));
    }
    let mut file = workspace.write(path)?;
    overwrite(&mut file, content.as_bytes())
        .map_err(|error| format!("could not write `{path}`: {error}"))
}

/// Replaces the content of a file. The space is reserved first, so that a full disk does not destroy the old content.
fn overwrite(file: &mut File, content: &[u8]) -> io::Result<()> {
    let old_size = file.metadata()?.len();
    let size = content.len() as u64;
    match reserve(file, size) {
        Err(error) => {
            file.set_len(old_size)?;
            Err(error)
        }
        Ok(()) => {
            file.write_all(content)?;
            file.set_len(size)
        }
    }
}

/// Reserves disk space, if the filesystem can.
fn reserve(file: &File, size: u64) -> io::Result<()> {
    if size == 0 {
        return Ok(());
    }
    match fallocate(file, FallocateFlags::empty(), 0, size) {
        Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Replaces the only occurrence of a part. Returns the text, and the line in which the part starts.
fn patch(text: &str, search: &str, replace: &str) -> Result<(String, usize), String> {
    if search.is_empty() {
        return Err("`search` is empty; use `write_file` to write a whole file".to_owned());
    }
    if search == replace {
        return Err("`search` and `replace` are the same".to_owned());
    }
    let line = |at: usize| 1 + text[..at].matches('\n').count();
    let places = places(text, search);
    match places[..] {
        [at] => Ok((
            format!("{}{replace}{}", &text[..at], &text[at + search.len()..]),
            line(at),
        )),
        [] => Err(format!("`search` does not occur{}", hint(text, search))),
        _ => {
            let lines: Vec<String> = places.iter().map(|at| line(*at).to_string()).collect();
            Err(format!(
                "`search` occurs more than once (lines {}); add lines around it",
                lines.join(", ")
            ))
        }
    }
}

/// Returns the first places of a part, as many as a message lists. Overlapping places count, since it is not clear
/// which one is meant.
fn places(text: &str, search: &str) -> Vec<usize> {
    let step = search.chars().next().map_or(1, char::len_utf8);
    let mut places = Vec::new();
    let mut from = 0;
    while places.len() < MAX_PLACES
        && let Some(at) = text[from..].find(search)
    {
        places.push(from + at);
        from += at + step;
    }
    places
}

/// Returns a hint why a part was not found: a similar part, if there is one.
fn hint(text: &str, search: &str) -> String {
    if text.contains("\r\n") && text.replace("\r\n", "\n").contains(search) {
        return "; the lines of the file end with \\r\\n".to_owned();
    }
    let lines = |text: &str| -> Vec<String> {
        text.lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect()
    };
    let wanted = lines(search.trim());
    match lines(text)
        .windows(wanted.len().max(1))
        .position(|part| part == wanted)
    {
        Some(at) => format!(
            "; the part from line {} on differs only in whitespace: read the file and copy it exactly",
            at + 1
        ),
        None => "; read the file and copy the part exactly".to_owned(),
    }
}

#[cfg(test)]
mod tests;
