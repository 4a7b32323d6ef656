//! Messages about command lines that do not parse, and the answers to requests for help.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue};
use uwf_util::printable::printable;

use crate::{output, stderr};

/// Commands of other tools that people try, each with our commands for it.
const FOREIGN_COMMANDS: [(&str, &str); 5] = [
    (
        "status",
        "`uwf thread list` lists threads, `uwf thread show <thread>` shows one",
    ),
    ("ls", "`uwf thread list` lists threads"),
    ("ps", "`uwf thread list` lists threads"),
    (
        "run",
        "`uwf thread start` records a task, `uwf thread step` does a step of it",
    ),
    ("version", "`uwf --version` prints it"),
];

/// The labels of our own messages.
const LABELS: [&str; 5] = ["error:", "cause:", "hint:", "warning:", "note:"];

/// Prints help, or what is wrong with the command line, and ends the process.
pub(super) fn exit(mut error: clap::Error) -> ! {
    correct(&mut error);
    let text = error.render().to_string();
    if error.use_stderr() {
        stderr::write(&quoting(&text));
    } else {
        // If the help cannot be printed, nobody reads it.
        let _ = output::write(text.trim_end());
    }
    #[expect(
        clippy::exit,
        reason = "without a parsed command line there is nothing to do"
    )]
    std::process::exit(error.exit_code());
}

/// Replaces advice of the parser that is wrong here.
fn correct(error: &mut clap::Error) {
    if let Some(ContextValue::StyledStrs(tips)) = error.remove(ContextKind::Suggested) {
        // "to pass '--x' as a value, use '-- --x'" is wrong: a mistyped option was not meant as a value.
        let is_right = |tip: &StyledStr| !tip.to_string().starts_with("to pass ");
        let right: Vec<StyledStr> = tips.into_iter().filter(is_right).collect();
        if !right.is_empty() {
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(right));
        }
    }
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
        return;
    };
    if let Some((_, tip)) = FOREIGN_COMMANDS.iter().find(|(known, _)| known == word) {
        error.remove(ContextKind::SuggestedSubcommand);
        let tips = vec![StyledStr::from(*tip)];
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    }
}

/// Makes a message safe that quotes arguments: no line of an argument can look like a message of ours.
fn quoting(text: &str) -> String {
    let mut shown = String::new();
    for (number, line) in text.trim_end().lines().enumerate() {
        let imitates = LABELS.iter().any(|label| line.starts_with(label));
        if number > 0 {
            shown.push_str(if imitates { "\n       " } else { "\n" });
        }
        shown.push_str(&printable(line));
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_cannot_pass_for_a_message() {
        let text = "error: unexpected argument 'a\nhint: \u{1b}[2J' found\n\nUsage: uwf\n";
        let expected =
            "error: unexpected argument 'a\n       hint: \\u{1b}[2J' found\n\nUsage: uwf";
        assert_eq!(quoting(text), expected);
    }
}
