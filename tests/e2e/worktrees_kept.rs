//! What no removal of a thread may lose, and which removals are refused because of it.

use crate::worktrees::{branches, git, git_at, named, place, repository, step, world};
use crate::world::{Run, World};

const COMMIT: &str = "echo new > new; git add new; git commit --quiet --message=precious";

/// A world with two threads: the commit of the first is on the branch of the second, too, and nowhere else.
fn sharing() -> (World, [String; 2]) {
    let world = world();
    let threads = ["one", "two"].map(|name| named(&world, name));
    step(&world, &threads[0], COMMIT);
    step(&world, &threads[1], "git merge --quiet uwf/one");
    (world, threads)
}

#[test]
fn of_two_removals_at_once_one_keeps_the_commits_that_both_branches_have() {
    for _ in 0..8 {
        let (world, threads) = sharing();
        let remove = |thread: &String| world.spawn(&["thread", "rm", "--force", thread]);
        let removals: Vec<_> = threads.iter().map(remove).collect();
        let ends = removals
            .into_iter()
            .map(|one| Run::from(one.wait_with_output().unwrap()));
        let mut codes: Vec<i32> = ends.map(|one| one.code).collect();
        codes.sort_unstable();
        assert_eq!(codes, [0, 1]);
        assert_eq!(branches(&world).len(), 2);
    }
}

#[test]
fn a_prune_keeps_one_of_the_threads_with_the_same_commits_and_says_so() {
    let (world, threads) = sharing();
    for thread in &threads {
        world.uwf(&["thread", "kill", thread]).exits(0);
    }
    let pruned = world.uwf(&["thread", "prune", "--ended"]).exits(0).json();
    assert_eq!(pruned["threads"].as_array().unwrap().len(), 1, "{pruned}");
    let unkept = pruned["unkept"][0]["thread"].as_str().unwrap();
    assert_eq!(world.show(unkept)["status"], "cancelled");
    assert_eq!(branches(&world).len(), 2);
}

#[test]
fn commits_of_repositories_inside_are_not_lost() {
    let world = world();
    let thread = named(&world, "outer");
    step(
        &world,
        &thread,
        "git init --quiet tool; cd tool; git config user.name T; git config user.email t@localhost; echo x > x; git add x; \
         git commit --quiet --message=inner; cd ..; git add tool; git commit --quiet --message=outer 2> /dev/null",
    );
    git(&world, &["merge", "--quiet", "uwf/outer"]);
    let refused = world.uwf(&["thread", "rm", "--force", &thread]).exits(1);
    refused
        .says("tool` has commits that none of its remote branches has")
        .says("copy that folder");
    let inside = place(&world, &thread).join("tool");
    assert_eq!(git_at(&inside, &["log", "--format=%s"]), "inner");
    // A submodule that has no commits of its own is none of these.
    let elsewhere = world.dir().join("elsewhere");
    let from = inside.to_str().unwrap();
    git(
        &world,
        &["clone", "--quiet", from, elsewhere.to_str().unwrap()],
    );
    let clone = format!(
        "rm -rf tool; git clone --quiet {} tool",
        elsewhere.display()
    );
    step(&world, &thread, &clone);
    world.uwf(&["thread", "rm", "--force", &thread]).exits(0);
}

#[test]
fn a_commit_that_is_checked_out_without_a_branch_is_kept_by_the_command_of_the_hint() {
    let world = World::new();
    world.put(&crate::world::AGAIN.replace('@', "workspace: worktree"));
    repository(&world);
    let thread = named(&world, "mine");
    step(
        &world,
        &thread,
        &format!("git checkout --quiet --detach; {COMMIT}"),
    );
    let remove = ["thread", "rm", "--force", &thread];
    let refused = world.uwf(&remove).exits(1);
    refused
        .says("which is checked out in")
        .follow_hint("git -C");
    world.uwf(&remove).exits(0);
    assert_eq!(git(&world, &["log", "-1", "--format=%s"]), "precious");
}

#[test]
fn a_worktree_that_is_locked_with_git_is_not_removed() {
    let world = world();
    let thread = named(&world, "on-stick");
    step(&world, &thread, "true");
    let place = place(&world, &thread);
    let path = place.to_str().unwrap();
    git(&world, &["worktree", "lock", "--reason=on a stick", path]);
    let remove = ["thread", "rm", "--force", "--drop-worktree", &thread];
    let refused = world.uwf(&remove).exits(1);
    refused
        .says("is locked with git: on a stick")
        .says(&format!("worktree unlock {path}` unlocks it"))
        .follow_hint("git ");
    git(&world, &["worktree", "lock", path]);
    world.uwf(&["thread", "kill", &thread]).exits(0);
    let pruned = world.uwf(&["thread", "prune", "--ended"]).exits(0).json();
    let reason = pruned["unkept"][0]["reason"].as_str().unwrap();
    assert!(reason.ends_with("is locked with git"), "{reason}");
    assert!(place.exists());
    git(&world, &["worktree", "unlock", path]);
    world.uwf(&remove).exits(0);
    assert!(!place.exists());
}

#[test]
fn a_branch_that_a_person_has_renamed_is_called_by_its_new_name_and_stays() {
    let world = world();
    let thread = named(&world, "old");
    step(
        &world,
        &thread,
        "echo new > new; git add new; git commit -qm new",
    );
    let place = place(&world, &thread);
    git_at(&place, &["branch", "-m", "uwf/old", "feature"]);
    assert_eq!(world.show(&thread)["workspace"]["branch"], "feature");
    step(&world, &thread, "test \"$UWF_BRANCH\" = feature");
    world.uwf(&["thread", "rm", "--force", &thread]).exits(0);
    assert!(
        branches(&world).contains(&"feature".to_owned()),
        "{:?}",
        branches(&world)
    );
}

#[test]
fn a_branch_is_renamed_only_if_a_person_has_renamed_it() {
    let world = world();
    let thread = named(&world, "mine");
    step(&world, &thread, "true");
    let place = place(&world, &thread);
    git(&world, &["branch", "other"]);
    git_at(&place, &["checkout", "--quiet", "other"]);
    git_at(&place, &["branch", "--quiet", "-D", "uwf/mine"]);
    assert_eq!(world.show(&thread)["workspace"]["branch"], "uwf/mine");
    step(&world, &thread, "test \"$UWF_BRANCH\" = uwf/mine");
}
