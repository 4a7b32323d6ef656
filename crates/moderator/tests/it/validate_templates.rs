//! What is found to be wrong with the templates of a workflow before it is used.

use serde_json::json;
use uwf_moderator::validate;
use uwf_protocol::workflow::Severity;

use crate::common::workflow;
use crate::validate::{check, check_graph, edge, end, object, variant};

#[test]
fn variables_are_in_the_answer_that_takes_the_edge() {
    let schema = json!({ "oneOf": [variant("done", "summary"), variant("failed", "reason")] });
    check(
        schema,
        json!({ "done": edge("{{sumary}} {{ $status }}"), "failed": edge("a\n {{ summary }}") }),
        &[
            "graph.a.done.prompt: `{{sumary}}` at 1:3 of the template is not in the answer of `a`; did you \
             mean `summary`?",
            "graph.a.failed.prompt: `{{summary}}` at 2:5 of the template is not in the answer of `a`",
        ],
    );
    let one = object(json!({ "plan": { "type": "string" } }), json!(["plan"]));
    let location = json!({ "_": { "role": "b", "prompt": "{{&plan}}", "location": "/{{dir}}" } });
    let found = "graph.a._.location: `{{dir}}` at 1:4 of the template is not in the answer of `a`";
    check(one.clone(), location, &[found]);
    let several = object(
        json!({ "$status": { "enum": ["x", "y"] }, "plan": {} }),
        json!(["$status"]),
    );
    check(
        several,
        json!({ "x": edge("{{plan}}"), "y": edge("{{plann}}") }),
        &[
            "graph.a.y.prompt: `{{plann}}` at 1:3 of the template is not in the answer of `a`; did you mean `plan`?",
        ],
    );
    check(
        one.clone(),
        json!({ "_": { "role": "$END", "prompt": "{{nope}}" } }),
        &["graph.a._.prompt: `{{nope}}` at 1:3 of the template is not in the answer of `a`"],
    );
    // Nothing is known about what such a schema allows.
    check(
        json!({ "type": "object" }),
        json!({ "_": edge("{{anything.at.all}}") }),
        &[],
    );
    let open = json!({ "properties": {}, "additionalProperties": { "type": "string" } });
    check(open, json!({ "_": edge("{{anything}}") }), &[]);
}

#[test]
fn variables_that_may_be_missing_are_guarded() {
    let optional = || {
        object(
            json!({ "plan": { "type": "string" }, "x": {} }),
            json!(["x"]),
        )
    };
    check(
        optional(),
        json!({ "_": edge("{{x}} {{#plan}}{{plan}}{{/plan}}") }),
        &[],
    );
    let missing = "graph.a._.prompt: `{{plan}}` at 1:3 of the template may be missing from the answer of `a`: \
                   put it in `required`, or write `{{#plan}}…{{/plan}}` around it";
    check(optional(), json!({ "_": edge("{{plan}}") }), &[missing]);
    let in_list = missing.replace("graph.a._", "graph.a.0");
    check(optional(), json!([edge("{{plan}}")]), &[&in_list]);
    let end = || json!({ "role": "$END", "prompt": "{{plan}}" });
    check(optional(), json!([end()]), &[&in_list]);
    check(optional(), json!({ "_": end() }), &[missing]);
    let silent = json!({ "type": "object", "properties": { "plan": { "type": "string" } } });
    check(silent, json!({ "_": edge("{{plan}}") }), &[]);
}

#[test]
fn a_variant_answers_what_it_and_the_whole_schema_allow() {
    let schema = json!({
        "properties": { "$status": { "enum": ["done", "failed", "skipped"] } },
        "required": ["$status"],
        "oneOf": [variant("done", "summary"), variant("failed", "reason")],
    });
    check(
        schema,
        json!({ "done": edge("{{summary}}"), "failed": edge("{{summary}}"), "skipped": edge("x") }),
        &[
            "graph.a.skipped: `a` never answers `skipped`: its schema does not allow it",
            "graph.a.failed.prompt: `{{summary}}` at 1:3 of the template is not in the answer of `a`",
        ],
    );
}

#[test]
fn dotted_names_and_sections_walk_through_the_schema() {
    let schema = object(
        json!({
            "pr": object(json!({ "title": {}, "url": {} }), json!(["title"])),
            "files": { "type": "array", "items": object(json!({ "path": {}, "note": {} }), json!(["path"])) },
            "maybe": { "anyOf": [object(json!({ "deep": {} }), json!(["deep"])), { "type": "null" }] },
            "ok": { "type": "boolean" },
            "text": { "type": "string" },
        }),
        json!(["pr", "files", "maybe", "ok", "text"]),
    );
    let check = |prompt: &str, expected: &[&str]| {
        let expected: Vec<String> = expected
            .iter()
            .map(|m| format!("graph.a._.prompt: {m}"))
            .collect();
        let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        check(schema.clone(), json!({ "_": edge(prompt) }), &expected);
    };
    check("{{pr.title}} {{#pr}}{{title}}{{text}}{{/pr}}", &[]);
    check(
        "{{#files}}{{path}} {{pr.title}} {{text}}{{#note}}{{note}}{{.}}{{/note}}{{/files}}",
        &[],
    );
    check("{{#ok}}{{text}}{{.}}{{/ok}}{{^ok}}{{text}}{{/ok}}", &[]);
    check("{{#maybe}}{{deep}}{{maybe.deep}}{{/maybe}}", &[]);
    check(
        "{{#files}}{{.}}{{/files}}{{^files}}none{{/files}}{{files.0.path}}",
        &[
            "`{{files.0.path}}` at 1:52 of the template may be missing from the answer of `a`: put it in \
         `required`, or write `{{#files.0.path}}…{{/files.0.path}}` around it",
        ],
    );
    check(
        "{{pr.titel}}",
        &["`{{pr.titel}}` at 1:3 of the template is not in the answer of `a`"],
    );
    check(
        "{{#files}}{{pth}}{{/files}}",
        &["`{{pth}}` at 1:13 of the template is not in the answer of `a`; did you mean `path`?"],
    );
    check(
        "{{#file}}{{path}}{{/file}}",
        &["`{{file}}` at 1:4 of the template is not in the answer of `a`; did you mean `files`?"],
    );
    check(
        "{{maybe.deep}}",
        &[
            "`{{maybe.deep}}` at 1:3 of the template may be missing from the answer of `a`: put it in `required`, \
         or write `{{#maybe.deep}}…{{/maybe.deep}}` around it",
        ],
    );
    check(
        "{{text.length}}",
        &["`{{text.length}}` at 1:3 of the template is not in the answer of `a`"],
    );
}

#[test]
fn the_start_has_no_variables() {
    let graph = json!({
        "$START": { "_": { "role": "a", "prompt": "{{ task }}{{$status}}", "location": "{{#x}}{{/x}}" } },
        "a": { "_": end() },
    });
    let start = "of the template has no value: no role has answered before `$START`";
    check_graph(
        &["a"],
        graph,
        &[
            &format!("graph.$START._.prompt: `{{{{task}}}}` at 1:4 {start}"),
            &format!("graph.$START._.location: `{{{{x}}}}` at 1:4 {start}"),
        ],
    );
}

#[test]
fn templates_are_plain_mustache() {
    let schema = object(json!({ "x": {} }), json!(["x"]));
    let check = |prompt: &str, expected: &str| {
        let expected = format!("graph.a._.prompt: {expected}");
        check(schema.clone(), json!({ "_": edge(prompt) }), &[&expected]);
    };
    check(
        "{{#x}}",
        "the template has a section `x` that is not closed (at 1:4 of the template)",
    );
    check(
        "{{ x | upcase }}",
        "the template has a Liquid filter `x | upcase`, while templates are plain mustache (at 1:4 of the template)",
    );
    check(
        "{%- if x %}y",
        "the Liquid tag `{% if %}` is not understood: templates are plain mustache",
    );
    check(
        "{{> other}}",
        "`{{other}}` at 1:5 of the template is a partial; templates have none, use `!include`",
    );
}

#[test]
fn a_template_gets_at_most_so_many_messages() {
    let schema = object(json!({ "x": {} }), json!(["x"]));
    let graph = json!({
        "$START": { "_": { "role": "a", "prompt": "go" } },
        "a": { "_": { "role": "a", "prompt": "{{y}}".repeat(100_000) } , "$SUSPEND": end() },
    });
    let flow = workflow(&json!({ "a": schema }), &json!({}), &graph);
    assert_eq!(validate(&flow).len(), 20);
}

#[test]
fn in_a_list_a_variable_that_may_be_missing_is_a_warning_unless_the_condition_names_it() {
    let plan = object(json!({ "plan": {}, "other": {}, "x": {} }), json!(["x"]));
    let warned = |schema: &serde_json::Value, expression: &str, edges: serde_json::Value| {
        let graph = json!({
            "$START": { "_": { "role": "a", "prompt": "go" } },
            "a": edges,
            "b": { "_": { "role": "$END" } },
        });
        let roles = json!({ "a": schema, "b": { "type": "object" } });
        let found = validate(&workflow(&roles, &json!({ "c": expression }), &graph));
        assert!(
            found.iter().all(|one| one.severity == Severity::Warning),
            "{found:?}"
        );
        let paths = found.into_iter().map(|one| one.path.join("."));
        paths.collect::<Vec<_>>()
    };
    let on = |prompt: &str| json!([{ "role": "b", "condition": "c", "prompt": prompt }, edge("")]);
    let first = ["graph.a.0.prompt"];
    assert_eq!(
        warned(&plan, "steps[-1].output.x = 1", on("{{plan}}")),
        first
    );
    let none: [&str; 0] = [];
    for expression in ["$exists($last('a').plan)", "steps[-1].output.plan != 'x'"] {
        assert_eq!(warned(&plan, expression, on("{{plan}}")), none);
        assert_eq!(warned(&plan, expression, on("{{other}}")), first);
    }
    assert_eq!(
        warned(&plan, "true", on("{{#plan}}{{plan}}{{/plan}}")),
        none
    );
    // The condition may choose the variant, and the edge behind it may not.
    let either = json!({ "oneOf": [variant("done", "summary"), variant("failed", "reason")] });
    let both = json!([
        { "role": "b", "condition": "c", "prompt": "{{summary}}" },
        { "role": "b", "location": "/{{reason}}", "prompt": "x" },
    ]);
    let found = warned(&either, "$last('a').$status = 'done'", both);
    assert_eq!(found, ["graph.a.1.location"]);
}
