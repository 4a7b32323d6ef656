//! What a visitor wants done, as the command that does it.

use serde_json::Value;
use uwf_protocol::ids::ThreadId;
use uwf_util::shell_words;

/// An option that gets the text of a person from standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextOption {
    /// What an agent is told.
    Prompt,
    /// What other people are told.
    Message,
}

impl TextOption {
    const ALL: [Self; 2] = [Self::Prompt, Self::Message];

    fn word(self) -> &'static str {
        match self {
            Self::Prompt => "--prompt=-",
            Self::Message => "--message=-",
        }
    }

    /// Returns how it is shown: the text is in its place.
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
    /// Its words, without the name of the program. What somebody wrote is never a word that could be an option.
    pub words: Vec<String>,
    /// What it reads from standard input.
    pub input: Option<String>,
    /// The thread of which it does steps. Then it outlives the server.
    pub works_on: Option<ThreadId>,
    /// Whether it may wait before it does its first step.
    pub may_wait: bool,
}

/// What came of a command.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Carried {
    /// What it printed; nothing if it goes on in the background.
    pub printed: Value,
    /// What else it said: its notes and warnings.
    pub notices: Vec<String>,
}

impl Carried {
    /// Returns the thread that it printed, if it did.
    pub(crate) fn thread(&self) -> Option<ThreadId> {
        self.printed["thread"].as_str()?.parse().ok()
    }
}

impl Order {
    /// Returns a command that is done at once.
    pub(crate) fn quick(words: &[&str]) -> Self {
        Self {
            words: words.iter().map(ToString::to_string).collect(),
            input: None,
            works_on: None,
            may_wait: false,
        }
    }

    /// Returns a command that does steps of a thread.
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

    /// Adds a word if there is one.
    #[must_use]
    pub(crate) fn with_any(mut self, words: impl IntoIterator<Item = String>) -> Self {
        self.words.extend(words);
        self
    }

    /// Adds what a person says, if anything.
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

    /// Returns the command as a person would type it.
    pub(crate) fn shown(&self) -> String {
        let words = self.words.iter().map(String::as_str);
        let words = words.filter(|word| *word != "--quiet" && *word != "--");
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
        assert_eq!(order.input.as_deref(), Some("x"));
        assert!(!order.words.contains(&"x".to_owned()));
    }
}
