//! The result of a call as a text for the model. Pure.

use serde_json::Value;
use uwf_util::mask::Masks;
use uwf_util::size;

use crate::bounded::BoundedBuffer;
use crate::builtin::tools::MAX_SHOWN;

/// Returns the result of `tools/call` as a text. The error is what a failed call says.
pub(super) fn text(result: &Value, masks: &Masks) -> Result<String, String> {
    let blocks = result["content"].as_array();
    let structured = &result["structuredContent"];
    if blocks.is_none() && structured.is_null() {
        return Err("the answer of the server has no content".to_owned());
    }
    let blocks = blocks.map(Vec::as_slice).unwrap_or_default();
    let mut texts: Vec<String> = blocks.iter().map(block).collect();
    if !structured.is_null() && !is_repeated(structured, &texts) {
        texts.push(structured.to_string());
    }
    let text = bounded(&texts.join("\n"), masks);
    match result["isError"] == Value::Bool(true) {
        true if text.trim().is_empty() => Err("the tool failed, and does not say why".to_owned()),
        true => Err(text),
        false if text.trim().is_empty() => Ok("[no output]".to_owned()),
        false => Ok(text),
    }
}

/// Returns one part of a result as a text.
fn block(block: &Value) -> String {
    let resource = &block["resource"];
    match block["type"].as_str().unwrap_or_default() {
        "text" => block["text"].as_str().unwrap_or_default().to_owned(),
        kind @ ("image" | "audio") => not_shown(kind, &block["mimeType"], &block["data"]),
        "resource" if let Some(text) = resource["text"].as_str() => {
            format!("[{}]\n{text}", said(&resource["uri"]))
        }
        "resource" => not_shown(
            &format!("resource {}", said(&resource["uri"])),
            &resource["mimeType"],
            &resource["blob"],
        ),
        "resource_link" => format!(
            "[a link to {}: {}]",
            said(&block["name"]),
            said(&block["uri"])
        ),
        kind => format!("[something of the kind `{kind}` is not shown]"),
    }
}

/// Says that there is something which is not shown. Its bytes are in base64.
fn not_shown(what: &str, mime: &Value, data: &Value) -> String {
    let bytes = data.as_str().unwrap_or_default().len() / 4 * 3;
    let size = size::format(bytes as u64);
    format!("[{what} ({}, {size}) is not shown]", said(mime))
}

fn said(value: &Value) -> &str {
    value.as_str().unwrap_or("unknown")
}

/// Tells whether texts say the same as the structured content, as servers let them for clients that do not know it: as JSON, or
/// field by field.
fn is_repeated(structured: &Value, texts: &[String]) -> bool {
    let is_text = |value: &Value| {
        let value = value.as_str();
        value.is_some_and(|value| texts.iter().any(|text| text == value))
    };
    let is_same =
        |text: &String| serde_json::from_str::<Value>(text).is_ok_and(|value| value == *structured);
    let by_field = structured
        .as_object()
        .is_some_and(|fields| fields.values().all(is_text));
    by_field || texts.iter().any(is_same)
}

/// Returns as much of what a server says as a tool may answer, without secrets: they go before anything is cut.
pub(super) fn bounded(text: &str, masks: &Masks) -> String {
    let mut buffer = BoundedBuffer::new(MAX_SHOWN / 2);
    buffer.push(masks.text(text).as_bytes());
    buffer.text_with_gap()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text(result: &Value) -> Result<String, String> {
        super::text(result, &Masks::default())
    }

    fn content(blocks: &Value) -> Result<String, String> {
        text(&json!({ "content": blocks }))
    }

    #[test]
    fn texts_are_joined_and_what_cannot_be_shown_is_named() {
        let shown = content(&json!([
            { "type": "text", "text": "one" },
            { "type": "image", "mimeType": "image/png", "data": "AAAA".repeat(1024) },
            { "type": "audio", "data": "" },
            { "type": "resource", "resource": { "uri": "file:///a", "text": "of a" } },
            { "type": "resource", "resource": { "uri": "file:///b", "mimeType": "x/y", "blob": "AAAA" } },
            { "type": "resource_link", "name": "c", "uri": "file:///c" },
            { "type": "dance" },
            "text",
        ]));
        assert_eq!(
            shown.unwrap(),
            "one\n[image (image/png, 3.0 KiB) is not shown]\n[audio (unknown, 0 B) is not shown]\n[file:///a]\nof a\n\
             [resource file:///b (x/y, 3 B) is not shown]\n[a link to c: file:///c]\n\
             [something of the kind `dance` is not shown]\n[something of the kind `` is not shown]"
        );
        assert_eq!(content(&json!([])).unwrap(), "[no output]");
    }

    #[test]
    fn structured_content_is_shown_once() {
        let shown = |blocks: Value| {
            text(&json!({ "content": blocks, "structuredContent": { "a": 1 } })).unwrap()
        };
        let same = json!([{ "type": "text", "text": "{ \"a\": 1 }" }]);
        assert_eq!(shown(same), "{ \"a\": 1 }");
        let other = json!([{ "type": "text", "text": "a is 1" }]);
        assert_eq!(shown(other), "a is 1\n{\"a\":1}");
        let field = json!({ "content": [{ "type": "text", "text": "x" }], "structuredContent": { "text": "x" } });
        assert_eq!(text(&field).unwrap(), "x");
        let alone = json!({ "structuredContent": { "a": 1 } });
        assert_eq!(text(&alone).unwrap(), "{\"a\":1}");
    }

    #[test]
    fn a_failed_call_and_an_answer_without_content_are_errors() {
        let failed =
            json!({ "isError": true, "content": [{ "type": "text", "text": "no such file" }] });
        assert_eq!(text(&failed).unwrap_err(), "no such file");
        let silent = json!({ "isError": true, "content": [] });
        assert!(text(&silent).unwrap_err().contains("does not say why"));
        for nothing in [json!(null), json!(7), json!({ "content": "text" })] {
            assert!(text(&nothing).unwrap_err().contains("no content"));
        }
    }

    #[test]
    fn a_long_result_loses_its_middle() {
        let long = content(&json!([{ "type": "text", "text": "x".repeat(1 << 20) + "END" }]));
        let long = long.unwrap();
        assert!(long.len() < MAX_SHOWN + 100 && long.ends_with("END"));
        assert!(long.contains("bytes left out"));
    }

    #[test]
    fn no_part_of_a_secret_is_left_where_a_long_text_is_cut() {
        let secret = "ghp_a_secret_of_some_length";
        let long = format!(
            "{}{secret}{}",
            "a".repeat(MAX_SHOWN / 2 - 10),
            "b".repeat(MAX_SHOWN)
        );
        let result = json!({ "content": [{ "type": "text", "text": long }] });
        let shown = super::text(&result, &Masks::of([secret.as_bytes()])).unwrap();
        assert!(
            shown.contains("left out") && !shown.contains("ghp_"),
            "{shown}"
        );
    }
}
