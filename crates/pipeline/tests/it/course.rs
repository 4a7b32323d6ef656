//! What comes next: order, jumps, failures, guards and conditions.

use serde_json::json;
use uwf_pipeline::course::{
    Archive, Archived, Event, OnError, Resume, Route, Steering, Task, Todo,
};
use uwf_pipeline::{ErrorKind, Failure, Retries, StepResult};

use crate::drive::{Run, check, completed, exit, prints, stopped};

/// Writes a step with a command and more keys.
fn step(name: &str, more: &str) -> String {
    format!("- {{name: {name}, command: [{name}]{more}}}\n")
}

fn flow(steps: &[(&str, &str)]) -> String {
    let steps: Vec<String> = steps.iter().map(|(name, more)| step(name, more)).collect();
    format!("steps:\n{}", steps.concat())
}

const CONTINUE: Steering = Steering {
    on_error: OnError::Continue,
    retries: None,
    max_transitions: None,
    archive: None,
};

#[test]
fn steps_run_in_their_order() {
    let end = check(&flow(&[("A", ""), ("B", "")]), &[], &["A", "B"]);
    assert_eq!(completed(end).exit_code, 0);
}

#[test]
fn a_failure_without_a_handler_stops_the_run() {
    let end = check(&flow(&[("A", ""), ("B", "")]), &[("A", 7)], &["A=7"]);
    let stop = stopped(end);
    assert_eq!((stop.key.to_string().as_str(), stop.exit_code()), ("A", 7));
    assert_eq!(stop.message(), "step `A` failed: it failed");
}

#[test]
fn the_exit_code_of_a_run_is_one_that_programs_can_have() {
    for (code, expected) in [(2, 2), (124, 124), (127, 127), (137, 1), (1, 1)] {
        let end = check(&flow(&[("A", "")]), &[("A", code)], &[&format!("A={code}")]);
        assert_eq!(stopped(end).exit_code(), expected);
    }
}

#[test]
fn handlers_jump_and_always_wins() {
    let on = |handlers: &str| {
        flow(&[
            ("A", &format!(", on: {{{handlers}}}")),
            ("B", ""),
            ("C", ""),
        ])
    };
    let ok: &[(&str, i64)] = &[];
    let bad: &[(&str, i64)] = &[("A", 1)];
    check(&on("success: {goto: C}"), ok, &["A", "C"]);
    check(&on("failure: {goto: C}"), bad, &["A=1", "C"]);
    check(&on("failure: {goto: C}"), ok, &["A", "B", "C"]);
    check(
        &on("success: {goto: B}, failure: {goto: B}, always: {goto: C}"),
        ok,
        &["A", "C"],
    );
    check(
        &on("failure: {goto: B}, always: {goto: C}"),
        bad,
        &["A=1", "C"],
    );
    let end = check(&on("failure: {goto: _end}"), bad, &["A=1"]);
    assert_eq!(completed(end).failed_steps, [""; 0]);
}

#[test]
fn without_strict_flow_a_run_goes_on_and_names_what_failed() {
    let lax = format!("strict_flow: false\n{}", flow(&[("A", ""), ("B", "")]));
    let outcome = completed(check(&lax, &[("A", 1), ("B", 2)], &["A=1", "B=2"]));
    assert_eq!(
        (outcome.exit_code, outcome.failed_steps),
        (0, vec!["A".into(), "B".into()])
    );
    let mut run = Run::steered(&flow(&[("A", ""), ("B", "")]), CONTINUE);
    let end = run.go(|_, _| exit(1));
    assert_eq!(completed(end).failed_steps, ["A", "B"]);
}

#[test]
fn jumps_back_are_counted_and_limited() {
    let text = format!(
        "max_transitions: 3\n{}",
        flow(&[
            ("A", ""),
            ("B", ", on: {success: {goto: A}, failure: {goto: _end}}")
        ])
    );
    let end = check(&text, &[], &["A", "B", "A", "B", "A", "B", "A", "B", "A=3"]);
    let stop = stopped(end);
    assert_eq!(stop.exit_code(), 3);
    let error = stop.result.error.unwrap();
    assert_eq!(error.kind, ErrorKind::CycleGuardExceeded);
    let facts = json!({"guard": "max_transitions", "limit": 3, "observed": 4, "step": "A"});
    assert_eq!(json!(error.context), facts);
}

#[test]
fn a_jump_to_the_next_step_is_no_transition() {
    let text = format!(
        "max_transitions: 1\n{}",
        flow(&[
            ("A", ", on: {success: {goto: B}}"),
            ("B", ", on: {success: {goto: C}}"),
            ("C", "")
        ])
    );
    completed(check(&text, &[], &["A", "B", "C"]));
    let text = format!(
        "max_transitions: 1\n{}",
        flow(&[("A", ", on: {success: {goto: A}}")])
    );
    stopped(check(&text, &[], &["A", "A", "A=3"]));
}

#[test]
fn visits_are_limited_without_asking_handlers() {
    let text = flow(&[
        (
            "A",
            ", max_visits: 2, on: {success: {goto: A}, failure: {goto: B}}",
        ),
        ("B", ""),
    ]);
    let mut run = Run::new(&text);
    let stop = stopped(run.go(|_, _| exit(0)));
    assert_eq!(run.log(), ["A", "A", "A=3"]);
    assert_eq!(run.course.step_visits(), [("A", 2)]);
    assert_eq!(
        stop.result.error.unwrap().context["guard"],
        json!("max_visits")
    );
}

#[test]
fn guards_survive_a_resume() {
    for limits in ["max_transitions: 2\n", ""] {
        let visits = if limits.is_empty() {
            "max_visits: 3, "
        } else {
            ""
        };
        let text = format!(
            "{limits}{}",
            flow(&[("A", &format!(", {visits}on: {{success: {{goto: A}}}}"))])
        );
        let mut run = Run::new(&text);
        stopped(run.go(|_, _| exit(0)));
        run.resume(Resume::default());
        stopped(run.go(|_, _| exit(0)));
        assert_eq!(run.log(), ["A", "A", "A", "A=3", "A=3"], "{limits}");
        run.check_every_prefix();
    }
}

#[test]
fn skipped_steps_lead_on_whatever_their_handlers_say() {
    let text = flow(&[
        (
            "A",
            ", when: {equals: {left: '${context.a}', right: 2}}, on: {always: {goto: C}}, max_visits: 1",
        ),
        ("B", ", when: {equals: {left: '${context.a}', right: 1}}"),
        ("C", ""),
    ]);
    let mut run = Run::new(&text);
    completed(run.go(|_, _| exit(0)));
    assert_eq!(run.log(), ["A skipped", "B", "C"]);
    assert_eq!(run.course.step_visits(), [("B", 1), ("C", 1)]);
}

#[test]
fn only_the_disk_knows_some_conditions() {
    let text = flow(&[
        ("A", ", when: {exists: 'in/${run.id}'}"),
        ("B", ", when: {not_exists: x}"),
    ]);
    for (present, expected) in [("in/run-1", ["A", "B"]), ("x", ["A skipped", "B skipped"])] {
        let mut run = Run::new(&text);
        completed(run.go_where(&mut |_, _| exit(0), &mut |glob| glob == present));
        assert_eq!(run.log(), expected);
        run.check_every_prefix();
    }
}

#[test]
fn what_has_no_value_fails_before_anything_starts_and_asks_handlers() {
    let text = flow(&[
        (
            "A",
            ", output_file: '${context.zz}', on: {failure: {goto: C}}",
        ),
        ("B", ""),
        (
            "C",
            ", when: {equals: {left: '${steps.B.output}', right: x}}",
        ),
    ]);
    let mut run = Run::new(&text);
    let stop = stopped(run.go(|_, _| panic!("nothing is started")));
    assert_eq!(run.log(), ["A=2", "C=2"]);
    assert_eq!(stop.exit_code(), 2);
}

#[test]
fn a_path_that_leaves_the_workspace_is_found_when_it_is_known() {
    let text = "steps:\n- {name: A, command: [a], output_capture: json}\n- {name: B, command: [b], output_file: 'x/${steps.A.json}'}\n";
    let mut run = Run::new(text);
    let stop = stopped(run.go(|_, _| prints(json!("../../y"))));
    assert_eq!(stop.result.error.unwrap().kind, ErrorKind::PathViolation);
}

#[test]
fn a_task_says_all_that_a_runner_needs() {
    let text = "secrets: [Z]\nsteps:\n- {name: A, provider: claude, input_file: 'p/${context.a}', output_file: o, secrets: [B, A], env: {E: '${x}'}, timeout_sec: 1.5, depends_on: {required: ['d/${run.id}']}}\n";
    let retries = Retries {
        max: 2,
        delay_ms: 5,
    };
    let steering = Steering {
        retries: Some(retries),
        ..Steering::default()
    };
    let run = Run::steered(text, steering);
    let Route::To(assignment) = run.course.next() else {
        panic!()
    };
    assert_eq!(
        (assignment.agent.to_string().as_str(), assignment.visit),
        ("provider:claude", 1)
    );
    let Todo::Task(task) = assignment.todo else {
        panic!()
    };
    let Task::Run(task) = *task else { panic!() };
    assert_eq!(task.input_file.as_deref(), Some("p/1"));
    assert_eq!(task.output_file.as_deref(), Some("o"));
    assert_eq!(task.secrets, ["A", "B", "Z"]);
    assert_eq!(task.env["E"], "${x}");
    assert_eq!((task.timeout_ms, task.retries), (Some(1500), retries));
    assert_eq!(task.depends_on.required, ["d/run-1"]);
}

#[test]
fn commands_are_retried_only_if_they_say_so() {
    let retries = |more: &str| {
        let steering = Steering {
            retries: Some(Retries {
                max: 2,
                delay_ms: 5,
            }),
            ..Steering::default()
        };
        let run = Run::steered(&flow(&[("A", more)]), steering);
        let Route::To(assignment) = run.course.next() else {
            panic!()
        };
        match assignment.todo {
            Todo::Task(task) => match *task {
                Task::Run(task) => task.retries.max,
                other => panic!("{other:?}"),
            },
            Todo::Settled(result) => panic!("{result:?}"),
        }
    };
    assert_eq!(retries(""), 0);
    assert_eq!(retries(", retries: 7"), 7);
}

#[test]
fn a_resume_does_the_failed_step_again() {
    let text = flow(&[("A", ""), ("B", ", max_visits: 1"), ("C", "")]);
    let mut run = Run::new(&text);
    stopped(run.go(|key, _| exit(i64::from(key == "B"))));
    run.resume(Resume::default());
    completed(run.go(|_, _| exit(0)));
    assert_eq!(run.log(), ["A", "B=1", "B", "C"]);
    run.check_every_prefix();
}

#[test]
fn a_resume_can_start_elsewhere_or_go_on_after_errors() {
    let text = flow(&[("A", ""), ("B", ""), ("C", "")]);
    let mut run = Run::new(&text);
    stopped(run.go(|key, _| exit(i64::from(key == "B"))));
    run.resume(Resume {
        from: Some("A".into()),
        on_error: Some(OnError::Continue),
        accepted: None,
    });
    let outcome = completed(run.go(|key, _| exit(i64::from(key == "B"))));
    assert_eq!(run.log(), ["A", "B=1", "A", "B=1", "C"]);
    assert_eq!(outcome.failed_steps, ["B"]);
    run.check_every_prefix();
}

#[test]
fn the_time_of_the_run_stops_it_without_asking_handlers() {
    let text = flow(&[("A", ", on: {always: {goto: B}}"), ("B", "")]);
    let mut run = Run::new(&text);
    let timed_out = StepResult::failed(124, Failure::new(ErrorKind::RunTimeout, "over"));
    let stop = stopped(run.go(|_, _| timed_out.clone()));
    assert_eq!((run.log(), stop.exit_code()), (vec!["A=124"], 124));
}

#[test]
fn finished_tasks_are_archived_once_and_only_on_success() {
    let steering = || Steering {
        archive: Some(Archive {
            destination: Some("out.zip".into()),
        }),
        ..Steering::default()
    };
    let mut run = Run::steered(&flow(&[("A", "")]), steering());
    let route = run.go(|_, _| exit(0));
    let destination = Some("out.zip".to_owned());
    assert_eq!(route, Route::Archive { destination });
    let mut failed = run.course.clone();
    run.push(Event::Archived(Archived::Made));
    assert_eq!(completed(run.course.next()).exit_code, 0);
    let why = Archived::Failed("no such folder".to_owned());
    failed.push(Event::Archived(why)).unwrap();
    let stop = stopped(failed.next());
    assert_eq!(stop.message(), "step `_archive` failed: no such folder");
    let back = Resume {
        from: Some("A".to_owned()),
        ..Resume::default()
    };
    failed.push(Event::Resume(back)).unwrap_err();
    failed.push(Event::Resume(Resume::default())).unwrap();
    assert!(matches!(failed.next(), Route::Archive { .. }));
    let mut run = Run::steered(&flow(&[("A", "")]), steering());
    stopped(run.go(|_, _| exit(1)));
}

#[test]
fn a_chain_of_another_pipeline_is_told() {
    let mut other = Run::new(&flow(&[("X", "")]));
    other.go(|_, _| exit(0));
    let mut run = Run::new(&flow(&[("A", ""), ("B", "")]));
    let misfit = run.course.push(other.events[0].clone()).unwrap_err();
    assert_eq!(misfit.to_string(), "`X` is recorded where `A` comes");
    completed(run.go(|_, _| exit(0)));
    let misfit = run
        .course
        .push(Event::Resume(Resume::default()))
        .unwrap_err();
    assert_eq!(
        misfit.to_string(),
        "`_resume` is recorded where the end comes"
    );
}
