//! Turns the output of a failed tool into the text of an error: without colours, stack traces and warnings. Pure.

use uwf_util::ansi::without_sequences;

/// Returns the error text in a tool's output. If there are only warnings, they are the error text.
pub(crate) fn complaint(printed: &str) -> String {
    let text = without_sequences(printed);
    let is_read = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
    let text: String = text.chars().filter(is_read).collect();
    let lines = without_traces(&text);
    let complaints: Vec<&str> = lines
        .iter()
        .copied()
        .filter(|line| !is_warning(line))
        .collect();
    let says_something = complaints.iter().any(|line| !line.trim().is_empty());
    let kept = if says_something { complaints } else { lines };
    kept.join("\n").trim().to_owned()
}

/// Returns the lines that are no part of a stack trace of JavaScript or Python.
fn without_traces(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut in_python = false;
    for line in text.lines() {
        let content = line.trim();
        in_python = (in_python && line.starts_with([' ', '\t']))
            || content.starts_with("Traceback (most recent call last)");
        if !in_python && !is_frame(content) {
            lines.push(line);
        }
    }
    lines
}

/// Tells whether a line belongs to a JavaScript stack trace.
fn is_frame(line: &str) -> bool {
    let call = line.strip_prefix("at ");
    let has_place = |call: &str| call.ends_with(')') || call.rsplit(':').take(2).all(is_number);
    let is_mark = !line.is_empty() && line.chars().all(|c| c == '^' || c == '~');
    call.is_some_and(has_place)
        || line.starts_with("node:internal/")
        || line.starts_with("Node.js v")
        || is_mark
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit())
}

/// Tells whether a line is a warning or a note, by its first words.
fn is_warning(line: &str) -> bool {
    const SIGNS: [&str; 9] = [
        "warning:", "warning ", "[warn", "warn:", "warn ", "note:", "info:", "[info", "deprecat",
    ];
    let line = line.trim().to_lowercase();
    // Node.js prints its process id before a warning.
    let line = match line.split_once(") ") {
        Some((process, rest)) if process.starts_with("(node:") => rest,
        Some(_) | None => &line,
    };
    line.starts_with(['⚠'])
        || SIGNS.iter().any(|sign| line.starts_with(sign))
        || line.contains("256-color support")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(printed: &str, expected: &str) {
        assert_eq!(complaint(printed), expected, "{printed:?}");
    }

    #[test]
    fn colours_titles_and_bells_are_removed() {
        check(
            "\u{1b}[91m\u{1b}[1mError: \u{1b}[0mno key\u{7}",
            "Error: no key",
        );
        check(
            "\u{1b}]0;title\u{7}failed\u{1b}]8;;http://x\u{1b}\\ here",
            "failed here",
        );
        check("a\u{1b}", "a");
    }

    #[test]
    fn stack_traces_are_left_out() {
        let node = "\
/opt/cli/index.js:12
    throw error;
    ^

ApiError: got status 401
    at throwIfNotOk (file:///opt/cli/index.js:1:20)
    at async Client.send (/opt/cli/client.js:30:7)
    at process.processTicks:95:5 {
  status: 401
}

Node.js v22.1.0";
        let kept = complaint(node);
        assert!(kept.contains("ApiError: got status 401"), "{kept}");
        assert!(
            !kept.contains("at throwIfNotOk") && !kept.contains("Node.js v"),
            "{kept}"
        );
        let python = "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n    g()\nValueError: no model";
        check(python, "ValueError: no model");
        check("look at (this)", "look at (this)");
    }

    #[test]
    fn warnings_at_the_start_are_not_the_cause_unless_nothing_else_was_said() {
        let warned = "Warning: 256-color support not detected.\n(node:7) [DEP0040] DeprecationWarning: x\nquota exceeded";
        assert!(complaint(warned).ends_with("quota exceeded"));
        check("Warning: no tirith\nError: no key", "Error: no key");
        check("(node:7) Warning: old\nno key", "no key");
        check("warning: disk is full\n", "warning: disk is full");
        check("\n", "");
    }
}
