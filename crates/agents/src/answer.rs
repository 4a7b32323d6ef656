//! An answer as text: the data of its front matter, and the Markdown after it.

use serde_json::{Map, Value};

/// Returns the answer, from which the kit gets exactly this data.
pub(crate) fn render(data: &Map<String, Value>, body: &str) -> String {
    let yaml = serde_saphyr::to_string(data).expect("JSON can be written as YAML");
    format!("---\n{}\n---\n\n{body}", yaml.trim_end())
}
