//! Checks of threads that work in git worktrees: their files are those of the commit, and no agent weakens them.

use std::fs;

use serde_json::json;

use crate::checks::checked;
use crate::checks_kept::OUTER;
use crate::worktrees::{branches, git, place, repository};
use crate::world::World;

/// Returns a workflow whose threads have worktrees, with a role that can change files, and another role that a workflow with checks
/// plays.
fn outer() -> String {
    OUTER.replace("name: outer\n", "name: outer\nworkspace: worktree\n")
}

/// A world whose project is a repository with a check that is committed, and whose agents do what the file `do` of the project
/// says. Each call leaves a line in `calls`.
fn world(extra: &str) -> World {
    let world = World::new();
    repository(&world);
    let project = world.project().display().to_string();
    let body = format!(
        "echo >> {project}/calls\n. {project}/do >&2 || exit 9\nprintf -- '---\\nnote: n\\n---\\n'\n"
    );
    world.script("agent.sh", &body);
    world.write(".gitignore", "do\ncalls\n*.yaml\nagent.sh\n");
    world.script("ci/check.sh", "exit 0");
    git(&world, &["add", "--all"]);
    git(&world, &["commit", "--quiet", "--message=check"]);
    world.put(&format!(
        "{}{extra}",
        checked(r#"{ run: ["./ci/check.sh"], attempts: 0 }"#, "")
    ));
    world
}

fn calls(world: &World) -> usize {
    fs::read_to_string(world.project().join("calls")).map_or(0, |calls| calls.lines().count())
}

#[test]
fn the_checks_of_a_thread_with_a_worktree_are_those_of_its_commit() {
    let world = world("workspace: worktree\n");
    let thread = world.start("checked");
    world.step(&thread).exits(0);
    let thread = world.start("checked");
    world.write("do", "echo 'exit 0 # weaker' > ci/check.sh");
    let run = world.step(&thread).exits(3);
    assert!(
        run.stderr.contains("was changed since the thread started"),
        "{}",
        run.stderr
    );
    // What the user does with the file concerns no thread that has a worktree.
    world.write("do", "git checkout --quiet -- ci/check.sh");
    world.write("ci/check.sh", "exit 7");
    world.step(&thread).exits(0);
}

#[test]
fn a_file_of_a_check_that_is_not_committed_is_named_before_an_agent_is_started() {
    let world = world("workspace: worktree\n");
    for (change, committed) in [("changed", "ci/check.sh"), ("new", "ci/new check.sh")] {
        world.script(committed, &format!("exit 0 # {change}"));
        let check = json!([[format!("./{committed}")]]);
        world.put(&format!(
            "{}workspace: worktree\n",
            checked(&check.to_string(), "")
        ));
        let thread = world.start("checked");
        let refused = world.step(&thread).exits(1);
        let refused = refused.says(&format!(
            "the file `./{committed}` of its checks is not committed as it is in `{}`",
            world.project().display()
        ));
        assert_eq!(calls(&world), 0);
        assert!(!place(&world, &thread).exists());
        assert_eq!(branches(&world).len(), if change == "new" { 2 } else { 1 });
        assert!(world.show(&thread).get("workspace").is_none());
        refused.follow_hint("git ");
        world.step(&thread).exits(0);
        fs::remove_file(world.project().join("calls")).unwrap();
    }
}

#[test]
fn a_file_of_a_check_that_is_committed_anew_is_named_before_an_agent_is_started() {
    let world = world("workspace: worktree\n");
    let thread = world.start("checked");
    world.script("ci/check.sh", "exit 0 # anew");
    git(&world, &["commit", "--quiet", "--all", "--message=anew"]);
    world
        .step(&thread)
        .exits(1)
        .says("was changed since the thread started")
        .says("`uwf thread start`");
    assert_eq!(calls(&world), 0);
    let thread = world.start("checked");
    world.step(&thread).exits(0);
}

#[test]
fn a_role_that_weakens_a_check_does_not_weaken_it_for_a_child() {
    let world = world("");
    world.put(&outer());
    let thread = world.start("outer");
    world.write("do", "echo 'exit 0 # weaker' > ci/check.sh");
    world.step(&thread).exits(0);
    world.write("do", "true");
    let run = world.step(&thread).exits(3);
    assert!(
        run.stderr.contains("was changed since the thread started"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_fork_goes_on_with_the_files_of_its_steps_and_is_told_what_was_changed() {
    let world = world("workspace: worktree\n");
    world.put(&outer().replace(
        "    workflow: checked\n",
        "    checks: { run: [./ci/check.sh], attempts: 0 }\n    frontmatter: { type: object, properties: { note: { type: string } }, required: [note] }\n",
    ));
    let thread = world.start("outer");
    world.write("do", "echo 'exit 0 # weaker' > ci/check.sh");
    world.step(&thread).exits(0);
    let fork = world.uwf(&["thread", "fork", &format!("{thread}@1")]);
    let fork = fork.exits(0).json()["thread"].as_str().unwrap().to_owned();
    world.write("do", "true");
    let run = world.step(&fork).exits(3);
    assert!(
        run.stderr.contains("was changed since the thread started"),
        "{}",
        run.stderr
    );
    world.write("do", "git checkout --quiet main -- ci/check.sh");
    world.step(&fork).exits(0);
}

#[test]
fn a_migrated_thread_has_the_check_files_of_its_worktree() {
    let world = world("workspace: worktree\n");
    let thread = world.start("checked");
    world.write(
        "do",
        "mkdir -p ci; printf '#!/bin/sh\\nexit 0\\n' > ci/more.sh; chmod +x ci/more.sh",
    );
    world.step(&thread).exits(0);
    let more = checked(r#"["./ci/check.sh"]"#, "").replace(
        "    goal: You fix.\n",
        "    goal: You fix.\n    checks: { run: [./ci/more.sh], attempts: 0 }\n",
    );
    world.put(&format!("{more}workspace: worktree\n"));
    // The user has another file there.
    world.script("ci/more.sh", "exit 1");
    world.uwf(&["thread", "migrate", &thread]).exits(0);
    world.write("do", "true");
    world.step(&thread).exits(0);
}
