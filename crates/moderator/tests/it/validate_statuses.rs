//! What is found to be wrong with the edges of a role, given the statuses that its schema allows.

use serde_json::json;

use crate::validate::{check, edge, end, object, status, variant};

#[test]
fn every_edge_of_a_status_map_has_a_prompt() {
    let schema = status(json!({ "const": "x" }));
    let missing = "graph.a._.prompt: the edge to `b` has no prompt";
    check(schema.clone(), json!({ "_": edge(" \n") }), &[missing]);
    check(schema.clone(), json!({ "_": end() }), &[]);
    check(schema, json!([edge("")]), &[]);
}

#[test]
fn a_role_with_one_status_has_the_edge_of_that_name_or_underscore() {
    for one in [json!({ "const": "done" }), json!({ "enum": ["done"] })] {
        check(status(one.clone()), json!({ "done": end() }), &[]);
        check(status(one.clone()), json!({ "_": end() }), &[]);
        check(
            status(one.clone()),
            json!({ "_": end(), "done": end() }),
            &["graph.a._: `a` has one way out, so `_`, `done` are the same edge: keep one"],
        );
        check(
            status(one),
            json!({ "doen": end() }),
            &[
                "graph.a.doen: `a` never answers `doen`: its schema does not allow it; did you mean `done`?",
                "graph.a: `a` has no edge `_` or `done`",
            ],
        );
    }
    check(
        status(json!({ "enum": ["_", "done"] })),
        json!({ "_": end() }),
        &[],
    );
    check(
        status(json!({ "enum": ["_", "done"] })),
        json!({ "_": end(), "done": end() }),
        &[],
    );
    check(
        status(json!({ "enum": ["done", "$SUSPEND"] })),
        json!({ "done": end() }),
        &[],
    );
    check(
        status(json!({ "enum": ["done"] })),
        json!({ "done": end(), "$SUSPEND": end() }),
        &[],
    );
}

#[test]
fn a_role_without_status_has_the_edge_underscore() {
    let schema = object(json!({ "plan": {} }), json!(["plan"]));
    check(schema.clone(), json!({ "_": end() }), &[]);
    check(
        schema.clone(),
        json!({ "done": end() }),
        &[
            "graph.a.done: `a` never answers `done`: its schema has no `$status`, so only `_` is taken",
            "graph.a: `a` has no `$status`, and no edge `_`",
        ],
    );
    check(
        schema,
        json!({ "_": end(), "done": end() }),
        &[
            "graph.a.done: `a` never answers `done`: its schema has no `$status`, so only `_` is taken",
        ],
    );
    check(
        object(json!({ "status": { "type": "string" } }), json!([])),
        json!({ "_": end() }),
        &[],
    );
    check(json!({ "type": "object" }), json!({ "_": end() }), &[]);
}

#[test]
fn a_status_that_may_be_any_text_cannot_be_routed() {
    let any = |field: &str| {
        format!(
            "roles.a.frontmatter: the `{field}` of `a` may be any text: list its values with `const` or \
             `enum`, so that each has an edge"
        )
    };
    let text = json!({ "type": "string" });
    check(
        status(text.clone()),
        json!({ "_": end() }),
        &[&any("$status")],
    );
    check(
        status(text.clone()),
        json!({ "done": end() }),
        &[&any("$status")],
    );
    check(
        json!({ "type": "object" }),
        json!({ "done": end() }),
        &[&any("$status")],
    );
    let old = object(json!({ "status": text }), json!(["status"]));
    check(old, json!({ "done": end() }), &[&any("status")]);
}

#[test]
fn a_role_with_several_statuses_has_an_edge_for_each() {
    let several = || status(json!({ "enum": ["done", "failed"] }));
    check(several(), json!({ "done": end(), "failed": end() }), &[]);
    check(
        several(),
        json!({ "done": end(), "failed": end(), "$SUSPEND": end() }),
        &[],
    );
    check(
        several(),
        json!({ "done": end() }),
        &["graph.a: `a` has no edge for `failed`"],
    );
    check(
        several(),
        json!({ "done": end(), "faild": end() }),
        &[
            "graph.a.faild: `a` never answers `faild`: its schema does not allow it; did you mean `failed`?",
            "graph.a: `a` has no edge for `failed`",
        ],
    );
    let unit = "graph.a._: `_` is not a status of `a`, which answers `done`, `failed`: give each its own edge";
    check(several(), json!({ "_": end() }), &[unit]);
    check(
        several(),
        json!({ "_": end(), "done": end(), "failed": end() }),
        &[unit],
    );
    let old = object(
        json!({ "status": { "enum": ["done", "failed"] } }),
        json!(["status"]),
    );
    check(old.clone(), json!({ "done": end(), "failed": end() }), &[]);
    check(
        old,
        json!({ "done": end() }),
        &["graph.a: `a` has no edge for `failed`"],
    );
}

#[test]
fn a_status_that_may_be_missing_needs_an_edge_too() {
    let several = json!({ "enum": ["done", "failed"] });
    let optional = object(json!({ "$status": several, "x": {} }), json!(["x"]));
    let may_lack = "roles.a.frontmatter: `a` may answer without a `$status` that has an edge: put it in \
                    `required` and let it be one of the named values, or add an edge `_`";
    check(
        optional.clone(),
        json!({ "done": end(), "failed": end() }),
        &[may_lack],
    );
    check(
        optional,
        json!({ "done": end(), "failed": end(), "_": end() }),
        &[],
    );
    let nullable = status(json!({ "enum": ["done", "failed", null] }));
    check(
        nullable,
        json!({ "done": end(), "failed": end() }),
        &[may_lack],
    );
    // Without any `required` the schema was not written with the question in mind.
    let silent = json!({ "type": "object", "properties": { "$status": several } });
    check(silent, json!({ "done": end(), "failed": end() }), &[]);
}

#[test]
fn variants_are_told_apart_by_status() {
    let schema = json!({ "oneOf": [variant("done", "x"), variant("failed", "y")] });
    check(
        schema.clone(),
        json!({ "done": edge("{{x}}"), "failed": edge("{{y}}") }),
        &[],
    );
    check(
        schema,
        json!({ "done": end() }),
        &["graph.a: `a` has no edge for `failed`"],
    );
    let bare = json!({ "properties": { "x": {} }, "required": ["x"] });
    let untold = "roles.a.frontmatter: 1 of the 2 variants of `a` have no `$status`: give each a `const` to \
                  route by";
    let half = json!({ "oneOf": [variant("done", "x"), bare] });
    check(half.clone(), json!({ "done": end() }), &[untold]);
    check(half, json!([end()]), &[]);
    let open =
        json!({ "properties": { "$status": { "type": "string" } }, "required": ["$status"] });
    let found = "roles.a.frontmatter: the `$status` of `a` may be any text: list its values with `const` or \
                 `enum`, so that each has an edge";
    check(
        json!({ "oneOf": [variant("done", "x"), open] }),
        json!({ "done": end() }),
        &[found],
    );
    let common = json!({
        "type": "object",
        "properties": { "$status": { "enum": ["done", "failed"] }, "z": {} },
        "required": ["$status", "z"],
        "oneOf": [variant("done", "x"), variant("failed", "y")],
    });
    check(
        common,
        json!({ "done": edge("{{x}}{{z}}"), "failed": edge("{{y}}{{z}}") }),
        &[],
    );
}
