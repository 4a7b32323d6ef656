//! A problem in a text, and the line that shows it.

use uwf_util::printable::shortened;

use crate::At;

/// How much of a line is shown, in characters.
const MAX_EXCERPT_CHARS: usize = 120;

/// One thing that is wrong with a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where it is.
    pub at: At,
    /// What is wrong, in lower case and without a full stop.
    pub message: String,
    /// What was probably meant, or how to write it.
    pub hint: Option<String>,
    /// The line with a mark under the place, where the message cannot say what stands there.
    pub excerpt: Option<String>,
}

impl Problem {
    /// Returns a problem without a hint.
    #[must_use]
    pub fn new(at: At, message: impl Into<String>) -> Self {
        Self {
            at,
            message: message.into(),
            hint: None,
            excerpt: None,
        }
    }

    /// Adds a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds the line of the text that the problem is on. `lines_before` lines come before the text in its file.
    #[must_use]
    pub fn with_excerpt(mut self, text: &str, lines_before: usize) -> Self {
        self.excerpt = excerpt(text, self.at, lines_before);
        self
    }
}

/// Returns the line of a place with its number, and a mark under the place. Returns `None` if the place is too far to the
/// right to be shown. `lines_before` lines come before the text in its file.
#[must_use]
pub fn excerpt(text: &str, at: At, lines_before: usize) -> Option<String> {
    let line = text.lines().nth(at.line.checked_sub(lines_before + 1)?)?;
    if at.column > MAX_EXCERPT_CHARS {
        return None;
    }
    let shown: String = line.chars().take(MAX_EXCERPT_CHARS).collect();
    let before: String = line.chars().take(at.column.saturating_sub(1)).collect();
    let number = at.line.to_string();
    let margin = " ".repeat(number.len());
    let indent = " ".repeat(shortened(&before, MAX_EXCERPT_CHARS).chars().count());
    let shown = shortened(&shown, MAX_EXCERPT_CHARS);
    Some(format!("{number} | {shown}\n{margin} | {indent}^"))
}
