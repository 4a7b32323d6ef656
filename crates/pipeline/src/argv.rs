//! Composing the arguments of a program from its words and the prompt.

use serde_json::{Map, Value};

use crate::result::{ErrorKind, Failure};
use crate::tree::TreeMap;
use crate::{InputMode, Tree};

/// The length from which on Linux refuses a single argument, in bytes.
const TOO_LONG_BYTES: usize = 131_072;
/// How large a prompt may be.
pub const MAX_PROMPT_BYTES: usize = 16 << 20;

/// One word of a command line, in which the prompt may still be open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word(pub Vec<WordPart>);

/// A part of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WordPart {
    /// A text.
    Text(String),
    /// The place of the prompt.
    Prompt,
}

impl Word {
    /// Returns a word without a place for the prompt.
    #[must_use]
    pub fn of(text: impl Into<String>) -> Self {
        Self(vec![WordPart::Text(text.into())])
    }

    /// Returns the word with the prompt in its place.
    #[must_use]
    pub fn with_prompt(&self, prompt: &str) -> String {
        let parts = self.0.iter().map(|part| match part {
            WordPart::Text(text) => text,
            WordPart::Prompt => prompt,
        });
        parts.collect()
    }
}

/// Returns the parameters of a call: those of the step over the defaults of the provider, also within objects.
#[must_use]
pub fn merged(defaults: &TreeMap, params: &TreeMap) -> TreeMap {
    let mut merged = defaults.clone();
    for (key, value) in &params.0 {
        let value = match (merged.get(key), value) {
            (Some(Tree::Map(defaults)), Tree::Map(params)) => {
                Tree::Map(self::merged(defaults, params))
            }
            _ => value.clone(),
        };
        match merged.0.iter_mut().find(|(known, _)| known == key) {
            Some((_, place)) => *place = value,
            None => merged.0.push((key.clone(), value)),
        }
    }
    merged
}

/// Returns the prompt of a program as text, as far as its arguments need it.
///
/// # Errors
/// When the prompt is too large, or is not UTF-8 and has to be an argument.
pub fn prompt_text(prompt: &[u8], mode: InputMode) -> Result<&str, Failure> {
    if prompt.len() > MAX_PROMPT_BYTES {
        let message = "the prompt is larger than 16 MiB";
        return Err(Failure::new(ErrorKind::InputFileError, message));
    }
    match (mode, std::str::from_utf8(prompt)) {
        (InputMode::Stdin, _) => Ok(""),
        (InputMode::Argv, Ok(text)) => Ok(text),
        (InputMode::Argv, Err(_)) => {
            let message = "the prompt is not UTF-8, so it cannot be an argument";
            Err(Failure::new(ErrorKind::InputFileError, message))
        }
    }
}

/// Returns the arguments of a program. The first is its name.
///
/// # Errors
/// When the system would refuse one of them.
pub fn compose(words: &[Word], prompt: &str) -> Result<Vec<String>, Failure> {
    let argv: Vec<String> = words.iter().map(|word| word.with_prompt(prompt)).collect();
    for (index, argument) in argv.iter().enumerate() {
        if argument.contains('\0') {
            let message = format!("argument {index} has a zero byte, which no program can get");
            return Err(Failure::new(ErrorKind::InvalidArgument, message).fact("index", index));
        }
        if argument.len() >= TOO_LONG_BYTES {
            return Err(too_long(index, argument.len()));
        }
    }
    if argv.first().is_none_or(String::is_empty) {
        let message = "the name of the program is empty";
        return Err(Failure::new(ErrorKind::InvalidArgument, message));
    }
    Ok(argv)
}

/// Returns the failure of an argument that is too long. The runner returns the same failure if the system refuses all
/// arguments together.
#[must_use]
pub fn too_long(index: usize, bytes: usize) -> Failure {
    let message = format!("argument {index} has {bytes} bytes, and {TOO_LONG_BYTES} are too many");
    Failure::new(ErrorKind::ArgumentTooLong, message)
        .fact("index", index)
        .fact("bytes", bytes)
        .fact("hint", "input_mode: stdin")
}

/// Returns an object as parameters of a command line.
pub(crate) fn as_params(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}
