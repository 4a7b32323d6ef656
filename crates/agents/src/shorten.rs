//! Shortens texts of turns, with a mark where text is left out.

use uwf_util::size;

/// The longest text of a turn, in bytes.
pub(crate) const TURN_TEXT: usize = 64 * 1024;

/// Returns the beginning and the end of a text, about `limit` bytes in all, with a mark between them that says how much
/// is left out.
pub(crate) fn shorten(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(limit / 4 * 3);
    let tail = text.ceil_char_boundary(text.len() - limit / 4);
    let missing = size::format((tail - head) as u64);
    format!(
        "{}\n[… {missing} left out …]\n{}",
        &text[..head],
        &text[tail..]
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_a_long_text_is_left_out() {
        assert_eq!(shorten("short", 5), "short");
        let long = "ä".repeat(4096);
        let short = shorten(&long, 1024);
        assert!(short.len() < 1100, "{}", short.len());
        assert!(short.starts_with("äää"));
        assert!(short.contains("[… 7.0 KiB left out …]"), "{short}");
        assert!(short.ends_with("äää"));
    }
}
