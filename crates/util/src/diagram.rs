//! Texts in the languages of diagrams, of which no character is taken for more than text.

use std::fmt::Write;

/// Returns a text in quotes for Mermaid. All that Mermaid or the page around it could take for more than text is an entity.
#[must_use]
pub fn mermaid_text(text: &str) -> String {
    let mut safe = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '#' | '&' | '<' | '>' | '`' | '\\' | '|' | ';' | '%' => {
                write!(safe, "#{};", u32::from(c)).expect("a string takes all that is written");
            }
            c => safe.push(c),
        }
    }
    safe + "\""
}

/// Returns a text in quotes for Graphviz.
#[must_use]
pub fn dot_text(text: &str) -> String {
    format!("\"{}\"", dot_escaped(text))
}

/// Returns a text for the inside of quotes in Graphviz. A backslash would begin an escape, and `&` an entity.
#[must_use]
pub fn dot_escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('&', "&amp;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_leaves_its_quotes_in_mermaid() {
        assert_eq!(mermaid_text("plan"), "\"plan\"");
        assert_eq!(mermaid_text("a\"]; b"), "\"a#34;]#59; b\"");
        assert_eq!(
            mermaid_text("`#quot;<br>`"),
            "\"#96;#35;quot#59;#60;br#62;#96;\""
        );
    }

    #[test]
    fn no_text_leaves_its_quotes_in_graphviz() {
        assert_eq!(dot_text("plan"), "\"plan\"");
        assert_eq!(dot_text("a\\"), "\"a\\\\\"");
        assert_eq!(dot_text("a\" -> b; \\N"), "\"a\\\" -> b; \\\\N\"");
        assert_eq!(dot_text("&lt;日本"), "\"&amp;lt;日本\"");
    }
}
