//! Workflows in each of the stored forms, and back.

use super::*;
use crate::workflow_yaml::{Source, load};

const SCHEMA: &str = "0000000000000";

/// Loads a workflow and pretends that every schema is stored under one hash.
fn stored(text: &str) -> Workflow<CasRef> {
    let source = Source {
        name: "w.yaml",
        text,
    };
    let include = |_: &str, _: &str| Err("nothing is included here".to_owned());
    let loaded = load(source, &include, &|_| Ok(Vec::new()), &|_| Vec::new()).unwrap();
    let workflow = loaded.workflow;
    let schema = SCHEMA.parse::<CasRef>().unwrap();
    let roles = workflow.roles.into_iter().map(|(name, role)| {
        let role = Role {
            description: role.description,
            goal: role.goal,
            capabilities: role.capabilities,
            procedure: role.procedure,
            output: role.output,
            schema,
            extract: role.extract,
            session: role.session,
            context: role.context,
            checks: role.checks,
            work: role.work.try_map(|_| Ok::<_, IdError>(schema)).unwrap(),
        };
        (name, role)
    });
    Workflow {
        roles: roles.collect(),
        name: workflow.name,
        description: workflow.description,
        conditions: workflow.conditions,
        graph: workflow.graph,
        limits: workflow.limits,
        supervisor: workflow.supervisor,
        context: workflow.context,
        workspace: workflow.workspace,
    }
}

/// Returns the payload with its keys sorted, as the store gives it back.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut keys: Vec<&String> = members.keys().collect();
            keys.sort_by_key(|key| (key.len(), key.as_str().to_owned()));
            let members = keys
                .into_iter()
                .map(|key| (key.clone(), sorted(&members[key])));
            Value::Object(members.collect())
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

fn round_trip(workflow: &Workflow<CasRef>) {
    let (type_hash, payload) = to_payload(workflow);
    assert_eq!(from_payload(type_hash, &payload).unwrap(), *workflow);
    assert_eq!(
        from_payload(type_hash, &sorted(&payload)).unwrap(),
        *workflow
    );
}

#[test]
fn a_workflow_of_status_maps_is_stored_as_the_reference_does() {
    let workflow = stored(include_str!(
        "../../../../tests/fixtures/workflows/demo.yaml"
    ));
    let (type_hash, payload) = to_payload(&workflow);
    assert_eq!(type_hash, schemas::WORKFLOW);
    let expected = json!({
        "name": "demo",
        "description": "Demo workflow",
        "roles": {
            "writer": {
                "description": "Writes", "goal": "You are a writer.",
                "capabilities": ["writing", "shell"], "procedure": "Write it.",
                "output": "The text.", "frontmatter": SCHEMA,
            },
            "reviewer": {
                "description": "Reviews", "goal": "You are a reviewer.",
                "capabilities": [], "procedure": "Review it.",
                "output": "The verdict.", "frontmatter": SCHEMA,
            },
        },
        "graph": {
            "$START": { "_": { "role": "writer", "prompt": "Begin writing", "location": null } },
            "writer": { "_": { "role": "reviewer", "prompt": "Review: {{{plan}}}", "location": null } },
            "reviewer": {
                "approved": { "role": "$END", "prompt": "Done: {{summary}}", "location": null },
                "rejected": { "role": "writer", "prompt": "Fix {{reason}}", "location": null },
                "ask": { "role": "$SUSPEND", "prompt": "Need: {{question}}", "location": null },
            },
        },
    });
    assert_eq!(payload, expected);
    round_trip(&workflow);
}

#[test]
fn a_workflow_with_conditions_is_stored_as_the_seed_prints_it() {
    let workflow = stored(include_str!(
        "../../../../tests/fixtures/workflows/solve-issue.yaml"
    ));
    let (type_hash, payload) = to_payload(&workflow);
    assert_eq!(type_hash, schemas::WORKFLOW_WITH_CONDITIONS);
    assert_eq!(
        payload["conditions"],
        json!({ "notApproved": {
            "description": "Reviewer rejected the implementation",
            "expression": "steps[-1].output.approved = false",
        } })
    );
    assert_eq!(
        payload["graph"],
        json!({
            "$START": [{ "role": "planner", "condition": null }],
            "planner": [{ "role": "developer", "condition": null }],
            "developer": [{ "role": "reviewer", "condition": null }],
            "reviewer": [
                { "role": "developer", "condition": "notApproved" },
                { "role": "$END", "condition": null },
            ],
        })
    );
    assert_eq!(payload["roles"]["planner"]["meta"], SCHEMA);
    assert!(payload["roles"]["planner"].get("frontmatter").is_none());
    round_trip(&workflow);
}

#[test]
fn prompts_and_locations_of_list_edges_are_kept_when_given() {
    let workflow = stored(include_str!(
        "../../../../tests/fixtures/workflows/gen-1.yaml"
    ));
    let (type_hash, payload) = to_payload(&workflow);
    assert_eq!(type_hash, schemas::WORKFLOW_WITH_CONDITIONS);
    assert_eq!(
        payload["graph"]["coder"][0],
        json!({ "role": "coder", "condition": "failing", "prompt": "Fix it.", "location": "/srv" })
    );
    assert_eq!(
        payload["conditions"],
        json!({ "failing": { "description": "", "expression": "$last('coder').ok = false" } })
    );
    round_trip(&workflow);
}

#[test]
fn a_workflow_with_a_supervisor_is_stored_in_the_fourth_form() {
    let demo = include_str!("../../../../tests/fixtures/workflows/demo.yaml");
    let workflow = stored(&format!("{demo}supervisor: {{ every: 5, model: small }}\n"));
    let (type_hash, payload) = to_payload(&workflow);
    assert_eq!(type_hash, schemas::WORKFLOW_WITH_CHILDREN);
    assert_eq!(
        payload["supervisor"],
        json!({ "every": 5, "model": "small" })
    );
    round_trip(&workflow);
}

#[test]
fn a_workflow_with_checks_is_stored_in_the_fifth_form() {
    let demo = include_str!("../../../../tests/fixtures/workflows/demo.yaml");
    let checked = demo.replacen("goal:", "checks: [cargo test], goal:", 1);
    let workflow = stored(&checked);
    let (type_hash, payload) = to_payload(&workflow);
    assert_eq!(type_hash, schemas::WORKFLOW_UNATTENDED);
    assert_eq!(
        payload["roles"]["writer"]["checks"],
        json!({ "run": [{ "name": "cargo test", "command": ["cargo", "test"] }], "attempts": 2 })
    );
    assert_eq!(payload["roles"]["reviewer"].get("checks"), None);
    round_trip(&workflow);
}

#[test]
fn a_workflow_that_says_how_agents_work_is_stored_in_the_fifth_form() {
    let demo = include_str!("../../../../tests/fixtures/workflows/demo.yaml");
    let workflow = stored(&format!(
        "{demo}context: {{ maxChars: 9000, older: summary }}\n"
    ));
    let (type_hash, payload) = to_payload(&workflow);
    assert_eq!(type_hash, schemas::WORKFLOW_UNATTENDED);
    let context = json!({ "maxChars": 9000, "older": "summary" });
    assert_eq!(payload["context"], context);
    round_trip(&workflow);
    let role = demo.replacen("goal:", "session: fresh, goal:", 1);
    let workflow = stored(&role);
    let (type_hash, payload) = to_payload(&workflow);
    assert_eq!(type_hash, schemas::WORKFLOW_UNATTENDED);
    assert_eq!(payload["roles"]["writer"]["session"], "fresh");
    round_trip(&workflow);
}

#[test]
fn a_workflow_that_says_more_is_stored_in_the_newest_form() {
    let demo = include_str!("../../../../tests/fixtures/workflows/demo.yaml");
    let workflow = stored(&format!(
        "{demo}limits: {{ maxSteps: 9, maxDuration: 90m }}\n"
    ));
    let (type_hash, payload) = to_payload(&workflow);
    assert_eq!(type_hash, schemas::WORKFLOW_WITH_OPTIONS);
    assert_eq!(
        payload["limits"],
        json!({ "maxSteps": 9, "maxDuration": "1h30m" })
    );
    assert_eq!(payload["conditions"], json!({}));
    assert_eq!(payload["roles"]["writer"]["meta"], SCHEMA);
    round_trip(&workflow);

    let mut workflow = stored(demo);
    workflow.roles[0].extract = Some(ExtractPolicy::Strict);
    let (type_hash, payload) = to_payload(&workflow);
    assert_eq!(type_hash, schemas::WORKFLOW_WITH_OPTIONS);
    assert_eq!(payload["limits"], json!({}));
    assert_eq!(payload["roles"]["writer"]["extract"], json!("strict"));
    assert_eq!(payload["roles"]["reviewer"].get("extract"), None);
    round_trip(&workflow);
}

#[test]
fn other_types_and_other_shapes_are_no_workflows() {
    let empty = json!({});
    let error = from_payload(schemas::TEXT, &empty).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a node of type `7VQ43ZSJTEWA7` is not a workflow"
    );
    let error = from_payload(schemas::WORKFLOW, &empty).unwrap_err();
    assert!(matches!(error, StoredError::Payload(_)), "{error}");

    let (type_hash, mut payload) = to_payload(&stored(include_str!(
        "../../../../tests/fixtures/workflows/demo.yaml"
    )));
    payload["graph"]["writer"]["_"]["role"] = "$NOWHERE".into();
    let error = from_payload(type_hash, &payload).unwrap_err();
    assert!(matches!(error, StoredError::Role(_)), "{error}");
}

#[test]
fn a_workflow_that_says_where_agents_work_is_stored_in_the_fifth_form() {
    let demo = include_str!("../../../../tests/fixtures/workflows/demo.yaml");
    let workflow = stored(&format!("{demo}workspace: worktree\n"));
    let (type_hash, payload) = to_payload(&workflow);
    assert_eq!(type_hash, schemas::WORKFLOW_UNATTENDED);
    assert_eq!(payload["workspace"], json!("worktree"));
    assert_eq!(payload.get("supervisor"), None);
    round_trip(&workflow);
}
