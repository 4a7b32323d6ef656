//! What a step recorded, as data and as a document.

use serde_json::json;
use uwf_cas_fs::StoreError;
use uwf_protocol::ids::CasRef;
use uwf_protocol::nodes::{ExtractionMethod, Turn, TurnRole};
use uwf_protocol::schemas;

use super::World;
use crate::{EngineError, StepReadOptions, read_step, read_step_prompt, step_details};

const QUOTA: StepReadOptions = StepReadOptions { quota: 4000 };

fn turn(world: &World, index: u32, content: &str) -> CasRef {
    let turn = Turn {
        index,
        role: TurnRole::Assistant,
        content: content.to_owned(),
        tool_calls: None,
        reasoning: None,
        answers: None,
    };
    world.put(schemas::TURN, &serde_json::to_value(turn).unwrap())
}

fn step_of_turns(world: &World, turns: Vec<CasRef>) -> CasRef {
    let thread = world.start(10, "Hello");
    let detail = world.detail("raw", ExtractionMethod::Frontmatter, turns);
    world.step_with_detail(thread, "writer", &json!({}), detail)
}

#[test]
fn the_detail_is_shown_with_its_turns_in_place_also_the_same_turn_twice() {
    let world = World::new();
    let same = turn(&world, 0, "same");
    let step = step_of_turns(&world, vec![same, same]);
    let details = step_details(&world.site, step).unwrap();
    assert_eq!(details["raw"], "raw");
    assert_eq!(details["turns"][0]["content"], "same");
    assert_eq!(details["turns"][1], details["turns"][0]);
}

#[test]
fn a_step_reads_as_its_turns() {
    let world = World::new();
    let turns = vec![
        turn(&world, 0, "one"),
        turn(&world, 1, ""),
        turn(&world, 2, "three"),
    ];
    let step = step_of_turns(&world, turns);
    let expected = format!(
        "# Step {step}\n\n**Role:** writer\n**Agent:** uwf-mock\n\n\
         ## Turn 1\n\n**Turn role:** assistant\n\none\n\n\
         ## Turn 3\n\n**Turn role:** assistant\n\nthree\n"
    );
    assert_eq!(
        read_step(&world.site, step, &QUOTA).unwrap().document,
        expected
    );
    let little = read_step(&world.site, step, &StepReadOptions { quota: 1 }).unwrap();
    assert_eq!((little.hidden, little.turns.len()), (1, 1));
    let little = little.document;
    assert!(little.contains("*[1 earlier turn not shown"));
    assert!(little.contains("three") && !little.contains("one\n"));
}

#[test]
fn a_step_without_turns_reads_as_its_answer() {
    let world = World::new();
    let step = step_of_turns(&world, vec![]);
    let text = read_step(&world.site, step, &QUOTA).unwrap().document;
    assert!(
        text.ends_with("**Agent:** uwf-mock\n\n## Answer\n\nraw\n"),
        "{text}"
    );
}

#[test]
fn the_prompt_of_a_step_that_kept_none_is_a_note() {
    let world = World::new();
    let step = step_of_turns(&world, vec![]);
    let text = read_step_prompt(&world.site, step).unwrap().document;
    assert!(text.ends_with("## Prompt\n\n*(the prompt of this step was not kept)*\n"));
}

#[test]
fn the_prompt_that_the_agent_got_is_shown_whole() {
    let world = World::new();
    let step = step_of_turns(&world, vec![]);
    let mut payload = world.site.store.get(step).unwrap().payload;
    payload["assembledPrompt"] = json!(world.text("Do it."));
    let step = world.put(schemas::STEP_NODE, &payload);
    let text = read_step_prompt(&world.site, step).unwrap().document;
    assert!(text.ends_with("## Prompt\n\nDo it.\n"));
    world.remove(uwf_cas_fs::hash_of(Some(schemas::TEXT), &json!("Do it.")).unwrap());
    let error = read_step_prompt(&world.site, step).unwrap_err();
    assert!(matches!(error, EngineError::Store(StoreError::Lost { .. })));
}

#[test]
fn what_is_not_a_step_is_an_error() {
    let world = World::new();
    let thread = world.start(10, "Hello");
    let start = world.head(thread);
    let error = step_details(&world.site, start).unwrap_err();
    assert!(matches!(error, EngineError::StartIsNoStep { .. }));
    let error = step_details(&world.site, world.workflow).unwrap_err();
    assert!(matches!(
        error,
        EngineError::WrongType {
            expected: "step",
            ..
        }
    ));
    let missing = "0123456789ABC".parse().unwrap();
    assert!(matches!(
        read_step(&world.site, missing, &QUOTA),
        Err(EngineError::Store(_))
    ));
}
