//! The command that does what a visitor asked for.

use serde_json::Value;
use uwf_protocol::ids::ThreadId;
use uwf_util::shell_words;

/// An option that gets the text of a person from standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextOption {
    /// The text is for an agent.
    Prompt,
    /// The text is for other people.
    Message,
}

impl TextOption {
    const ALL: [Self; 2] = [Self::Prompt, Self::Message];

    /// Returns the option as the server passes it: the text comes from standard input.
    fn word(self) -> &'static str {
        match self {
            Self::Prompt => "--prompt=-",
            Self::Message => "--message=-",
        }
    }

    /// Returns the option as a person types it, with `…` for the text.
    fn shown(self) -> &'static str {
        match self {
            Self::Prompt => "-p \"…\"",
            Self::Message => "-m \"…\"",
        }
    }
}

/// A command of this program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// The words of the command, without the name of the program. A text of a visitor is never a word of its own that could be
    /// read as an option.
    pub words: Vec<String>,
    /// The text that it reads from standard input.
    pub input: Option<String>,
    /// The thread whose steps it does, if it does steps. Such a command outlives the server.
    pub works_on: Option<ThreadId>,
    /// Whether it may wait before its first step.
    pub may_wait: bool,
}

/// The result of a command that succeeded.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Carried {
    /// The data that it printed; `null` if it does steps in the background.
    pub printed: Value,
    /// Its notes and warnings.
    pub notices: Vec<String>,
}

impl Carried {
    /// Returns the thread in the data, if there is one.
    pub(crate) fn thread(&self) -> Option<ThreadId> {
        self.printed["thread"].as_str()?.parse().ok()
    }
}

impl Order {
    /// Returns a command that does no steps. The server waits for its end.
    pub(crate) fn quick(words: &[&str]) -> Self {
        Self {
            words: words.iter().map(ToString::to_string).collect(),
            input: None,
            works_on: None,
            may_wait: false,
        }
    }

    /// Returns a command that does steps of a thread. The server waits until it works on the thread.
    pub(crate) fn of_steps(thread: ThreadId, command: &str) -> Self {
        Self {
            works_on: Some(thread),
            ..Self::quick(&["thread", command, thread.as_str(), "--quiet"])
        }
    }

    /// Adds a word.
    #[must_use]
    pub(crate) fn with(mut self, word: impl Into<String>) -> Self {
        self.words.push(word.into());
        self
    }

    /// Adds any number of words.
    #[must_use]
    pub(crate) fn with_any(mut self, words: impl IntoIterator<Item = String>) -> Self {
        self.words.extend(words);
        self
    }

    /// Adds the text of a person, if there is one.
    #[must_use]
    pub(crate) fn saying(self, option: TextOption, text: Option<&str>) -> Self {
        match text {
            Some(text) => Self {
                input: Some(text.to_owned()),
                ..self.with(option.word())
            },
            None => self,
        }
    }

    /// Returns the command as a person would type it, for the page. It lacks `--quiet`, and `--` unless a word after it would be
    /// read as an option.
    pub(crate) fn shown(&self) -> String {
        let end = self.words.iter().position(|word| word == "--");
        let arguments = end.map_or(&[][..], |end| &self.words[end + 1..]);
        let needs_end = arguments.iter().any(|word| word.starts_with('-'));
        let words = self.words.iter().map(String::as_str);
        let words = words.filter(|word| *word != "--quiet" && (needs_end || *word != "--"));
        let text = |word: &str| TextOption::ALL.into_iter().find(|one| one.word() == word);
        let words = words.map(|word| match text(word) {
            Some(option) => option.shown().to_owned(),
            None => shell_words::quote(word).into_owned(),
        });
        let words: Vec<String> = std::iter::once("uwf".to_owned()).chain(words).collect();
        words.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_as_a_person_types_it() {
        let order = Order::quick(&["thread", "start"]).saying(TextOption::Prompt, Some("x"));
        let order = order.with("--cwd=/a b").with("--").with("review");
        assert_eq!(
            order.shown(),
            "uwf thread start -p \"…\" '--cwd=/a b' review"
        );
        let hostile = Order::quick(&["thread", "start", "--", "--x"]);
        assert_eq!(hostile.shown(), "uwf thread start -- --x");
        assert_eq!(order.input.as_deref(), Some("x"));
        assert!(!order.words.contains(&"x".to_owned()));
    }
}
