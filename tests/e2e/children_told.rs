//! What people are told about roles that child threads play: differences, results, templates of branches, and forks.

use serde_json::{Value, json};

use crate::branches;
use crate::played;
use crate::world::World;

const OUTER: &str = r#"
name: outer
roles:
  develop:
    goal: The change is made.
    workflow: ./inner.yaml
graph:
  $START: { _: { role: develop, prompt: "Make it." } }
  develop: { _: { role: $END, prompt: "Merged as {{branch}}." } }
"#;

const INNER: &str = r#"
name: inner
roles:
  coder:
    goal: You make the change.
    frontmatter: { type: object, properties: { branch: { type: string } } }
graph:
  $START: { _: { role: coder, prompt: "Make the change." } }
  coder: { _: { role: $END, prompt: "" } }
"#;

/// A world with both workflows, whose agent gives this answer.
fn world(answer: &str) -> World {
    let world = World::new();
    world.write("inner.yaml", INNER);
    world.put(OUTER);
    world.mock(&format!("roles:\n  coder: [{{ output: {answer} }}]\n"));
    world
}

/// Returns what the command prints for people.
fn text(world: &World, args: &[&str]) -> String {
    let args = [args, &["--format", "text"]].concat();
    world.uwf(&args).exits(0).stdout
}

/// Returns the last line of what the command prints, as data.
fn last_line(world: &World, args: &[&str]) -> Value {
    let printed = world.uwf(args).exits(0).stdout;
    serde_json::from_str(printed.lines().last().unwrap()).unwrap()
}

/// Returns the difference between the registered workflow `outer` and its file.
fn diff(world: &World) -> Value {
    let diff = world.uwf(&["workflow", "diff", "outer", "./outer.yaml"]);
    diff.exits(0).json()
}

#[test]
fn a_workflow_does_not_differ_from_its_file_because_both_name_another_one_in_their_way() {
    let world = world("{}");
    let found = diff(&world);
    assert_eq!(found["same"], json!(true));
    assert_eq!(found["diff"]["roles"], json!([]), "{found}");
    let said = text(&world, &["workflow", "diff", "outer", "./outer.yaml"]);
    assert!(said.ends_with("\nthe same workflow\n"), "{said}");
    assert!(!said.contains('~'), "{said}");
}

#[test]
fn a_difference_names_the_keys_of_a_played_role_that_differ() {
    let world = world("{}");
    world.write("inner.yaml", &INNER.replace("Make the change.", "Do it."));
    let found = diff(&world);
    assert_eq!(found["same"], json!(false));
    assert_eq!(found["diff"]["roles"][0]["fields"], json!(["workflow"]));
    let play = "workflow: ./inner.yaml\n";
    let returns = "workflow: ./inner.yaml\n    returns: last\n";
    world.write("inner.yaml", INNER);
    world.write("outer.yaml", &OUTER.replace(play, returns));
    assert_eq!(
        diff(&world)["diff"]["roles"][0]["fields"],
        json!(["returns"])
    );
    let branches = "each: [1, 2]\n    workflow: ./inner.yaml\n    join: 1\n    max: 1\n";
    let branches = OUTER.replace(play, branches).replace(
        "  develop: { _: { role: $END, prompt: \"Merged as {{branch}}.\" } }",
        "  develop: [{ role: $END }]",
    );
    world.write("outer.yaml", &branches);
    assert_eq!(
        diff(&world)["diff"]["roles"][0]["fields"],
        json!(["frontmatter", "each", "join", "max"])
    );
    let thread = world.start("outer");
    let moved = ["thread", "migrate", &thread, "./outer.yaml", "--dry-run"];
    let moved = text(&world, &moved);
    assert!(
        moved.contains("~ role develop: frontmatter, each, join, max"),
        "{moved}"
    );
}

#[test]
fn a_fork_of_a_child_is_no_child() {
    let (world, thread) = played::world(played::ANSWERS);
    played::step(&world, &thread, 2);
    let child = played::text(&world.show(&thread)["children"][0]["thread"]);
    let fork = world.uwf(&["thread", "fork", &child]);
    let fork = played::text(&fork.exits(0).json()["thread"]);
    let shown = world.show(&fork);
    assert_eq!(shown.get("parent").unwrap_or(&Value::Null), &Value::Null);
    assert!(!text(&world, &["thread", "show", &fork]).contains("\nparent"));
    for args in [&["--children"][..], &["--tree"], &[]] {
        let listed = played::threads(&world, args);
        let of_fork = listed.iter().find(|one| one["thread"] == json!(fork));
        assert_eq!(of_fork.unwrap()["parent"], Value::Null, "{args:?}");
        let with_parent = listed.iter().filter(|one| one["parent"].is_object());
        assert_eq!(with_parent.count(), if args.is_empty() { 0 } else { 2 });
    }
    let tree = text(&world, &["thread", "list", "--tree", "--all"]);
    let line = tree.lines().find(|line| line.contains(&fork)).unwrap();
    assert!(line.starts_with(&fork), "{tree}");
    // The child itself is as before.
    assert_eq!(world.show(&child)["parent"]["thread"], json!(thread));
    world.uwf(&["thread", "rm", "--force", &fork]).exits(0);
}

#[test]
fn a_run_ends_with_the_result_of_its_thread() {
    let world = world("{ branch: b1 }");
    let end = last_line(&world, &["run", "outer", "-p", "Go."]);
    assert_eq!(end["result"], json!("Merged as b1."));
    assert_eq!(end.get("resultProblem"), None);
    let said = text(&world, &["run", "outer", "-p", "Go."]);
    assert_eq!(said.matches("Merged as b1.").count(), 1, "{said}");
    let said = text(&world, &["run", "outer", "-p", "Go.", "--quiet"]);
    assert!(said.contains("Merged as b1."), "{said}");
}

#[test]
fn a_result_that_cannot_be_filled_in_is_named_wherever_its_thread_ends() {
    let world = world("{ other: b1 }");
    let end = last_line(&world, &["run", "outer", "-p", "Go."]);
    assert_eq!(end["result"], Value::Null);
    let problem = end["resultProblem"].as_str().unwrap();
    assert!(problem.contains("branch"), "{problem}");
    let thread = end["thread"].as_str().unwrap();
    let said = text(&world, &["run", "outer", "-p", "Go."]);
    assert!(said.contains("cannot be filled in: "), "{said}");
    let read = world.uwf(&["thread", "read", thread, "--format", "json"]);
    assert_eq!(read.exits(0).json()["resultProblem"], json!(problem));
    let read = text(&world, &["thread", "read", thread]);
    assert!(
        read.contains(
            "## Completed\n\nThe thread has reached `$END`, and its result cannot be filled in: "
        ),
        "{read}"
    );
    let page = world.uwf(&["thread", "read", thread, "--html"]);
    let page = page.exits(0).stdout;
    assert!(page.contains("cannot be filled in"), "{page}");
}

#[test]
fn a_document_says_that_branches_got_their_instructions_from_a_template() {
    let (world, thread) = branches::world("max: 4", 2);
    world.step(&thread).exits(0);
    let read = text(&world, &["thread", "read", &thread]);
    let template = "Each branch got its own instruction, from this template:\n\n\
                    <template>\nReview {{item}} ({{index}} of {{count}}).\n</template>";
    assert!(read.contains(template), "{read}");
    let read = world.uwf(&["thread", "read", &thread, "--format", "json"]);
    let step = &read.exits(0).json()["steps"][1];
    assert_eq!(step["instruction"], Value::Null);
    assert_eq!(
        step["template"],
        json!("Review {{item}} ({{index}} of {{count}}).")
    );
}

#[test]
fn a_branch_says_which_item_it_is_about() {
    let (world, thread) = branches::world("max: 1", 2);
    world.step(&thread).exits(0);
    let at_work = played::text(&world.show(&thread)["children"][0]["thread"]);
    let check = || {
        assert_eq!(world.show(&at_work)["parent"]["item"], json!("f0"));
        let said = text(&world, &["thread", "show", &at_work]);
        assert!(said.contains("as review-all, branch 0 (f0)\n"), "{said}");
    };
    check();
    world.step(&thread).exits(0);
    check();
}
