//! Splits command lines into words as a POSIX shell does, and quotes words so that a shell reads them back.
//!
//! Nothing is expanded: variables, patterns and comments stay as they are written.

use std::borrow::Cow;

/// Says why a text is not a command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SplitError {
    /// A quotation mark has no partner.
    #[error("the quotation mark {0} is never closed")]
    Unclosed(char),
    /// A backslash has nothing after it.
    #[error("there is nothing after the last backslash")]
    NothingEscaped,
}

/// Splits a command line into words. Blanks separate them; quotes and backslashes keep blanks within one.
///
/// # Errors
/// When a quotation mark is not closed, or the text ends with a backslash.
pub fn split(text: &str) -> Result<Vec<String>, SplitError> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = text.chars();
    while let Some(char) = rest.next() {
        match char {
            ' ' | '\t' | '\n' => words.extend(word.take()),
            '\'' => single_quoted(&mut rest, word.get_or_insert_default())?,
            '"' => double_quoted(&mut rest, word.get_or_insert_default())?,
            '\\' => match rest.next().ok_or(SplitError::NothingEscaped)? {
                '\n' => {}
                char => word.get_or_insert_default().push(char),
            },
            char => word.get_or_insert_default().push(char),
        }
    }
    words.extend(word);
    Ok(words)
}

fn single_quoted(rest: &mut std::str::Chars<'_>, word: &mut String) -> Result<(), SplitError> {
    loop {
        match rest.next().ok_or(SplitError::Unclosed('\''))? {
            '\'' => return Ok(()),
            char => word.push(char),
        }
    }
}

fn double_quoted(rest: &mut std::str::Chars<'_>, word: &mut String) -> Result<(), SplitError> {
    let unclosed = SplitError::Unclosed('"');
    loop {
        match rest.next().ok_or(unclosed)? {
            '"' => return Ok(()),
            '\\' => match rest.next().ok_or(unclosed)? {
                '\n' => {}
                char @ ('$' | '`' | '"' | '\\') => word.push(char),
                char => word.extend(['\\', char]),
            },
            char => word.push(char),
        }
    }
}

/// Returns the first sign in a command line that means something to a shell beyond words, quotes and backslashes, such as `&`
/// or `$`. Without a shell it would be passed to the program as it is, which its author does not expect.
#[must_use]
pub fn needs_shell(text: &str) -> Option<char> {
    let mut rest = text.chars();
    let mut in_double_quotes = false;
    while let Some(char) = rest.next() {
        match char {
            '\\' => {
                rest.next();
            }
            '"' => in_double_quotes = !in_double_quotes,
            '\'' if !in_double_quotes => {
                rest.find(|char| *char == '\'');
            }
            '$' | '`' => return Some(char),
            '|' | '&' | ';' | '<' | '>' | '(' | ')' | '*' | '?' | '[' if !in_double_quotes => {
                return Some(char);
            }
            _ => {}
        }
    }
    // A variable in front of the program is set by the shell.
    let first = text.split_whitespace().next().unwrap_or_default();
    let name = first.split_once('=').map(|(name, _)| name);
    let is_name = |name: &str| {
        let is_of_name = |char: char| char.is_ascii_alphanumeric() || char == '_';
        !name.is_empty() && name.chars().all(is_of_name)
    };
    name.filter(|name| is_name(name)).map(|_| '=')
}

/// Returns a word for a shell: unchanged if it has no special character, else in quotes.
#[must_use]
pub fn quote(word: &str) -> Cow<'_, str> {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-_./:=,+@%".contains(char);
    if !word.is_empty() && word.chars().all(is_plain) {
        return Cow::Borrowed(word);
    }
    if !word.contains('\'') {
        return Cow::Owned(format!("'{word}'"));
    }
    // An interactive shell expands `!` to its history, also within double quotes.
    if !word.contains(['"', '$', '`', '\\', '!']) {
        return Cow::Owned(format!("\"{word}\""));
    }
    Cow::Owned(format!("'{}'", word.replace('\'', "'\\''")))
}

/// Returns words as one command line, which [`split`] and every shell split into the same words.
#[must_use]
pub fn join<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let words: Vec<Cow<'_, str>> = words.into_iter().map(quote).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_a_shell_splits_them() {
        let check = |text: &str, words: &[&str]| assert_eq!(split(text).unwrap(), words, "{text}");
        check("", &[]);
        check(" \t\n", &[]);
        check("a  b\tc\nd", &["a", "b", "c", "d"]);
        check("sh -c \"echo x\"", &["sh", "-c", "echo x"]);
        check("'Bash(git diff:*)' b", &["Bash(git diff:*)", "b"]);
        check("a'b c'\"d e\"f", &["ab cd ef"]);
        check("'' \"\" x''", &["", "", "x"]);
        check(r#"a\ b \'c\" \\"#, &["a b", "'c\"", "\\"]);
        check(r#""\"\$\`\\\n""#, &["\"$`\\\\n"]);
        check(r"'\n'", &["\\n"]);
        check("a\\\nb \"c\\\nd\"", &["ab", "cd"]);
        check("$HOME *.rs # x", &["$HOME", "*.rs", "#", "x"]);
        check("é 'ü ö'", &["é", "ü ö"]);
    }

    #[test]
    fn what_is_left_open_is_named() {
        let check = |text: &str, error| assert_eq!(split(text), Err(error), "{text}");
        check("a 'b", SplitError::Unclosed('\''));
        check("a \"b", SplitError::Unclosed('"'));
        check("\"a\\", SplitError::Unclosed('"'));
        check("'it's'", SplitError::Unclosed('\''));
        check("a\\", SplitError::NothingEscaped);
    }

    #[test]
    fn a_word_is_quoted_only_where_it_must_be() {
        let check = |word: &str, quoted: &str| assert_eq!(quote(word), quoted);
        check("uwf-command", "uwf-command");
        check("./a_b.sh", "./a_b.sh");
        check("", "''");
        check("a b", "'a b'");
        check("$HOME", "'$HOME'");
        check("it's", "\"it's\"");
        check("it's \"so\"", r#"'it'\''s "so"'"#);
        check("don't!", r"'don'\''t!'");
        check("~", "'~'");
    }

    #[test]
    fn joined_words_are_the_same_words_again() {
        let words = [
            "",
            "a b",
            "'",
            "\"",
            "\\",
            "$x",
            "`",
            "it's \"x\" \\",
            "\n",
            "é",
            "!",
        ];
        assert_eq!(split(&join(words)).unwrap(), words);
        let twice = join(["--agent", &join(words)]);
        assert_eq!(split(&split(&twice).unwrap()[1]).unwrap(), words);
    }

    #[test]
    fn what_only_a_shell_understands_is_found() {
        for (text, sign) in [
            ("cargo test && cargo fmt", Some('&')),
            ("ls | wc", Some('|')),
            ("echo \"$HOME\"", Some('$')),
            ("pytest tests/test_*.py", Some('*')),
            ("RUST_LOG=x cargo test", Some('=')),
            ("cargo test --features=a", None),
            ("grep 'a|b' \"c;d\" e\\&f", None),
            ("echo it\\'s '$HOME'", None),
        ] {
            assert_eq!(needs_shell(text), sign, "{text}");
        }
    }
}
