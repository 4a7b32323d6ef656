//! Patterns of paths, as in `.gitignore`: `*` and `?` stay within a name, `**` crosses folders. Pure.

use std::ops::RangeInclusive;

/// A pattern of paths relative to some folder. Reading it costs no more than its length: a `.gitignore` may have thousands.
#[derive(Debug)]
pub(super) struct Pattern(Vec<Part>);

/// A part of a pattern.
#[derive(Debug, PartialEq, Eq)]
enum Part {
    /// This character.
    Is(char),
    /// One character of a name: any, or one that is in these ranges, or in none of them.
    OneOf(Class),
    /// Any characters of a name: `*`.
    Name,
    /// Any characters: `**`.
    Path,
    /// The next so many parts may be left out: those of `**/`.
    Maybe(usize),
}

/// Which characters of a name.
#[derive(Debug, PartialEq, Eq)]
struct Class {
    ranges: Vec<RangeInclusive<char>>,
    is_negated: bool,
}

impl Class {
    /// Reads a class at the beginning of a text, such as `[a-z]`, and returns what follows it. `None` if there is none, an error
    /// if a range ends before it begins.
    fn read(text: &str) -> Result<Option<(Self, &str)>, ()> {
        let Some(inside) = text.strip_prefix('[') else {
            return Ok(None);
        };
        let (inside, is_negated) = match inside.strip_prefix(['!', '^']) {
            Some(inside) => (inside, true),
            None => (inside, false),
        };
        // A bracket at once is a member of the class.
        let first = inside.chars().next().map_or(0, char::len_utf8);
        let Some(length) = inside[first..].find(']').map(|at| at + first) else {
            return Ok(None);
        };
        let mut members = inside[..length].chars().filter(|c| *c != '\\').peekable();
        let mut ranges = Vec::new();
        while let Some(begin) = members.next() {
            let mut after = members.clone();
            let end = after.next_if_eq(&'-').and_then(|_| after.next());
            if end.is_some() {
                members = after;
            }
            let range = begin..=end.unwrap_or(begin);
            if range.is_empty() {
                return Err(());
            }
            ranges.push(range);
        }
        Ok(Some((Self { ranges, is_negated }, &inside[length + 1..])))
    }

    fn fits(&self, c: char) -> bool {
        let is_member = self.ranges.iter().any(|range| range.contains(&c));
        c != '/' && is_member != self.is_negated
    }
}

impl Pattern {
    /// Reads a pattern. One without a slash before its end fits the name of a file or a folder at any depth.
    pub(super) fn parse(pattern: &str) -> Result<Self, String> {
        let anchored = pattern.trim_end_matches('/').contains('/');
        let mut rest = pattern.trim_start_matches('/').trim_end_matches('/');
        let mut parts = Vec::new();
        if !anchored {
            parts.extend(folders());
        }
        while let Some(next) = rest.chars().next() {
            if let Some(after) = rest.strip_prefix("**/") {
                parts.extend(folders());
                rest = after;
                continue;
            }
            let class = Class::read(rest).map_err(|()| {
                format!("`{pattern}` is no pattern of paths, such as `*.rs` or `src/**`")
            })?;
            let (part, after) = match (class, next) {
                (Some((class, after)), _) => (Part::OneOf(class), after),
                (None, '*') => match rest.strip_prefix("**") {
                    Some(after) => (Part::Path, after),
                    None => (Part::Name, &rest[1..]),
                },
                (None, '?') => (Part::any(), &rest[1..]),
                (None, '\\') if rest.len() > 1 => escaped(&rest[1..]),
                (None, next) => (Part::Is(next), &rest[next.len_utf8()..]),
            };
            parts.push(part);
            rest = after;
        }
        Ok(Self(parts))
    }

    pub(super) fn fits(&self, path: &str) -> bool {
        let mut at = vec![false; self.0.len() + 1];
        at[0] = true;
        self.skip(&mut at);
        for c in path.chars() {
            let mut next = vec![false; at.len()];
            for (index, part) in self.0.iter().enumerate().filter(|(index, _)| at[*index]) {
                match part {
                    Part::Is(expected) => next[index + 1] |= *expected == c,
                    Part::OneOf(class) => next[index + 1] |= class.fits(c),
                    Part::Name => next[index] |= c != '/',
                    Part::Path => next[index] = true,
                    Part::Maybe(_) => {}
                }
            }
            self.skip(&mut next);
            at = next;
        }
        at[self.0.len()]
    }

    /// Adds the places that are reached without a character.
    fn skip(&self, at: &mut [bool]) {
        for (index, part) in self.0.iter().enumerate() {
            if !at[index] {
                continue;
            }
            match part {
                Part::Is(_) | Part::OneOf(_) => {}
                Part::Name | Part::Path => at[index + 1] = true,
                Part::Maybe(count) => {
                    at[index + 1] = true;
                    at[index + 1 + count] = true;
                }
            }
        }
    }
}

impl Part {
    /// Any character of a name: `?`.
    fn any() -> Self {
        Self::OneOf(Class {
            ranges: Vec::new(),
            is_negated: true,
        })
    }
}

/// Returns the parts that fit any folders, also none.
fn folders() -> [Part; 3] {
    [Part::Maybe(2), Part::Path, Part::Is('/')]
}

/// Returns the character at the beginning of a text as itself, and what follows.
fn escaped(text: &str) -> (Part, &str) {
    let mut rest = text.chars();
    let c = rest.next().expect("something follows the backslash");
    (Part::Is(c), rest.as_str())
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
        check("a[!b]c", "a/c", false);
        check("[]x]", "]", true);
        check("a[b", "a[b", true);
        check("**", "a/b", true);
        check("a**b", "a/x/b", true);
        check("a/**/b", "a/b", true);
        check("a/**/b", "axb", false);
        assert!(Pattern::parse("[z-a]").is_err());
    }

    #[test]
    fn the_longest_ignore_file_is_read_at_once() {
        let text = "*a*b?\n".repeat((256 << 10) / 6);
        let begun = std::time::Instant::now();
        let ignore = Ignore::parse(&text);
        assert_eq!(ignore.ignores("x", false), None);
        assert!(begun.elapsed().as_secs() < 5, "{:?}", begun.elapsed());
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
