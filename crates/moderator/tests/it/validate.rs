//! What is found to be wrong with a workflow before it is used: a minimal case for each rule.

use serde_json::{Value, json};
use uwf_moderator::validate;
use uwf_protocol::workflow::Workflow;
use uwf_protocol::workflow_yaml::{Source, load};

use crate::common::workflow;

/// Returns each problem as `path: message`.
pub(crate) fn problems_of(workflow: &Workflow<Value>) -> Vec<String> {
    let problems = validate(workflow);
    let lines = problems
        .iter()
        .map(|p| format!("{}: {}", p.path.join("."), p.message));
    lines.collect()
}

/// Checks a workflow `$START → a` whose role `a` has this schema and these edges, and `b` ends it.
#[track_caller]
pub(crate) fn check(schema: Value, edges: Value, expected: &[&str]) {
    let graph = json!({
        "$START": { "_": { "role": "a", "prompt": "go" } },
        "a": edges,
        "b": { "_": { "role": "$END" } },
    });
    let roles = json!({ "a": schema, "b": { "type": "object" } });
    let conditions = json!({ "c": "true" });
    let mut found = problems_of(&workflow(&roles, &conditions, &graph));
    // Whether `b` is used is not what these cases are about.
    found.retain(|line| !line.contains("`b` cannot be reached"));
    assert_eq!(found, expected, "{schema} {edges}");
}

/// Checks only the graph; every role answers with `$status` `x`.
#[track_caller]
pub(crate) fn check_graph(roles: &[&str], graph: Value, expected: &[&str]) {
    let schema = status(json!({ "const": "x" }));
    let roles = roles
        .iter()
        .map(|name| ((*name).to_owned(), schema.clone()));
    let conditions = json!({ "yes": "true" });
    let flow = workflow(&Value::Object(roles.collect()), &conditions, &graph);
    assert_eq!(problems_of(&flow), expected, "{graph}");
}

/// A schema whose `$status` is this.
pub(crate) fn status(schema: Value) -> Value {
    json!({ "type": "object", "properties": { "$status": schema }, "required": ["$status"] })
}

/// A schema with these properties, the first of them required.
pub(crate) fn object(properties: Value, required: Value) -> Value {
    json!({ "type": "object", "properties": properties, "required": required })
}

/// A variant of `oneOf` with a status and one property.
pub(crate) fn variant(status: &str, property: &str) -> Value {
    json!({
        "properties": { "$status": { "const": status }, property: { "type": "string" } },
        "required": ["$status", property],
    })
}

/// An edge to `b`.
pub(crate) fn edge(prompt: &str) -> Value {
    json!({ "role": "b", "prompt": prompt })
}

pub(crate) fn end() -> Value {
    json!({ "role": "$END", "prompt": "" })
}

#[test]
fn the_reference_demo_has_no_problem() {
    let reviewer = json!({ "oneOf": [
        variant("approved", "summary"), variant("rejected", "reason"), variant("ask", "question"),
    ] });
    let writer = json!({
        "type": "object",
        "properties": { "$status": { "enum": ["_"] }, "plan": { "type": "string" } },
        "required": ["plan"],
    });
    let graph = json!({
        "$START": { "_": { "role": "writer", "prompt": "Begin writing" } },
        "writer": { "_": { "role": "reviewer", "prompt": "Review: {{{plan}}}" } },
        "reviewer": {
            "approved": { "role": "$END", "prompt": "Done: {{summary}}" },
            "rejected": { "role": "writer", "prompt": "Fix {{reason}}" },
            "ask": { "role": "$SUSPEND", "prompt": "Need: {{question}}" },
        },
    });
    let roles = json!({ "writer": writer, "reviewer": reviewer });
    assert_eq!(problems_of(&workflow(&roles, &json!({}), &graph)), [""; 0]);
}

#[test]
fn names_in_the_graph_must_be_roles() {
    let start = json!({ "_": { "role": "writer", "prompt": "go" } });
    check_graph(
        &["writer"],
        json!({ "$START": start, "writer": { "_": end() }, "writr": { "_": end() } }),
        &[
            "graph.writr: the graph has edges for `writr`, which is not a role; did you mean `writer`?",
            "graph.writr: the role `writr` cannot be reached from `$START`",
        ],
    );
    check_graph(
        &["writer"],
        json!({ "START": start, "writer": { "_": end() } }),
        &[
            "graph.START: the graph has edges for `START`, which is not a role; did you mean `$START`?",
            "graph: `$START` is missing: it says where a thread begins",
        ],
    );
    check_graph(
        &["writer"],
        json!({ "$START": start, "writer": { "_": { "role": "END", "prompt": "x" } } }),
        &[
            "graph.writer._.role: the edge leads to `END`, which is not a role; did you mean `$END`?",
        ],
    );
}

#[test]
fn every_role_is_used_and_followed() {
    let start = json!({ "_": { "role": "a", "prompt": "go" } });
    check_graph(
        &["a", "b"],
        json!({ "$START": start, "a": { "_": end() } }),
        &["roles.b: the role `b` is not used in the graph"],
    );
    check_graph(
        &["a", "b"],
        json!({ "$START": start, "a": { "_": edge("x") } }),
        &["roles.b: the graph does not say what follows the role `b`"],
    );
    check_graph(
        &["a", "b"],
        json!({ "$START": start, "a": { "_": end() }, "b": { "_": end() } }),
        &["graph.b: the role `b` cannot be reached from `$START`"],
    );
    for none in [json!({}), json!([])] {
        check_graph(
            &["a"],
            json!({ "$START": start, "a": none }),
            &[
                "graph.a: the role `a` has no edges: nothing can follow it",
                "graph: no way from `$START` leads to `$END` or `$SUSPEND`: a thread could never end",
            ],
        );
    }
}

#[test]
fn there_is_one_way_in() {
    let go = json!({ "role": "a", "prompt": "go" });
    let check = |start: Value, expected: &[&str]| {
        check_graph(
            &["a"],
            json!({ "$START": start, "a": { "_": end() } }),
            expected,
        );
    };
    check(json!({ "_": go }), &[]);
    check(json!({ "new": go }), &[]);
    check(json!({ "resume": go, "new": go }), &[]);
    check(json!([go]), &[]);
    let takes = "graph.$START: `$START` takes either the one edge `_`, or `new` and if wanted `resume`, not";
    check(json!({ "go": go }), &[&format!("{takes} `go`")]);
    check(
        json!({ "_": go, "resume": go }),
        &[&format!("{takes} `_`, `resume`")],
    );
    check(json!({ "resume": go }), &[&format!("{takes} `resume`")]);
    check_graph(
        &["a"],
        json!({ "a": { "_": end() } }),
        &["graph: `$START` is missing: it says where a thread begins"],
    );
    let ask = json!({ "role": "$SUSPEND", "prompt": "x" });
    check_graph(
        &[],
        json!({ "$START": { "_": ask } }),
        &[
            "graph.$START._.role: `$START` cannot lead to `$SUSPEND`: no role has run that could go on",
        ],
    );
}

#[test]
fn a_thread_can_end_or_be_suspended() {
    let go = json!({ "role": "a", "prompt": "go" });
    check_graph(
        &["a"],
        json!({ "$START": { "_": go }, "a": { "_": go } }),
        &["graph: no way from `$START` leads to `$END` or `$SUSPEND`: a thread could never end"],
    );
    let ask = json!({ "role": "$SUSPEND", "prompt": "x" });
    check_graph(
        &["a"],
        json!({ "$START": { "_": go }, "a": { "_": ask } }),
        &[],
    );
}

#[test]
fn lists_know_their_conditions_and_end_at_the_first_edge_without() {
    let schema = object(json!({ "x": {} }), json!(["x"]));
    let when = |condition: &str| json!({ "role": "b", "condition": condition });
    check(schema.clone(), json!([when("c"), end()]), &[]);
    let open = "graph.a: every edge of `a` has a condition: where none holds, the thread is blocked; let the last edge have none";
    check(schema.clone(), json!([when("c")]), &[open]);
    check(
        schema.clone(),
        json!([when("d"), when("conditoin")]),
        &[
            "graph.a.0.condition: `d` is not in `conditions`",
            "graph.a.1.condition: `conditoin` is not in `conditions`",
            open,
        ],
    );
    check(
        schema,
        json!([when("c"), end(), when("c"), edge("x")]),
        &[
            "graph.a.2: this edge of `a` is never tried: the edge to `$END` before it has no condition",
            "graph.a.3: this edge of `a` is never tried: the edge to `$END` before it has no condition",
        ],
    );
}

#[test]
fn conditions_are_expressions() {
    let graph = json!({ "$START": [{ "role": "$END" }] });
    let conditions = json!({ "good": "steps[-1].output.ok", "bad": "steps[" });
    let found = problems_of(&workflow(&json!({}), &conditions, &graph));
    assert_eq!(found.len(), 1);
    assert!(
        found[0].starts_with("conditions.bad.expression: `steps[` is not a JSONata expression: "),
        "{found:?}"
    );
}

#[test]
fn all_problems_are_told_at_once() {
    let graph = json!({
        "$START": { "go": { "role": "a", "prompt": "{{x}}" } },
        "a": { "done": { "role": "c", "prompt": "{{" }, "other": edge("") },
        "b": [{ "role": "$END", "condition": "gone" }],
    });
    let roles = json!({ "a": status(json!({ "enum": ["done", "failed"] })), "b": {}, "lost": {} });
    let found = problems_of(&workflow(&roles, &json!({ "bad": ")" }), &graph));
    let paths: Vec<&str> = found
        .iter()
        .filter_map(|line| line.split(": ").next())
        .collect();
    assert_eq!(
        paths,
        [
            "graph.$START",
            "roles.lost",
            "graph.a.done.role",
            "graph.a.other.prompt",
            "graph.b.0.condition",
            "graph.a.other",
            "graph.a",
            "graph.$START.go.prompt",
            "graph.a.done.prompt",
            "conditions.bad.expression",
            "graph.b",
        ],
        "{found:#?}"
    );
}

#[test]
fn workflows_of_every_generation_have_no_problem() {
    let files = [
        include_str!("../../../../tests/fixtures/workflows/solve-issue.yaml"),
        include_str!("../../../../tests/fixtures/workflows/gen-1.yaml"),
        include_str!("../../../../tests/fixtures/workflows/gen-3.yaml"),
        include_str!("../../../../tests/fixtures/workflows/demo.yaml"),
        include_str!("../../../../examples/demo/plan-develop-review.yaml"),
        include_str!("../../../../examples/release-notes/release-notes.yaml"),
    ];
    for text in files {
        let source = Source {
            name: "test.yaml",
            text,
        };
        let loaded = load(
            source,
            &|_, _| Err("no includes".into()),
            &|_| Ok(Vec::new()),
            &|_| Vec::new(),
        )
        .unwrap();
        assert_eq!(problems_of(&loaded.workflow), [""; 0]);
    }
}

#[test]
fn limits_name_existing_roles() {
    let graph = json!({
        "$START": { "_": { "role": "writer", "prompt": "go" } },
        "writer": { "_": { "role": "$END" } },
    });
    let roles = json!({ "writer": { "type": "object" } });
    let mut flow = workflow(&roles, &json!({}), &graph);
    flow.limits.set("maxVisits.writer=3".parse().unwrap());
    assert_eq!(problems_of(&flow), [""; 0]);
    flow.limits.set("maxVisits.writr=3".parse().unwrap());
    let expected = "limits.maxVisits.writr: `maxVisits` limits `writr`, which is not a role; did you mean `writer`?";
    assert_eq!(problems_of(&flow), [expected]);
}
