//! The `.env` file: `NAME=value` lines with the grammar of the dotenv package for Node.js, version 16. Nothing is
//! expanded: a `$` in a secret is a `$`.

use std::ops::Range;

use uwf_storage::Root;

use crate::ConfigError;

/// Reads the variables of the `.env` file in their order, each once. A missing file has none.
///
/// Lines that are not assignments are skipped.
///
/// # Errors
/// [`ConfigError::Storage`].
pub fn load_dotenv(root: &Root) -> Result<Vec<(String, String)>, ConfigError> {
    let content = uwf_durable::read(&root.env_file())?.unwrap_or_default();
    Ok(parse(&String::from_utf8_lossy(&content)))
}

/// Returns the content of a file with new values for some variables. New variables come last. Other lines stay as they
/// are.
///
/// A value that needs quotes gets single ones, between which nothing has a meaning, unless it contains one itself.
pub(crate) fn with_variables(text: &str, variables: &[(String, String)]) -> String {
    let lines = variables.iter();
    lines.fold(text.to_owned(), |text, (name, value)| {
        with_line(&text, name, &assignment(name, value))
    })
}

fn assignment(variable: &str, value: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./+=:@".contains(c);
    if !value.is_empty() && value.chars().all(is_plain) {
        return format!("{variable}={value}");
    }
    let mut quotes = ["'", "`", "\""].into_iter();
    match quotes.find(|quote| !value.contains(quote)) {
        Some(quote) => format!("{variable}={quote}{value}{quote}"),
        None => format!("{variable}={value}"),
    }
}

/// Puts a line in place of the last assignment of the variable, or at the end if there is none.
fn with_line(text: &str, variable: &str, line: &str) -> String {
    let text = with_line_feeds(text);
    let assigned = assignments(&text);
    let old = assigned.iter().rfind(|one| one.name == variable);
    let (before, after) = match old {
        Some(old) => (&text[..old.lines.start], &text[old.lines.end..]),
        None => (text.as_str(), ""),
    };
    let end = if before.is_empty() || before.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    format!("{before}{end}{line}\n{after}")
}

fn parse(text: &str) -> Vec<(String, String)> {
    let mut variables: Vec<(String, String)> = Vec::new();
    for Assignment { name, value, .. } in assignments(&with_line_feeds(text)) {
        match variables.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = value,
            None => variables.push((name.to_owned(), value)),
        }
    }
    variables
}

fn with_line_feeds(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

/// An assignment. `lines` is the range of its lines in the text, with the last line feed.
struct Assignment<'a> {
    name: &'a str,
    value: String,
    lines: Range<usize>,
}

fn assignments(text: &str) -> Vec<Assignment<'_>> {
    let mut rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut found = Vec::new();
    while !rest.is_empty() {
        let start = text.len() - rest.len();
        let Some((name, after)) = name(rest) else {
            rest = next_line(rest);
            continue;
        };
        let (value, after) = value(after);
        rest = next_line(after);
        found.push(Assignment {
            name,
            value,
            lines: start..text.len() - rest.len(),
        });
    }
    found
}

/// Takes `NAME=` or `NAME: ` off the front, with or without `export` before it.
fn name(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start_matches(is_blank);
    let exported = text
        .strip_prefix("export")
        .filter(|after| after.starts_with(is_blank));
    let text = exported.unwrap_or(text).trim_start_matches(is_blank);
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    let end = text.find(|c| !is_name(c)).unwrap_or(text.len());
    let (name, after) = text.split_at(end);
    let value = match after.trim_start_matches(is_blank).strip_prefix('=') {
        Some(value) => value,
        None => after
            .strip_prefix(':')
            .filter(|value| value.starts_with(is_blank))?,
    };
    (!name.is_empty()).then_some((name, value))
}

/// Takes the value off the front. The rest starts in the value's last line.
fn value(text: &str) -> (String, &str) {
    let text = text.trim_start_matches(is_blank);
    if let Some((value, after)) = quoted(text) {
        return (value, after);
    }
    let end = text.find(['#', '\n']).unwrap_or(text.len());
    let value = text[..end].trim();
    (unescape(value, value.chars().next()), &text[end..])
}

/// Takes a quoted value off the front, if nothing but a comment follows it. The value may span lines.
fn quoted(text: &str) -> Option<(String, &str)> {
    let quote = text
        .chars()
        .next()
        .filter(|c| matches!(c, '"' | '\'' | '`'))?;
    let mut escaped = false;
    let end = text[1..].find(|c| {
        let closes = c == quote && !escaped;
        escaped = c == '\\' && !escaped;
        closes
    })?;
    let (value, after) = (&text[1..=end], &text[end + 2..]);
    let comment = after.trim_start_matches(is_blank);
    let is_alone = comment.is_empty() || comment.starts_with(['#', '\n']);
    is_alone.then(|| (unescape(value, Some(quote)), after))
}

/// Replaces the escapes of line ends, between double quotes only.
fn unescape(value: &str, quote: Option<char>) -> String {
    match quote {
        Some('"') => value.replace("\\n", "\n").replace("\\r", "\r"),
        _ => value.to_owned(),
    }
}

fn next_line(text: &str) -> &str {
    text.split_once('\n').map_or("", |(_, next)| next)
}

fn is_blank(c: char) -> bool {
    c.is_whitespace() && c != '\n'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(&str, &str)]) {
        let variables = parse(text);
        let variables: Vec<_> = variables
            .iter()
            .map(|(n, v)| (n.as_str(), v.as_str()))
            .collect();
        assert_eq!(variables, expected, "{text}");
    }

    fn check_with(text: &str, value: &str, expected: &str) {
        let variables = [("KEY".to_owned(), value.to_owned())];
        let text = with_variables(text, &variables);
        assert_eq!(text, expected);
        assert!(parse(&text).contains(&variables[0]), "{text}");
    }

    #[test]
    fn a_variable_is_set_beside_the_others() {
        check_with("", "sk-1", "KEY=sk-1\n");
        check_with("# mine\nA=1", "k", "# mine\nA=1\nKEY=k\n");
        check_with("KEY=old\nA=1\n", "new", "KEY=new\nA=1\n");
        check_with("export KEY=old\n", "new", "KEY=new\n");
        check_with("KEY=1\nKEY=2\n", "3", "KEY=1\nKEY=3\n");
        check_with("", "a b#c", "KEY='a b#c'\n");
        check_with("", "it's", "KEY=`it's`\n");
        check_with("", "", "KEY=''\n");
    }

    #[test]
    fn a_value_of_several_lines_is_one() {
        let text = "KEY=\"one\nA=1\"\nB=2\n";
        check_with(text, "k", "KEY=k\nB=2\n");
        let text = "CERT='begin\nKEY=old\nend'\n";
        check_with(text, "k", "CERT='begin\nKEY=old\nend'\nKEY=k\n");
    }

    #[test]
    fn assignments_of_all_forms_are_read() {
        check("A=1\nB = 2 \n\tC=\n", &[("A", "1"), ("B", "2"), ("C", "")]);
        check(
            "export A=1\nexported=2\nexport=3",
            &[("A", "1"), ("exported", "2"), ("export", "3")],
        );
        check("A: 1\nB:2\n", &[("A", "1")]);
        check("a.b-c=1\r\nd=2\r\n", &[("a.b-c", "1"), ("d", "2")]);
        check("\u{feff}A=1", &[("A", "1")]);
        check("A=1\nB=2\nA=3\n", &[("A", "3"), ("B", "2")]);
    }

    #[test]
    fn comments_end_a_value_unless_it_is_quoted() {
        check("# A=0\nA=1 # one\nB=a#b\n", &[("A", "1"), ("B", "a")]);
        check(
            "A=\"1 # one\" # two\nB='#'#x\n",
            &[("A", "1 # one"), ("B", "#")],
        );
    }

    #[test]
    fn quotes_keep_blanks_and_only_double_ones_have_line_ends() {
        check(r#"A=" x "  "#, &[("A", " x ")]);
        check(r#"A="a\nb""#, &[("A", "a\nb")]);
        check(r"A='a\nb'", &[("A", r"a\nb")]);
        check(r"A=`a'b\n`", &[("A", r"a'b\n")]);
        check("A=\"one\ntwo\"\nB=3", &[("A", "one\ntwo"), ("B", "3")]);
        check(r#"A={"x": 1}"#, &[("A", r#"{"x": 1}"#)]);
        check("A='open\nB=2\n", &[("A", "'open"), ("B", "2")]);
        check("A='x'y\n", &[("A", "'x'y")]);
        check(r#"A="a\"b""#, &[("A", r#"a\"b"#)]);
    }

    #[test]
    fn nothing_is_substituted() {
        check(
            "A=1\nKEY=sk-$A-${A}\nQ=\"$A\"\n",
            &[("A", "1"), ("KEY", "sk-$A-${A}"), ("Q", "$A")],
        );
    }

    #[test]
    fn bad_lines_are_skipped() {
        check("nonsense\n=1\n!!=2\nA\nB=1\n", &[("B", "1")]);
        check("", &[]);
    }

    #[test]
    fn a_missing_file_has_no_variables() {
        let temp = tempfile::tempdir().unwrap();
        let root = Root::at(temp.path().to_owned());
        assert_eq!(load_dotenv(&root).unwrap(), []);
        std::fs::write(root.env_file(), "A=1").unwrap();
        assert_eq!(
            load_dotenv(&root).unwrap(),
            [("A".to_owned(), "1".to_owned())]
        );
    }
}
