//! Texts and numbers as XML writes them.

/// Returns a text as the content of an element or an attribute. Characters that XML does not allow become `\u{fffd}`.
pub(super) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\n' | '\t' => safe.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

/// Returns a number with at most one digit after the point.
pub(super) fn number(number: f64) -> String {
    let text = format!("{number:.1}");
    let short = text.strip_suffix(".0").unwrap_or(&text);
    match short {
        "-0" => "0".to_owned(),
        short => short.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_leaves_its_element() {
        assert_eq!(
            escaped("</title><script>\"&'\u{1b}\u{0}\r\u{ffff}"),
            "&lt;/title&gt;&lt;script&gt;&quot;&amp;&#39;\u{fffd}\u{fffd}\u{fffd}\u{fffd}"
        );
        assert_eq!(escaped("a\n日本 🎉"), "a\n日本 🎉");
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(number(12.0), "12");
        assert_eq!(number(12.34), "12.3");
        assert_eq!(number(-0.01), "0");
    }
}
