//! Renders an answer as text: the data as front matter, and the Markdown after it.

use serde_json::{Map, Value};

/// Returns the text of an answer. The kit extracts exactly this data from it.
pub(crate) fn render(data: &Map<String, Value>, body: &str) -> String {
    let yaml = serde_saphyr::to_string(data).expect("JSON can be written as YAML");
    // Only one line end is removed: empty lines before it may belong to a text.
    let yaml = yaml.strip_suffix('\n').unwrap_or(&yaml);
    format!("---\n{yaml}\n---\n\n{body}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_empty_lines_at_the_end_of_the_last_text_stay() {
        for text in ["\n", "one\n\n", "one\n", "one"] {
            let data = json!({ "last": { "text": text } });
            let answer = render(data.as_object().unwrap(), "Body.");
            let front = answer.strip_prefix("---\n").unwrap();
            let (yaml, body) = front.split_once("---\n").unwrap();
            let read: Value = serde_saphyr::from_str(yaml).unwrap();
            assert_eq!((read, body), (data, "\nBody."), "{answer}");
        }
    }
}
