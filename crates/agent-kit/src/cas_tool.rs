//! `cas_get`: the tool by which a model reads nodes of the store.

use serde_json::{Value, json};
use uwf_cas_fs::Store;
use uwf_protocol::ids::CasRef;
use uwf_util::mask::Masks;
use uwf_util::size;

use crate::llm::{ToolRequest, ToolSpec};
use crate::tool_loop::Toolbox;

/// How much of a node a model is shown, in bytes.
const LIMIT: usize = 64 * 1024;

/// The name of the tool.
pub const CAS_GET: &str = "cas_get";

/// Shows nodes of a store. It changes nothing.
pub struct CasTool<'a> {
    store: &'a Store,
    masks: &'a Masks,
}

impl<'a> CasTool<'a> {
    /// Returns the tool for a store. What it shows is without these secrets.
    #[must_use]
    pub fn new(store: &'a Store, masks: &'a Masks) -> Self {
        Self { store, masks }
    }

    fn get(&self, arguments: &str) -> Result<String, String> {
        let arguments: Value = serde_json::from_str(arguments)
            .map_err(|error| format!("the arguments are not JSON: {error}"))?;
        let hash = arguments
            .get("hash")
            .and_then(Value::as_str)
            .ok_or("`hash` is missing or not a text")?;
        let hash: CasRef = hash.trim().parse().map_err(|error| format!("{error}"))?;
        let node = self.store.find(hash).map_err(|error| error.to_string())?;
        let node = node.ok_or_else(|| format!("node {hash} is not in the store"))?;
        let text = match node.payload {
            Value::String(text) => text,
            payload => payload.to_string(),
        };
        // Secrets go before anything is cut.
        Ok(shorten(self.masks.text(&text)))
    }
}

impl Toolbox for CasTool<'_> {
    fn specs(&self) -> Vec<ToolSpec> {
        vec![ToolSpec {
            name: CAS_GET.to_owned(),
            description: "Returns the content of the node with this hash.".to_owned(),
            parameters: json!({
                "type": "object",
                "properties": { "hash": { "type": "string", "description": "The hash, 13 characters" } },
                "required": ["hash"],
                "additionalProperties": false,
            }),
        }]
    }

    fn call(&mut self, request: &ToolRequest) -> String {
        match self.get(&request.arguments) {
            Ok(text) => text,
            Err(problem) => format!("error: {problem}"),
        }
    }
}

fn shorten(mut text: String) -> String {
    if text.len() <= LIMIT {
        return text;
    }
    let whole = size::format(text.len() as u64);
    let end = text.floor_char_boundary(LIMIT);
    text.truncate(end);
    format!("{text}\n[cut: the node has {whole}]")
}

#[cfg(test)]
mod tests {
    use super::*;
    use uwf_protocol::schemas;

    fn call(tool: &mut CasTool<'_>, arguments: &str) -> String {
        tool.call(&ToolRequest {
            id: "c".to_owned(),
            name: CAS_GET.to_owned(),
            arguments: arguments.to_owned(),
        })
    }

    #[test]
    fn a_node_is_shown_and_what_cannot_be_is_an_error_for_the_model() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path());
        store.create(0).unwrap();
        let hash = store.put(schemas::TEXT, &"hello".into(), 0).unwrap();
        let masks = Masks::default();
        let mut tool = CasTool::new(&store, &masks);
        let of = |hash: &str| json!({ "hash": hash }).to_string();
        assert_eq!(call(&mut tool, &of(&hash.to_string())), "hello");
        for arguments in [
            "{",
            "{}",
            r#"{"hash":5}"#,
            &of("nonsense"),
            &of("0000000000000"),
        ] {
            let answer = call(&mut tool, arguments);
            assert!(answer.starts_with("error: "), "{arguments}: {answer}");
        }
    }

    #[test]
    fn no_part_of_a_secret_is_left_where_a_node_is_cut() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path());
        store.create(0).unwrap();
        let secret = "ghp_a_secret_of_some_length";
        let long = format!("{}{secret}{}", "a".repeat(LIMIT - 10), "b".repeat(LIMIT));
        let hash = store.put(schemas::TEXT, &long.into(), 0).unwrap();
        let masks = Masks::of([secret.as_bytes()]);
        let mut tool = CasTool::new(&store, &masks);
        let shown = call(&mut tool, &json!({ "hash": hash.to_string() }).to_string());
        assert!(shown.contains("a***b") && shown.contains("[cut") && !shown.contains("ghp_"));
    }

    #[test]
    fn a_large_node_is_cut() {
        let text = shorten("ä".repeat(LIMIT));
        assert!(text.len() < LIMIT + 100);
        assert!(text.contains("[cut"));
    }
}
