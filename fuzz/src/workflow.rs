//! Workflow files: reading one ends with a workflow or with something to say, and a workflow without mistakes leads to
//! roles that it has.

use serde_json::{Value, json};
use uwf_moderator::graph::{reenter, route};
use uwf_moderator::{Route, validate};
use uwf_protocol::chain::StepContext;
use uwf_protocol::ids::{CasRef, RoleName, Status};
use uwf_protocol::nodes::{StartNode, StepNode};
use uwf_protocol::workflow::{Edges, NodeName, Workflow};
use uwf_protocol::workflow_yaml::{self, Included, Source};

/// Takes the bytes as a file, which may include itself and two others.
///
/// # Panics
/// When something does not hold.
pub fn check(data: &[u8]) {
    let text = crate::text(data);
    let include = |_: &str, path: &str| match path {
        "self.yaml" => Ok(included(path, &text)),
        "role.yaml" => Ok(included(path, "goal: g\nfrontmatter: { type: object }\n")),
        "text.md" => Ok(included(path, "Some text.\n")),
        _ => Err(format!("there is no `{path}`")),
    };
    let any_end = |workflow: &str| match workflow {
        "other" => Ok(vec![Status::new("done"), Status::new("failed")]),
        _ => Err(format!("there is no `{workflow}`")),
    };
    let source = Source {
        name: "self.yaml",
        text: &text,
    };
    match workflow_yaml::load(source, &include, &any_end, &validate) {
        Ok(loaded) => follow(&loaded.workflow),
        Err(mistakes) => {
            assert!(!mistakes.is_empty(), "a refusal says why");
            for mistake in mistakes {
                let _ = mistake.to_string();
            }
        }
    }
}

fn included(name: &str, text: &str) -> Included {
    Included {
        name: name.to_owned(),
        text: text.to_owned(),
    }
}

/// Routes from the start, and from each role with each status that it may have; each condition holds and does not.
fn follow(workflow: &Workflow<Value>) {
    let _ = reenter(workflow);
    for holds in [None, Some(0)] {
        step_from(workflow, &[], holds);
        for (node, edges) in &workflow.graph {
            let NodeName::Role(role) = node else { continue };
            for output in outputs(edges) {
                step_from(workflow, &[step(role, output)], holds);
            }
        }
    }
}

fn outputs(edges: &Edges) -> Vec<Value> {
    let mut outputs = vec![json!({}), json!({ "$status": "$SUSPEND", "reason": "why" })];
    if let Edges::ByStatus(targets) = edges {
        let statuses = targets
            .keys()
            .map(|status| json!({ "$status": status.as_str() }));
        outputs.extend(statuses);
    }
    outputs
}

fn step_from(workflow: &Workflow<Value>, steps: &[StepContext], holds: Option<usize>) {
    let start = StartNode {
        workflow: CasRef::from_u64(1),
        prompt: "task".into(),
        cwd: None,
        parent: None,
        run: None,
        check_files: Vec::new(),
    };
    let routed = route(workflow, &start, steps, &mut |_| Ok(holds));
    if let Ok(Route::To(assignment)) = routed {
        assert!(
            workflow.roles.contains_key(&assignment.role),
            "the role is there"
        );
    }
}

fn step(role: &RoleName, output: Value) -> StepContext {
    StepContext {
        hash: CasRef::from_u64(4),
        node: StepNode {
            start: CasRef::from_u64(2),
            prev: None,
            role: role.clone(),
            output: CasRef::from_u64(3),
            detail: CasRef::from_u64(5),
            agent: "uwf-mock".into(),
            edge_prompt: None,
            started_at_ms: None,
            completed_at_ms: None,
            cwd: None,
            assembled_prompt: None,
        },
        output,
    }
}
