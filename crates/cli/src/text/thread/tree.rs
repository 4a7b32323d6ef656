//! The marks that show which line of a list is below which.

/// Returns the marks before each line of a tree whose lines are this deep, parents first.
pub(crate) fn marks(depths: &[usize]) -> Vec<String> {
    let mark = |(at, depth): (usize, &usize)| {
        let levels = (1..=*depth).map(|level| level_mark(&depths[at + 1..], level, *depth));
        levels.collect()
    };
    depths.iter().enumerate().map(mark).collect()
}

/// Returns the mark of one level, by the lines that follow.
fn level_mark(following: &[usize], level: usize, depth: usize) -> &'static str {
    let next = following.iter().find(|depth| **depth <= level);
    match (next == Some(&level), level == depth) {
        (true, true) => "├─ ",
        (false, true) => "└─ ",
        (true, false) => "│  ",
        (false, false) => "   ",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_drawn_to_the_last_of_those_below() {
        assert_eq!(
            marks(&[0, 1, 2, 2, 1, 2, 0, 0, 1]),
            [
                "",
                "├─ ",
                "│  ├─ ",
                "│  └─ ",
                "└─ ",
                "   └─ ",
                "",
                "",
                "└─ "
            ]
        );
        assert_eq!(marks(&[]), Vec::<String>::new());
    }
}
