//! Tables whose columns yield when the page is too narrow for all of them.

use std::borrow::Cow;

use super::table::{GAP, Page, USUAL, column_width, cut, painted, with_headings};
use crate::{local_time, style};

/// The least width of a column that is cut, as long as another column can be left out.
const LEAST_CUT: usize = 18;

/// A column of a table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    heading: &'static str,
    room: Room,
    /// Whether its cells are times of the person's time zone.
    has_local_times: bool,
    /// Whether the blanks of its cells are kept. They must be safe to print.
    keeps_blanks: bool,
}

impl Column {
    pub(crate) const fn new(heading: &'static str, room: Room) -> Self {
        Self {
            heading,
            room,
            has_local_times: false,
            keeps_blanks: false,
        }
    }

    /// Returns a column that stays, whose cells begin with the marks of a tree.
    pub(crate) const fn of_tree(heading: &'static str) -> Self {
        Self {
            keeps_blanks: true,
            ..Self::new(heading, Room::Fixed)
        }
    }

    /// Returns a column whose cells are made by [`local_time::cell`].
    pub(crate) const fn of_local_times(heading: &'static str, room: Room) -> Self {
        Self {
            has_local_times: true,
            ..Self::new(heading, room)
        }
    }

    fn heading(&self) -> Cow<'static, str> {
        match self.has_local_times {
            true => local_time::heading(self.heading),
            false => Cow::Borrowed(self.heading),
        }
    }
}

/// The column whose words have a colour.
pub(crate) const STATUS: Column = Column::new("STATUS", Room::Fixed);

/// What a column does when the page is too narrow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    /// It stays.
    Fixed,
    /// It is left out, the lowest number first.
    Spare(u8),
    /// It is cut. All such columns share the room that the others leave.
    Cut,
}

/// Returns the rows as aligned lines below their headings. A spare or cut column without any content is left out.
pub(crate) fn columns(columns: &[Column], rows: Vec<Vec<String>>, page: Page) -> String {
    let headings: Vec<Cow<str>> = columns.iter().map(Column::heading).collect();
    let headings: Vec<&str> = headings.iter().map(AsRef::as_ref).collect();
    let mut rows = with_blanks(columns, with_headings(&headings, rows.clone()), rows);
    let all: Vec<(Room, usize)> = columns
        .iter()
        .map(|column| column.room)
        .enumerate()
        .map(|(at, room)| (room, column_width(&rows, at)))
        .collect();
    let is_empty = |at: usize| {
        rows.iter()
            .skip(1)
            .all(|row| matches!(row[at].as_str(), "" | "-"))
    };
    let mut kept: Vec<usize> = (0..columns.len())
        .filter(|at| all[*at].0 == Room::Fixed || !is_empty(*at))
        .collect();
    if let Some(width) = page.width {
        leave_out(&mut kept, &all, width);
    }
    let widths = widths(&kept, &all, page.width);
    for row in &mut rows {
        let cells = kept.iter().zip(&widths);
        *row = cells.map(|(at, width)| cut(&row[*at], *width)).collect();
    }
    let status = kept
        .iter()
        .position(|at| columns[*at].heading == STATUS.heading);
    painted(&rows, |column, cell| match status {
        Some(status) if page.colour && status == column => style::first_word(cell),
        Some(_) | None => cell.to_owned(),
    })
}

/// Returns rows that were made lines, with the cells of some columns as they were.
fn with_blanks(
    columns: &[Column],
    mut lines: Vec<Vec<String>>,
    rows: Vec<Vec<String>>,
) -> Vec<Vec<String>> {
    for (line, row) in lines.iter_mut().skip(1).zip(rows) {
        let cells = line.iter_mut().zip(row).zip(columns);
        for ((cell, was), _) in cells.filter(|(_, column)| column.keeps_blanks) {
            *cell = was;
        }
    }
    lines
}

/// Leaves out spare columns until the others fit.
fn leave_out(kept: &mut Vec<usize>, all: &[(Room, usize)], width: usize) {
    loop {
        let least = |at: &usize| match all[*at] {
            (Room::Cut, natural) => natural.min(LEAST_CUT),
            (Room::Fixed | Room::Spare(_), natural) => natural,
        };
        let gaps = GAP.len() * kept.len().saturating_sub(1);
        let needed: usize = kept.iter().map(least).sum();
        let spare = |at: &usize| match all[*at].0 {
            Room::Spare(rank) => Some((rank, *at)),
            Room::Fixed | Room::Cut => None,
        };
        let Some((_, first)) = kept.iter().filter_map(spare).min() else {
            return;
        };
        if needed + gaps <= width {
            return;
        }
        kept.retain(|at| *at != first);
    }
}

/// Returns the widths of the columns that are kept. Narrow columns get what they need, and wide ones the same share of the
/// rest.
fn widths(kept: &[usize], all: &[(Room, usize)], page: Option<usize>) -> Vec<usize> {
    let mut widths: Vec<usize> = kept.iter().map(|at| all[*at].1).collect();
    let mut cut: Vec<usize> = (0..kept.len())
        .filter(|index| all[kept[*index]].0 == Room::Cut)
        .collect();
    let Some(page) = page else {
        for index in cut {
            widths[index] = widths[index].min(USUAL);
        }
        return widths;
    };
    let taken: usize = (0..kept.len())
        .filter(|index| !cut.contains(index))
        .map(|index| widths[index])
        .sum();
    let gaps = GAP.len() * kept.len().saturating_sub(1);
    let mut room = page.saturating_sub(taken + gaps);
    cut.sort_by_key(|index| widths[*index]);
    let count = cut.len();
    for (done, index) in cut.into_iter().enumerate() {
        let share = room / (count - done);
        widths[index] = widths[index].min(share.max(1));
        room = room.saturating_sub(widths[index]);
    }
    widths
}

#[cfg(test)]
mod tests {
    use dialoguer::console::measure_text_width;

    use super::*;

    const COLUMNS: [Column; 5] = [
        Column::new("ID", Room::Fixed),
        Column::new("COST", Room::Spare(1)),
        Column::new("NEXT", Room::Spare(2)),
        Column::new("TASK", Room::Cut),
        Column::new("NOTE", Room::Cut),
    ];

    fn shown(width: Option<usize>, task: &str, note: &str) -> String {
        let row = ["0123456789", "$1.00", "writer", task, note];
        let rows = vec![row.map(str::to_owned).to_vec()];
        let text = columns(
            &COLUMNS,
            rows,
            Page {
                width,
                ..Page::default()
            },
        );
        for line in text.lines() {
            let fits = width.is_none_or(|width| measure_text_width(line) <= width);
            assert!(fits, "{width:?}: {line}");
        }
        text.lines().next().unwrap_or_default().to_owned()
    }

    #[test]
    fn the_least_useful_columns_are_left_out_first() {
        let long = "word ".repeat(40);
        let headings = |width| shown(Some(width), &long, &long);
        let names = |line: String| {
            let words = line.split_whitespace().map(str::to_owned);
            words.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(names(headings(90)), "ID COST NEXT TASK NOTE");
        assert_eq!(names(headings(60)), "ID NEXT TASK NOTE");
        assert_eq!(names(headings(50)), "ID TASK NOTE");
        assert_eq!(names(headings(30)), "ID TASK NOTE");
        assert_eq!(names(shown(None, &long, &long)), "ID COST NEXT TASK NOTE");
    }

    #[test]
    fn a_short_cell_leaves_its_room_to_a_long_one() {
        let long = "x".repeat(40);
        let row = ["0123456789", "-", "", long.as_str(), "short"];
        let rows = vec![row.map(str::to_owned).to_vec()];
        let text = columns(
            &COLUMNS,
            rows,
            Page {
                width: Some(60),
                ..Page::default()
            },
        );
        let expected = format!(
            "ID          TASK{}  NOTE\n0123456789  {long}  short",
            " ".repeat(36)
        );
        assert_eq!(text, expected, "columns without content are left out");
    }
}
