//! The difference between two texts, line by line.

/// How many pairs of lines are compared at most. Longer texts are shown as replaced from their first different line to
/// their last.
const MOST_PAIRS: usize = 4_000_000;

/// A line of two texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line<'a> {
    /// Both have it.
    Same(&'a str),
    /// Only the first text has it.
    Removed(&'a str),
    /// Only the second text has it.
    Added(&'a str),
}

/// Different lines that stand together, with the same lines around them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk<'a> {
    /// The number of its first line in the first text, from 1.
    pub first: usize,
    /// The number of its first line in the second text, from 1.
    pub second: usize,
    /// Its lines.
    pub lines: Vec<Line<'a>>,
}

/// Returns the lines of both texts in one order, with as many common lines as possible. Texts that differ in too many lines
/// have only their beginning and their end in common. Of different lines, those of the first text come first.
#[must_use]
pub fn lines<'a>(first: &'a str, second: &'a str) -> Vec<Line<'a>> {
    let old: Vec<&str> = first.lines().collect();
    let new: Vec<&str> = second.lines().collect();
    let begin = count_equal(old.iter(), new.iter());
    let end = count_equal(old[begin..].iter().rev(), new[begin..].iter().rev());
    let (old_middle, new_middle) = (&old[begin..old.len() - end], &new[begin..new.len() - end]);
    let mut lines: Vec<Line<'_>> = old[..begin].iter().copied().map(Line::Same).collect();
    lines.extend(middle(old_middle, new_middle));
    lines.extend(old[old.len() - end..].iter().copied().map(Line::Same));
    lines
}

/// Returns the differences of two texts with this many common lines around each; none if all lines are the same.
#[must_use]
pub fn hunks<'a>(first: &'a str, second: &'a str, context: usize) -> Vec<Hunk<'a>> {
    let mut hunks: Vec<Hunk<'_>> = Vec::new();
    // The common lines since the last difference.
    let mut common: Vec<&str> = Vec::new();
    let (mut old, mut new) = (1, 1);
    for line in lines(first, second) {
        if let Line::Same(text) = line {
            common.push(text);
            (old, new) = (old + 1, new + 1);
            continue;
        }
        let is_near = common.len() <= 2 * context;
        let mut hunk = match hunks.pop() {
            Some(mut hunk) if is_near => {
                hunk.lines.extend(common.drain(..).map(Line::Same));
                hunk
            }
            earlier => {
                let before = common.split_off(common.len().saturating_sub(context));
                hunks.extend(earlier.map(|mut hunk| {
                    let after = common.iter().take(context).copied();
                    hunk.lines.extend(after.map(Line::Same));
                    hunk
                }));
                common.clear();
                Hunk {
                    first: old - before.len(),
                    second: new - before.len(),
                    lines: before.into_iter().map(Line::Same).collect(),
                }
            }
        };
        hunk.lines.push(line);
        hunks.push(hunk);
        match line {
            Line::Removed(_) => old += 1,
            Line::Added(_) | Line::Same(_) => new += 1,
        }
    }
    if let Some(hunk) = hunks.last_mut() {
        hunk.lines
            .extend(common.into_iter().take(context).map(Line::Same));
    }
    hunks
}

fn count_equal<'a>(
    one: impl Iterator<Item = &'a &'a str>,
    other: impl Iterator<Item = &'a &'a str>,
) -> usize {
    one.zip(other)
        .take_while(|(one, other)| one == other)
        .count()
}

/// Returns the lines between the common beginning and the common end.
fn middle<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<Line<'a>> {
    if old.len().saturating_mul(new.len()) > MOST_PAIRS {
        let removed = old.iter().copied().map(Line::Removed);
        return removed
            .chain(new.iter().copied().map(Line::Added))
            .collect();
    }
    let common = common_lengths(old, new);
    let width = new.len() + 1;
    let mut lines = Vec::with_capacity(old.len() + new.len());
    let (mut i, mut j) = (0, 0);
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            lines.push(Line::Same(old[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == new.len()
            || (i < old.len() && common[(i + 1) * width + j] >= common[i * width + j + 1])
        {
            lines.push(Line::Removed(old[i]));
            i += 1;
        } else {
            lines.push(Line::Added(new[j]));
            j += 1;
        }
    }
    lines
}

/// Returns, for each pair of places, how many lines the rests of both texts have in common at most.
fn common_lengths(old: &[&str], new: &[&str]) -> Vec<u32> {
    let width = new.len() + 1;
    let mut common = vec![0; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i * width + j] = if old[i] == new[j] {
                common[(i + 1) * width + j + 1] + 1
            } else {
                common[(i + 1) * width + j].max(common[i * width + j + 1])
            };
        }
    }
    common
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the lines with the marks of a patch.
    fn marked(lines: &[Line<'_>]) -> String {
        let line = |line: &Line<'_>| match line {
            Line::Same(text) => format!(" {text}"),
            Line::Removed(text) => format!("-{text}"),
            Line::Added(text) => format!("+{text}"),
        };
        lines.iter().map(line).collect::<Vec<_>>().join("|")
    }

    fn check(first: &str, second: &str, expected: &str) {
        let split = |text: &str| text.split('|').collect::<Vec<_>>().join("\n");
        let (first, second) = (split(first), split(second));
        assert_eq!(marked(&lines(&first, &second)), expected);
    }

    #[test]
    fn common_lines_are_kept_and_the_first_text_comes_first() {
        check("a|b|c", "a|b|c", " a| b| c");
        check("a|b|c", "a|x|c", " a|-b|+x| c");
        check("a|b|c", "b|c|d", "-a| b| c|+d");
        check("a|b|c|d", "c|d|a|b", "-a|-b| c| d|+a|+b");
        check("x|x|x", "x", " x|-x|-x");
    }

    #[test]
    fn an_empty_text_has_no_lines() {
        assert_eq!(lines("", ""), []);
        assert_eq!(lines("", "a"), [Line::Added("a")]);
        assert_eq!(lines("a\n", ""), [Line::Removed("a")]);
    }

    #[test]
    fn what_is_too_long_to_compare_is_replaced_between_its_common_ends() {
        let text = |mark: &str| -> String {
            let middle = (0..2001).map(|number| format!("{mark}{number}\n"));
            format!("begin\n{}end", middle.collect::<String>())
        };
        let (first, second) = (text("a"), text("b"));
        let lines = lines(&first, &second);
        assert_eq!(lines.len(), 2 + 2 * 2001);
        assert_eq!(lines[0], Line::Same("begin"));
        assert_eq!(lines[2001], Line::Removed("a2000"));
        assert_eq!(lines.last(), Some(&Line::Same("end")));
    }

    #[test]
    fn hunks_have_some_common_lines_around_their_differences() {
        let first = "1\n2\n3\n4\n5\n6\n7\n8\n9";
        let second = "1\n2\nx\n4\n5\n6\n7\n8\ny";
        let found = hunks(first, second, 1);
        let shown: Vec<_> = found
            .iter()
            .map(|hunk| (hunk.first, hunk.second, marked(&hunk.lines)))
            .collect();
        let expected = [
            (2, 2, " 2|-3|+x| 4".to_owned()),
            (8, 8, " 8|-9|+y".to_owned()),
        ];
        assert_eq!(shown, expected);
        let joined = hunks(first, second, 3);
        assert_eq!(joined.len(), 1);
        assert_eq!(marked(&joined[0].lines), " 1| 2|-3|+x| 4| 5| 6| 7| 8|-9|+y");
        assert_eq!(hunks(first, first, 3), []);
    }
}
