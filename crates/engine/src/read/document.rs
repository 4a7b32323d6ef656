//! The pieces of Markdown documents, their lengths, and how many of them fit into a quota. Pure.

/// The separator between the parts of a document.
pub(crate) const RULE: &str = "\n\n---\n\n";

/// Returns the length as a quota counts it: in characters, not bytes.
pub(crate) fn length(text: &str) -> usize {
    text.chars().count()
}

/// Returns how many of the newest pieces fit into the room, and at least one if there is any.
///
/// `cost(n)` is the length of the `n`-th newest piece, counted from 0. It is called once per piece, newest first, and only
/// while there is room. `notice(n)` is the length of the notice that `n` older pieces are hidden.
pub(crate) fn newest_that_fit(
    count: usize,
    room: usize,
    notice: impl Fn(usize) -> usize,
    mut cost: impl FnMut(usize) -> usize,
) -> usize {
    let mut used = 0;
    let mut fitting = count.min(1);
    for nth in 0..count {
        used += cost(nth);
        if used > room {
            break;
        }
        // We go on even if this piece does not fit: the oldest piece needs no notice, so all may fit.
        let hidden = count - nth - 1;
        if hidden == 0 || used + notice(hidden) <= room {
            fitting = nth + 1;
        }
    }
    fitting
}

/// Puts a text between tags that it cannot close.
///
/// If the text contains the closing tag, the tag gets a number that the text does not contain: `<output-1>`. So the text
/// stays unchanged, and no part of it can leave the tags.
pub(crate) fn tagged(tag: &str, text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let is_free = |name: &String| !lower.contains(&format!("</{name}"));
    let name = std::iter::once(tag.to_owned())
        .chain((1..).map(|number: u64| format!("{tag}-{number}")))
        .find(is_free)
        .expect("a finite text closes finitely many tags");
    format!("<{name}>\n{text}\n</{name}>")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(costs: &[usize], room: usize) -> usize {
        newest_that_fit(costs.len(), room, |_| 10, |nth| costs[nth])
    }

    #[test]
    fn as_many_pieces_are_shown_as_fit_with_the_notice_about_the_rest() {
        assert_eq!(fit(&[20, 20, 20], 60), 3);
        assert_eq!(fit(&[20, 20, 20], 59), 2);
        assert_eq!(fit(&[20, 20, 20], 50), 2);
        assert_eq!(fit(&[20, 20, 20], 49), 1);
    }

    #[test]
    fn the_last_piece_may_take_the_room_of_the_notice() {
        assert_eq!(fit(&[20, 8], 28), 2);
        assert_eq!(fit(&[20, 4, 4], 28), 3);
    }

    #[test]
    fn one_piece_is_shown_whatever_it_costs() {
        assert_eq!(fit(&[20, 1], 3), 1);
        assert_eq!(fit(&[], 3), 0);
    }

    #[test]
    fn no_piece_is_asked_for_after_the_room_is_full() {
        let mut asked = 0;
        let cost = |_| {
            asked += 1;
            20
        };
        newest_that_fit(1000, 50, |_| 10, cost);
        assert_eq!(asked, 3);
    }

    #[test]
    fn a_text_cannot_close_the_tag_around_it() {
        assert_eq!(
            tagged("output", "a </b> c"),
            "<output>\na </b> c\n</output>"
        );
        assert_eq!(
            tagged("output", "</OUTPUT>"),
            "<output-1>\n</OUTPUT>\n</output-1>"
        );
        let nested = tagged("output", "</output> </output-1 >");
        assert!(nested.starts_with("<output-2>\n") && nested.ends_with("\n</output-2>"));
    }

    #[test]
    fn the_length_counts_characters() {
        assert_eq!(length("äö𝄞"), 3);
    }
}
