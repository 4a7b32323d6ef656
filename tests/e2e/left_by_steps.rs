//! What a step left beside its answer: the views of a thread name the commands that show it.

use crate::checks::{EDGE, world};
use crate::worktrees::git;
use crate::world::World;

/// Returns what the views of a thread say.
fn views(world: &World, thread: &str) -> [(&'static str, String); 3] {
    let text = |args: &[&str]| world.uwf(args).exits(0).stdout;
    [
        ("read", text(&["thread", "read", thread])),
        (
            "show",
            text(&["thread", "show", thread, "--format", "text"]),
        ),
        (
            "steps",
            text(&["thread", "steps", thread, "--format", "text"]),
        ),
    ]
}

#[test]
fn the_command_that_prints_all_that_a_failed_check_printed_is_named() {
    let checks = r#"{ run: ["true", ./loud.sh], attempts: 0 }"#;
    let (world, thread) = world(checks, EDGE);
    world.script("loud.sh", "yes line | head -c 20000; echo the end; exit 1");
    let done = world.step(&thread).exits(0).json();
    let node = done["checks"][1]["moreOutput"].as_str().unwrap();
    let command = format!("`uwf cas cat {node}` prints what `./loud.sh` printed");
    for (view, text) in views(&world, &thread) {
        assert!(text.contains(&command), "{view}: {text}");
    }
    let printed = world.uwf(&["cas", "cat", node]).exits(0).stdout;
    assert!(printed.starts_with("line\n") && printed.ends_with("the end\n"));
}

#[test]
fn the_output_of_a_failed_check_that_the_step_has_is_shown_by_the_step() {
    let (world, thread) = world(r#"{ run: ["false", "true"], attempts: 0 }"#, EDGE);
    let done = world.step(&thread).exits(0).json();
    let step = done["step"].as_str().unwrap();
    let command = format!("`uwf step read {step}` shows what failed");
    for (view, text) in views(&world, &thread) {
        assert_eq!(text.matches(&command).count(), 1, "{view}: {text}");
    }
}

#[test]
fn a_step_that_left_nothing_names_no_command() {
    let (world, thread) = world(r#"["true"]"#, "");
    world.step(&thread).exits(0);
    for (view, text) in views(&world, &thread) {
        for word in ["step read", "thread diff", "step artifacts"] {
            assert!(!text.contains(&format!("`uwf {word}")), "{view}: {text}");
        }
    }
}

#[test]
fn changed_files_and_artefacts_are_named_with_their_commands() {
    let (world, thread) = world(r#"["true"]"#, "");
    git(&world, &["init", "--quiet"]);
    world.write("do-0", "echo new > new; echo x > \"$UWF_ARTIFACTS/a\"");
    let done = world.step(&thread).exits(0).json();
    let step = done["step"].as_str().unwrap();
    let files = format!("`uwf thread diff {step}` shows the files that it changed");
    let artefacts = format!("`uwf step artifacts {step}` lists 1 artefact");
    for (view, text) in views(&world, &thread) {
        let has = text.contains(&files) && text.contains(&artefacts);
        assert_eq!(has, view != "steps", "{view}: {text}");
    }
    world.uwf(&["thread", "diff", step]).exits(0);
    world.uwf(&["step", "artifacts", step]).exits(0);
}
