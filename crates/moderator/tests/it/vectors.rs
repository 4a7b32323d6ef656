//! The recorded behaviour of the reference program, and every place where this one differs on purpose.

use serde_json::Value;
use uwf_moderator::Route;

use crate::common::{self, route};

const VECTORS: &str = include_str!("../../../../tests/fixtures/evaluate.jsonl");

/// Template → what happens here instead, and why.
const DIFFERENCES: [(&str, Here, &str); 12] = [
    (
        "[{{missing}}]",
        Here::Fails("`missing`"),
        "a missing value is an error, not a gap",
    ),
    (
        "{{arr}}",
        Here::Prints(r#"["a","b"]"#),
        "lists print as JSON",
    ),
    (
        "{{arrn}}",
        Here::Prints(r#"[1,[2,3],{"x":1}]"#),
        "lists print as JSON",
    ),
    (
        "{{obj.missing.z}}|",
        Here::Fails("`obj.missing.z`"),
        "a missing value is an error",
    ),
    (
        "{{a.b}}",
        Here::Fails("`a.b`"),
        "the message names the variable, not the empty result",
    ),
    (
        "{{> partial}}x",
        Here::Prints("x"),
        "equal; `validate` refuses partials",
    ),
    (
        "{{}}x",
        Here::Fails("a tag without a name"),
        "a tag without a name means nothing",
    ),
    (
        "{{ }}x",
        Here::Fails("a tag without a name"),
        "a tag without a name means nothing",
    ),
    (
        "{{#}}x{{/}}",
        Here::Fails("a tag without a name"),
        "a tag without a name means nothing",
    ),
    (
        "{{{{s}}}}",
        Here::Fails("`{s`"),
        "a missing value is an error",
    ),
    (
        "{{missing}}",
        Here::Fails("`missing`"),
        "the message names the variable",
    ),
    (
        "{{toString}}|",
        Here::Fails("`toString`"),
        "what JavaScript objects inherit is not in an answer",
    ),
];

/// Differences that depend on more than the template.
const ITEMS_PRINT_AS_JSON: (&str, &str) = ("{{#arrn}}<{{.}}>{{/arrn}}", r#"<1><[2,3]><{"x":1}>"#);

enum Here {
    Prints(&'static str),
    Fails(&'static str),
}

/// Returns the prompt that an edge with this template gives, or the message.
fn prompt_of(template: &str, view: &Value) -> Result<String, String> {
    let edge = serde_json::json!({ "role": "next", "prompt": template });
    let graph = serde_json::json!({ "last": { "ok": edge }, "next": {} });
    let workflow = common::status_maps(&graph);
    let steps = [common::step("last", view.clone())];
    match route(&workflow, &common::start(), &steps) {
        Ok(Route::To(next)) => Ok(next.prompt),
        Ok(other) => panic!("{other:?}"),
        Err(error) => Err(error.to_string()),
    }
}

fn vectors(kind: &str) -> impl Iterator<Item = Value> {
    let all = VECTORS
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    all.filter(move |vector| vector["kind"] == kind)
}

#[test]
fn templates_render_as_in_the_reference_or_differ_as_listed() {
    let mut differing = 0;
    for vector in vectors("prompt") {
        let template = vector["template"].as_str().unwrap();
        let here = prompt_of(template, &vector["view"]);
        let listed = DIFFERENCES.iter().find(|(listed, ..)| *listed == template);
        match (listed, vector["result"]["prompt"].as_str()) {
            (Some((_, Here::Prints(text), _)), _) => assert_eq!(here.as_deref(), Ok(*text)),
            (Some((_, Here::Fails(part), _)), _) => {
                let message = here.unwrap_err();
                assert!(message.contains(part), "{template}: {message}");
            }
            (None, _) if template == ITEMS_PRINT_AS_JSON.0 => {
                assert_eq!(here.as_deref(), Ok(ITEMS_PRINT_AS_JSON.1));
            }
            (None, Some(text)) => assert_eq!(here.as_deref(), Ok(text), "{template}"),
            (None, None) => assert!(here.unwrap_err().contains("comes out empty"), "{template}"),
        }
        differing += usize::from(listed.is_some());
    }
    assert_eq!(
        differing,
        DIFFERENCES.len(),
        "every listed difference is tried"
    );
}

#[test]
fn routes_are_those_of_the_reference() {
    for vector in vectors("route") {
        let workflow = common::status_maps(&vector["graph"]);
        let last = vector["lastRole"].as_str().unwrap();
        let steps = [common::step(last, vector["lastOutput"].clone())];
        let here = route(&workflow, &common::start(), &steps);
        let result = &vector["result"];
        if result["action"] == "suspend" {
            let message = result["prompt"].as_str().unwrap().to_owned();
            let role = common::role(result["suspendedRole"].as_str().unwrap());
            assert_eq!(here, Ok(Route::Suspend { role, message }));
        } else if result["role"] == "$END" {
            assert!(matches!(here, Ok(Route::End { .. })), "{here:?}");
        } else {
            assert!(result["error"].is_string(), "{result}");
            assert!(here.unwrap_err().to_string().contains("has no edge"));
        }
    }
}
