//! Roles with branches: child threads side by side, and what they come to together.

use serde_json::{Value, json};

use crate::processes::{kill_all_of, signal};
use crate::world::{Run, World, wait_until};

/// A planner that names files, and a role with a branch for each of them. `@` stands for more keys of that role.
const MAP: &str = r#"
name: map
roles:
  planner:
    goal: The files are known.
    frontmatter: { type: object, required: [files], properties: { files: { type: array, items: { type: string } } } }
  reviewer:
    goal: A file is reviewed.
    frontmatter: { type: object, required: [verdict], properties: { verdict: { type: string } } }
  review-all:
    goal: Every file is reviewed.
    each: "steps[-1].output.files"
    role: reviewer
    @
graph:
  $START: { _: { role: planner, prompt: "Plan." } }
  planner: { _: { role: review-all, prompt: "Review {{item}} ({{index}} of {{count}})." } }
  review-all:
    done: { role: $END, prompt: "{{count}} reviewed, {{failed}} failed" }
    failed: { role: $END, prompt: "{{failed}} of {{count}} failed" }
"#;

/// A tool that leaves a line for each run, waits while there is a file `wait-<file>`, and fails or asks if there is a file
/// `fail-<file>` or `ask-<file>`. For the planner it names the files in `files`.
const TOOL: &str = r#"prompt=$(cat)
if [ "$UWF_ROLE" = planner ]; then printf -- '---\nfiles: [%s]\n---\n' "$(cat files)"; exit; fi
file=$(printf '%s' "$prompt" | grep -o 'f[0-9][0-9]*' | head -1)
echo "$file" >> ran
echo $$ > at-work-$file
while [ -e "wait-$file" ]; do sleep 0.02; done
[ -e "fail-$file" ] && exit 9
if [ -e "ask-$file" ]; then rm "ask-$file"; printf -- '---\n$status: $SUSPEND\nreason: What of %s?\n---\n' "$file"; exit; fi
printf -- '---\nverdict: %s is fine\n---\n' "$file""#;

/// A world with the workflow and a thread whose planner has named so many files.
pub(crate) fn world(keys: &str, files: usize) -> (World, String) {
    let world = World::new();
    world.put(&MAP.replace('@', keys));
    let tool = world.script("tool.sh", TOOL);
    world.agent("uwf-command", &["--", tool.to_str().unwrap()]);
    let names: Vec<String> = (0..files).map(|nth| format!("f{nth}")).collect();
    world.write("files", &names.join(", "));
    let thread = world.start("map");
    world.step(&thread).exits(0);
    (world, thread)
}

pub(crate) fn ran(world: &World) -> Vec<String> {
    let ran = std::fs::read_to_string(world.project().join("ran")).unwrap_or_default();
    ran.lines().map(str::to_owned).collect()
}

pub(crate) fn last(world: &World, thread: &str) -> Value {
    let steps = world.uwf(&["thread", "steps", thread]).exits(0).json();
    steps["steps"].as_array().unwrap().last().unwrap().clone()
}

pub(crate) fn statuses(world: &World, thread: &str) -> Vec<String> {
    let output = &last(world, thread)["output"];
    let results = output["results"].as_array().unwrap().iter();
    let status = |one: &Value| one["status"].as_str().unwrap().to_owned();
    results.map(status).collect()
}

#[test]
fn twelve_items_are_done_four_at_once_and_joined_in_their_order() {
    let (world, thread) = world("max: 4", 12);
    for done in 1..=3 {
        let report = world.step(&thread).exits(0).json();
        assert_eq!(ran(&world).len(), 4 * done);
        assert_eq!(report["children"].as_array().unwrap().len(), 4);
        assert_eq!(report["done"], json!(done == 3), "{report}");
    }
    let output = &last(&world, &thread)["output"];
    assert_eq!(
        (&output["$status"], &output["count"]),
        (&json!("done"), &json!(12))
    );
    for (nth, result) in output["results"].as_array().unwrap().iter().enumerate() {
        let file = format!("f{nth}");
        assert_eq!(
            (&result["key"], &result["item"]),
            (&json!(nth.to_string()), &json!(file))
        );
        assert_eq!(
            result["output"]["verdict"],
            json!(format!("{file} is fine"))
        );
    }
    let show = world.show(&thread);
    assert_eq!(show["result"], json!("12 reviewed, 0 failed"));
    world.uwf(&["cas", "verify"]).exits(0);
}

#[test]
fn the_same_with_one_call() {
    let (world, thread) = world("max: 4", 6);
    let run = world.uwf(&["thread", "run", &thread]).exits(0);
    let end: Value = serde_json::from_str(run.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(
        (&end["stopped"], &end["steps"]),
        (&json!("completed"), &json!(7))
    );
}

#[test]
fn nothing_to_do_is_done_at_once() {
    let (world, thread) = world("join: all", 0);
    let done = world.step(&thread).exits(0).json();
    assert_eq!(
        (&done["done"], &done["result"]),
        (&json!(true), &json!("0 reviewed, 0 failed"))
    );
}

#[test]
fn a_branch_that_fails_for_good_makes_all_of_them_fail_when_the_others_are_done() {
    let (world, thread) = world("max: 2", 3);
    world.write("fail-f1", "");
    let mut calls = 0;
    while world.show(&thread)["done"] == json!(false) {
        world.step(&thread);
        calls += 1;
        assert!(calls < 12, "{}", world.show(&thread));
    }
    assert_eq!(statuses(&world, &thread), ["done", "failed", "done"]);
    assert_eq!(world.show(&thread)["result"], json!("1 of 3 failed"));
    let tries = ran(&world).iter().filter(|file| *file == "f1").count();
    assert_eq!((tries, ran(&world).len()), (3, 5));
}

#[test]
fn a_branch_that_is_killed_with_its_engine_has_not_failed() {
    let (world, thread) = world("max: 2", 2);
    world.write("wait-f0", "");
    world.write("wait-f1", "");
    for times in 1..=4 {
        let mut call = world.spawn(&["thread", "step", &thread]);
        wait_until("both work", || ran(&world).len() == 2 * times);
        kill_all_of(&world);
        call.wait().unwrap();
    }
    std::fs::remove_file(world.project().join("wait-f0")).unwrap();
    std::fs::remove_file(world.project().join("wait-f1")).unwrap();
    let done = world.step(&thread).exits(0).json();
    assert_eq!(done["result"], json!("2 reviewed, 0 failed"), "{done}");
}

#[test]
fn a_branch_that_asks_stops_only_itself_and_is_answered_through_the_parent() {
    let (world, thread) = world("max: 2", 3);
    world.write("ask-f0", "");
    world.step(&thread).exits(0);
    let after = world.step(&thread).exits(0).json();
    assert_eq!(ran(&world).len(), 3);
    assert_eq!(after["head"], world.show(&thread)["head"]);
    let asks = world.step(&thread).exits(6);
    asks.says("asks: What of f0?")
        .says(&format!("uwf thread resume {thread}"));
    assert_eq!(world.show(&thread)["suspendMessage"], json!("What of f0?"));
    let answer = world.uwf(&["thread", "resume", &thread, "-p", "fine"]);
    assert_eq!(answer.exits(0).json()["done"], json!(true));
    assert_eq!(statuses(&world, &thread), ["done", "done", "done"]);
}

#[test]
fn any_and_a_number_cancel_the_rest_and_their_agents_are_gone() {
    for (join, needed) in [("any", 1), ("2", 2)] {
        let (world, thread) = world(&format!("join: {join}\n    max: 4"), 6);
        for file in (needed..6).map(|nth| format!("f{nth}")) {
            world.write(&format!("wait-{file}"), "");
        }
        // The first to end are held back until all four work. The others would wait for ever.
        for file in (0..needed).map(|nth| format!("f{nth}")) {
            world.write(&format!("wait-{file}"), "");
        }
        let call = world.spawn(&["thread", "step", &thread]);
        wait_until("all four work", || ran(&world).len() == 4);
        for file in (0..needed).map(|nth| format!("f{nth}")) {
            std::fs::remove_file(world.project().join(format!("wait-{file}"))).unwrap();
        }
        let done = Run::from(call.wait_with_output().unwrap()).exits(0).json();
        assert_eq!(done["done"], json!(true), "{done}");
        let found = statuses(&world, &thread);
        assert_eq!(found.iter().filter(|one| *one == "done").count(), needed);
        assert_eq!(
            found.iter().filter(|one| *one == "cancelled").count(),
            6 - needed
        );
        for file in (needed..4).map(|nth| format!("f{nth}")) {
            let pid = std::fs::read_to_string(world.project().join(format!("at-work-{file}")));
            let proc = format!("/proc/{}", pid.unwrap().trim());
            assert!(!std::path::Path::new(&proc).exists(), "{file} still runs");
        }
        assert_eq!(ran(&world).len(), 4);
    }
}

#[test]
fn an_interrupt_ends_all_branches_and_they_go_on_later() {
    let (world, thread) = world("max: 3", 3);
    for nth in 0..3 {
        world.write(&format!("wait-f{nth}"), "");
    }
    let call = world.spawn(&["thread", "step", &thread]);
    wait_until("all work", || ran(&world).len() == 3);
    signal("INT", call.id());
    Run::from(call.wait_with_output().unwrap()).exits(130);
    for nth in 0..3 {
        std::fs::remove_file(world.project().join(format!("wait-f{nth}"))).unwrap();
    }
    assert_eq!(world.step(&thread).exits(0).json()["done"], json!(true));
    assert_eq!(ran(&world).len(), 6);
}

#[test]
fn branches_whose_engine_was_killed_finish_and_are_not_done_twice() {
    let (world, thread) = world("max: 3", 3);
    for nth in 0..3 {
        world.write(&format!("wait-f{nth}"), "");
    }
    let call = world.spawn(&["thread", "step", &thread]);
    wait_until("all work", || ran(&world).len() == 3);
    signal("KILL", call.id());
    call.wait_with_output().unwrap();
    world.step(&thread).exits(5);
    let waits = world.spawn(&["thread", "run", &thread, "--wait"]);
    for nth in 0..3 {
        std::fs::remove_file(world.project().join(format!("wait-f{nth}"))).unwrap();
    }
    Run::from(waits.wait_with_output().unwrap()).exits(0);
    assert_eq!(ran(&world).len(), 3);
    assert_eq!(statuses(&world, &thread), ["done", "done", "done"]);
}

#[test]
fn who_waits_for_a_thread_also_waits_for_its_branches_that_another_process_holds() {
    let (world, thread) = world("max: 3", 2);
    for nth in 0..2 {
        world.write(&format!("wait-f{nth}"), "");
    }
    let call = world.spawn(&["thread", "step", &thread]);
    wait_until("all work", || ran(&world).len() == 2);
    signal("INT", call.id());
    Run::from(call.wait_with_output().unwrap()).exits(130);
    for nth in 0..2 {
        std::fs::remove_file(world.project().join(format!("wait-f{nth}"))).unwrap();
    }
    let children = world.show(&thread)["children"].clone();
    let held = |child: &Value| {
        let run = world
            .root()
            .join("runs")
            .join(child["thread"].as_str().unwrap());
        let owner = std::fs::File::open(run.join("owner")).unwrap();
        owner.lock().unwrap();
        owner
    };
    let locks: Vec<std::fs::File> = children.as_array().unwrap().iter().map(held).collect();
    assert_eq!(locks.len(), 2);
    world.step(&thread).exits(5).says("is busy");
    world
        .uwf(&["thread", "step", &thread, "--wait=1"])
        .exits(5)
        .says("waiting until it is free");
    let mut waits = world.spawn(&["thread", "run", &thread, "--wait"]);
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert_eq!(waits.try_wait().unwrap(), None);
    drop(locks);
    Run::from(waits.wait_with_output().unwrap()).exits(0);
    assert_eq!(statuses(&world, &thread), ["done", "done"]);
}

#[test]
fn slots_hold_for_branches_and_no_parent_keeps_one() {
    let (world, thread) = world("max: 3", 3);
    world.configure("concurrency.maxRunning", "1");
    assert_eq!(world.step(&thread).exits(0).json()["done"], json!(true));
    assert_eq!(ran(&world).len(), 3);
}

#[test]
fn a_council_has_branches_of_different_roles_with_prompts_of_their_own() {
    let world = World::new();
    let role = |name: &str| {
        format!(
            "  {name}:\n    goal: A view.\n    frontmatter: {{ type: object, required: [view], properties: {{ view: {{ type: string }} }} }}\n"
        )
    };
    let roles = ["security", "cost", "taste"].map(role).concat();
    world.put(&format!(
        "name: council\nroles:\n{roles}  council:\n    goal: Three views.\n    branches:\n      aside: {{ role: security, prompt: 'Only security.' }}\n      b: {{ role: cost }}\n      c: {{ role: taste, prompt: 'Taste of {{{{item}}}}.' }}\ngraph:\n  $START: {{ _: {{ role: council, prompt: 'Your view.' }} }}\n  council: {{ done: {{ role: $END, prompt: '' }}, failed: {{ role: $END, prompt: '' }} }}\n"
    ));
    world.mock("roles:\n  security: [{ output: { view: s } }]\n  cost: [{ output: { view: c } }]\n  taste: [{ output: { view: t } }]\n");
    let thread = world.start("council");
    assert_eq!(world.step(&thread).exits(0).json()["done"], json!(true));
    let step = last(&world, &thread);
    let results = step["output"]["results"].as_array().unwrap();
    let found: Vec<(&str, &str)> = results
        .iter()
        .map(|one| {
            (
                one["key"].as_str().unwrap(),
                one["output"]["view"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(found, [("aside", "s"), ("b", "c"), ("c", "t")]);
    let tasks: Vec<String> = results
        .iter()
        .map(|one| world.show(one["thread"].as_str().unwrap())["task"].to_string())
        .collect();
    assert_eq!(
        tasks,
        ["\"Only security.\"", "\"Your view.\"", "\"Taste of c.\""]
    );
}

#[test]
fn a_list_that_is_none_or_too_long_blocks_the_thread_with_a_reason() {
    let check = |each: &str, said: &str| {
        let world = World::new();
        let text = MAP
            .replace("steps[-1].output.files", each)
            .replace('@', "max: 1");
        world.put(&text);
        let tool = world.script("tool.sh", TOOL);
        world.agent("uwf-command", &["--", tool.to_str().unwrap()]);
        world.write("files", "a");
        let thread = world.start("map");
        world.step(&thread).exits(0);
        world
            .step(&thread)
            .exits(1)
            .says(said)
            .says("uwf thread migrate");
        let shown = world.show(&thread);
        assert_eq!(shown["status"], json!("blocked"));
        let text = world.uwf(&["thread", "show", &thread, "--format", "text"]);
        assert!(
            text.stdout
                .contains(&format!("uwf thread migrate {thread}")),
            "{}",
            text.stdout
        );
        assert!(
            shown["blockedReason"].as_str().unwrap().contains(said),
            "{shown}"
        );
        assert_eq!(ran(&world).len(), 0);
    };
    check("'text'", "`each` gave no list, but a text");
    check("steps[5].output.files", "`each` gave no list, but nothing");
    check("[1..1001]", "a list of 1001 items, more than 1000");
}
