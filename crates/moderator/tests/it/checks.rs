//! Roles with checks: their edge for failed checks, and what it may say.

use serde_json::{Value, json};
use uwf_moderator::Route;
use uwf_protocol::checks::{Check, Checks};
use uwf_protocol::workflow::Workflow;

use crate::common::{role, route, start, step, workflow};
use crate::validate::{object, problems_of, status};

/// Returns a workflow whose role `a` has this schema, this edge for failed checks, and a check.
fn checked(schema: Value, failed: Value) -> Workflow<Value> {
    let graph = json!({
        "$START": { "_": { "role": "a", "prompt": "go" } },
        "a": { "_": { "role": "b", "prompt": "ok" }, "checks-failed": failed },
        "b": { "_": { "role": "$END" } },
    });
    let roles = json!({ "a": schema, "b": { "type": "object" } });
    let mut workflow = workflow(&roles, &json!({}), &graph);
    workflow.roles[&role("a")].checks = Some(Checks {
        run: vec![Check {
            name: "tests".to_owned(),
            command: vec!["true".to_owned()],
            timeout: None,
            files: None,
        }],
        attempts: 2,
    });
    workflow
}

fn plain() -> Value {
    object(json!({ "note": { "type": "string" } }), json!(["note"]))
}

#[test]
fn the_edge_needs_no_status_in_the_schema_and_knows_what_failed() {
    let prompt =
        "{{answer.note}} {{#failed}}{{name}} {{command}} {{problem}} {{output}}{{/failed}}";
    let workflow = checked(plain(), json!({ "role": "b", "prompt": prompt }));
    assert_eq!(problems_of(&workflow), Vec::<String>::new());
    let wrong = checked(plain(), json!({ "role": "b", "prompt": "{{note}}" }));
    let problems = problems_of(&wrong);
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(
        problems[0].contains("`{{note}}` at 1:3 of the template is not in the answer of `a`"),
        "{problems:?}"
    );
}

#[test]
fn the_status_belongs_to_the_checks() {
    let schema = status(json!({ "enum": ["done", "checks-failed"] }));
    let problems = problems_of(&checked(schema, json!({ "role": "b", "prompt": "x" })));
    let expected = "roles.a.frontmatter: `checks-failed` is the status of `a` when its checks fail: give the status of its answer another name";
    assert_eq!(problems, [expected]);
}

#[test]
fn the_one_way_out_is_taken_beside_the_edge_for_failed_checks() {
    let workflow = checked(plain(), json!({ "role": "$END", "prompt": "gave up" }));
    let to = |output: Value| match route(&workflow, &start(), &[step("a", output)]).unwrap() {
        Route::To(assignment) => assignment.role.to_string(),
        Route::End { .. } => "$END".to_owned(),
        other => panic!("{other:?}"),
    };
    assert_eq!(to(json!({ "note": "x" })), "b");
    assert_eq!(to(json!({ "$status": "any", "note": "x" })), "b");
    assert_eq!(
        to(json!({ "$status": "checks-failed", "failed": [], "answer": {} })),
        "$END"
    );
}
