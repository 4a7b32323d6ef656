//! Worktrees that an agent has damaged, or whose changes it has hidden: nothing in them is removed unasked.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::worktrees::{branches, git, git_at, named, place, step, world};
use crate::world::World;

#[test]
fn a_folder_that_is_no_worktree_any_more_is_not_removed_unasked() {
    for damage in ["rm .git", "rm .git; git init --quiet .; git add --all"] {
        let world = world();
        let thread = named(&world, "night");
        step(&world, &thread, &format!("echo work > work; {damage}"));
        world
            .step(&thread)
            .exits(1)
            .says("is no worktree of git any more");
        world.uwf(&["thread", "kill", &thread]).exits(0);
        let shown = world
            .uwf(&["--format", "text", "thread", "show", &thread])
            .exits(0);
        assert!(!shown.stdout.contains("which is gone"), "{}", shown.stdout);
        world
            .uwf(&["thread", "rm", &thread])
            .exits(1)
            .says("is no worktree of git any more")
            .says("--drop-worktree");
        let pruned = world.uwf(&["thread", "prune", "--ended"]).json();
        assert_eq!(pruned["removed"], Value::from(0), "{pruned}");
        let work = place(&world, &thread).join("work");
        assert_eq!(fs::read_to_string(&work).unwrap(), "work\n");
        world
            .uwf(&["thread", "rm", "--force", "--drop-worktree", &thread])
            .exits(0);
        assert!(!place(&world, &thread).exists());
        assert_eq!(branches(&world), ["main"]);
    }
}

#[test]
fn a_record_that_names_another_folder_has_nothing_removed() {
    let world = world();
    let thread = named(&world, "night");
    step(&world, &thread, "true");
    world.uwf(&["thread", "kill", &thread]).exits(0);
    let precious = world.dir().join("precious");
    fs::create_dir(&precious).unwrap();
    fs::write(precious.join("file"), "mine").unwrap();
    let record = world
        .root()
        .join("worktrees")
        .join(format!("{thread}.json"));
    let named = place(&world, &thread).display().to_string();
    let text = fs::read_to_string(&record).unwrap();
    fs::write(
        &record,
        text.replace(&named, &precious.display().to_string()),
    )
    .unwrap();
    for args in [["--force", "--drop-worktree"].as_slice(), &[]] {
        let args = [&["thread", "rm", &thread], args].concat();
        world
            .uwf(&args)
            .exits(1)
            .says("is not called after the thread");
    }
    assert_eq!(fs::read_to_string(precious.join("file")).unwrap(), "mine");
    world
        .uwf(&["thread", "rm", &thread])
        .exits(1)
        .follow_hint("rm ");
    world.uwf(&["thread", "rm", &thread]).exits(0);
}

#[test]
fn changes_that_git_was_told_to_overlook_are_not_lost() {
    for tell in [
        "git update-index --assume-unchanged kept",
        "git update-index --skip-worktree kept",
        "cp -r . ../elsewhere; git config extensions.worktreeConfig true; git config --worktree core.worktree $(realpath ../elsewhere)",
    ] {
        let world = world();
        let thread = named(&world, "night");
        step(&world, &thread, tell);
        let folder = place(&world, &thread);
        let shown = world.show(&thread);
        assert_eq!(shown["workspace"]["uncommitted"], Value::from(0), "{shown}");
        step(&world, &thread, "echo new >> kept");
        world.uwf(&["thread", "kill", &thread]).exits(0);
        world
            .uwf(&["thread", "rm", &thread])
            .exits(1)
            .says("1 uncommitted file");
        assert_eq!(
            fs::read_to_string(folder.join("kept")).unwrap(),
            "one\nnew\n"
        );
    }
}

/// Makes a commit in a repository that knows no user.
fn commit(repository: &Path) {
    let user = ["-c", "user.name=t", "-c", "user.email=t@localhost"];
    let commit = ["commit", "--quiet", "--allow-empty", "--message=i"];
    git_at(repository, &[user, commit].concat());
}

/// Adds a repository with one file as the submodule `inner`.
fn add_repository(world: &World) {
    let origin = world.dir().join("origin");
    fs::create_dir(&origin).unwrap();
    git_at(&origin, &["init", "--quiet"]);
    fs::write(origin.join("file"), "one\n").unwrap();
    git_at(&origin, &["add", "file"]);
    commit(&origin);
    let origin = origin.display().to_string();
    let add = [
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        &origin,
        "inner",
    ];
    git(world, &add);
}

#[test]
fn work_in_a_repository_inside_is_not_lost_whatever_git_was_told_about_it() {
    let hides = [
        (
            "git config diff.ignoreSubmodules all",
            "echo new >> inner/file",
        ),
        (
            "git config diff.ignoreSubmodules all",
            "echo new > inner/new",
        ),
        (
            "git -C inner update-index --assume-unchanged file",
            "echo new >> inner/file",
        ),
        (
            "git update-index --assume-unchanged program",
            "chmod +x program",
        ),
        (
            "echo new >> inner/file",
            "git -C inner -c user.name=t -c user.email=t@localhost stash --quiet",
        ),
    ];
    for (first, then) in hides {
        let world = world();
        add_repository(&world);
        world.write("program", "#!/bin/sh\n");
        git(&world, &["add", "--all"]);
        git(&world, &["commit", "--quiet", "--message=second"]);
        let thread = named(&world, "night");
        let clone = "git -c protocol.file.allow=always submodule --quiet update --init";
        step(&world, &thread, &format!("{clone}\n{first}\n{then}"));
        world.uwf(&["thread", "kill", &thread]).exits(0);
        world
            .uwf(&["thread", "rm", &thread])
            .exits(1)
            .says("is not removed");
        assert!(place(&world, &thread).join("inner/file").exists(), "{then}");
    }
}

#[test]
fn links_and_repositories_that_git_was_told_to_overlook_keep_no_thread_from_its_worktree() {
    let world = world();
    let inner = world.project().join("inner");
    fs::create_dir(&inner).unwrap();
    git_at(&inner, &["init", "--quiet"]);
    commit(&inner);
    std::os::unix::fs::symlink("nowhere", world.project().join("dangling")).unwrap();
    std::os::unix::fs::symlink("kept", world.project().join("link")).unwrap();
    git(&world, &["add", "--all"]);
    git(&world, &["commit", "--quiet", "--message=second"]);
    git(
        &world,
        &[
            "update-index",
            "--skip-worktree",
            "dangling",
            "link",
            "inner",
        ],
    );
    let thread = named(&world, "night");
    step(
        &world,
        &thread,
        "git update-index --assume-unchanged dangling link",
    );
    let uncommitted = || world.show(&thread)["workspace"]["uncommitted"].clone();
    assert_eq!(uncommitted(), Value::from(0));
    step(&world, &thread, "ln -sf elsewhere link");
    assert_eq!(uncommitted(), Value::from(1));
}

#[test]
fn a_fork_that_is_to_begin_with_files_that_are_gone_is_not_made() {
    let world = world();
    let thread = named(&world, "night");
    step(&world, &thread, "echo new > new");
    let count = || {
        world
            .uwf(&["thread", "list", "--all"])
            .exits(0)
            .json()
            .as_array()
            .map(Vec::len)
    };
    let before = count();
    // The snapshots are collected by git, as they are when a person removes their references.
    for reference in git(&world, &["for-each-ref", "--format=%(refname)", "refs/uwf"]).lines() {
        git(&world, &["update-ref", "-d", reference]);
    }
    git(&world, &["reflog", "expire", "--expire=now", "--all"]);
    git(&world, &["gc", "--quiet", "--prune=now"]);
    world
        .uwf(&["thread", "fork", "night@1", "--restore"])
        .exits(1)
        .says("does not have commit");
    assert_eq!(count(), before);
}
