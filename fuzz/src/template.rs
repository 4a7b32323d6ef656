//! Templates: any text is one, or is refused with a place; filling it in ends with a text or with a reason.

use serde_json::{Value, json};
use uwf_moderator::template;

/// Takes the first line as the view, if it is JSON, and the rest as the template.
///
/// # Panics
/// When something does not hold.
pub fn check(data: &[u8]) {
    let text = crate::text(data);
    let (first, rest) = text.split_once('\n').unwrap_or(("", &text));
    let (view, source) = match serde_json::from_str::<Value>(first) {
        Ok(view) => (view, rest),
        Err(_) => (json!({ "a": "x", "b": [1, 2], "c": { "d": null } }), &*text),
    };
    let rendered = template::render(source, &view);
    if !source.contains('{') {
        assert_eq!(rendered.as_deref().ok(), Some(source), "a text is itself");
    }
    if let Err(failure) = rendered {
        let _ = failure.to_string();
    }
}
