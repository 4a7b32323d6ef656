//! Splitting a Markdown answer into its front matter block and its body.
//!
//! This module looks at lines only. The YAML in the block is parsed elsewhere.

use std::borrow::Cow;

/// The parts of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrontMatter<'a> {
    /// The lines between the fences, without carriage returns, each ended by a line feed.
    pub block: Cow<'a, str>,
    /// The number of the block's first line within the answer, from 1.
    pub line: usize,
    /// What follows the closing fence, without leading empty lines.
    pub body: &'a str,
}

/// Why an answer has no usable front matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoFrontMatter {
    /// No block between two fences holds `key: value` lines.
    #[error("there is no front matter: the answer must begin with a line that is exactly `---`")]
    Absent,
    /// The answer begins with a fence that is never closed.
    #[error(
        "the front matter that begins in line {line} is never closed by a line that is exactly `---`"
    )]
    Unclosed {
        /// The line of the opening fence, from 1.
        line: usize,
    },
    /// The answer begins with other text, and more than one block could be meant.
    #[error(
        "several blocks could be the front matter (lines {first} and {second}): the answer must begin with it"
    )]
    Ambiguous {
        /// The line of one opening fence, from 1.
        first: usize,
        /// The line of the next one that could be meant.
        second: usize,
    },
}

/// Splits an answer at its fences. A fence is a line that is exactly `---`; blanks at its end are ignored, because
/// nobody sees them.
///
/// A byte order mark, blanks and empty lines before the first fence are skipped. Other text before it, such
/// as an introduction or a code fence around the block, is skipped if exactly one block looks like a mapping.
///
/// # Errors
/// When there is no block, it is not closed, or more than one could be meant.
pub fn split(answer: &str) -> Result<FrontMatter<'_>, NoFrontMatter> {
    let text = answer.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    let skipped = &answer[..answer.len() - text.len()];
    let first_line = 1 + skipped.matches('\n').count();
    let fences = fences(text);
    let (open, close) = match fences.first() {
        Some(first) if first.start == 0 => {
            let line = first_line;
            (
                first,
                fences.get(1).ok_or(NoFrontMatter::Unclosed { line })?,
            )
        }
        _ => only_mapping(text, &fences, first_line)?,
    };
    let block = &text[open.end..close.start];
    Ok(FrontMatter {
        block: without_carriage_returns(block),
        line: first_line + open.line + 1,
        body: body(&text[..open.start], &text[close.end..]),
    })
}

/// A fence: where its line begins and ends in the text (line feed included), and its number from 0.
struct Fence {
    start: usize,
    end: usize,
    line: usize,
}

fn fences(text: &str) -> Vec<Fence> {
    let mut fences = Vec::new();
    let mut start = 0;
    for (line, content) in text.split_inclusive('\n').enumerate() {
        let end = start + content.len();
        if content.trim_end() == "---" {
            fences.push(Fence { start, end, line });
        }
        start = end;
    }
    fences
}

/// Returns the one pair of neighbouring fences whose inside looks like a mapping.
fn only_mapping<'a>(
    text: &str,
    fences: &'a [Fence],
    first_line: usize,
) -> Result<(&'a Fence, &'a Fence), NoFrontMatter> {
    let mut found: Option<(&Fence, &Fence)> = None;
    for pair in fences.windows(2) {
        let [open, close] = pair else { continue };
        if !looks_like_mapping(&text[open.end..close.start]) {
            continue;
        }
        if let Some((earlier, _)) = found {
            return Err(NoFrontMatter::Ambiguous {
                first: first_line + earlier.line,
                second: first_line + open.line,
            });
        }
        found = Some((open, close));
    }
    found.ok_or(NoFrontMatter::Absent)
}

/// Tells whether the first line that is neither empty nor a comment is `key:` or `key: value`, with a key of one word.
fn looks_like_mapping(block: &str) -> bool {
    let mut lines = block.lines().map(str::trim_end);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with('#'));
    let Some((key, rest)) = first.and_then(|line| line.split_once(':')) else {
        return false;
    };
    let key = key.trim_matches(['"', '\'']);
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '$' | '_' | '-' | '.');
    !key.is_empty()
        && key.chars().all(is_word)
        && (rest.is_empty() || rest.starts_with([' ', '\t']))
}

fn without_carriage_returns(block: &str) -> Cow<'_, str> {
    if block.contains('\r') {
        Cow::Owned(block.replace("\r\n", "\n"))
    } else {
        Cow::Borrowed(block)
    }
}

/// Returns the body without leading empty lines and, if a code fence was opened right before the block,
/// without the end of that fence.
fn body<'a>(before: &str, after: &'a str) -> &'a str {
    let body = after.trim_start_matches(['\n', '\r']);
    let Some(code) = before.lines().next_back().and_then(code_fence) else {
        return body;
    };
    let (first, rest) = body.split_once('\n').unwrap_or((body, ""));
    if first.trim_end() == code {
        return rest.trim_start_matches(['\n', '\r']);
    }
    match body.trim_end().strip_suffix(code) {
        Some(inside) if inside.is_empty() || inside.ends_with('\n') => inside,
        _ => body,
    }
}

/// Returns the characters of a code fence that the line opens, such as three backticks.
fn code_fence(line: &str) -> Option<&str> {
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let end = line.find(|c| c != mark).unwrap_or(line.len());
    (end >= 3).then(|| &line[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(answer: &str, block: &str, line: usize, body: &str) {
        let parts = split(answer).unwrap_or_else(|error| panic!("{answer:?}: {error}"));
        assert_eq!(parts.block, block, "{answer:?}");
        assert_eq!(parts.line, line, "{answer:?}");
        assert_eq!(parts.body, body, "{answer:?}");
    }

    fn refuse(answer: &str, why: NoFrontMatter) {
        assert_eq!(split(answer), Err(why), "{answer:?}");
    }

    #[test]
    fn a_block_at_the_start_is_split_from_its_body() {
        check("---\na: 1\n---\n\nbody\n", "a: 1\n", 2, "body\n");
        check("---\na: 1\n---", "a: 1\n", 2, "");
        check("---\n---\nbody", "", 2, "body");
        check(
            "---\na: 1\n---\nx\n\n---\n\nb: 2\n---\n",
            "a: 1\n",
            2,
            "x\n\n---\n\nb: 2\n---\n",
        );
    }

    #[test]
    fn invisible_characters_do_not_matter() {
        check("\u{feff}---\na: 1\n---\n", "a: 1\n", 2, "");
        check("\n \n---\na: 1\n---\n", "a: 1\n", 4, "");
        check("\u{feff}\n---\na: 1\n---\n", "a: 1\n", 3, "");
        check("  ---\na: 1\n---\n", "a: 1\n", 2, "");
        check(
            "---\r\na: 1\r\n---\r\n\r\nbody\r\n",
            "a: 1\n",
            2,
            "body\r\n",
        );
        check("--- \na: 1\n---\t\nbody", "a: 1\n", 2, "body");
    }

    #[test]
    fn only_three_dashes_alone_at_the_margin_are_a_fence() {
        check(
            "---\na: |\n  x\n  ---\n  y\n---\nb",
            "a: |\n  x\n  ---\n  y\n",
            2,
            "b",
        );
        check("---\na: 1\n----\nb: 2\n---\n", "a: 1\n----\nb: 2\n", 2, "");
        check("---\na: 1\n---b\n---\n", "a: 1\n---b\n", 2, "");
        refuse("---\na: 1\n----\nbody", NoFrontMatter::Unclosed { line: 1 });
        refuse("\n---\na: 1\n--- b", NoFrontMatter::Unclosed { line: 2 });
        refuse("---", NoFrontMatter::Unclosed { line: 1 });
        refuse("----\na: 1\n----\n", NoFrontMatter::Absent);
    }

    #[test]
    fn an_introduction_is_skipped_when_one_block_is_a_mapping() {
        check("Here it is:\n\n---\na: 1\n---\nbody", "a: 1\n", 4, "body");
        check(
            "One.\n\n---\n\n---\n$status: ok\n---\nbody",
            "$status: ok\n",
            6,
            "body",
        );
        check(
            "Hi\n---\na: 1\n---\nDone.\n\n---\n\nBye.\n",
            "a: 1\n",
            3,
            "Done.\n\n---\n\nBye.\n",
        );
        refuse("no", NoFrontMatter::Absent);
        refuse("", NoFrontMatter::Absent);
        refuse("Hi\n\n---\n\nThere: it is a rule.\n", NoFrontMatter::Absent);
        refuse(
            "Hi\n\n---\n\nSome words here: a rule.\n\n---\n",
            NoFrontMatter::Absent,
        );
        refuse(
            "For example\n---\na: 1\n---\nand mine\n---\na: 2\n---\n",
            NoFrontMatter::Ambiguous {
                first: 2,
                second: 6,
            },
        );
    }

    #[test]
    fn a_surrounding_code_fence_belongs_to_neither_part() {
        check("```yaml\n---\na: 1\n---\n```", "a: 1\n", 3, "");
        check(
            "```yaml\n---\na: 1\n---\n```\n\nbody\n",
            "a: 1\n",
            3,
            "body\n",
        );
        check("~~~~\n---\na: 1\n---\nbody\n~~~~\n", "a: 1\n", 3, "body\n");
        check(
            "```md\n---\na: 1\n---\n# T\n```sh\nls\n```\nend\n```\n",
            "a: 1\n",
            3,
            "# T\n```sh\nls\n```\nend\n",
        );
    }
}
