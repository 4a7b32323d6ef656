//! Worktrees of threads that work for others, and of those that come from elsewhere.

use std::fs;

use crate::worktrees::{branches, git, named, place, repository, step, world};
use crate::world::{AGAIN, World};

/// A planner that leaves a file, and a role with two branches, or one that another workflow plays.
const OUTER: &str = r#"
name: outer
roles:
  planner:
    goal: A plan.
    frontmatter: { type: object, properties: { status: { enum: [more] } }, required: [status] }
  @
graph:
  $START: { _: { role: planner, prompt: "Plan." } }
  planner: { _: { role: both, prompt: "Go." } }
  both: [{ role: $END }]
"#;

/// Two branches.
const BRANCHES: &str =
    "both: { goal: Both write., branches: { one: { role: writer }, two: { role: writer } } }
  writer:
    goal: You write.
    frontmatter: { type: object, properties: { status: { enum: [more] } }, required: [status] }";
/// A role that another workflow plays.
const PLAYED: &str = "both: { goal: It writes., workflow: ./again.yaml }";

/// Lets each agent tell where it works and what it sees there, and leave a file.
const TELL: &str = "echo \"$UWF_ROLE $(git rev-parse --show-toplevel) $(ls | tr '\\n' ' ')\" >> $DIR/log; echo x > by-$UWF_ROLE";

/// Runs a thread of the workflow to its end. Returns what its agents told: role, working tree, files.
fn run_outer(world: &World, players: &str) -> (String, Vec<(String, String, String)>) {
    world.put(&OUTER.replace('@', players));
    world.write("do", &format!("DIR={}; {TELL}", world.project().display()));
    fs::remove_file(world.project().join("log")).unwrap_or_default();
    let thread = world.start("outer");
    world.uwf(&["thread", "run", &thread]).exits(0);
    let log = fs::read_to_string(world.project().join("log")).unwrap();
    let told = log.lines().map(|line| {
        let mut parts = line.splitn(3, ' ').map(str::to_owned);
        let mut next = || parts.next().unwrap();
        (next(), next(), next())
    });
    (thread, told.collect())
}

#[test]
fn branches_have_worktrees_that_begin_with_the_files_of_their_parent() {
    let world = World::new();
    repository(&world);
    world.configure("workspace.mode", "worktree");
    let (thread, told) = run_outer(&world, BRANCHES);
    let mut trees: Vec<&str> = told.iter().map(|(_, tree, _)| tree.as_str()).collect();
    assert_eq!(trees[0], place(&world, &thread).to_str().unwrap());
    trees.sort_unstable();
    trees.dedup();
    assert_eq!(trees.len(), 3, "{told:?}");
    for (role, _, files) in &told[1..] {
        assert_eq!(
            (role.as_str(), files.as_str()),
            ("writer", "by-planner kept sub ")
        );
    }
    assert_eq!(branches(&world).len(), 4);
    // What the step of the branches changed is what each of them did, on its branch.
    let changed = world.uwf(&["thread", "diff", &thread]).exits(0).json();
    let changed = changed["repositories"].as_array().unwrap();
    assert_eq!(changed.len(), 3, "{changed:?}");
    for one in &changed[1..] {
        let branch = one["branch"].as_str().unwrap();
        assert!(branch.starts_with("uwf/"), "{branch}");
        assert_eq!(one["files"][0]["path"], "by-writer", "{one}");
    }
    assert_eq!(changed[0].get("branch"), None);
    let of_step = ["thread", "diff", &format!("{thread}@2"), "--format", "text"];
    let of_step = world.uwf(&of_step).exits(0).stdout;
    assert_eq!(of_step.matches(", on branch `uwf/").count(), 2, "{of_step}");
    let of_thread = ["thread", "diff", &thread, "--format", "text"];
    let of_thread = world.uwf(&of_thread).exits(0).stdout;
    let lines = of_thread.matches("\non branch `uwf/").count();
    assert_eq!(lines, 2, "{of_thread}");
    // Nothing of it is put back into the worktree of the parent.
    world
        .uwf(&["thread", "restore", &format!("{thread}@2")])
        .exits(1)
        .says("has recorded no files");
    // They are removed one by one; the work of the branches is only there.
    world
        .uwf(&["thread", "rm", &thread])
        .exits(1)
        .says("uncommitted");
    let pruned = world.uwf(&["thread", "prune", "--ended"]).exits(0).json();
    assert_eq!(pruned["unkept"].as_array().unwrap().len(), 3);
}

#[test]
fn a_child_that_was_removed_with_its_worktree_is_named_without_files() {
    let world = World::new();
    repository(&world);
    world.configure("workspace.mode", "worktree");
    let (thread, _) = run_outer(&world, BRANCHES);
    let repositories = || {
        let changed = world.uwf(&["thread", "diff", &thread]).exits(0).json();
        changed["repositories"].as_array().unwrap().clone()
    };
    for removed in [1, 2] {
        let place = repositories()[removed]["repository"].clone();
        let child = place.as_str().unwrap().rsplit('/').next().unwrap();
        world
            .uwf(&["thread", "rm", "--drop-worktree", child])
            .exits(0);
        let changed = repositories();
        assert_eq!(changed.len(), 3, "{changed:?}");
        assert_eq!(changed[0]["files"][0]["path"], "by-planner");
        assert_eq!(changed[removed]["repository"], place);
        assert_eq!(changed[removed]["files"], serde_json::json!([]));
        let step = format!("{thread}@2");
        let text = world.uwf(&["thread", "diff", &step, "--format", "text"]);
        text.exits(0);
        // The folder of a child never counts as that of its parent.
        world
            .uwf(&["thread", "restore", &step])
            .exits(1)
            .says("has recorded no files");
    }
}

/// Two steps, of which the second works elsewhere.
const TWO_PLACES: &str = r#"
name: again
roles:
  writer: &writer
    goal: You write.
    frontmatter: { type: object, properties: { status: { enum: [more] } }, required: [status] }
  second: *writer
graph:
  $START: { _: { role: writer, prompt: "Write." } }
  writer: { _: { role: second, prompt: "Write there.", location: "@" } }
  second: [{ role: $END }]
"#;

#[test]
fn what_children_changed_in_several_repositories_is_put_back_step_by_step() {
    let world = World::new();
    repository(&world);
    let other = world.dir().join("other");
    let project = world.project();
    git(
        &world,
        &[
            "clone",
            "--quiet",
            project.to_str().unwrap(),
            other.to_str().unwrap(),
        ],
    );
    world.put(&TWO_PLACES.replace('@', other.to_str().unwrap()));
    let (thread, _) = run_outer(&world, PLAYED);
    let both = format!("{thread}@2");
    let refused = world
        .uwf(&["thread", "restore", "--before", &both])
        .exits(1);
    let refused = refused.says("changed files in several repositories");
    drop(refused.says("`uwf thread restore <step>`"));
    let changed = world.uwf(&["thread", "diff", &both]).exits(0).json();
    for (file, folder) in [("by-writer", &project), ("by-second", &other)] {
        let mut repositories = changed["repositories"].as_array().unwrap().iter();
        let repository = repositories.find(|one| one["repository"] == *folder.to_str().unwrap());
        let step = repository.unwrap()["steps"][0]["hash"].as_str().unwrap();
        assert!(folder.join(file).exists());
        world.uwf(&["thread", "restore", "--before", step]).exits(0);
        assert!(!folder.join(file).exists());
    }
}

#[test]
fn a_workflow_that_plays_a_role_alone_works_in_the_worktree_of_its_parent() {
    let world = World::new();
    repository(&world);
    world.configure("workspace.mode", "worktree");
    let inner = AGAIN.replace("enum: [more, done]", "enum: [more]");
    let inner = inner.replace(
        "more: { role: writer, prompt: \"Write more.\" }, done: {",
        "more: {",
    );
    world.put(&inner.replace('@', ""));
    let (thread, told) = run_outer(&world, PLAYED);
    let own = place(&world, &thread);
    assert_eq!(told[1].1, own.to_str().unwrap());
    assert!(own.join("by-writer").exists());
    // The tree is that of the parent, and so are the changes.
    let step = format!("{thread}@2");
    for (whose, paths) in [
        (&step, vec!["by-writer"]),
        (&thread, vec!["by-planner", "by-writer"]),
    ] {
        let changed = world.uwf(&["thread", "diff", whose]).exits(0).json();
        let changed = changed["repositories"].as_array().unwrap();
        assert_eq!(changed.len(), 1, "{changed:?}");
        let files = changed[0]["files"].as_array().unwrap().iter();
        let found: Vec<&str> = files.map(|file| file["path"].as_str().unwrap()).collect();
        assert_eq!(found, paths, "{whose}");
    }
    world
        .uwf(&["thread", "restore", "--before", &step])
        .exits(0);
    assert!(own.join("by-planner").exists() && !own.join("by-writer").exists());
    assert_eq!(branches(&world).len(), 2);
    // Unless it says otherwise.
    world.put(&inner.replace('@', "workspace: worktree"));
    let (thread, told) = run_outer(&world, PLAYED);
    assert_ne!(told[1].1, place(&world, &thread).to_str().unwrap());
    assert_eq!(told[1].2, "by-planner kept sub ");
}

#[test]
fn a_thread_that_comes_from_elsewhere_begins_at_the_commit_that_is_checked_out() {
    let world = world();
    let thread = named(&world, "one");
    step(&world, &thread, "echo new > new");
    world
        .uwf(&["thread", "export", &thread, "-o", "all.tar"])
        .exits(0);
    world.write("do", "true");
    // Another machine has the repository, and not the snapshots.
    git(
        &world,
        &[
            "worktree",
            "remove",
            "--force",
            place(&world, &thread).to_str().unwrap(),
        ],
    );
    git(&world, &["branch", "-D", "uwf/one"]);
    git(
        &world,
        &["update-ref", "-d", &format!("refs/uwf/threads/{thread}")],
    );
    git(&world, &["gc", "--quiet", "--prune=now"]);
    let other = world.dir().join("other");
    let at = |args: &[&str]| {
        let root = ["--root", other.to_str().unwrap()];
        world.uwf(&[&root[..], args].concat())
    };
    at(&["thread", "import", "all.tar"]).exits(0);
    let agent = format!("uwf-command -- {}/agent.sh", world.project().display());
    at(&["thread", "step", &thread, "--agent", &agent])
        .exits(0)
        .says("the files of its earlier steps are not on record in this repository");
    let tree = other.join("worktrees").join(&thread);
    assert!(tree.join("kept").exists() && !tree.join("new").exists());
}
