//! Text of others in Markdown documents: no part of it can leave its place.

use crate::text::one_line;

/// Returns the text as a code span in one line. The fence has more backticks than any row of them in the text.
#[must_use]
pub fn code(text: &str) -> String {
    let line = one_line(text);
    let longest = longest_row(&line);
    let fence = "`".repeat(longest + 1);
    match longest {
        0 => format!("{fence}{line}{fence}"),
        _ => format!("{fence} {line} {fence}"),
    }
}

/// Returns the text as a block of code. The fence has more backticks than any row of them in the text.
#[must_use]
pub fn block(text: &str) -> String {
    let fence = "`".repeat(longest_row(text).max(2) + 1);
    format!("{fence}\n{}\n{fence}", text.trim_end_matches('\n'))
}

/// Returns the text as a cell of a table, in one line.
#[must_use]
pub fn cell(text: &str) -> String {
    one_line(text).replace('|', "\\|")
}

/// Returns the length of the longest row of backticks.
fn longest_row(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_ends_its_own_code() {
        assert_eq!(code("ls\n-l"), "`ls -l`");
        assert_eq!(code("a ``b`` c"), "``` a ``b`` c ```");
        assert_eq!(block("a\n"), "```\na\n```");
        assert_eq!(block("```\na\n````"), "`````\n```\na\n````\n`````");
        assert_eq!(cell("a | b\nc"), "a \\| b c");
    }
}
