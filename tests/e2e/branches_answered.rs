//! A role that children do asks a person, and is answered: the children do it again, and what was paid for is not.

use std::fs;

use serde_json::{Value, json};

use crate::branches::{last, ran, statuses};
use crate::crash::reader::Ledger;
use crate::crash::sweep::kill_at_many;
use crate::world::{World, wait_until};

/// Branches that are workflows of two roles, and a workflow that plays a role alone. Each asks if it has failed.
const OUTER: &str = r#"
name: outer
roles:
  planner:
    goal: The files are known.
    frontmatter: { type: object, required: [files, kind], properties: { kind: { type: string }, files: { type: array, items: { type: string } } } }
  work:
    goal: Every file is worked on.
    @
graph:
  $START: { _: { role: planner, prompt: "Plan." } }
  planner: { _: { role: work, prompt: "Work on the {{kind}} file {{item}}." } }
  work:
    failed: { role: $SUSPEND, prompt: "It has failed. What now?" }
    %
"#;

const EACH: &str = "each: \"steps[-1].output.files\"\n    workflow: ./inner.yaml";

const INNER: &str = r#"
name: inner
roles:
  writer:
    goal: A file is written.
    frontmatter: { type: object, properties: { words: { type: number } } }
  reader:
    goal: A file is read.
    frontmatter: { type: object, required: [$status], properties: { $status: { enum: [ok, failed] } } }
graph:
  $START: { _: { role: writer, prompt: "Write." } }
  writer: { _: { role: reader, prompt: "Read." } }
  reader:
    ok: { role: $END, prompt: "read" }
    failed: { role: $END, prompt: "not read" }
"#;

/// Fails, or ends with the status `failed`, while there are files that say so. Each run leaves a line with its role and file.
const TOOL: &str = r#"prompt=$(cat)
if [ "$UWF_ROLE" = planner ]; then printf -- '---\nkind: long\nfiles: [fa, fb]\n---\n'; exit; fi
file=$(printf '%s' "$prompt" | grep -o 'file f[ab]' | head -1)
echo "$UWF_ROLE $file" >> ran
printf '%s' "$prompt" > prompt-$UWF_ROLE
if [ "$UWF_ROLE" = writer ] && [ "$file" = 'file fb' ] && [ -e broken ]; then exit 9; fi
if [ "$UWF_ROLE" = writer ]; then printf -- '---\nwords: 3\n---\n'; exit; fi
status=ok; [ -e says-failed ] && status=failed
printf -- '---\n$status: %s\n---\n' "$status""#;

/// A world whose role is done like this and has this edge, too, with a thread whose files are planned.
fn world(work: &str, edge: &str) -> (World, String) {
    let world = World::new();
    world.write("inner.yaml", INNER);
    let outer = OUTER.replace('@', work).replace('%', edge);
    world.put(&match work == EACH {
        true => outer,
        false => outer.replace("{{item}}", "fa"),
    });
    let tool = world.script("tool.sh", TOOL);
    world.agent("uwf-command", &["--", tool.to_str().unwrap()]);
    let thread = world.start("outer");
    world.step(&thread).exits(0);
    (world, thread)
}

/// A thread whose branch `fb` has failed for good, and that asks.
fn asking() -> (World, String) {
    let (world, thread) = world(EACH, "done: { role: $END, prompt: fine }");
    world.write("broken", "");
    wait_until("the role asks", || {
        world.step(&thread);
        world.show(&thread)["status"] == json!("suspended")
    });
    (world, thread)
}

fn calls(world: &World, line: &str) -> usize {
    ran(world).iter().filter(|one| *one == line).count()
}

fn resume(world: &World, thread: &str, words: &str) -> Value {
    let resumed = world.uwf(&["thread", "resume", thread, "-p", words]);
    resumed.exits(0).json()
}

#[test]
fn branches_that_failed_are_done_again_and_the_others_are_not_paid_for_twice() {
    let (world, thread) = asking();
    let before = ran(&world).len();
    fs::remove_file(world.project().join("broken")).unwrap();
    // The words of a person are no template.
    let report = resume(&world, &thread, "Try {{it}} again");
    assert_eq!(report["status"], json!("idle"), "{report}");
    let prompt = fs::read_to_string(world.project().join("prompt-writer")).unwrap();
    for told in ["the long file fb", "What now?", "Try {{it}} again"] {
        assert!(prompt.contains(told), "{told}: {prompt}");
    }
    // It goes on as any thread does: nobody needs to say more.
    assert_eq!(world.show(&thread)["status"], json!("idle"));
    let listed = world.uwf(&["thread", "list", "--status", "idle"]).exits(0);
    assert!(listed.stdout.contains(&thread), "{}", listed.stdout);
    let planned = world.uwf(&["thread", "step", &thread, "--dry-run"]);
    assert!(planned.exits(0).stdout.contains("work"));
    world.uwf(&["thread", "run", &thread]).exits(0);
    assert_eq!(statuses(&world, &thread), ["ok", "ok"]);
    assert_eq!(ran(&world).len(), before + 2, "one branch, two roles");
    let ended = last(&world, &thread);
    let steps = |nth: usize| ended["children"][nth]["steps"].clone();
    assert_eq!((steps(0), steps(1)), (json!(2), json!(2)));
    // The branch that was kept is counted once: planner, two roles of each file, and the three failed attempts.
    let cost = world.uwf(&["thread", "cost", &thread]).exits(0).json();
    assert_eq!(cost["total"]["runs"], json!(1 + 4 + 3), "{cost}");
    let usage = &world.show(&thread)["usage"];
    assert_eq!(usage["runs"], json!(1 + 4 + 3), "{usage}");
    world.uwf(&["cas", "verify"]).exits(0);
}

#[test]
fn a_role_that_asks_again_begins_with_the_same_items_and_instruction() {
    let (world, thread) = asking();
    for _ in 0..2 {
        resume_until_it_asks(&world, &thread);
    }
    fs::remove_file(world.project().join("broken")).unwrap();
    resume(&world, &thread, "third");
    world.uwf(&["thread", "run", &thread]).exits(0);
    assert_eq!(statuses(&world, &thread), ["ok", "ok"]);
    assert_eq!(calls(&world, "writer file fa"), 1);
    let prompt = fs::read_to_string(world.project().join("prompt-writer")).unwrap();
    assert!(prompt.contains("the long file fb") && prompt.contains("third"));
    assert!(!prompt.contains("again please"), "{prompt}");
}

fn resume_until_it_asks(world: &World, thread: &str) {
    let steps = || world.show(thread)["steps"].clone();
    let before = steps();
    world.uwf(&["thread", "resume", thread, "-p", "again please"]);
    wait_until("the role asks again", || {
        world.step(thread);
        steps() != before && world.show(thread)["status"] == json!("suspended")
    });
}

#[test]
fn an_answer_that_is_killed_anywhere_is_given_once() {
    let (world, thread) = asking();
    fs::remove_file(world.project().join("broken")).unwrap();
    let before = ran(&world).len();
    let args = ["thread", "resume", &thread, "-p", "again"];
    let calls = kill_at_many(&world, &args, "thread resume", |traced| {
        wait_until("the thread is at its end", || {
            let asks = world.show(&thread)["status"] == json!("suspended");
            match asks {
                true => world.uwf(&args),
                false => world.step(&thread),
            };
            world.show(&thread)["done"] == json!(true)
        });
        let ledger = Ledger::read(&world.root());
        assert_eq!(ledger.threads.len(), 4, "{:?}", traced.killed());
        let prompt = fs::read_to_string(world.project().join("prompt-writer")).unwrap();
        assert!(prompt.contains("again"), "{prompt}");
        assert!(ran(&world).len() <= before + 2, "{:?}", traced.killed());
    });
    assert!(calls.len() > 20, "{calls:?}");
}

#[test]
fn a_workflow_that_plays_a_role_is_done_again_with_the_answer() {
    let (world, thread) = world("workflow: ./inner.yaml", "ok: { role: $END, prompt: fine }");
    world.write("says-failed", "");
    wait_until("the role asks", || {
        world.step(&thread);
        world.show(&thread)["status"] == json!("suspended")
    });
    fs::remove_file(world.project().join("says-failed")).unwrap();
    assert_eq!(resume(&world, &thread, "again")["status"], json!("idle"));
    world.uwf(&["thread", "run", &thread]).exits(0);
    assert_eq!(world.show(&thread)["result"], json!("fine"));
    assert_eq!(ran(&world).len(), 4);
}

#[test]
fn branches_that_all_ended_are_all_done_again_for_the_same_items() {
    let (world, thread) = world(EACH, "done: { role: $SUSPEND, prompt: \"Is it good?\" }");
    wait_until("the role asks", || {
        world.step(&thread);
        world.show(&thread)["status"] == json!("suspended")
    });
    resume(&world, &thread, "shorter");
    wait_until("the role asks again", || {
        world.step(&thread);
        world.show(&thread)["status"] == json!("suspended")
    });
    assert_eq!(statuses(&world, &thread), ["ok", "ok"]);
    for file in ["fa", "fb"] {
        for role in ["writer", "reader"] {
            assert_eq!(calls(&world, &format!("{role} file {file}")), 2);
        }
    }
}

#[test]
fn a_branch_that_will_be_taken_over_cannot_be_removed_before() {
    let (world, thread) = asking();
    let results = last(&world, &thread)["output"]["results"].clone();
    let kept = results[0]["thread"].as_str().unwrap();
    world.uwf(&["thread", "rm", kept]).exits(1);
    let pruned = world.uwf(&["thread", "prune", "--ended"]).exits(0);
    assert!(!pruned.stdout.contains(kept), "{}", pruned.stdout);
    fs::remove_file(world.project().join("broken")).unwrap();
    resume(&world, &thread, "again");
    world.uwf(&["thread", "run", &thread]).exits(0);
    assert_eq!(calls(&world, "writer file fa"), 1);
    // Now its result is part of the new step.
    world.uwf(&["thread", "rm", kept]).exits(0);
}

#[test]
fn an_answer_outlives_a_migration() {
    let (world, thread) = asking();
    fs::remove_file(world.project().join("broken")).unwrap();
    resume(&world, &thread, "again");
    let before = ran(&world).len();
    let outer = fs::read_to_string(world.project().join("outer.yaml")).unwrap();
    world.put(&outer.replace("Every file is worked on.", "Each file is worked on."));
    world.uwf(&["thread", "migrate", &thread]).exits(0);
    assert_eq!(world.show(&thread)["status"], json!("idle"));
    world.uwf(&["thread", "run", &thread]).exits(0);
    assert_eq!(statuses(&world, &thread), ["ok", "ok"]);
    assert_eq!(ran(&world).len(), before + 1, "the reader of one branch");
}
