//! Messages about command lines that do not parse, and the answers to requests for help.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use uwf_util::printable::printable;

use crate::failure::Failure;
use crate::stderr::Messages;
use crate::{output, stderr};

/// What to type if the task of a new thread is missing.
const PROMPT_TIP: &str =
    "say what is to be done: `-p \"…\"`, `-p @task.md` for a file, or `-p -` for standard input";

/// What to type if the threads that are to be shared are missing.
const PUSH_TIP: &str = "name threads, as in `uwf push @`: `@` is the newest one, and `uwf thread list` shows all; or `uwf push --all` sends what is new of all that are shared here";

/// The labels of our own messages.
const LABELS: [&str; 5] = ["error:", "cause:", "hint:", "warning:", "note:"];

/// Prints help, or what is wrong with the command line, and ends the process.
pub(super) fn exit(mut error: clap::Error) -> ! {
    correct(&mut error);
    let text = error.render().to_string();
    if error.use_stderr() && stderr::messages() == Messages::Json {
        failure(&text).print();
    } else if error.use_stderr() {
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

/// Returns the failure that a message of the parser describes: its first paragraph says what is wrong, the next ones what
/// to type.
fn failure(text: &str) -> Failure {
    let mut paragraphs = text.trim_end().split("\n\n");
    let what = paragraphs.next().unwrap_or_default();
    let what = what.strip_prefix("error: ").unwrap_or(what);
    let hint: Vec<&str> = paragraphs.map(str::trim).collect();
    Failure::usage(what).hint(hint.join("\n"))
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
    let tip = if lacks(error, "--prompt") {
        PROMPT_TIP
    } else if lacks(error, "<THREADS>") && is_of(error, "push") {
        PUSH_TIP
    } else {
        return;
    };
    let tips = vec![StyledStr::from(tip)];
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
}

/// Tells whether an argument that begins so is missing.
fn lacks(error: &clap::Error, argument: &str) -> bool {
    let missing = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::Strings(missing)) => missing,
        _ => return false,
    };
    error.kind() == ErrorKind::MissingRequiredArgument
        && missing.iter().any(|option| option.starts_with(argument))
}

/// Tells whether a message is about this command.
fn is_of(error: &clap::Error, command: &str) -> bool {
    let usage = match error.get(ContextKind::Usage) {
        Some(ContextValue::StyledStr(usage)) => usage.to_string(),
        _ => return false,
    };
    usage.split_whitespace().any(|word| word == command)
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
    fn a_message_of_the_parser_is_what_is_wrong_and_what_to_type() {
        let text = "error: unexpected argument '-x' found\n\n  tip: try '-c'\n\nUsage: uwf\n";
        let failure = failure(text);
        assert_eq!(failure.what, "unexpected argument '-x' found");
        assert_eq!(failure.hint.unwrap(), "tip: try '-c'\nUsage: uwf");
        assert_eq!(failure.exit.code(), 2);
    }

    #[test]
    fn an_argument_cannot_pass_for_a_message() {
        let text = "error: unexpected argument 'a\nhint: \u{1b}[2J' found\n\nUsage: uwf\n";
        let expected =
            "error: unexpected argument 'a\n       hint: \\u{1b}[2J' found\n\nUsage: uwf";
        assert_eq!(quoting(text), expected);
    }
}
