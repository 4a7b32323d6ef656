//! What people are told about roles that child threads play: differences, results, templates of branches, and forks.

use serde_json::{Value, json};

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
