//! Why the crate `mustache` does not render our templates: what its last version, 0.9.0, does wrong for us, and what is
//! done here. `docs/dependencies.md` says what the crate does with each.

use serde_json::{Value, json};
use uwf_moderator::template::render;

#[track_caller]
fn renders(source: &str, view: &Value, expected: &str) {
    assert_eq!(render(source, view).as_deref(), Ok(expected), "{source}");
}

#[track_caller]
fn refused(source: &str, view: &Value, why: &str) {
    let error = render(source, view).expect_err(source);
    assert_eq!(error.to_string(), why, "{source}");
}

/// The crate panics on each of them.
#[test]
fn values_other_than_texts_are_printed() {
    renders("{{a}}", &json!({ "a": [1, 2] }), "[1,2]");
    renders("{{{a}}}", &json!({ "a": [1] }), "[1]");
    renders("{{a}}", &json!({ "a": { "b": 1 } }), r#"{"b":1}"#);
    renders("{{a}}", &json!({ "a": true }), "true");
    renders("{{.}}", &json!({ "a": 0 }), r#"{"a":0}"#);
    let list = json!({ "a": [[1], { "b": 2 }] });
    renders("{{#a}}{{.}}{{/a}}", &list, r#"[1]{"b":2}"#);
}

/// The crate writes `&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;`, and nothing turns that off.
#[test]
fn a_prompt_is_not_html() {
    let text = r#"<b> & "c" 'd'"#;
    renders("{{a}}", &json!({ "a": text }), text);
}

/// The crate prints nothing in their place.
#[test]
fn a_missing_variable_is_an_error_with_its_place() {
    let missing = "the answer has no `missing` (at 1:4 of the template)";
    refused("x{{missing}}y", &json!({ "a": 1 }), missing);
    let inner = "the answer has no `a.b` (at 1:3 of the template)";
    refused("{{a.b}}", &json!({ "a": "text" }), inner);
}

/// The crate says `UnclosedSection("a")`, without a place.
#[test]
fn a_malformed_template_is_an_error_with_its_place() {
    let view = json!({ "a": 0 });
    let unclosed = "a section `a` that is not closed (at 2:4 of the template)";
    refused("x\n{{#a}}y", &view, unclosed);
    let other = "an end of the section `b` while `a` is open (at 1:11 of the template)";
    refused("{{#a}}x{{/b}}", &view, other);
}
