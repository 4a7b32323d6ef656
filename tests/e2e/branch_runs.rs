//! Runs of threads with branches: a branch begins as soon as another one has ended its cycle.

use serde_json::{Value, json};

use crate::branches::{last, ran, statuses, world};
use crate::processes::signal;
use crate::world::{Run, World, wait_until};

fn hold(world: &World, file: &str) {
    world.write(&format!("wait-{file}"), "");
}

fn let_go(world: &World, file: &str) {
    std::fs::remove_file(world.project().join(format!("wait-{file}"))).unwrap();
}

/// Returns the steps of children that a run printed, and its last line.
fn printed(run: &Run) -> (Vec<Value>, Value) {
    let lines = run
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let mut lines: Vec<Value> = lines.collect();
    let end = lines.pop().unwrap();
    let children = lines.iter().map(|line| line["child"]["step"].clone());
    (children.filter(|step| !step.is_null()).collect(), end)
}

#[test]
fn a_branch_that_takes_long_holds_up_no_other_one() {
    let (world, thread) = world("max: 2", 5);
    hold(&world, "f0");
    let run = world.spawn(&["thread", "run", &thread]);
    wait_until("all others have been done", || ran(&world).len() == 5);
    wait_until("the last of them has ended", || {
        let list = world.uwf(&[
            "thread",
            "list",
            "--all",
            "--children",
            "--status",
            "completed",
        ]);
        list.exits(0).json().as_array().unwrap().len() == 4
    });
    let_go(&world, "f0");
    let run = Run::from(run.wait_with_output().unwrap()).exits(0);
    let (children, end) = printed(&run);
    assert_eq!(children.len(), 5, "each is reported once");
    assert_eq!(
        (&end["stopped"], &end["steps"]),
        (&json!("completed"), &json!(6))
    );
    assert_eq!(ran(&world).len(), 5);
}

#[test]
fn a_run_that_was_killed_amid_its_branches_goes_on_and_does_none_twice() {
    let (world, thread) = world("max: 2", 6);
    hold(&world, "f3");
    hold(&world, "f4");
    let run = world.spawn(&["thread", "run", &thread]);
    wait_until("two are held", || ran(&world).len() == 5);
    signal("KILL", run.id());
    run.wait_with_output().unwrap();
    let_go(&world, "f3");
    let_go(&world, "f4");
    wait_until("the thread is at its end", || {
        let code = world.uwf(&["thread", "run", &thread]).code;
        assert!([0, 5, 7].contains(&code), "{code}");
        world.show(&thread)["done"] == json!(true)
    });
    assert_eq!(ran(&world).len(), 6);
    assert_eq!(statuses(&world, &thread), ["done"; 6]);
}

#[test]
fn a_kill_amid_branches_makes_no_new_ones_and_ends_all() {
    let (world, thread) = world("max: 2", 6);
    for file in ["f0", "f1", "f2", "f3", "f4", "f5"] {
        hold(&world, file);
    }
    let run = world.spawn(&["thread", "run", &thread]);
    wait_until("two work", || ran(&world).len() == 2);
    world.uwf(&["thread", "kill", &thread]).exits(0);
    let run = Run::from(run.wait_with_output().unwrap());
    assert!([5, 7].contains(&run.code), "{}: {}", run.code, run.stderr);
    assert_eq!(ran(&world).len(), 2, "no agent was started after the kill");
    let list = world.uwf(&["thread", "list", "--children"]).exits(0).json();
    assert_eq!(list, json!([]), "nothing is active");
}

#[test]
fn an_interrupt_of_a_run_tells_how_many_steps_were_done() {
    let (world, thread) = world("max: 2", 5);
    hold(&world, "f3");
    hold(&world, "f4");
    let run = world.spawn(&["thread", "run", &thread]);
    wait_until("two are held", || ran(&world).len() == 5);
    signal("INT", run.id());
    let run = Run::from(run.wait_with_output().unwrap()).exits(130);
    let (children, end) = printed(&run);
    assert_eq!((children.len(), &end["steps"]), (3, &json!(3)));
}

#[test]
fn a_branch_that_failed_for_good_says_why() {
    let (world, thread) = world("max: 2", 2);
    world.write("fail-f0", "");
    for code in [3, 0] {
        world.uwf(&["thread", "run", &thread]).exits(code);
    }
    let step = last(&world, &thread);
    let failed = &step["output"]["results"][0];
    assert_eq!(failed["status"], json!("failed"));
    assert!(
        failed["reason"].as_str().unwrap().contains('9'),
        "the exit code of the tool: {failed}"
    );
}

#[test]
fn an_error_names_the_branch_and_its_item() {
    let (world, thread) = world("max: 2", 2);
    world.write("ask-f1", "");
    let run = world.uwf(&["thread", "run", &thread]).exits(6);
    let end = printed(&run).1;
    assert_eq!(end["message"], json!("What of f1?"));
    assert_eq!(
        end["next"],
        json!(format!("uwf thread resume {thread} -p \"…\""))
    );
    world
        .step(&thread)
        .exits(6)
        .says("branch `1 (f1)`: ")
        .says("asks: What of f1?");
}

#[test]
fn a_pause_lets_no_further_branch_begin() {
    let (world, thread) = world("max: 1", 3);
    hold(&world, "f0");
    let run = world.spawn(&["thread", "run", &thread]);
    wait_until("the first one works", || ran(&world).len() == 1);
    world.uwf(&["thread", "pause", &thread]).exits(0);
    let_go(&world, "f0");
    Run::from(run.wait_with_output().unwrap()).exits(6);
    assert_eq!(ran(&world).len(), 1);
}

#[test]
fn a_pause_amid_branches_lets_those_at_work_end() {
    let (world, thread) = world("max: 2", 6);
    hold(&world, "f0");
    hold(&world, "f1");
    let run = world.spawn(&["thread", "run", &thread]);
    wait_until("two work", || ran(&world).len() == 2);
    world.uwf(&["thread", "pause", &thread]).exits(0);
    let_go(&world, "f0");
    let_go(&world, "f1");
    Run::from(run.wait_with_output().unwrap()).exits(6);
    assert_eq!(ran(&world).len(), 2);
    world.uwf(&["thread", "unpause", &thread]).exits(0);
    world.uwf(&["thread", "run", &thread]).exits(0);
    assert_eq!(ran(&world).len(), 6);
}

#[test]
fn a_limit_that_the_branches_reach_lets_no_further_one_begin() {
    let (world, thread) = world("max: 2", 8);
    // The planner's step and three of branches; then one more may be at work.
    world.configure("limits.maxSteps", "4");
    let run = world.uwf(&["thread", "run", &thread]).exits(6);
    assert_eq!(printed(&run).1["stopped"], json!("suspended"));
    assert!(run.stdout.contains("--raise maxSteps="), "{}", run.stdout);
    let done = ran(&world).len();
    assert!((3..=4).contains(&done), "{done}");
    world
        .uwf(&["thread", "resume", &thread, "--raise", "maxSteps=20"])
        .exits(0);
    world.uwf(&["thread", "run", &thread]).exits(0);
    assert_eq!(ran(&world).len(), 8);
}

#[test]
fn a_caller_may_want_fewer_branches_at_once() {
    let (world, thread) = world("max: 4", 4);
    world
        .uwf(&["thread", "step", &thread, "--jobs", "3"])
        .exits(0);
    assert_eq!(ran(&world).len(), 3);
    let (world, thread) = self::world("max: 4", 4);
    hold(&world, "f0");
    hold(&world, "f1");
    let run = world.spawn(&["thread", "run", &thread, "--jobs", "2"]);
    wait_until("two work", || ran(&world).len() == 2);
    let_go(&world, "f1");
    wait_until("the others are done", || ran(&world).len() == 4);
    let_go(&world, "f0");
    Run::from(run.wait_with_output().unwrap()).exits(0);
    let (world, thread) = self::world("max: 1", 2);
    world
        .uwf(&["thread", "step", &thread, "--jobs", "3"])
        .exits(0);
    assert_eq!(ran(&world).len(), 1, "the workflow allows one at once");
}

#[test]
fn a_branch_that_fails_is_not_tried_again_while_others_go_on() {
    let (world, thread) = world("max: 2", 4);
    world.write("fail-f0", "");
    world.uwf(&["thread", "run", &thread]).exits(3);
    let of_first = |world: &World| ran(world).iter().filter(|file| *file == "f0").count();
    assert_eq!((of_first(&world), ran(&world).len()), (2, 5));
    std::fs::remove_file(world.project().join("fail-f0")).unwrap();
    world.uwf(&["thread", "run", &thread]).exits(0);
    assert_eq!(ran(&world).len(), 6);
}

#[test]
fn the_first_one_to_end_ends_a_run_of_any() {
    let (world, thread) = world("join: any\n    max: 3", 5);
    for file in ["f0", "f2"] {
        hold(&world, file);
    }
    hold(&world, "f1");
    let run = world.spawn(&["thread", "run", &thread]);
    wait_until("three work", || ran(&world).len() == 3);
    let_go(&world, "f1");
    Run::from(run.wait_with_output().unwrap()).exits(0);
    assert_eq!(ran(&world).len(), 3);
    let mut found = statuses(&world, &thread);
    found.sort();
    assert_eq!(
        found,
        ["cancelled", "cancelled", "cancelled", "cancelled", "done"]
    );
}

/// A map over files; each is reviewed by a workflow that goes round until the tool says that the file is done, and may do so
/// twice.
const REVIEWS: &str = r#"
name: reviews
roles:
  review-all: { goal: g, each: [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11], workflow: ./review.yaml, max: 4 }
graph:
  $START: { _: { role: review-all, prompt: "Review {{item}}." } }
  review-all:
    done: { role: $END, prompt: "all is well" }
    failed: { role: $END, prompt: "{{failed}} of {{count}} failed" }
"#;

const REVIEW: &str = r#"
name: review
limits: { maxSteps: 2 }
roles:
  reviewer:
    goal: g
    frontmatter: { type: object, required: [$status], properties: { $status: { enum: [again, fine] } } }
graph:
  $START: { _: { role: reviewer, prompt: "Begin." } }
  reviewer:
    again: { role: reviewer, prompt: "Once more." }
    fine: { role: $END, prompt: "" }
"#;

/// A tool that does what the files `fail-<file>`, `ask-<file>` and `again-<file>` say. It knows its file from the first prompt.
const REVIEWER: &str = r#"prompt=$(cat)
file=$(printf '%s' "$prompt" | grep -o 'f[0-9][0-9]*' | head -1)
echo "$file" >> ran
[ -e "fail-$file" ] && exit 9
if [ -e "ask-$file" ]; then rm "ask-$file"; printf -- '---\n$status: $SUSPEND\nreason: What of %s?\n---\n' "$file"; exit; fi
if [ -e "again-$file" ]; then printf -- '---\n$status: again\n---\n'; exit; fi
printf -- '---\n$status: fine\n---\n'"#;

#[test]
fn a_map_with_a_failure_a_question_and_a_limit_comes_to_its_end() {
    let world = World::new();
    world.write("review.yaml", REVIEW);
    world.put(REVIEWS);
    let tool = world.script("tool.sh", REVIEWER);
    world.agent("uwf-command", &["--", tool.to_str().unwrap()]);
    let thread = world.start("reviews");
    for file in ["fail-f3", "ask-f5", "again-f7"] {
        world.write(file, "");
    }
    let run = |code: i32| world.uwf(&["thread", "run", &thread]).exits(code);
    let resume = |args: &[&str]| world.uwf(&[&["thread", "resume", &thread], args].concat());
    // The others come to their ends first. A branch is tried three times, twice of them when nothing else can be done.
    run(3).says("uwf thread step");
    run(3);
    assert_eq!(ran(&world).len(), 9 + 3 + 1 + 2);
    run(6)
        .says("What of f5?")
        .says(&format!("uwf thread resume {thread}"));
    resume(&["-p", "It is fine."]).exits(0);
    run(6).says("maxSteps").says("--raise maxSteps=");
    std::fs::remove_file(world.project().join("again-f7")).unwrap();
    resume(&["--raise", "maxSteps=5"]).exits(0);
    let shown = world.show(&thread);
    assert_eq!(shown["status"], json!("completed"), "{shown}");
    let found = statuses(&world, &thread);
    let failed: Vec<usize> = (0..12).filter(|nth| found[*nth] != "fine").collect();
    assert_eq!(
        (failed, found[3].as_str()),
        (vec![3], "failed"),
        "{found:?}"
    );
    assert_eq!(ran(&world).len(), 9 + 3 + 2 + 3);
    let read = world.uwf(&["thread", "read", &thread]).exits(0).stdout;
    assert!(read.contains("1 of 12 failed"), "{read}");
}
