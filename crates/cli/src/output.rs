//! Printing results: data on stdout as JSON, YAML or text. Nothing else in the program prints data.

use std::io::{IsTerminal, Write};

use clap::ValueEnum;
use serde::Serialize;
use serde_json::Value;
use uwf_storage::Env;
use uwf_util::printable::printable;

use crate::failure::Failure;

/// How data is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// One line of compact JSON.
    Json,
    /// A YAML document.
    Yaml,
    /// Text for people.
    Text,
}

impl Format {
    /// Returns the word for it on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Yaml => "yaml",
            Self::Text => "text",
        }
    }

    /// Returns the format that was asked for: by flag, by `UWF_FORMAT`, else text on a terminal and JSON
    /// elsewhere.
    pub(crate) fn choose(flag: Option<Self>, env: &Env) -> Result<Self, Failure> {
        let of_env = env.var("UWF_FORMAT").filter(|name| !name.is_empty());
        match (flag, of_env) {
            (Some(format), _) => Ok(format),
            (None, Some(name)) => Self::from_str(name, true).map_err(|_| {
                Failure::usage(format!("`{name}` in `UWF_FORMAT` is not a format"))
                    .hint("formats are json, yaml and text")
            }),
            (None, None) if std::io::stdout().is_terminal() => Ok(Self::Text),
            (None, None) => Ok(Self::Json),
        }
    }
}

/// A result that can be printed as data or as text.
pub(crate) trait Show: Serialize {
    /// Returns the text for people, without a final line break.
    fn text(&self) -> String;
}

/// Prints a result.
pub(crate) fn print(result: &impl Show, format: Format) -> Result<(), Failure> {
    match format {
        Format::Text => match result.text() {
            text if text.is_empty() => Ok(()),
            text => write(&printable(&text)),
        },
        Format::Json => write(&serde_json::to_string(result).map_err(unprintable)?),
        Format::Yaml => {
            let value = serde_json::to_value(result).map_err(unprintable)?;
            write(&yaml(&value)?)
        }
    }
}

/// Returns the value as a YAML document without a final line break.
pub(crate) fn yaml(value: &Value) -> Result<String, Failure> {
    let text = serde_saphyr::to_string(value).map_err(unprintable)?;
    Ok(text.trim_end().to_owned())
}

/// Writes a document to stdout: byte for byte to a program, and to a terminal without what it would obey.
pub(crate) fn write_document(document: &str) -> Result<(), Failure> {
    let document = document.trim_end();
    if std::io::stdout().is_terminal() {
        write(&printable(document))
    } else {
        write(document)
    }
}

/// Writes text and a line break to stdout.
///
/// A reader that went away is not our failure: the work is done and recorded.
pub(crate) fn write(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    // In one piece: what could not be written would stay in the buffer otherwise, and the copy of this process
    // that plays the next agent would write it where the agent's answer goes.
    let written = out
        .write_all(format!("{text}\n").as_bytes())
        .and_then(|()| out.flush());
    match written {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::request("cannot write the result to stdout").cause(&error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

fn unprintable(error: impl std::fmt::Display) -> Failure {
    Failure::request("the result cannot be printed").cause(&error)
}
