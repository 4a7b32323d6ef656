//! Calls that make and remove worktrees are killed before each of their system calls, and so is the `git` that they start.

use std::fs;

use serde_json::json;

use super::commands::was_killed_before;
use super::sweep::kill_at_many;
use crate::worktrees::{git, step, world};
use crate::world::World;

/// Asserts that the worktree is whole, and that nothing of the user has changed.
#[track_caller]
fn is_whole(world: &World, thread: &str, status: &str) {
    let place = world.root().join("worktrees").join(thread);
    assert_eq!(fs::read_to_string(place.join("kept")).unwrap(), "one\n");
    let workspace = world.show(thread)["workspace"].clone();
    assert_eq!(workspace["branch"], json!(format!("uwf/{thread}")));
    assert_eq!(workspace["uncommitted"], json!(1), "what the agent left");
    assert_eq!(git(world, &["worktree", "list"]).lines().count(), 2);
    assert_eq!(
        git(world, &["status", "--porcelain=v2", "--branch"]),
        status
    );
    git(world, &["fsck", "--connectivity-only"]);
}

fn made_anywhere(words: &str) -> Vec<String> {
    let world = world();
    let thread = world.start("again");
    world.write("do", "echo new > new");
    let status = git(&world, &["status", "--porcelain=v2", "--branch"]);
    let args = ["thread", "step", &thread];
    kill_at_many(&world, &args, words, |_| {
        world.show(&thread);
        world.step(&thread).exits(0);
        is_whole(&world, &thread, &status);
        world
            .uwf(&["thread", "rm", "--force", "--drop-worktree", &thread])
            .exits(0);
        assert_eq!(
            git(&world, &["branch", "--format=%(refname)"]),
            "refs/heads/main"
        );
        assert_eq!(git(&world, &["worktree", "list"]).lines().count(), 1);
    })
}

#[test]
fn a_worktree_whose_making_is_killed_anywhere_is_made_by_the_next_call() {
    let calls = made_anywhere(" thread ");
    was_killed_before(&calls, "rename root/worktrees/");
}

#[test]
fn a_worktree_is_made_though_git_is_killed_anywhere() {
    let calls = made_anywhere(" worktree add ");
    was_killed_before(&calls, "rename project/.git/worktrees/");
}

#[test]
fn a_removal_of_a_thread_with_a_worktree_that_is_killed_anywhere_goes_on() {
    let world = world();
    let thread = world.start("again");
    step(&world, &thread, "echo new > new");
    let args = ["thread", "rm", "--force", "--drop-worktree", &thread];
    let calls = kill_at_many(&world, &args, " thread ", |_| {
        let again = world.uwf(&args);
        assert!([0, 1].contains(&again.code), "{}", again.stderr);
        world.uwf(&["thread", "show", &thread]).exits(1);
        assert_eq!(
            git(&world, &["branch", "--format=%(refname)"]),
            "refs/heads/main"
        );
        assert_eq!(git(&world, &["worktree", "list"]).lines().count(), 1);
        assert_eq!(
            fs::read_dir(world.root().join("worktrees"))
                .unwrap()
                .count(),
            0
        );
    });
    was_killed_before(&calls, "remove root/worktrees/");
}
