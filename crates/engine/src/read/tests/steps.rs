//! All steps of a thread with their data.

use serde_json::json;
use uwf_cas_fs::StoreError;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::nodes::ExtractionMethod;
use uwf_protocol::schemas;
use uwf_storage::{Reason, ReplacedStep};

use super::{NOW, World};
use crate::{EngineError, steps};

#[test]
fn the_steps_have_the_keys_of_the_format_in_its_order() {
    let world = World::new();
    let thread = world.start(10, "Hello");
    let start = world.head(thread);
    let detail = world.detail("said", ExtractionMethod::Llm, vec![]);
    let step = world.step_with_detail(thread, "writer", &json!({ "plan": "p" }), detail);
    world.end(thread, Reason::Completed);
    let view = serde_json::to_string(&steps(&world.site, thread).unwrap()).unwrap();
    let (workflow, made) = (world.workflow, NOW - 10);
    let expected = format!(
        r#"{{"thread":"{thread}","workflow":"{workflow}","steps":[{{"hash":"{start}","workflow":"{workflow}","prompt":"Hello","timestamp":{made},"edge":"$START/_"}},{{"hash":"{step}","role":"writer","output":{{"plan":"p"}},"detail":"{detail}","agent":"uwf-mock","timestamp":{NOW},"durationMs":1500,"extraction":{{"method":"llm","attempts":1,"model":null}},"edgePrompt":"Go.","edge":null}}],"attempts":[]}}"#
    );
    assert_eq!(view, expected);
}

#[test]
fn the_steps_tell_which_edges_the_thread_took() {
    let world = World::new();
    let thread = world.start(10, "Hello");
    world.step(thread, "writer", &json!({}), "");
    world.step(thread, "reviewer", &json!({ "$status": "done" }), "");
    world.end(thread, Reason::Completed);
    let view = serde_json::to_value(steps(&world.site, thread).unwrap()).unwrap();
    let steps = view["steps"].as_array().unwrap();
    let edges: Vec<_> = steps.iter().map(|step| &step["edge"]).collect();
    assert_eq!(edges, ["$START/_", "writer/_", "reviewer/done"]);
}

#[test]
fn the_steps_are_shown_without_their_workflow() {
    let world = World::new();
    let thread = world.start(10, "Hello");
    world.step(thread, "writer", &json!({}), "");
    world.remove(world.workflow);
    let view = serde_json::to_value(steps(&world.site, thread).unwrap()).unwrap();
    assert_eq!(view["steps"][1]["role"], json!("writer"));
    assert_eq!(view["steps"][1]["edge"], json!(null));
}

#[test]
fn a_step_of_another_program_has_no_extraction_and_a_lost_output_is_an_error() {
    let world = World::new();
    let thread = world.start(10, "Hello");
    let detail = world.put(
        schemas::OBJECT,
        &json!({ "extraction": { "method": "llm" } }),
    );
    let output = json!({ "plan": "lost" });
    world.step_with_detail(thread, "writer", &output, detail);
    let view = serde_json::to_value(steps(&world.site, thread).unwrap()).unwrap();
    assert_eq!(view["steps"][1]["extraction"], json!(null));
    world.remove(uwf_cas_fs::hash_of(Some(schemas::OBJECT), &output).unwrap());
    let error = steps(&world.site, thread).unwrap_err();
    assert!(matches!(error, EngineError::Store(StoreError::Lost { .. })));
}

#[test]
fn the_steps_tell_every_failed_attempt_with_its_head() {
    let world = World::new();
    let thread = world.start(10, "Hello");
    let start: CasRef = world.head(thread);
    world.fail(thread, "first");
    world.step(thread, "writer", &json!({}), "");
    world.fail(thread, "second");
    let attempts = steps(&world.site, thread).unwrap().attempts;
    let told: Vec<_> = attempts
        .iter()
        .map(|one| (one.error.as_str(), one.head))
        .collect();
    assert_eq!(told, [("first", start), ("second", world.head(thread))]);
}

#[test]
fn a_step_tells_all_that_stood_in_its_place_before() {
    let world = World::new();
    let thread = world.start(10, "Hello");
    let last = world.step(thread, "writer", &json!({}), "");
    let [one, two, other] = [1, 2, 3].map(CasRef::from_u64);
    let tell = |replaced: CasRef, by: CasRef, in_thread: ThreadId| {
        let step = ReplacedStep {
            replaced,
            by,
            in_thread,
            replaced_at: NOW,
            workflow: None,
        };
        world.state().record_replaced(&step).unwrap();
    };
    tell(one, two, thread);
    // The first attempt to replace the second step was killed before the head moved.
    tell(two, other, thread);
    tell(two, last, thread);
    tell(other, last, "01J7K9Z000000000000000000A".parse().unwrap());
    // No program writes such a cycle, but reading must end nevertheless.
    tell(last, one, thread);
    let view = serde_json::to_value(steps(&world.site, thread).unwrap()).unwrap();
    assert_eq!(view["steps"][1]["replaces"], json!([one, two]));
}
