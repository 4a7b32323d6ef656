//! What comes next in loops.

use std::sync::Arc;

use serde_json::json;
use uwf_pipeline::ErrorKind;
use uwf_pipeline::course::{Event, OnError, Resume, Route, Steering, Visit};

use crate::common::pipeline;
use crate::drive::{Run, check, completed, exit, lines, prints, start_with, stopped};

/// A loop over these items with a body of `E` and `F`, then a step `C`.
fn two_in_body(items: &str, more: &str) -> String {
    format!(
        "steps:\n- name: L\n  for_each: {{items: {items}, steps: [{{name: E, command: [e, '${{item}}']}}, {{name: F, command: [f]}}]}}\n{more}- {{name: C, command: [c]}}\n"
    )
}

const NESTED: &str = "steps:
- name: A
  for_each:
    items: [x, y]
    as: o
    steps:
    - name: B
      for_each:
        items: [1, 2, 3]
        as: i
        steps:
        - {name: C, command: ['${o}${i}', '${loop.parent.index}/${loop.index}', '${loop.total}']}
";

#[test]
fn a_body_runs_for_each_item_in_order() {
    let end = check(
        &two_in_body("[a, b]", ""),
        &[],
        &["L[0].E", "L[0].F", "L[1].E", "L[1].F", "L", "C"],
    );
    completed(end);
}

#[test]
fn loops_nest_and_see_both_items() {
    let mut run = Run::new(NESTED);
    let mut seen = Vec::new();
    completed(run.go(|_, words| {
        seen.push(words.join(" "));
        exit(0)
    }));
    assert_eq!(
        seen,
        [
            "x1 0/0 3", "x2 0/1 3", "x3 0/2 3", "y1 1/0 3", "y2 1/1 3", "y3 1/2 3"
        ]
    );
    let keys = [
        "A[0].B[0].C",
        "A[0].B[1].C",
        "A[0].B[2].C",
        "A[0].B",
        "A[1].B[0].C",
        "A[1].B[1].C",
        "A[1].B[2].C",
        "A[1].B",
        "A",
    ];
    assert_eq!(run.log(), keys);
    run.check_every_prefix();
}

#[test]
fn items_come_from_lines_and_from_parts_of_json() {
    let flow = |capture: &str, pointer: &str| {
        format!(
            "steps:\n- {{name: S, command: [s], output_capture: {capture}}}\n- name: L\n  for_each: {{items_from: {pointer}, steps: [{{name: E, command: ['${{item}}']}}]}}\n"
        )
    };
    let mut run = Run::new(&flow("lines", "steps.S.lines"));
    let mut words = Vec::new();
    completed(run.go(|key, argv| {
        words.push(argv[0].clone());
        if key == "S" {
            lines(&["p", "q"])
        } else {
            exit(0)
        }
    }));
    assert_eq!(words, ["s", "p", "q"]);
    let mut run = Run::new(&flow("json", "steps.S.json.a.files"));
    completed(run.go(|key, _| {
        if key == "S" {
            prints(json!({"a": {"files": ["x", {"y": 1}]}}))
        } else {
            exit(0)
        }
    }));
    assert_eq!(run.log(), ["S", "L[0].E", "L[1].E", "L"]);
    for (printed, why) in [
        (json!({}), "there is no such part"),
        (json!({"a": {"files": "x"}}), "it is a string"),
    ] {
        let mut run = Run::new(&flow("json", "steps.S.json.a.files"));
        let stop = stopped(run.go(|_, _| prints(printed.clone())));
        assert_eq!(run.log(), ["S", "L=2"]);
        let error = stop.result.error.unwrap();
        assert_eq!(error.kind, ErrorKind::InvalidReference);
        assert!(error.message.ends_with(why), "{}", error.message);
    }
}

#[test]
fn a_loop_without_items_is_completed_at_once() {
    let mut run = Run::new(
        "steps:\n- {name: L, for_each: {items: [], steps: [{name: E, command: [e]}]}}\n- {name: C, command: [c, '${steps.L.exit_code}', '${steps.L.count}']}\n",
    );
    let mut words = Vec::new();
    completed(run.go(|_, argv| {
        words = argv.to_vec();
        exit(0)
    }));
    assert_eq!(
        (run.log(), words),
        (vec!["L", "C"], vec!["c".into(), "0".into(), "0".into()])
    );
}

#[test]
fn a_failure_without_handlers_leaves_the_loop_open_and_a_resume_goes_on_there() {
    let mut run = Run::new(&two_in_body("[a, b, c]", ""));
    let stop = stopped(run.go(|key, _| exit(if key == "L[1].F" { 5 } else { 0 })));
    assert_eq!(
        (stop.key.to_string().as_str(), stop.exit_code()),
        ("L[1].F", 5)
    );
    run.resume(Resume::default());
    completed(run.go(|_, _| exit(0)));
    let keys = [
        "L[0].E", "L[0].F", "L[1].E", "L[1].F=5", "L[1].F", "L[2].E", "L[2].F", "L", "C",
    ];
    assert_eq!(run.log(), keys);
    run.check_every_prefix();
}

#[test]
fn the_loops_own_handler_takes_a_failure_of_its_body() {
    let rescue = "  on: {failure: {goto: R}}\n- {name: R, command: [r, '${steps.L.failed}', '${steps.L.count}']}\n";
    let mut run = Run::new(&two_in_body("[a, b, c]", rescue));
    let mut words = Vec::new();
    completed(run.go(|key, argv| {
        if key == "R" {
            words = argv.to_vec();
        }
        exit(if key == "L[1].E" { 5 } else { 0 })
    }));
    assert_eq!(run.log(), ["L[0].E", "L[0].F", "L[1].E=5", "L=5", "R", "C"]);
    assert_eq!(words, ["r", "1", "2"]);
    let Event::Visit(visit) = &run.events[3] else {
        panic!()
    };
    let error = visit.result.error.as_ref().unwrap();
    assert_eq!(json!(error.context), json!({"index": 1, "step": "E"}));
    run.check_every_prefix();
}

#[test]
fn an_outer_loops_handler_closes_the_inner_loops() {
    let text = format!("{NESTED}  on: {{failure: {{goto: _end}}}}\n");
    let end = check(
        &text,
        &[("A[0].B[1].C", 4)],
        &["A[0].B[0].C", "A[0].B[1].C=4", "A[0].B=4", "A=4"],
    );
    completed(end);
}

#[test]
fn handlers_in_a_body_jump_within_it() {
    let text = "steps:\n- name: L\n  for_each:\n    items: [a, b]\n    steps:\n    - {name: E, command: [e], on: {failure: {goto: G}}}\n    - {name: F, command: [f]}\n    - {name: G, command: [g]}\n";
    completed(check(
        text,
        &[("L[0].E", 1)],
        &["L[0].E=1", "L[0].G", "L[1].E", "L[1].F", "L[1].G", "L"],
    ));
}

#[test]
fn with_continue_the_next_item_runs_and_the_loop_ends_with_1() {
    let steering = Steering {
        on_error: OnError::Continue,
        ..Steering::default()
    };
    let mut run = Run::steered(&two_in_body("[a, b]", ""), steering);
    let outcome = completed(run.go(|key, _| exit(if key == "L[0].E" { 9 } else { 0 })));
    assert_eq!(run.log(), ["L[0].E=9", "L[1].E", "L[1].F", "L=1", "C"]);
    assert_eq!(outcome.failed_steps, ["L"]);
}

#[test]
fn jumps_in_a_body_are_limited_for_each_item() {
    let text = "max_transitions: 2\nsteps:\n- name: L\n  for_each:\n    items: [a, b]\n    steps:\n    - {name: E, command: [e], on: {failure: {goto: E}}}\n";
    let mut run = Run::new(text);
    let mut failures = 0;
    let stop = stopped(run.go(|key, _| {
        failures += 1;
        exit(i64::from(key == "L[1].E" || failures % 3 != 0))
    }));
    assert_eq!(
        run.log(),
        [
            "L[0].E=1", "L[0].E=1", "L[0].E", "L[1].E=1", "L[1].E=1", "L[1].E=1", "L[1].E=3"
        ]
    );
    assert_eq!(stop.exit_code(), 3);
    assert_eq!(run.course.transition_count(), 0);
}

#[test]
fn end_in_a_body_completes_the_run() {
    let body = |more: &str| {
        format!(
            "steps:\n- name: L\n  for_each:\n    items: [a, b]\n    on_item_complete: {{success: {{move_to: done}}, failure: {{move_to: bad}}}}\n    steps:\n    - {{name: E, command: [e], on: {{success: {{goto: _end}}}}}}\n{more}- {{name: C, command: [c]}}\n"
        )
    };
    for after in ["    - {name: F, command: [f]}\n", ""] {
        let way = ["L[0].E", "a -> done", "L[0]", "L"];
        let end = check(&body(after), &[], &way);
        assert_eq!(completed(end).exit_code, 0);
    }
}

#[test]
fn the_file_of_an_item_is_moved_when_the_item_is_done() {
    let text = "steps:\n- name: L\n  for_each:\n    items: [in/a, in/b, 7]\n    on_item_complete: {success: {move_to: 'done/${loop.index}'}}\n    steps:\n    - {name: E, command: [e], on: {failure: {goto: F}}}\n    - {name: F, command: [f]}\n  on: {failure: {goto: _end}}\n";
    completed(check(
        text,
        &[("L[0].E", 1), ("L[1].F", 1)],
        &[
            "L[0].E=1",
            "L[0].F",
            "in/a -> done/0",
            "L[0]",
            "L[1].E",
            "L[1].F=1",
            "L=1",
        ],
    ));
}

#[test]
fn nothing_is_moved_when_a_failure_stops_the_run() {
    let text = "steps:\n- name: L\n  for_each:\n    items: [in/a]\n    on_item_complete: {failure: {move_to: bad}}\n    steps:\n    - {name: E, command: [e]}\n";
    stopped(check(text, &[("L[0].E", 1)], &["L[0].E=1"]));
}

#[test]
fn a_folder_that_cannot_be_does_not_change_the_item() {
    let text = "steps:\n- name: L\n  for_each:\n    items: [in/a]\n    on_item_complete: {success: {move_to: 'x${context.zz}'}}\n    steps:\n    - {name: E, command: [e]}\n";
    let mut run = Run::new(text);
    completed(run.go(|_, _| exit(0)));
    assert_eq!(run.log(), ["L[0].E", "L[0]", "L"]);
    let Event::Visit(visit) = &run.events[1] else {
        panic!()
    };
    let lifecycle = visit.result.lifecycle.as_ref().unwrap();
    assert!(!lifecycle.action_applied && lifecycle.error.is_some());
}

#[test]
fn a_loop_and_its_first_step_may_both_ask_the_disk() {
    let text = "steps:\n- name: L\n  when: {exists: x}\n  depends_on: {required: [d]}\n  for_each:\n    items: [a]\n    steps:\n    - {name: E, command: [e], when: {exists: 'y/${item}'}}\n- {name: C, command: [c]}\n";
    for (present, expected) in [
        (&["x", "d", "y/a"][..], &["L[0].E", "L", "C"][..]),
        (&["x", "d"], &["L[0].E skipped", "L", "C"]),
        (&["x"], &["L=2"]),
        (&["d", "y/a"], &["L skipped", "C"]),
    ] {
        let mut run = Run::new(text);
        run.go_where(&mut |_, _| exit(0), &mut |glob| present.contains(&glob));
        assert_eq!(run.log(), expected);
        run.check_every_prefix();
    }
}

#[test]
fn results_of_a_body_are_those_of_its_item() {
    let text = "steps:\n- {name: P, command: [p]}\n- name: L\n  for_each:\n    items: [a, b]\n    steps:\n    - {name: E, command: [e], when: {equals: {left: '${loop.index}', right: 0}}}\n    - {name: F, command: ['${steps.E.status}', '${steps.P.status}']}\n- {name: C, command: ['${steps.L.status}']}\n";
    let mut run = Run::new(text);
    let mut seen = Vec::new();
    completed(run.go(|_, words| {
        seen.push(words.join(" "));
        exit(0)
    }));
    assert_eq!(
        seen,
        [
            "p",
            "e",
            "completed completed",
            "skipped completed",
            "completed"
        ]
    );
}

#[test]
fn a_visit_has_a_number_that_its_key_never_had() {
    let text = "steps:\n- {name: P, command: [p]}\n- name: L\n  for_each:\n    items: [a, b]\n    steps:\n    - name: M\n      for_each: {items: [1, 2], steps: [{name: E, command: [e], on: {failure: {goto: E}}}]}\n  on: {success: {goto: P}}\n";
    let mut run = Run::new(text);
    let mut numbers = Vec::new();
    for turn in 0..40 {
        let Route::To(assignment) = run.course.next() else {
            break;
        };
        numbers.push((assignment.key.to_string(), assignment.visit));
        let settled = match assignment.todo {
            uwf_pipeline::course::Todo::Settled(result) => *result,
            uwf_pipeline::course::Todo::Task(_) => exit(i64::from(turn % 5 == 1)),
        };
        let visit = Visit {
            key: assignment.key,
            result: settled,
            duration_ms: 0,
        };
        run.push(Event::Visit(Box::new(visit)));
    }
    let first: Vec<(&str, u64)> = numbers
        .iter()
        .map(|(key, number)| (&**key, *number))
        .take(6)
        .collect();
    assert_eq!(
        first,
        [
            ("P", 1),
            ("L[0].M[0].E", 1),
            ("L[0].M[0].E", 2),
            ("L[0].M[1].E", 1),
            ("L[0].M", 1),
            ("L[1].M[0].E", 1)
        ]
    );
    let mut unique = numbers.clone();
    unique.sort();
    unique.dedup();
    assert_eq!(unique.len(), numbers.len(), "{numbers:?}");
}

#[test]
fn an_open_loop_is_left_when_a_resume_starts_elsewhere() {
    let mut run = Run::new(NESTED);
    stopped(run.go(|key, _| exit(i64::from(key == "A[0].B[1].C"))));
    run.resume(Resume {
        from: Some("A".into()),
        ..Resume::default()
    });
    completed(run.go(|_, _| exit(0)));
    assert_eq!(run.log().len(), 2 + 9);
    run.check_every_prefix();
}

#[test]
fn only_the_loop_is_done_again_that_could_not_begin() {
    let text = "steps:\n- {name: S, command: [s], output_capture: lines}\n- name: L\n  for_each:\n    items_from: steps.S.lines\n    steps:\n    - {name: E, command: [e], max_visits: 1, on: {failure: {goto: E}}}\n";
    let mut run = Run::new(text);
    stopped(run.go(|_, _| exit(0)));
    run.resume(Resume {
        from: Some("S".into()),
        ..Resume::default()
    });
    stopped(run.go(|_, _| exit(0)));
    run.resume(Resume::default());
    let Route::To(assignment) = run.course.next() else {
        panic!()
    };
    assert_eq!(assignment.key.to_string(), "L");
    run.resume(Resume {
        from: Some("S".into()),
        ..Resume::default()
    });
    let stop = stopped(run.go(|key, _| if key == "S" { lines(&["a"]) } else { exit(1) }));
    assert_eq!(stop.exit_code(), 3);
    assert_eq!(
        run.log(),
        ["S", "L=2", "S", "L=2", "S", "L[0].E=1", "L[0].E=3"]
    );
    run.check_every_prefix();
}

#[test]
fn loops_have_at_most_100_000_items() {
    let text = "steps:\n- {name: S, command: [s], output_capture: json}\n- {name: L, for_each: {items_from: steps.S.json, steps: [{name: E, command: [e]}]}}\n";
    let mut run = Run::new(text);
    let items = vec![0; 100_001];
    let stop = stopped(run.go(|_, _| prints(json!(items))));
    assert_eq!(stop.result.error.unwrap().kind, ErrorKind::InvalidReference);
}

#[test]
fn a_loop_of_100_000_items_costs_the_same_for_each() {
    let text = "steps:\n- {name: S, command: [s], output_capture: json}\n- {name: L, for_each: {items_from: steps.S.json, steps: [{name: E, command: ['${item}']}]}}\n";
    let flow = Arc::new(pipeline(text));
    let mut course = uwf_pipeline::Course::begin(flow, start_with(Steering::default()));
    let items = vec![7; 100_000];
    let mut visits = 0;
    let started = std::time::Instant::now();
    while let Route::To(assignment) = course.next() {
        visits += 1;
        let result = match assignment.todo {
            uwf_pipeline::course::Todo::Settled(result) => *result,
            uwf_pipeline::course::Todo::Task(_) if visits == 1 => prints(json!(items)),
            uwf_pipeline::course::Todo::Task(_) => exit(0),
        };
        let visit = Visit {
            key: assignment.key,
            result,
            duration_ms: 0,
        };
        course.push(Event::Visit(Box::new(visit))).unwrap();
    }
    assert_eq!(visits, 100_002);
    completed(course.next());
    // A course that looked at its finished items would take hours.
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
}
