//! Patterns of one name: `*`, `?` and `[…]`. A leading dot is matched by a dot only.

/// Tells whether a part of a path is a pattern, and not just a name.
pub(crate) fn is_pattern(part: &str) -> bool {
    part.contains(['*', '?', '['])
}

/// Tells whether a name matches a pattern.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    if name.starts_with('.') && !pattern.starts_with('.') {
        return false;
    }
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let (mut at, mut seen) = (0, 0);
    // Where the last `*` is, and how far the name was matched then. Only the last one ever has to take more.
    let mut star = None;
    while seen < name.len() {
        if pattern.get(at) == Some(&'*') {
            at += 1;
            star = Some((at, seen));
            continue;
        }
        if let Some(taken) = one(&pattern[at..], name[seen]) {
            at += taken;
            seen += 1;
            continue;
        }
        let Some((after, from)) = star else {
            return false;
        };
        star = Some((after, from + 1));
        (at, seen) = (after, from + 1);
    }
    pattern[at..].iter().all(|c| *c == '*')
}

/// Returns how many characters of the pattern match this one character.
fn one(pattern: &[char], c: char) -> Option<usize> {
    match pattern {
        [] => None,
        ['?', ..] => Some(1),
        ['[', rest @ ..] => match class(rest) {
            Some((has, length)) => has(c).then_some(length + 1),
            None => (c == '[').then_some(1),
        },
        [literal, ..] => (*literal == c).then_some(1),
    }
}

/// Reads a class after its `[`. Returns what it contains, and how long it is with its `]`. A `]` right at the start
/// stands for itself.
fn class(rest: &[char]) -> Option<(impl Fn(char) -> bool, usize)> {
    let negated = matches!(rest, ['!' | '^', ..]);
    let start = usize::from(negated);
    let length = rest.iter().skip(start + 1).position(|c| *c == ']')?;
    let members = &rest[start..=start + length];
    let has = move |c: char| {
        let mut left = members;
        let mut found = false;
        while let [first, others @ ..] = left {
            (found, left) = match others {
                ['-', last, others @ ..] => (found || (*first..=*last).contains(&c), others),
                _ => (found || *first == c, others),
            };
        }
        found != negated
    };
    Some((has, start + length + 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_as_in_a_shell() {
        for (pattern, name, expected) in [
            ("*", "a", true),
            ("*", "", true),
            ("*", ".a", false),
            (".*", ".a", true),
            ("[.]a", ".a", false),
            ("?a", ".a", false),
            ("*.task", "a.task", true),
            ("*.task", "a.task.tmp", false),
            ("a*b*c", "aXbbXc", true),
            ("a*b*c", "aXbbX", false),
            ("a**c", "abc", true),
            ("?", "ü", true),
            ("?", "ab", false),
            ("[a-c]x", "bx", true),
            ("[a-c]x", "dx", false),
            ("[!a-c]x", "dx", true),
            ("[^a-c]x", "ax", false),
            ("[]]", "]", true),
            ("[!]]", "a", true),
            ("[a-]", "-", true),
            ("[*]", "*", true),
            ("[*]", "a", false),
            ("[a", "[a", true),
            ("[", "[", true),
            ("a", "b", false),
            ("\\*", "\\x", true),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} on {name}");
        }
    }

    #[test]
    fn many_stars_take_no_more_time_than_pattern_times_name() {
        let pattern = "*a".repeat(200) + "b";
        assert!(!matches(&pattern, &"a".repeat(2000)));
    }
}
