//! Columns of text: as wide as their widest cell, two blanks apart. A cell is one line, whatever is in it.

/// Returns the rows as aligned lines below their headings; the last column is not padded.
pub(crate) fn table(headings: &[&str], rows: Vec<Vec<String>>) -> String {
    let headings = headings.iter().map(ToString::to_string).collect();
    let rows: Vec<Vec<String>> = std::iter::once(headings)
        .chain(rows)
        .map(|row| row.iter().map(|cell| one_line(cell)).collect())
        .collect();
    aligned(&rows)
}

/// Returns named values, one below the other; what a value has in further lines stands below its first.
pub(crate) fn fields(fields: &[(&str, String)]) -> String {
    let mut rows = Vec::new();
    for (name, value) in fields {
        let names = std::iter::once(*name).chain(std::iter::repeat(""));
        let lines = value.lines().zip(names);
        rows.extend(lines.map(|(line, name)| vec![name.to_owned(), line.to_owned()]));
    }
    aligned(&rows)
}

/// Returns the rows as aligned lines; the last column is not padded.
fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Returns the text with every run of blanks and line ends as one blank.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the text in one line of at most this many characters, with `…` for what is cut off.
pub(crate) fn shortened(text: &str, limit: usize) -> String {
    let line = one_line(text);
    match line.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["a", "long one", "x"], ["bbb", "c", ""]];
        let rows = rows.map(|row| row.map(str::to_owned).to_vec()).to_vec();
        assert_eq!(
            table(&["I", "II", "III"], rows),
            "I    II        III\na    long one  x\nbbb  c"
        );
    }

    #[test]
    fn a_cell_is_one_line() {
        let rows = vec![vec!["a\nb\t c".to_owned(), "d".to_owned()]];
        assert_eq!(table(&["I", "II"], rows), "I      II\na b c  d");
    }

    #[test]
    fn the_further_lines_of_a_value_stand_below_its_first() {
        let values = [("one", "a\nb".to_owned()), ("three", "c".to_owned())];
        assert_eq!(fields(&values), "one    a\n       b\nthree  c");
    }

    #[test]
    fn what_is_too_long_is_cut() {
        assert_eq!(shortened("ä b\nc", 3), "ä b…");
        assert_eq!(shortened("abc", 3), "abc");
    }
}
