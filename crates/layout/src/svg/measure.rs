//! How wide a text is. The reader's font is unknown, so these are the widths of a wide one: a box is never too small.

/// Returns the width of a text in a font of this size.
pub(super) fn text_width(text: &str, size: f64) -> f64 {
    text.chars().map(width).sum::<f64>() * size
}

/// Returns the width of a character in a font of size 1.
fn width(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | 'I' | '|' | '.' | ',' | ':' | ';' | '\'' | '!' | ' ' => 0.36,
        'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '/' | '\\' | '-' | '"' | '`' => 0.43,
        'm' | 'M' | 'w' | 'W' | '@' | '%' | '…' => 1.0,
        'A'..='Z' | '&' | '=' | '+' | '<' | '>' | '~' | '#' | '^' | '×' => 0.82,
        '\u{300}'..='\u{36f}' | '\u{200b}'..='\u{200f}' | '\u{fe00}'..='\u{fe0f}' => 0.0,
        ' '..='\u{24f}' => 0.65,
        '\u{250}'..='\u{10ff}' => 0.85,
        '\u{1f000}'.. => 1.4,
        _ => 1.05,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wide_text_is_wider_than_a_narrow_one() {
        assert!(text_width("WWW", 10.0) > text_width("www", 10.0) - 0.1);
        assert!(text_width("aaa", 10.0) > text_width("iii", 10.0));
        assert!(text_width("日本", 10.0) > text_width("ab", 10.0));
        assert!((text_width("a", 20.0) - 2.0 * text_width("a", 10.0)).abs() < 0.001);
    }

    #[test]
    fn what_joins_the_character_before_it_has_no_width() {
        assert!((text_width("e\u{301}", 10.0) - text_width("e", 10.0)).abs() < 0.001);
    }
}
