//! Conditions that take too much: they cannot hang a command, eat the machine's memory or outlive their caller.

use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::world::{Run, World, wait_until};

/// Expressions that take hours or more memory than there is, most of them within one call of a built-in function,
/// and what is said about them.
const COSTLY: [(&str, &str); 9] = [
    ("$distinct([1..900000])", TOO_MUCH),
    ("$pad('x', 1000000000000)", MEMORY),
    ("$pad('x', 2000000000)", MEMORY),
    (
        "$replace($pad('x', 900000, 'x'), 'x', $pad('y', 9999, 'y'))",
        MEMORY,
    ),
    ("$split($pad('x', 100000000, 'x'), '')", TOO_MUCH),
    (
        "$join($map([1..900000], function($x){ $pad('x', 9999) }))",
        TOO_MUCH,
    ),
    ("$sort([1..900000], function($a, $b){ $a > $b })", TOO_MUCH),
    ("($f := function($x){ $f($x) }; $f(1))", TOO_MUCH),
    (
        "$count([1..9999999])",
        "The maximum sequence length of 1000000 was exceeded",
    ),
];

const TOO_MUCH: &str = "it takes more than";
const MEMORY: &str = "it takes more than 512 MiB of memory";

/// What is far longer than any of these calls takes, and far shorter than one that hangs.
const PROMPT: Duration = Duration::from_secs(120);

/// Returns a workflow of one role whose first step depends on a condition.
fn begins_with(name: &str, expression: &str) -> String {
    format!(
        r#"
name: {name}
description: It begins with a condition
roles:
  writer: {{ goal: You write., frontmatter: {{ type: object, properties: {{ n: {{ type: integer }} }}, required: [n] }} }}
conditions:
  costly: {{ expression: "{expression}" }}
graph:
  $START: [{{ role: writer, prompt: a, condition: costly }}, {{ role: writer, prompt: b }}]
  writer: [{{ role: $END }}]
"#
    )
}

/// Returns a workflow whose condition is evaluated after the first step.
fn goes_on_with(name: &str, expression: &str) -> String {
    begins_with(name, expression)
        .replace(
            "$START: [{ role: writer, prompt: a, condition: costly }, ",
            "$START: [",
        )
        .replace(
            "writer: [{ role: $END }]",
            "writer: [{ role: writer, condition: costly }, { role: $END }]",
        )
}

const ONE_ANSWER: &str = "roles:\n  writer: [{ output: { n: 1 } }]\n";

/// What is said of a thread whose condition a list did not evaluate.
const SPENT: &str = "the 5 seconds are spent that a list has for the conditions of all threads; `uwf thread show <thread>` evaluates those of one";

fn blocked_items(listed: &Value) -> impl Iterator<Item = &Value> {
    let items = listed.as_array().unwrap().iter();
    items.filter(|item| item["status"] == "blocked")
}

#[track_caller]
fn promptly(run: impl FnOnce() -> Run) -> Run {
    let begun = Instant::now();
    let run = run();
    assert!(begun.elapsed() < PROMPT, "it took {:?}", begun.elapsed());
    run
}

#[test]
fn a_condition_that_takes_too_much_blocks_its_thread_and_says_why() {
    let world = World::new();
    world.mock(ONE_ANSWER);
    for (index, (expression, reason)) in COSTLY.into_iter().enumerate() {
        let name = format!("costly{index}");
        world.put(&begins_with(&name, expression));
        let thread = world.start(&name);
        let run = promptly(|| world.step(&thread)).exits(1);
        let run = run
            .says(&format!("error: thread `{thread}` is blocked"))
            .says("the condition `costly` of the edge `$START → edge 1` failed")
            .says(reason)
            .says("hint: only a corrected workflow helps");
        assert_eq!(run.stdout, "");
        if reason == MEMORY {
            let shown = world.show(&thread);
            assert_eq!(shown["status"], json!("blocked"), "{expression}");
            let told = shown["blockedReason"].as_str().unwrap();
            assert!(told.contains(reason), "{expression}: {told}");
        }
    }
}

#[test]
fn a_list_has_one_limit_of_time_for_the_conditions_of_all_its_threads() {
    let world = World::new();
    world.put(&begins_with("good", "$count(steps) = 0"));
    for index in 0..12 {
        // Each is a question of its own: none is known from another thread.
        let name = format!("costly{index}");
        world.put(&begins_with(
            &name,
            &format!("$distinct([1..8999{index:02}])"),
        ));
        world.start(&name);
    }
    let newest = world.start("good");
    let begun = Instant::now();
    let listed = world.uwf(&["thread", "list"]).exits(0);
    let took = begun.elapsed();
    assert!(
        took < Duration::from_secs(20),
        "12 conditions took {took:?}"
    );
    let listed = listed.says("and 11 more could not be checked").json();
    let all = listed.as_array().unwrap();
    assert_eq!(all.len(), 13);
    let item = |id: &str| all.iter().find(|item| item["thread"] == id).unwrap();
    let newest = item(&newest);
    assert_eq!(newest["status"], json!("idle"), "{newest}");
    assert!(newest.get("blockedReason").is_none());
    let reasons: Vec<&str> = blocked_items(&listed)
        .map(|item| item["blockedReason"].as_str().unwrap())
        .collect();
    assert_eq!(reasons.len(), 12);
    assert!(
        reasons.iter().all(|reason| reason.contains(SPENT)),
        "{reasons:?}"
    );
    let shown = blocked_items(&listed).map(|item| item["statusDisplay"].as_str().unwrap());
    assert!(shown.eq(["blocked [not evaluated]"; 12]));
    let checks = promptly(|| world.uwf(&["doctor", "--offline"])).json();
    let checks = checks["checks"].as_array().unwrap();
    let check = checks
        .iter()
        .find(|check| check["check"] == "conditions")
        .unwrap();
    assert_eq!(check["status"], json!("warning"), "{check}");
}

#[test]
fn the_one_costly_condition_of_a_list_has_all_the_time_that_is_left() {
    let world = World::new();
    world.put(&begins_with("good", "$count(steps) = 0"));
    world.put(&begins_with("costly", "$distinct([1..900000])"));
    world.start("costly");
    world.start("good");
    for command in [
        &["thread", "list"][..],
        &["thread", "list", "--status", "blocked", "--take", "1"],
    ] {
        let begun = Instant::now();
        let listed = world.uwf(command).exits(0).json();
        let took = begun.elapsed();
        let blocked: Vec<&Value> = blocked_items(&listed).collect();
        assert_eq!(blocked.len(), 1, "{listed}");
        let reason = blocked[0]["blockedReason"].as_str().unwrap();
        // On a machine that is too busy for it, the time is really spent.
        let spent = reason.contains(SPENT) && took >= Duration::from_secs(5);
        assert!(reason.contains(TOO_MUCH) || spent, "{took:?}: {reason}");
    }
}

#[test]
fn the_same_costly_condition_is_evaluated_once_in_a_list() {
    let world = World::new();
    world.put(&begins_with("good", "$count(steps) = 0"));
    world.put(&begins_with("costly", "$distinct([1..900000])"));
    let good = world.start("good");
    for _ in 0..12 {
        world.start("costly");
    }
    let listed = promptly(|| world.uwf(&["thread", "list"])).exits(0).json();
    let with = |status: &str| {
        let items = listed.as_array().unwrap().iter();
        items.filter(|item| item["status"] == status).count()
    };
    assert_eq!((with("idle"), with("blocked")), (1, 12), "{listed}");
    assert_eq!(world.show(&good)["status"], json!("idle"));
}

/// Starts a step whose agent ends well and whose condition then takes its time, and returns it with the number of
/// the process that evaluates the condition.
fn step_at_its_condition(world: &World, thread: &str) -> (Child, Pid) {
    let step = world.spawn(&["thread", "step", thread]);
    wait_until("the condition is evaluated", || {
        evaluator_of(&step).is_some()
    });
    let evaluator = evaluator_of(&step).unwrap();
    (step, evaluator)
}

/// Returns the process that evaluates conditions for this one.
fn evaluator_of(step: &Child) -> Option<Pid> {
    let id = step.id();
    let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).ok()?;
    let named = |pid: &&str| {
        let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        name.trim_end() == "uwf-conditions"
    };
    Pid::from_raw(children.split_whitespace().find(named)?.parse().ok()?)
}

fn is_gone(process: Pid) -> bool {
    !Path::new(&format!("/proc/{}", process.as_raw_nonzero())).exists()
}

#[test]
fn a_signal_ends_a_condition_and_keeps_the_step_before_it() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let world = World::new();
        world.mock(ONE_ANSWER);
        world.put(&goes_on_with("late", "$distinct([1..900000])"));
        let thread = world.start("late");
        let (step, evaluator) = step_at_its_condition(&world, &thread);
        let begun = Instant::now();
        kill_process(Pid::from_child(&step), signal).unwrap();
        let run = Run::from(step.wait_with_output().unwrap()).exits(code);
        let took = begun.elapsed();
        // A condition that nobody ends has five seconds.
        assert!(took < Duration::from_secs(4), "{signal:?} took {took:?}");
        let run = run.says("while the conditions of the workflow were evaluated");
        let run = run.says(&format!("hint: `uwf thread step {thread}` goes on"));
        assert!(is_gone(evaluator));
        // What was done is told all the same.
        let told = run.json();
        assert_eq!(
            (&told["role"], &told["status"], &told["currentRole"]),
            (&json!("writer"), &json!("idle"), &Value::Null)
        );
        run.says(told["step"].as_str().unwrap());
        // To show the thread takes the five seconds of the condition again. Once is enough.
        if signal != Signal::INT {
            continue;
        }
        let shown = world.show(&thread);
        assert_eq!(
            (&shown["steps"], &shown["status"]),
            (&json!(1), &json!("blocked"))
        );
    }
}

#[test]
fn an_evaluator_that_is_killed_is_no_fault_of_the_workflow() {
    let world = World::new();
    world.mock(ONE_ANSWER);
    world.put(&begins_with("first", "$distinct([1..900000])"));
    world.put(&goes_on_with("late", "$distinct([1..900000])"));
    for (workflow, steps) in [("first", 0), ("late", 1)] {
        let thread = world.start(workflow);
        let (step, evaluator) = step_at_its_condition(&world, &thread);
        kill_process(evaluator, Signal::KILL).unwrap();
        let run = Run::from(step.wait_with_output().unwrap()).exits(5);
        let run = run.says("cannot be evaluated now").says("signal: 9");
        assert_eq!(run.stdout.lines().count(), steps);
        if steps == 0 {
            run.says("hint: run the same command again");
        } else {
            assert_eq!(run.json()["role"], json!("writer"));
            run.says(&format!("hint: `uwf thread step {thread}` goes on"));
        }
        // Asked again, the condition itself is at fault.
        let shown = world.show(&thread);
        assert_eq!(shown["steps"], json!(steps), "{shown}");
        assert_eq!(shown["status"], json!("blocked"), "{shown}");
    }
}

#[test]
fn a_thread_that_its_condition_blocks_is_not_told_to_do_its_step_again() {
    let world = World::new();
    world.mock(ONE_ANSWER);
    world.put(&goes_on_with("wrong", "$sum('x') > steps[-1].output.n"));
    let thread = world.start("wrong");
    world
        .step(&thread)
        .exits(0)
        .says("graph gives no next step");
    let shown = world.show(&thread);
    assert_eq!(shown["status"], json!("blocked"), "{shown}");
    let hint = shown["hint"].as_str().unwrap();
    assert!(hint.contains("`uwf workflow put <file>`"), "{hint}");
    let text = world.uwf(&["thread", "show", &thread, "--format", "text"]);
    assert!(text.stdout.contains("uwf workflow put"), "{}", text.stdout);
    let failed = world.step(&thread).exits(1);
    for told in [hint, &text.stdout, &failed.stderr] {
        assert!(!told.contains("thread poke"), "{told}");
    }
}

#[test]
fn an_evaluator_dies_with_its_engine_and_keeps_no_lock() {
    let world = World::new();
    world.mock(ONE_ANSWER);
    world.put(&begins_with("late", "$distinct([1..900000])"));
    let thread = world.start("late");
    let (mut step, evaluator) = step_at_its_condition(&world, &thread);
    let open = std::fs::read_dir(format!("/proc/{}/fd", evaluator.as_raw_nonzero())).unwrap();
    assert_eq!(open.count(), 3, "stdin, stdout and stderr");
    step.kill().unwrap();
    step.wait().unwrap();
    wait_until("the evaluator is gone", || is_gone(evaluator));
    promptly(|| world.step(&thread)).exits(1).says(TOO_MUCH);
}

#[test]
fn functions_that_route_by_chance_or_are_not_there_are_refused_at_their_place() {
    let world = World::new();
    let validate = |expression: &str| {
        world.write("checked.yaml", &begins_with("checked", expression));
        world.uwf(&["workflow", "validate", "checked.yaml"])
    };
    for (expression, said) in [
        (
            "$now() > '2026'",
            "`$now` is not available: an expression depends on the thread alone",
        ),
        ("$random() > 0.5", "`$random` is not available"),
        ("$millis() > 5", "`$millis` is not available"),
        (
            "$shuffle(steps)[0].role = 'writer'",
            "`$shuffle` is not available",
        ),
        (
            "$coutn(steps) > 1",
            "there is no function `$coutn`; did you mean `$count`?",
        ),
    ] {
        let run = validate(expression).exits(1);
        run.says(&format!("checked.yaml:7:25: {said}"));
    }
    validate("$count(steps) > 1").exits(0);
}

#[test]
fn a_template_of_a_list_edge_that_may_lack_its_field_is_warned_of_at_its_place() {
    let world = World::new();
    let workflow = begins_with("checked", "$last('writer').n = 1")
        .replace("n: { type: integer }", "n: { type: integer }, note: { type: string }")
        .replace(
            "writer: [{ role: $END }]",
            "writer: [{ role: writer, condition: costly, prompt: 'Again: {{note}}' }, { role: $END }]",
        );
    world.write("checked.yaml", &workflow);
    let run = world
        .uwf(&["workflow", "validate", "checked.yaml"])
        .exits(0);
    run.says("warning: checked.yaml:10:")
        .says("`{{note}}` at 1:10 of the template may be missing from the answer of `writer`");
    let guarded = workflow.replace("$last('writer').n = 1", "$last('writer').note = 'x'");
    world.write("checked.yaml", &guarded);
    let run = world
        .uwf(&["workflow", "validate", "checked.yaml"])
        .exits(0);
    assert_eq!(run.stderr, "");
}
