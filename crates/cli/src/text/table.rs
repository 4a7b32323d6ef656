//! Tables of text. A column is as wide as its widest cell, and a cell is always one line.

use std::borrow::Cow;

use dialoguer::console::measure_text_width;
use uwf_util::printable::printable;
use uwf_util::text::one_line;

use crate::{hints, style};

/// The text between columns.
pub(super) const GAP: &str = "  ";
/// The smallest width of a column that is cut to fit the page, and of the lines of a value.
const LEAST: usize = 16;
/// The width of a column that is cut, if the page has no width.
pub(super) const USUAL: usize = 100;

/// The page that a text is printed on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Page {
    /// How many columns of characters it has; `None` for a file or a pipe.
    pub(crate) width: Option<usize>,
    /// Whether words that say how something is have a colour.
    pub(crate) colour: bool,
}

/// Returns the rows as aligned lines below their headings; the last column is not padded.
pub(crate) fn table(headings: &[&str], rows: Vec<Vec<String>>) -> String {
    aligned(&with_headings(headings, rows))
}

/// Returns the rows like [`table`], with one column cut so that the lines fit the page.
pub(crate) fn fitted(
    headings: &[&str],
    rows: Vec<Vec<String>>,
    column: usize,
    page: Page,
) -> String {
    let mut rows = with_headings(headings, rows);
    let room = match page.width {
        None => USUAL,
        Some(width) => {
            let others = (0..headings.len()).filter(|other| *other != column);
            let used: usize = others
                .map(|other| column_width(&rows, other) + GAP.len())
                .sum();
            width.saturating_sub(used).max(LEAST)
        }
    };
    for cell in rows.iter_mut().filter_map(|row| row.get_mut(column)) {
        *cell = cut(cell, room);
    }
    aligned(&rows)
}

/// Returns named values, one below the other. The lines of a value are aligned. Lines that are too long for the page are
/// broken between words.
pub(crate) fn fields(fields: &[(&str, String)], page: Page) -> String {
    let names = fields
        .iter()
        .map(|(name, _)| measure_text_width(name))
        .max();
    let room = page.width.map(|width| {
        width
            .saturating_sub(names.unwrap_or(0) + GAP.len())
            .max(LEAST)
    });
    let mut rows = Vec::new();
    for (name, value) in fields {
        let says_status = page.colour && matches!(*name, "status" | "thread");
        let value = match *name {
            "next" => hints::here(value),
            _ => Cow::Borrowed(value.as_str()),
        };
        let lines = value.lines().flat_map(|line| {
            let line = printable(line);
            match room {
                // A command is typed or copied as one line.
                Some(room) if *name != "next" => broken(&line, room),
                Some(_) | None => vec![line.into_owned()],
            }
        });
        let names = std::iter::once(*name).chain(std::iter::repeat(""));
        rows.extend(names.zip(lines).map(|(name, line)| {
            let is_status = says_status && !name.is_empty();
            let line = if is_status {
                style::first_word(&line)
            } else {
                line
            };
            vec![name.to_owned(), line]
        }));
    }
    aligned(&rows)
}

pub(super) fn with_headings(headings: &[&str], rows: Vec<Vec<String>>) -> Vec<Vec<String>> {
    let headings = headings.iter().map(ToString::to_string).collect();
    let line = |row: Vec<String>| row.iter().map(|cell| one_line(&printable(cell))).collect();
    std::iter::once(headings).chain(rows).map(line).collect()
}

/// Returns the rows as aligned lines without headings. A cell is one line that no terminal obeys.
pub(crate) fn columns(rows: &[Vec<String>]) -> String {
    let line = |row: &Vec<String>| row.iter().map(|cell| one_line(&printable(cell))).collect();
    aligned(&rows.iter().map(line).collect::<Vec<_>>())
}

/// Returns the rows as aligned lines; the last column is not padded.
fn aligned(rows: &[Vec<String>]) -> String {
    painted(rows, |_, cell| cell.to_owned())
}

/// Returns the rows as aligned lines whose cells are painted, by their column.
pub(super) fn painted(rows: &[Vec<String>], paint: impl Fn(usize, &str) -> String) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns)
        .map(|column| column_width(rows, column))
        .collect();
    let padded = |(column, (cell, width)): (usize, (&String, &usize))| {
        let missing = width.saturating_sub(measure_text_width(cell));
        paint(column, cell) + &" ".repeat(missing)
    };
    let line = |row: &Vec<String>| {
        let cells: Vec<String> = row.iter().zip(&widths).enumerate().map(padded).collect();
        cells.join(GAP).trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

pub(super) fn column_width(rows: &[Vec<String>], column: usize) -> usize {
    let cells = rows.iter().filter_map(|row| row.get(column));
    cells
        .map(|cell| measure_text_width(cell))
        .max()
        .unwrap_or(0)
}

/// Returns a text that is broken between words where the page is too narrow for it.
pub(crate) fn wrapped(line: &str, page: Page) -> String {
    let line = printable(line);
    match page.width {
        Some(width) => broken(&line, width.max(LEAST)).join("\n"),
        None => line.into_owned(),
    }
}

/// Breaks a line between words into lines of at most this width. A longer word is not broken.
fn broken(line: &str, width: usize) -> Vec<String> {
    if measure_text_width(line) <= width {
        return vec![line.to_owned()];
    }
    let mut lines: Vec<String> = Vec::new();
    for word in line.split_whitespace() {
        match lines.last_mut() {
            Some(last) if measure_text_width(last) + 1 + measure_text_width(word) <= width => {
                last.push(' ');
                last.push_str(word);
            }
            Some(_) | None => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Cuts a line to at most this width, with `…` at the end if anything was cut off.
pub(crate) fn cut(line: &str, width: usize) -> String {
    if measure_text_width(line) <= width {
        return line.to_owned();
    }
    let mut shown = String::new();
    for c in line.chars() {
        shown.push(c);
        if measure_text_width(&shown) >= width {
            shown.pop();
            break;
        }
    }
    shown + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDE: Page = Page {
        width: None,
        colour: false,
    };

    fn page(width: usize) -> Page {
        Page {
            width: Some(width),
            colour: false,
        }
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["a", "long one", "x"], ["bbb", "c", ""], ["日本", "d", "y"]];
        let rows = rows.map(|row| row.map(str::to_owned).to_vec()).to_vec();
        assert_eq!(
            table(&["I", "II", "III"], rows),
            "I     II        III\na     long one  x\nbbb   c\n日本  d         y"
        );
    }

    #[test]
    fn a_cell_is_one_line_that_no_terminal_obeys() {
        let rows = vec![vec!["a\nb\t c".to_owned(), "\u{1b}d".to_owned()]];
        assert_eq!(table(&["I", "II"], rows), "I      II\na b c  \\u{1b}d");
    }

    #[test]
    fn the_further_lines_of_a_value_stand_below_its_first() {
        let values = [("one", "a\nb".to_owned()), ("three", "c".to_owned())];
        assert_eq!(fields(&values, WIDE), "one    a\n       b\nthree  c");
    }

    #[test]
    fn a_value_is_broken_between_words_and_a_command_is_not() {
        let text = "one two three four five".to_owned();
        let values = [("why", text.clone()), ("next", text)];
        let expected = "why   one two three\n      four five\nnext  one two three four five";
        assert_eq!(fields(&values, page(22)), expected);
    }

    #[test]
    fn one_column_is_cut_so_that_the_lines_fit() {
        let row = |data: &str| vec!["HASH".to_owned(), data.to_owned(), "x".to_owned()];
        let rows = vec![row(&"ab ".repeat(40)), row("日本語日本語日本語日本語")];
        let text = fitted(&["I", "DATA", "III"], rows.clone(), 1, page(30));
        for line in text.lines() {
            assert!(measure_text_width(line) <= 30, "{line}");
        }
        assert!(text.contains("ab ab ab ab ab …  x"), "{text}");
        let text = fitted(&["I", "DATA", "III"], rows, 1, WIDE);
        assert_eq!(text.lines().nth(1).unwrap().matches("ab").count(), 33);
    }

    #[test]
    fn what_is_too_long_is_cut() {
        assert_eq!(cut("abcd", 3), "ab…");
    }
}
