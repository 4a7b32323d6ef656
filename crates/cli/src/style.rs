//! Colour: a few words in the text for people, on a terminal only. JSON, YAML and documents have none.

use std::io::{IsTerminal, stderr, stdout};
use std::sync::OnceLock;

use clap::ValueEnum;
use uwf_storage::Env;
use uwf_util::printable::labelled;

/// When words are coloured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless `NO_COLOR` is set or `TERM` is `dumb`
    #[default]
    Auto,
    /// Also in files and pipes
    Always,
    /// Nowhere
    Never,
}

/// The choice of this call.
static CHOICE: OnceLock<Color> = OnceLock::new();

/// Records the choice of the command line, before a command runs.
pub(crate) fn set(color: Color, env: &Env) {
    let is_set = |name: &str| env.var(name).is_some_and(|value| !value.is_empty());
    let is_unwanted = is_set("NO_COLOR") || env.var("TERM") == Some("dumb");
    let _ = CHOICE.set(match color {
        Color::Auto if is_unwanted => Color::Never,
        chosen => chosen,
    });
}

/// Tells whether text on stdout is coloured.
pub(crate) fn on_stdout() -> bool {
    wants(stdout().is_terminal())
}

/// Before the command line is understood, nothing is coloured.
fn wants(is_terminal: bool) -> bool {
    match CHOICE.get() {
        Some(Color::Always) => true,
        Some(Color::Auto) => is_terminal,
        Some(Color::Never) | None => false,
    }
}

/// A colour of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ink {
    Red,
    Green,
    Yellow,
    Cyan,
}

impl Ink {
    /// Returns the colour of a word that says how something is: a status of a thread, or a result of a check.
    pub(crate) fn of(word: &str) -> Option<Self> {
        match word {
            "failed" | "blocked" | "corrupt" | "ERROR" => Some(Self::Red),
            "suspended" | "WARNING" => Some(Self::Yellow),
            "running" => Some(Self::Cyan),
            "completed" => Some(Self::Green),
            _ => None,
        }
    }

    /// Returns the colour of the label of a message.
    fn of_label(label: &str) -> Option<Self> {
        match label {
            "error" => Some(Self::Red),
            "warning" => Some(Self::Yellow),
            "hint" => Some(Self::Cyan),
            _ => None,
        }
    }

    /// Returns a text in this colour. Nothing in it may be obeyed by a terminal.
    pub(crate) fn paint(self, text: &str) -> String {
        let code = match self {
            Self::Red => 31,
            Self::Green => 32,
            Self::Yellow => 33,
            Self::Cyan => 36,
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

/// Returns a text whose first word is in its colour, if it has one.
pub(crate) fn first_word(text: &str) -> String {
    let end = text.find([' ', ',']).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    Ink::of(word).map_or_else(|| text.to_owned(), |ink| ink.paint(word) + rest)
}

/// Returns a message for stderr with its label, as [`labelled`] does.
pub(crate) fn message(label: &str, text: &str) -> String {
    let message = labelled(label, text);
    let ink = Ink::of_label(label).filter(|_| wants(stderr().is_terminal()));
    match (ink, message.strip_prefix(label)) {
        (Some(ink), Some(rest)) => ink.paint(label) + rest,
        _ => message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_word_that_says_how_it_is_has_a_colour() {
        let failed = first_word("failed, next is writer");
        assert_eq!(failed, "\u{1b}[31mfailed\u{1b}[0m, next is writer");
        assert_eq!(first_word("completed"), "\u{1b}[32mcompleted\u{1b}[0m");
        assert_eq!(first_word("idle, next is failed"), "idle, next is failed");
        assert_eq!(first_word(""), "");
    }
}
