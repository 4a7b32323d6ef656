//! The main path: from a workflow file to a finished thread, and the exit codes that loops live by.

use serde_json::json;

use crate::world::{ONE_STEP, REVIEW, World};

const REVIEW_SCRIPT: &str = r#"
roles:
  writer:
    - output: { plan: first draft }
    - output: { plan: second draft }
  reviewer:
    - output: { $status: rejected, reason: too short }
    - output: { $status: approved, summary: good }
"#;

#[test]
fn a_thread_is_stepped_to_its_end() {
    let world = World::new();
    let workflow = world.put(REVIEW);
    world.mock(REVIEW_SCRIPT);
    let thread = world.start("review");
    let roles = ["writer", "reviewer", "writer", "reviewer"];
    for (index, role) in roles.into_iter().enumerate() {
        let report = world.step(&thread).exits(0).json();
        assert_eq!(report["workflow"], json!(workflow));
        assert_eq!(report["role"], json!(role));
        assert_eq!(report["head"], report["step"]);
        assert_eq!(report["done"], json!(index == 3));
    }
    let steps = world.uwf(&["thread", "steps", &thread]).exits(0).json();
    let outputs: Vec<_> = steps["steps"].as_array().unwrap()[1..]
        .iter()
        .map(|step| step["output"].clone())
        .collect();
    assert_eq!(outputs[0], json!({ "plan": "first draft" }));
    assert_eq!(
        outputs[3],
        json!({ "$status": "approved", "summary": "good" })
    );
    assert_eq!(world.state("threads.yaml").trim(), "");
    assert!(world.state("history.jsonl").contains(&thread));
    world.uwf(&["cas", "verify"]).exits(0);
}

#[test]
fn the_step_report_has_the_nine_keys_first() {
    let world = World::new();
    world.put(REVIEW);
    world.mock(REVIEW_SCRIPT);
    let thread = world.start("review");
    let report = world.step(&thread).exits(0).json();
    let keys: Vec<_> = report
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    let nine = [
        "workflow",
        "thread",
        "head",
        "status",
        "currentRole",
        "suspendedRole",
        "suspendMessage",
        "done",
        "background",
    ];
    assert_eq!(keys[..9], nine);
    assert_eq!(report["currentRole"], json!("reviewer"));
}

#[test]
fn a_loop_ends_with_7_when_the_thread_has_ended() {
    let world = World::new();
    world.put(REVIEW);
    world.mock(REVIEW_SCRIPT);
    assert_eq!(loop_until_it_fails(&world, "review"), (4, 7));
}

#[test]
fn a_loop_ends_with_6_when_the_thread_waits() {
    let world = World::new();
    world.put(REVIEW);
    world.mock(
        "roles:\n  writer:\n    - output: { plan: p }\n  reviewer:\n    - output: { $status: ask, question: which? }\n",
    );
    assert_eq!(loop_until_it_fails(&world, "review"), (2, 6));
}

#[test]
fn a_loop_ends_with_3_when_the_agent_fails() {
    let world = World::new();
    world.put(REVIEW);
    world.mock("roles:\n  writer:\n    - output: { plan: p }\n  reviewer:\n    - exit: 9\n");
    assert_eq!(loop_until_it_fails(&world, "review"), (1, 3));
}

/// Runs `while uwf thread step "$t"; do :; done`, and returns how many steps it did and what ended it.
fn loop_until_it_fails(world: &World, workflow: &str) -> (usize, i32) {
    let thread = world.start(workflow);
    for done in 0..20 {
        let run = world.step(&thread);
        if run.code != 0 {
            return (done, run.code);
        }
    }
    panic!("the loop does not end");
}

#[test]
fn a_suspended_thread_goes_on_with_an_answer() {
    let world = World::new();
    world.put(REVIEW);
    world.mock(
        r#"
roles:
  writer: [{ output: { plan: p } }]
  reviewer:
    - output: { $status: ask, question: "which colour?" }
    - output: { $status: ask, question: "which size?" }
    - output: { $status: approved, summary: s }
"#,
    );
    let thread = world.start("review");
    world.uwf(&["thread", "step", &thread, "-c", "2"]).exits(0);
    let shown = world.show(&thread);
    assert_eq!(shown["status"], json!("suspended"));
    assert_eq!(shown["suspendedRole"], json!("reviewer"));
    assert_eq!(shown["suspendMessage"], json!("Need: which colour?"));
    assert!(
        shown["hint"]
            .as_str()
            .unwrap()
            .contains("uwf thread resume")
    );
    world.step(&thread).exits(6).says("which colour?");
    let again = world
        .uwf(&["thread", "resume", &thread, "-p", "blue"])
        .exits(0)
        .json();
    assert_eq!(again["suspendMessage"], json!("Need: which size?"));
    let prompt = world.uwf(&["step", "read", "--prompt", again["step"].as_str().unwrap()]);
    for text in ["Review: p", "which colour?", "blue"] {
        assert!(
            prompt.stdout.contains(text),
            "the prompt lacks {text}:\n{}",
            prompt.stdout
        );
    }
    let done = world.uwf(&["thread", "resume", &thread]).exits(0).json();
    assert_eq!(done["done"], json!(true));
    world
        .uwf(&["thread", "resume", &thread, "-p", "x"])
        .exits(7);
}

#[test]
fn a_role_may_suspend_without_an_edge() {
    let world = World::new();
    world.put(ONE_STEP);
    world.mock(
        "roles:\n  writer:\n    - output: { $status: $SUSPEND, reason: \"I need a key\" }\n    - output: { note: n }\n",
    );
    let thread = world.start("one");
    assert_eq!(
        world.step(&thread).exits(0).json()["suspendMessage"],
        json!("I need a key")
    );
    world.step(&thread).exits(6).says("I need a key");
    let done = world
        .uwf(&["thread", "resume", &thread, "-p", "here"])
        .exits(0)
        .json();
    assert_eq!(done["done"], json!(true));
}

#[test]
fn many_steps_print_one_line_each_as_they_are_recorded() {
    let world = World::new();
    world.put(REVIEW);
    world.mock(
        "roles:\n  writer:\n    - output: { plan: p }\n  reviewer:\n    - output: { $status: rejected, reason: r }\n    - exit: 1\n",
    );
    let thread = world.start("review");
    let run = world
        .uwf(&["thread", "exec", &thread, "--count", "9"])
        .exits(3);
    let lines: Vec<serde_json::Value> = run
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let roles: Vec<_> = lines
        .iter()
        .map(|line| line["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles, ["writer", "reviewer", "writer", "reviewer"]);
    assert_eq!(
        lines[3]["class"], "crash",
        "the last line is the failed attempt"
    );
    assert_eq!(world.show(&thread)["head"], lines[2]["head"]);
}

#[test]
fn a_count_ends_with_the_code_of_the_step_that_could_not_be_done() {
    let world = World::new();
    world.put(REVIEW);
    let reviewed = |output: &str| {
        world.mock(&format!(
            "roles:\n  writer: [{{ output: {{ plan: p }} }}]\n  reviewer: [{{ output: {output} }}]\n"
        ));
        world.start("review")
    };
    let count = |thread: &str, count: &str| world.uwf(&["thread", "step", thread, "-c", count]);
    for most in ["9", "all"] {
        let asks = reviewed("{ $status: ask, question: which? }");
        let run = count(&asks, most).exits(6).says("uwf thread resume");
        assert_eq!(run.stdout.lines().count(), 2);
        let done = reviewed("{ $status: approved, summary: s }");
        let run = count(&done, most).exits(0);
        assert_eq!(run.stdout.lines().count(), 2);
        count(&done, most).exits(7);
    }
    // As many steps as were asked for are done, whatever comes next.
    let asks = reviewed("{ $status: ask, question: which? }");
    count(&asks, "2").exits(0);
    count(&asks, "2").exits(6);
}

#[test]
fn a_count_that_ends_blocked_ends_with_1() {
    let world = World::new();
    let conditions = "conditions: { never: { expression: 'false' } }\ngraph:";
    let blocked = ONE_STEP.replace("graph:", conditions).replace(
        "writer: { _: { role: $END, prompt: \"Done: {{note}}\" } }",
        "writer: [{ role: $END, condition: never }]",
    );
    world.put(&blocked);
    world.mock("roles:\n  writer: [{ output: { note: n } }]\n");
    let thread = world.start("one");
    let run = world.uwf(&["thread", "step", &thread, "-c", "9"]).exits(1);
    assert_eq!(run.stdout.lines().count(), 1);
    assert_eq!(run.json()["status"], "blocked");
    assert!(run.stderr.contains("is blocked"), "{}", run.stderr);
}

#[test]
fn stop_ends_a_thread_as_kill_does() {
    let (world, thread) = finished_step();
    let stopped = world.uwf(&["thread", "stop", &thread]).exits(0).json();
    assert_eq!(stopped["cancelled"], true);
    world.step(&thread).exits(7);
}

#[test]
fn active_threads_are_idle_or_running() {
    let (world, idle) = finished_step();
    let asking = world.start("review");
    world.mock("roles:\n  writer: [{ output: { $status: $SUSPEND, reason: why? } }]\n");
    world.step(&asking).exits(0);
    let list = |status: &str| -> Vec<String> {
        let listed = world.uwf(&["thread", "list", "--status", status]).exits(0);
        let listed = listed.json();
        let items = listed.as_array().unwrap().iter();
        items
            .map(|item| item["thread"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(list("active"), [idle]);
    assert_eq!(list("suspended"), [asking]);
    let help = world.uwf(&["thread", "list", "--help"]).exits(0).stdout;
    assert!(help.contains("suspended"), "{help}");
}

/// A thread of the review workflow after its first step.
fn finished_step() -> (World, String) {
    let world = World::new();
    world.put(REVIEW);
    world.mock("roles:\n  writer: [{ output: { plan: p } }]\n");
    let thread = world.start("review");
    world.step(&thread).exits(0);
    (world, thread)
}

#[test]
fn a_fork_goes_its_own_way_and_leaves_the_original_alone() {
    let world = World::new();
    world.put(REVIEW);
    world.mock(REVIEW_SCRIPT);
    let thread = world.start("review");
    let first = world.step(&thread).exits(0).json()["step"]
        .as_str()
        .unwrap()
        .to_owned();
    world.uwf(&["thread", "step", &thread, "-c", "9"]).exits(0);
    let before = world.uwf(&["thread", "steps", &thread]).stdout;
    let forked = world.uwf(&["thread", "fork", &first]).exits(0).json();
    assert_eq!(forked["forkedFrom"]["step"], json!(first));
    let fork = forked["thread"].as_str().unwrap();
    assert_ne!(fork, thread);
    let report = world.step(fork).exits(0).json();
    assert_eq!(report["role"], json!("reviewer"));
    assert_eq!(world.uwf(&["thread", "steps", &thread]).stdout, before);
    let steps = world.uwf(&["thread", "steps", fork]).json();
    assert_eq!(steps["steps"].as_array().unwrap().len(), 3);
}

#[test]
fn a_fork_of_the_last_step_ends_without_an_agent() {
    let world = World::new();
    world.put(ONE_STEP);
    world.mock("roles:\n  writer:\n    - output: { note: n }\n");
    let thread = world.start("one");
    let head = world.step(&thread).exits(0).json()["head"]
        .as_str()
        .unwrap()
        .to_owned();
    let fork = world.uwf(&["step", "fork", &head]).json()["thread"]
        .as_str()
        .unwrap()
        .to_owned();
    let report = world.step(&fork).exits(0).json();
    assert_eq!(
        (report["done"].clone(), report["step"].clone()),
        (json!(true), json!(null))
    );
    world.step(&fork).exits(7);
}

#[test]
fn a_killed_thread_is_archived_and_stays_readable() {
    let world = World::new();
    world.put(REVIEW);
    world.mock(REVIEW_SCRIPT);
    let thread = world.start("review");
    world.step(&thread).exits(0);
    let killed = world.uwf(&["thread", "kill", &thread]).exits(0).json();
    assert_eq!(
        (&killed["archived"], &killed["cancelled"]),
        (&json!(true), &json!(true))
    );
    assert_eq!(world.show(&thread)["status"], json!("cancelled"));
    world.step(&thread).exits(7);
    world.uwf(&["thread", "cancel", &thread]).exits(7);
    let read = world.uwf(&["thread", "read", &thread]).exits(0);
    assert!(read.stdout.contains("first draft"));
}

#[test]
fn an_ended_thread_is_taken_up_again_where_the_workflow_says_how() {
    let world = World::new();
    let yaml = ONE_STEP.replace("name: one", "name: again").replace(
        "{ _: { role: writer, prompt: \"Write a note.\" } }",
        "{ new: { role: writer, prompt: Write. }, resume: { role: writer, prompt: Once more. } }",
    );
    world.put(&yaml);
    world.mock("roles:\n  writer:\n    - output: { note: n }\n");
    let thread = world.start("again");
    world.step(&thread).exits(0);
    world.step(&thread).exits(7);
    let report = world
        .uwf(&["thread", "resume", &thread, "-p", "and longer"])
        .exits(0)
        .json();
    assert_eq!(
        (&report["role"], &report["done"]),
        (&json!("writer"), &json!(true))
    );
    let steps = world.uwf(&["thread", "steps", &thread]).json();
    assert_eq!(steps["steps"].as_array().unwrap().len(), 3);
}

#[test]
fn a_fork_says_what_is_next_there() {
    let world = World::new();
    world.put(REVIEW);
    world.mock("roles:\n  writer:\n    - output: { plan: p }\n  reviewer:\n    - output: { $status: ask, question: q }\n");
    let thread = world.start("review");
    world.uwf(&["thread", "step", &thread, "-c", "2"]).exits(0);
    let steps = world.uwf(&["thread", "steps", &thread]).json();
    let fork = |at: usize| {
        let hash = steps["steps"][at]["hash"].as_str().unwrap();
        world
            .uwf(&["thread", "fork", hash, "--format", "text"])
            .exits(0)
            .stdout
    };
    assert!(fork(1).contains("next: uwf thread step "), "{}", fork(1));
    assert!(fork(2).contains("next: uwf thread resume "), "{}", fork(2));
    let document = world.uwf(&["thread", "read", &thread]).stdout;
    assert!(
        document
            .ends_with("## Suspended\n\n**reviewer** asks:\n\n<question>\nNeed: q\n</question>\n"),
        "{document}"
    );
}

#[test]
fn a_root_where_nothing_is_is_named_and_nothing_is_made_there() {
    let world = World::new();
    world.put(ONE_STEP);
    let nowhere = world.dir().join("mistyped");
    let nowhere = nowhere.to_str().unwrap();
    for (args, code) in [
        (&["thread", "list"][..], 0),
        (&["cas", "verify"], 0),
        (&["cas", "gc"], 1),
        (&["thread", "prune", "--ended"], 0),
    ] {
        let mistyped = world.uwf(&[args, &["--root", nowhere]].concat());
        mistyped
            .exits(code)
            .says(&format!("note: nothing is at `{nowhere}`"));
        let right = world.uwf(args);
        assert!(!right.stderr.contains("nothing is at"), "{}", right.stderr);
    }
    assert!(!std::path::Path::new(nowhere).exists());
}
