//! What an edit of the file has changed.

use uwf_pipeline::differences;

use crate::common::pipeline;

const OLD: &str = "name: x
steps:
- {name: A, command: [a], agent: me}
- {name: B, command: [b]}
- name: L
  for_each: {items: [1], steps: [{name: E, command: [e]}, {name: F, wait_for: {glob: f}}]}
";

#[track_caller]
fn check(new: &str, expected: &[&str]) {
    let (old, new) = (pipeline(OLD), pipeline(new));
    let found = differences(&old, &new);
    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(found, expected);
    assert_eq!(found.is_empty(), old.means_the_same_as(&new));
}

#[test]
fn comments_names_and_labels_do_not_count() {
    let new = OLD.replace("name: x", "name: y # why\ndescription: d");
    check(&new.replace("agent: me", "agent: you"), &[]);
}

#[test]
fn changes_of_steps_name_the_keys() {
    check(
        &OLD.replace("[a]", "[z]"),
        &["step `A` has changed: `command`"],
    );
    check(
        &OLD.replace("command: [a]", "command_override: [z]"),
        &["step `A` has changed: `command_override`, `command`"],
    );
    check(
        &OLD.replace("[b]", "[b], env: {X: y}, on: {success: {goto: A}}"),
        &["step `B` has changed: `on`, `env`"],
    );
    check(
        &OLD.replace("glob: f", "glob: g"),
        &["step `L[].F` has changed: `wait_for`"],
    );
    check(
        &OLD.replace("[1]", "[2]"),
        &["step `L` has changed: `items`"],
    );
}

#[test]
fn steps_come_and_go_and_change_places() {
    check(
        &OLD.replace("name: B", "name: C"),
        &["step `B` is gone", "step `C` is new"],
    );
    let swapped = "steps:
- {name: B, command: [b]}
- {name: A, command: [a]}
- name: L
  for_each: {items: [1], steps: [{name: F, wait_for: {glob: f}}, {name: E, command: [e]}]}
";
    check(
        swapped,
        &[
            "the order of the steps has changed",
            "the order of the steps of `L` has changed",
        ],
    );
}

#[test]
fn keys_of_the_file_count() {
    let new = format!("{OLD}strict_flow: false\nmax_transitions: 7\ncontext: {{a: 1}}\n");
    check(
        &new,
        &[
            "`strict_flow` has changed",
            "`context` has changed",
            "`max_transitions` has changed",
        ],
    );
}
