//! Texts from the command line, from files and from standard input, each with a limit.

use std::fs::File;
use std::io::{ErrorKind, Read};

use uwf_util::{shell_words, size};

use crate::failure::Failure;

/// The longest prompt, in bytes.
const MAX_PROMPT: u64 = 16 << 20;
/// The longest message from standard input, in bytes.
const MAX_MESSAGE: u64 = 1 << 20;
/// The longest text from standard input, in bytes: as much as a node of a bundle may have.
const MAX_INPUT: u64 = 256 << 20;
/// What messages call standard input.
const STDIN: &str = "standard input";

/// Returns the text of `-p`: `-` stands for standard input, `@file` for the text of a file, and `@@` for an `@`.
pub(crate) fn prompt_text(text: String) -> Result<String, Failure> {
    match text.strip_prefix('@') {
        Some(rest) if rest.starts_with('@') => Ok(rest.to_owned()),
        Some(file) => read_prompt(file).map_err(|unread| match unread {
            Unread::TooLong => too_long_prompt(&format!("`{file}`")),
            Unread::Failed(error) => {
                let hint = match error.kind() {
                    ErrorKind::InvalidData => "every agent gets the prompt as text: name the file in it, instead of passing its content".to_owned(),
                    _ => format!(
                        "`{}` passes the text itself",
                        shell_words::join(["-p", &format!("@{text}")])
                    ),
                };
                Failure::request(format!("cannot read `{file}`, which `-p` names"))
                    .cause(&error)
                    .hint(hint)
            }
        }),
        None => text_or_stdin(text),
    }
}

/// Returns the text of an argument; `-` stands for standard input.
fn text_or_stdin(text: String) -> Result<String, Failure> {
    match text.as_str() {
        "-" => read_text(std::io::stdin().lock(), MAX_PROMPT).map_err(|unread| match unread {
            Unread::TooLong => too_long_prompt(STDIN),
            Unread::Failed(error) => unread_stdin(&error),
        }),
        // The user pasted a hint without filling it in.
        "…" => Err(Failure::usage("`…` stands for your own words")
            .hint("put them in its place: `-p \"…\"`, or `-p -` to read them from standard input")),
        _ => Ok(text),
    }
}

/// Returns the text of a message; `-` stands for standard input, without the white space at its end.
pub(crate) fn message_text(text: String) -> Result<String, Failure> {
    match text.as_str() {
        "-" => Ok(stdin(MAX_MESSAGE)?.trim_end().to_owned()),
        _ => Ok(text),
    }
}

/// Reads standard input to its end.
pub(crate) fn read_stdin() -> Result<String, Failure> {
    stdin(MAX_INPUT)
}

fn stdin(limit: u64) -> Result<String, Failure> {
    read_text(std::io::stdin().lock(), limit).map_err(|unread| match unread {
        Unread::TooLong => too_long(STDIN, limit),
        Unread::Failed(error) => unread_stdin(&error),
    })
}

fn read_prompt(file: &str) -> Result<String, Unread> {
    read_text(File::open(file).map_err(Unread::Failed)?, MAX_PROMPT)
}

fn too_long_prompt(what: &str) -> Failure {
    too_long(what, MAX_PROMPT)
        .hint("every agent gets the prompt: name a large file in it, instead of passing its text")
}

fn unread_stdin(error: &std::io::Error) -> Failure {
    Failure::request(format!("cannot read {STDIN}")).cause(error)
}

fn too_long(what: &str, limit: u64) -> Failure {
    Failure::request(format!("{what} is longer than {}", size::format(limit)))
}

/// Why an input was not read.
enum Unread {
    TooLong,
    Failed(std::io::Error),
}

/// Reads a text to its end. An input that does not end fails at the limit, and not when the memory is full.
fn read_text(input: impl Read, limit: u64) -> Result<String, Unread> {
    let mut bytes = Vec::new();
    let read = input.take(limit + 1).read_to_end(&mut bytes);
    read.map_err(Unread::Failed)?;
    if bytes.len() as u64 > limit {
        return Err(Unread::TooLong);
    }
    String::from_utf8(bytes)
        .map_err(|error| Unread::Failed(std::io::Error::new(ErrorKind::InvalidData, error)))
}
