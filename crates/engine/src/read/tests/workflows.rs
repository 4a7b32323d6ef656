//! The workflows that can be started, and one in full.

use uwf_protocol::schemas;
use uwf_storage::Registering;

use super::World;
use crate::{EngineError, WorkflowOrigin, list_workflows, show_workflow};

const FILE: &str = "\
name: local
description: d
roles:
  writer:
    description: d
    goal: g
    capabilities: []
    procedure: p
    output: o
    frontmatter: { type: object, properties: { plan: { type: string } }, required: [plan] }
graph:
  $START: { _: { role: writer, prompt: Write. } }
  writer: { _: { role: $END, prompt: '' } }
";

#[test]
fn what_is_listed_can_be_shown_by_its_name() {
    let world = World::new();
    world
        .state()
        .register("demo", world.workflow, Registering::Put, 0)
        .unwrap();
    let file = world.write(".workflow/local.yaml", FILE);
    let items = list_workflows(&world.site).unwrap();
    let listed: Vec<_> = items
        .iter()
        .map(|item| (item.name.as_str(), item.origin))
        .collect();
    assert_eq!(
        listed,
        [
            ("local", WorkflowOrigin::Local),
            ("demo", WorkflowOrigin::Global)
        ]
    );
    assert_eq!(items[0].path.as_ref(), Some(&file));
    for item in &items {
        let view = show_workflow(&world.site, &item.name).unwrap();
        assert_eq!(view.name.as_ref(), Some(&item.name));
        assert_eq!(view.payload["name"], item.name);
    }
}

#[test]
fn a_workflow_shows_with_the_keys_of_the_format() {
    let world = World::new();
    let view = show_workflow(&world.site, world.workflow.as_str()).unwrap();
    assert_eq!((view.hash, view.name.as_ref()), (world.workflow, None));
    assert_eq!(view.type_hash, schemas::WORKFLOW);
    let view = serde_json::to_value(view).unwrap();
    let keys: Vec<&String> = view.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["hash", "name", "type", "payload", "timestamp"]);
}

#[test]
fn an_unknown_workflow_and_a_node_that_is_none_are_errors() {
    let world = World::new();
    let error = show_workflow(&world.site, "nope").unwrap_err();
    assert!(matches!(error, EngineError::UnknownWorkflow { name, near: None } if name == "nope"));
    let text = world.text("x");
    let error = show_workflow(&world.site, text.as_str()).unwrap_err();
    assert!(matches!(error, EngineError::WrongType { hash, .. } if hash == text));
}
