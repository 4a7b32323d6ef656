//! Patterns of paths, as in `.gitignore`: `*` and `?` stay within a name, `**` crosses folders. Pure.

use regex::Regex;

/// A pattern of paths relative to some folder.
#[derive(Debug)]
pub(super) struct Pattern(Regex);

impl Pattern {
    /// Reads a pattern. One without a slash before its end fits the name of a file or a folder at any depth.
    pub(super) fn parse(pattern: &str) -> Result<Self, String> {
        let anchored = pattern.trim_end_matches('/').contains('/');
        let body = pattern.trim_start_matches('/').trim_end_matches('/');
        let begin = if anchored { "" } else { "(?:.*/)?" };
        let expression = format!("^{begin}{}$", expression(body));
        let regex = Regex::new(&expression);
        regex
            .map(Self)
            .map_err(|_| format!("`{pattern}` is no pattern of paths, such as `*.rs` or `src/**`"))
    }

    pub(super) fn fits(&self, path: &str) -> bool {
        self.0.is_match(path)
    }
}

/// Returns the regular expression of a pattern.
fn expression(pattern: &str) -> String {
    let mut expression = String::new();
    let mut rest = pattern;
    while let Some(next) = rest.chars().next() {
        let (taken, meaning) = if rest.starts_with("**/") {
            (3, "(?:.*/)?".to_owned())
        } else if rest.starts_with("**") {
            (2, ".*".to_owned())
        } else if next == '*' {
            (1, "[^/]*".to_owned())
        } else if next == '?' {
            (1, "[^/]".to_owned())
        } else if let Some(class) = class(rest) {
            (class.len(), class.replacen("[!", "[^", 1))
        } else if next == '\\' && rest.len() > 1 {
            let escaped: String = rest.chars().take(2).collect();
            (escaped.len(), regex::escape(&escaped[1..]))
        } else {
            (
                next.len_utf8(),
                regex::escape(next.encode_utf8(&mut [0; 4])),
            )
        };
        expression += &meaning;
        rest = &rest[taken..];
    }
    expression
}

/// Returns the class of characters at the beginning of a text, such as `[a-z]`, if there is one.
fn class(text: &str) -> Option<&str> {
    let inside = text.strip_prefix('[')?;
    let first = usize::from(inside.starts_with('!'));
    // A bracket at once is a member of the class.
    let end = inside.get(first + 1..)?.find(']')? + first + 1;
    Some(&text[..end + 2])
}

/// The rules of one `.gitignore`.
#[derive(Debug, Default)]
pub(super) struct Ignore {
    /// Each with whether it is about folders only, and whether it takes files back.
    rules: Vec<(Pattern, OnlyFolders, Kept)>,
}

type OnlyFolders = bool;
type Kept = bool;

impl Ignore {
    /// Reads the rules. Lines that are no patterns are left out.
    pub(super) fn parse(text: &str) -> Self {
        let lines = text.lines().map(str::trim_end);
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        let rule = |line: &str| {
            let (line, kept) = match line.strip_prefix('!') {
                Some(line) => (line, true),
                None => (line, false),
            };
            Some((Pattern::parse(line).ok()?, line.ends_with('/'), kept))
        };
        Self {
            rules: lines.filter_map(rule).collect(),
        }
    }

    /// Tells whether a path below the folder of the rules is ignored; `None` if no rule is about it.
    pub(super) fn ignores(&self, path: &str, is_folder: bool) -> Option<bool> {
        let fits =
            |rule: &&(Pattern, OnlyFolders, Kept)| (is_folder || !rule.1) && rule.0.fits(path);
        self.rules.iter().rfind(fits).map(|(.., kept)| !kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_as_git_has_them() {
        let check = |pattern: &str, path: &str, fits: bool| {
            let read = Pattern::parse(pattern).unwrap();
            assert_eq!(read.fits(path), fits, "{pattern} {path}");
        };
        check("*.rs", "src/deep/a.rs", true);
        check("*.rs", "a.rsx", false);
        check("/a.rs", "src/a.rs", false);
        check("src/*.rs", "src/deep/a.rs", false);
        check("src/**/a.rs", "src/a.rs", true);
        check("src/**", "src/deep/a.rs", true);
        check("**/deep", "src/deep", true);
        check("a?c[0-9].txt", "abc7.txt", true);
        check("a[!b]c", "abc", false);
        check("a(b)+.txt", "a(b)+.txt", true);
        check("\\*", "*", true);
        check("é*", "été", true);
        check("é?", "été", false);
    }

    #[test]
    fn the_last_rule_counts() {
        let ignore = Ignore::parse("# built\ntarget/\n*.log\n!keep.log\n\n");
        assert_eq!(ignore.ignores("target", true), Some(true));
        assert_eq!(ignore.ignores("target", false), None);
        assert_eq!(ignore.ignores("a/x.log", false), Some(true));
        assert_eq!(ignore.ignores("a/keep.log", false), Some(false));
        assert_eq!(ignore.ignores("a.rs", false), None);
    }
}
