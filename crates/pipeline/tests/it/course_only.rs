//! Runs of one step.

use std::sync::Arc;

use serde_json::json;
use uwf_pipeline::course::{OnlyError, RunStart, Steering, WhenMode, only};

use crate::common::pipeline;
use crate::drive::{Run, completed, exit, lines, start_with, stopped};

const FLOW: &str = "steps:
- {name: A, command: [a], output_capture: lines}
- {name: B, command: [b, '${steps.A.lines}'], when: {equals: {left: 1, right: 2}}, on: {always: {goto: A}}}
- name: L
  for_each:
    items_from: steps.A.lines
    on_item_complete: {success: {move_to: done}}
    steps:
    - {name: E, command: [e], on: {success: {goto: F}}}
    - {name: F, command: [f, '${item}', '${loop.index}']}
- {name: L.E, command: [x]}
";

#[test]
fn a_step_alone_ignores_its_condition_and_its_handlers() {
    let flow = pipeline(FLOW);
    let alone = |condition| only(&flow, "B", None, condition).unwrap();
    let start = start_with(Steering::default());
    // Nothing has run before it.
    let mut run = Run::of(alone(WhenMode::Ignored), Arc::clone(&start));
    stopped(run.go(|_, _| exit(0)));
    assert_eq!(run.log(), ["B=2"]);
    let mut run = Run::of(alone(WhenMode::Respected), start);
    completed(run.go(|_, _| exit(0)));
    assert_eq!(run.log(), ["B skipped"]);
}

#[test]
fn a_step_alone_sees_what_another_run_has_left() {
    let mut other = Run::new(FLOW);
    stopped(other.go(|key, _| {
        if key == "A" {
            lines(&["p", "q"])
        } else {
            exit(1)
        }
    }));
    let start = RunStart {
        from_run: Some(other.course.left()),
        ..(*start_with(Steering::default())).clone()
    };
    let flow = pipeline(FLOW);
    let alone = only(&flow, "B", None, WhenMode::Ignored).unwrap();
    let mut run = Run::of(alone, Arc::new(start.clone()));
    completed(run.go(|_, words| {
        assert_eq!(words, ["b", "[\"p\",\"q\"]"]);
        exit(0)
    }));
    let alone = only(&flow, "L", None, WhenMode::Ignored).unwrap();
    let mut run = Run::of(alone, Arc::new(start));
    completed(run.go(|_, _| exit(0)));
    assert_eq!(run.log().len(), 2 * 4 + 1, "{:?}", run.log);
}

#[test]
fn a_step_of_a_loop_runs_for_one_item() {
    let flow = pipeline(FLOW);
    let item = json!("${x}");
    let alone = |name: &str| only(&flow, name, Some(&item), WhenMode::Ignored).unwrap();
    let start = start_with(Steering::default());
    let mut run = Run::of(alone("L.F"), Arc::clone(&start));
    completed(run.go(|_, words| {
        assert_eq!(words, ["f", "${x}", "0"]);
        exit(0)
    }));
    assert_eq!(run.log(), ["L[0].F", "L"]);
    let mut run = Run::of(alone("L"), start);
    completed(run.go(|_, _| exit(0)));
    assert_eq!(run.log(), ["L[0].E", "L[0].F", "${x} -> done", "L[0]", "L"]);
}

#[test]
fn what_cannot_run_alone_is_told() {
    let flow = pipeline(FLOW);
    let check = |name: &str, item: Option<i32>, expected: OnlyError| {
        let item = item.map(|item| json!(item));
        let found = only(&flow, name, item.as_ref(), WhenMode::Ignored);
        assert_eq!(found, Err(expected), "{name}");
    };
    check(
        "AA",
        None,
        OnlyError::Unknown("AA".into(), Some("A".into())),
    );
    check(
        "L.G",
        None,
        OnlyError::Unknown("L.G".into(), Some("L.E".into())),
    );
    check("L.F", None, OnlyError::NoItem("L.F".into()));
    check("A", Some(1), OnlyError::NoLoop("A".into()));
    // A step of the pipeline of that very name comes first.
    let found = only(&flow, "L.E", None, WhenMode::Ignored).unwrap();
    assert_eq!(found.steps[0].name, "L.E");
}
