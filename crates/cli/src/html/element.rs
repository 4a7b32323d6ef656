//! Pieces of HTML. A text becomes a piece only by being escaped, so what a model wrote cannot become markup.

use uwf_util::printable::printable;

/// A piece of a page that is safe to put between tags.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Html(String);

impl Html {
    /// Returns a text as a piece: escaped, and with the characters that would change the direction or the appearance of the
    /// text around them spelled out.
    pub(super) fn text(text: &str) -> Self {
        Self(escaped(text))
    }

    /// Returns markup of ours as a piece.
    pub(super) fn own(markup: &'static str) -> Self {
        Self(markup.to_owned())
    }

    /// Returns an element with these attributes around other pieces.
    pub(super) fn element(
        tag: &'static str,
        attributes: &[(&'static str, &str)],
        children: impl IntoIterator<Item = Self>,
    ) -> Self {
        let attributes = attributes
            .iter()
            .map(|(name, value)| format!(" {name}=\"{}\"", escaped(value)));
        let attributes: String = attributes.collect();
        Self(format!(
            "<{tag}{attributes}>{}</{tag}>",
            Self::join(children).0
        ))
    }

    /// Returns pieces one after the other.
    pub(super) fn join(pieces: impl IntoIterator<Item = Self>) -> Self {
        Self(pieces.into_iter().map(|piece| piece.0).collect())
    }

    /// Returns the markup.
    pub(super) fn into_markup(self) -> String {
        self.0
    }
}

/// Returns an element of a class with a text in it.
pub(super) fn labelled(tag: &'static str, class: &str, text: &str) -> Html {
    Html::element(tag, &[("class", class)], [Html::text(text)])
}

/// Returns a text of several lines as it is.
pub(super) fn preformatted(text: &str) -> Html {
    // A browser drops the first line end after the tag.
    let text = format!("\n{}", text.trim_end());
    Html::element("pre", &[("dir", "auto")], [Html::text(&text)])
}

fn escaped(text: &str) -> String {
    let lines = text.replace("\r\n", "\n");
    let mut escaped = String::with_capacity(lines.len());
    for c in printable(&lines).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_no_markup_in_an_element_or_an_attribute() {
        let hostile = "</style><script>\"'&\u{202e}\u{0}\r\nx";
        let element = Html::element("p", &[("title", hostile)], [Html::text(hostile)]);
        let safe = "&lt;/style&gt;&lt;script&gt;&quot;&#39;&amp;\\u{202e}\\u{0}\nx";
        assert_eq!(
            element.into_markup(),
            format!("<p title=\"{safe}\">{safe}</p>")
        );
    }

    #[test]
    fn a_preformatted_text_keeps_its_first_empty_line() {
        let text = preformatted("\na\n\n").into_markup();
        assert_eq!(text, "<pre dir=\"auto\">\n\na</pre>");
    }
}
