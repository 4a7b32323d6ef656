//! What another pipeline means for a run that is under way: where it goes on, what it keeps, and what is refused.

use std::sync::Arc;

use uwf_pipeline::Pipeline;
use uwf_pipeline::course::{
    AcceptError, Course, Event, Restart, Resume, Route, Spot, Steering, Visit, kept_items,
    kept_results, passed_over, restart,
};

use crate::common::pipeline;
use crate::drive::{Run, completed, exit, stopped};

/// Writes a pipeline of steps `name: command`, where `name: [...]` is a loop over `a` and `b`.
fn flow(steps: &str) -> String {
    format!("steps: [{steps}]")
}

fn step(name: &str, word: &str) -> String {
    format!("{{name: {name}, command: [{word}]}}")
}

fn in_loop(name: &str, steps: &[String]) -> String {
    format!(
        "{{name: {name}, for_each: {{items: [a, b], steps: [{}]}}}}",
        steps.join(", ")
    )
}

/// A first step `S`, a loop `L` with these steps, and a last step `Z`.
fn around(body: &[(&str, &str)]) -> Pipeline {
    let body: Vec<String> = body.iter().map(|(name, word)| step(name, word)).collect();
    let steps = [step("S", "s"), in_loop("L", &body), step("Z", "z")];
    pipeline(&flow(&steps.join(", ")))
}

/// `X` and `Y` in a loop, which stopped at this key.
fn stopped_at(key: &str) -> Run {
    let run = around(&[("W", "w"), ("X", "x"), ("Y", "y")]);
    let mut run = Run::of(run, crate::drive::start_with(Steering::default()));
    stopped(run.go(|at, _| exit(i64::from(at == key))));
    run
}

const ABC: &str =
    "steps: [{name: A, command: [A]}, {name: B, command: [B]}, {name: C, command: [C]}]";

const TWO: &str = "steps: [{name: L, for_each: {items: [a, b], steps: [{name: E, command: [e]}, {name: F, command: [f]}]}}, {name: C, command: [c]}]";

fn place(course: &Course, accepted: &Pipeline) -> Option<String> {
    let restart = restart(course, accepted, None).unwrap();
    restart.map(|restart| restart.key)
}

/// Goes on under another pipeline as the decision says, and returns what is done.
fn goes_on(mut run: Run, accepted: Pipeline) -> Vec<String> {
    let from = place(&run.course, &accepted);
    let before = run.log.len();
    run.resume(Resume {
        from,
        accepted: Some(Arc::new(accepted)),
        ..Resume::default()
    });
    completed(run.go(|_, _| exit(0)));
    run.check_every_prefix();
    run.log[before..].to_vec()
}

#[test]
fn a_run_goes_on_at_the_completed_step_of_an_open_item_that_is_another_one_now() {
    let changed = || around(&[("W", "w"), ("X", "other"), ("Y", "y")]);
    let run = stopped_at("L[1].Y");
    let expected = Restart {
        key: "L[1].X".to_owned(),
        again: vec!["L[1].Y".to_owned()],
    };
    assert_eq!(restart(&run.course, &changed(), None), Ok(Some(expected)));
    assert_eq!(goes_on(run, changed()), ["L[1].X", "L[1].Y", "L", "Z"]);
    // Nothing is completed yet that is another one.
    assert_eq!(place(&stopped_at("L[1].X").course, &changed()), None);
    // The order of the other pipeline counts: `Y`, which is not completed, comes first there.
    let turned = around(&[("W", "w"), ("Y", "y"), ("X", "other")]);
    assert_eq!(place(&stopped_at("L[0].Y").course, &turned), None);
}

#[test]
fn a_changed_step_of_a_finished_item_stays_as_it_is_and_is_told() {
    let run = stopped_at("L[1].W");
    let changed = around(&[("W", "w"), ("X", "other"), ("Y", "y")]);
    assert_eq!(restart(&run.course, &changed, None), Ok(None));
    let told = vec![Spot {
        key: "L".to_owned(),
        step: "L".to_owned(),
    }];
    assert_eq!(kept_results(&run.course, &changed, None), told);
    let same = around(&[("W", "w"), ("X", "x"), ("Y", "y")]);
    assert_eq!(kept_results(&run.course, &same, None), []);
    assert_eq!(
        kept_results(&stopped_at("L[0].Y").course, &changed, None),
        []
    );
    assert_eq!(
        goes_on(run, changed),
        ["L[1].W", "L[1].X", "L[1].Y", "L", "Z"]
    );
}

#[test]
fn no_completed_step_of_an_open_loop_may_be_gone() {
    let without = |names: &[&str]| {
        let body: Vec<(&str, &str)> = names.iter().map(|name| (*name, "same")).collect();
        around(&body)
    };
    let missing =
        |stop: &str, names: &[&str]| match restart(&stopped_at(stop).course, &without(names), None)
        {
            Err(AcceptError::MissingInLoop(missing)) => missing.join(" "),
            other => panic!("{stop} {names:?}: {other:?}"),
        };
    assert_eq!(missing("L[0].Y", &["W", "Y"]), "L.X");
    // `X` and `Y` are completed for the first item only.
    assert_eq!(missing("L[1].W", &["W", "V"]), "L.X L.Y");
    let run = stopped_at("L[0].X");
    assert_eq!(
        place(&run.course, &around(&[("W", "w"), ("V", "v")])),
        None,
        "nothing that is gone is completed"
    );
}

#[test]
fn an_open_loop_may_not_be_gone_or_be_no_loop() {
    let body: Vec<String> = ["W", "X", "Y"].map(|name| step(name, "same")).to_vec();
    let refused = |steps: &[String]| {
        let accepted = pipeline(&flow(&steps.join(", ")));
        let run = stopped_at("L[0].W");
        // Who says where the run goes on leaves its loops.
        assert_eq!(restart(&run.course, &accepted, Some("Z")), Ok(None));
        restart(&run.course, &accepted, None).unwrap_err()
    };
    let gone = AcceptError::MissingLoop("L".to_owned());
    assert_eq!(refused(&[step("S", "s"), step("Z", "z")]), gone);
    let renamed = [step("S", "s"), in_loop("M", &body), step("Z", "z")];
    assert_eq!(refused(&renamed), gone);
    let command = [step("S", "s"), step("L", "l"), step("Z", "z")];
    assert_eq!(refused(&command), AcceptError::NoLoop("L".to_owned()));
}

#[test]
fn what_is_completed_is_never_done_in_place_of_a_step_that_is_gone() {
    let run = stopped_at("L[1].Y");
    let error = restart(&run.course, &around(&[("W", "w"), ("X", "x")]), None).unwrap_err();
    assert_eq!(error, AcceptError::MissingInLoop(vec!["L.Y".to_owned()]));
    let run = stopped_at("L[0].Y");
    let gone = AcceptError::MissingPlace("L[0].Y".to_owned());
    let error = restart(&run.course, &around(&[("W", "w"), ("X", "x")]), None).unwrap_err();
    assert_eq!(error, gone);
    let moved = around(&[("V", "v"), ("W", "w"), ("X", "x")]);
    assert_eq!(restart(&run.course, &moved, None), Err(gone));
    let renamed = around(&[("W", "w"), ("X", "x"), ("V", "v")]);
    assert_eq!(goes_on(run, renamed)[0], "L[0].V");
}

#[test]
fn a_changed_step_around_an_open_loop_leaves_it_and_says_so() {
    let run = stopped_at("L[1].Y");
    let body: Vec<String> = [("W", "w"), ("X", "other"), ("Y", "y")]
        .map(|(name, word)| step(name, word))
        .to_vec();
    let steps = [step("S", "other"), in_loop("L", &body), step("Z", "z")];
    let accepted = pipeline(&flow(&steps.join(", ")));
    let restart = restart(&run.course, &accepted, None).unwrap().unwrap();
    assert_eq!(
        (&*restart.key, &*restart.again.join(" ")),
        ("S", "L"),
        "the items of the loop are done again"
    );
    assert_eq!(goes_on(run, accepted)[..2], ["S", "L[0].W"]);
}

#[test]
fn nothing_is_left_out_because_a_later_step_is_another_one() {
    let text = |word: &str| {
        format!(
            "steps:\n- {{name: S, command: [s]}}\n- name: L\n  for_each: {{items: [a, b], steps: [{{name: X, command: [x]}}]}}\n- {{name: Z, command: [{word}], on: {{success: {{goto: L}}}}}}\n"
        )
    };
    let mut run = Run::new(&text("z"));
    let mut visits = 0;
    stopped(run.go(|key, _| {
        visits += u64::from(key == "L[1].X");
        exit(i64::from(key == "L[1].X" && visits == 2))
    }));
    // `Z` is completed, and so was `L`, whose second round is under way.
    assert_eq!(place(&run.course, &pipeline(&text("other"))), None);
}

#[test]
fn loops_within_loops_go_on_by_the_same_rules() {
    let nested = |m: &str, x: &str| {
        let inner = in_loop("I", &[step("X", x), step("Y", "y")]);
        let steps = [in_loop("O", &[step("M", m), inner])];
        pipeline(&flow(&steps.join(", ")))
    };
    let stopped_at = |key: &str| {
        let mut run = Run::of(
            nested("m", "x"),
            crate::drive::start_with(Steering::default()),
        );
        stopped(run.go(|at, _| exit(i64::from(at == key))));
        run
    };
    let run = stopped_at("O[1].I[1].Y");
    assert_eq!(
        place(&run.course, &nested("m", "other")).unwrap(),
        "O[1].I[1].X"
    );
    let told = kept_results(&run.course, &nested("m", "other"), None);
    let told: Vec<(&str, &str)> = told.iter().map(|spot| (&*spot.key, &*spot.step)).collect();
    assert_eq!(told, [("O", "O"), ("O[1].I", "O")]);
    assert_eq!(
        goes_on(run, nested("m", "other")),
        ["O[1].I[1].X", "O[1].I[1].Y", "O[1].I", "O"]
    );
    let run = stopped_at("O[0].I[1].Y");
    let restart = restart(&run.course, &nested("other", "x"), None).unwrap();
    let restart = restart.unwrap();
    assert_eq!(
        (&*restart.key, &*restart.again.join(" ")),
        ("O[0].M", "O[0].I")
    );
    assert_eq!(
        goes_on(run, nested("other", "x"))[..3],
        ["O[0].M", "O[0].I[0].X", "O[0].I[0].Y"]
    );
}

#[test]
fn an_item_that_has_ended_is_a_finished_one() {
    let text = |word: &str| {
        format!(
            "steps:\n- name: L\n  for_each: {{items: [a], steps: [{{name: X, command: [{word}]}}], on_item_complete: {{success: {{move_to: done}}}}}}\n"
        )
    };
    let mut run = Run::new(&text("x"));
    let other = pipeline(&text("other"));
    for route in ["L[0].X", "L[0]", "L"] {
        let Route::To(assignment) = run.course.next() else {
            panic!()
        };
        assert_eq!(assignment.key.to_string(), route);
        assert_eq!(place(&run.course, &other), None);
        let expected = usize::from(route != "L[0].X");
        assert_eq!(
            kept_results(&run.course, &other, None).len(),
            expected,
            "{route}"
        );
        run.settle_next(&exit(0));
    }
}

#[test]
fn a_run_does_not_go_on_within_an_item_that_is_not_open() {
    for from in ["L[0].X", "L[1].V", "M[1].X", "L[1]", "L[1].X[0].Y", "[", ""] {
        let mut run = stopped_at("L[1].Y");
        let resume = Resume {
            from: Some(from.to_owned()),
            ..Resume::default()
        };
        let before = run.course.next();
        run.course.push(Event::Resume(resume)).unwrap_err();
        assert_eq!(run.course.next(), before, "{from}");
    }
}

#[test]
fn new_steps_before_the_place_are_told_in_bodies_too() {
    let run = stopped_at("L[1].Y");
    let accepted = around(&[("New", "n"), ("W", "w"), ("X", "x"), ("Y", "y"), ("V", "v")]);
    let passed = |from: Option<&str>| {
        let passed = passed_over(&run.course, &accepted, from);
        let passed = passed
            .iter()
            .map(|spot| format!("{} {}", spot.key, spot.step));
        passed.collect::<Vec<_>>()
    };
    assert_eq!(passed(None), ["L[1].New L"]);
    assert_eq!(passed(Some("L[1].X")), ["L[1].New L"]);
    assert_eq!(passed(Some("L")), [""; 0]);
    assert_eq!(kept_items(&run.course, &accepted, None), []);
}

#[test]
fn a_run_goes_on_under_another_pipeline_by_the_names_of_steps() {
    let mut run = Run::new(ABC);
    stopped(run.go(|key, _| exit(i64::from(key == "B"))));
    let fixed = "steps:\n- {name: Z, command: [z]}\n- {name: A, command: [A]}\n- {name: B, command: [fixed]}\n- {name: C, command: [C]}\n";
    let fixed = pipeline(fixed);
    assert_eq!(restart(&run.course, &fixed, None), Ok(None));
    run.resume(Resume {
        accepted: Some(Arc::new(fixed)),
        ..Resume::default()
    });
    completed(run.go(|key, words| {
        assert_eq!(words[0], if key == "B" { "fixed" } else { key });
        exit(0)
    }));
    assert_eq!(run.log(), ["A", "B=1", "B", "C"]);
    run.check_every_prefix();
}

#[test]
fn the_first_completed_step_that_changed_is_where_a_run_restarts() {
    let mut run = Run::new(ABC);
    stopped(run.go(|key, _| exit(i64::from(key == "C"))));
    let changed = pipeline(
        "steps:\n- {name: A, command: [A]}\n- {name: B, command: [B], env: {X: y}}\n- {name: C, command: [C]}\n",
    );
    assert_eq!(place(&run.course, &changed).unwrap(), "B");
    let gone = pipeline("steps:\n- {name: A, command: [A]}\n- {name: C, command: [C]}\n");
    let error = restart(&run.course, &gone, None).unwrap_err();
    assert_eq!(error, AcceptError::MissingSteps(vec!["B".to_owned()]));
}

#[test]
fn an_open_loop_goes_on_under_another_pipeline() {
    let mut run = Run::new(TWO);
    stopped(run.go(|key, _| exit(i64::from(key == "L[1].F"))));
    let changed = "steps:\n- {name: Z, command: [z]}\n- name: L\n  for_each: {items: [a, b], steps: [{name: D, command: [d]}, {name: E, command: [e]}, {name: F, command: [f]}]}\n";
    run.resume(Resume {
        accepted: Some(Arc::new(pipeline(changed))),
        ..Resume::default()
    });
    completed(run.go(|_, _| exit(0)));
    assert_eq!(run.log()[3..], ["L[1].F=1", "L[1].F", "L"]);
    let mut run = Run::new(TWO);
    stopped(run.go(|key, _| exit(i64::from(key == "L[1].F"))));
    run.resume(Resume {
        from: Some("L".to_owned()),
        accepted: Some(Arc::new(pipeline("steps: [{name: L, command: [l]}]"))),
        ..Resume::default()
    });
    completed(run.go(|_, _| exit(0)));
    assert_eq!(run.log()[3..], ["L[1].F=1", "L"]);
}

#[test]
fn numbers_of_visits_follow_the_names_of_steps_to_another_pipeline() {
    let text = "steps:\n- name: L\n  for_each: {items: [a], steps: [{name: E, command: [e]}, {name: F, command: [f]}]}\n- {name: C, command: [c], on: {success: {goto: L}}}\n";
    let mut run = Run::new(text);
    stopped(run.go(|key, _| exit(i64::from(key == "C"))));
    let swapped = "steps:\n- {name: C, command: [c], on: {success: {goto: L}}}\n- name: L\n  for_each: {items: [a], steps: [{name: G, command: [g]}, {name: F, command: [f]}]}\n";
    run.resume(Resume {
        accepted: Some(Arc::new(pipeline(swapped))),
        ..Resume::default()
    });
    let mut numbers = Vec::new();
    for _ in 0..3 {
        let Route::To(assignment) = run.course.next() else {
            panic!()
        };
        numbers.push((assignment.key.to_string(), assignment.visit));
        let visit = Visit {
            key: assignment.key,
            result: exit(0),
            duration_ms: 0,
        };
        run.push(Event::Visit(Box::new(visit)));
    }
    let expected = [("C", 2), ("L[0].G", 1), ("L[0].F", 2)];
    assert_eq!(
        numbers,
        expected.map(|(key, number)| (key.to_owned(), number))
    );
}
