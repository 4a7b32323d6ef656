//! Calls that end while git makes a worktree, or while it takes a snapshot: git does not outlive them, and the next call goes on.

use std::fs;
use std::process::Child;
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::processes::{self, kill_all_of, of_world, signal};
use crate::trees::alive;
use crate::worktrees::{git, git_at, place, repository};
use crate::world::{AGAIN, Run, World, wait_until};

/// A filter that hangs until the file `go` is there. One that hangs already does so for good.
const HANGS: &str = "#!/bin/sh\n[ -e @/go ] && exec cat\ntouch @/hangs\nsleep 1000\n";

/// A world whose project is a git repository with a filter that hangs, for the files of one folder.
fn world(workspace: &str, filter: &str) -> World {
    let world = World::new();
    world.put(&AGAIN.replace('@', workspace));
    repository(&world);
    world.write(".gitattributes", "sub/* filter=slow\n");
    git(&world, &["add", ".gitattributes"]);
    git(&world, &["commit", "--quiet", "--message=filtered"]);
    let script = HANGS.replace('@', world.project().to_str().unwrap());
    let script = world.script("filter.sh", &script);
    let exclude = world.project().join(".git/info/exclude");
    fs::write(exclude, "go\nhangs\nfilter.sh\n").unwrap();
    let key = format!("filter.slow.{filter}");
    git(&world, &["config", &key, script.to_str().unwrap()]);
    world
}

/// Starts the first step of a thread, and waits until git hangs.
fn hanging(world: &World) -> (String, Child) {
    let thread = world.start("again");
    let call = world.spawn(&["thread", "step", &thread]);
    wait_until("git hangs", || world.project().join("hangs").exists());
    (thread, call)
}

/// Lets filters that are started from now on do their work.
fn go(world: &World) {
    world.write("go", "");
}

#[track_caller]
fn goes_on(world: &World, thread: &str) -> Run {
    go(world);
    world.write("do", "test -e sub/file && echo new > new");
    let run = world.step(thread).exits(0);
    assert_eq!(alive(world), Vec::<String>::new());
    assert!(place(world, thread).join("new").exists());
    run
}

#[test]
fn a_signal_ends_git_with_what_it_started_and_the_next_call_makes_the_worktree() {
    for (name, code) in [("TERM", 143), ("INT", 130), ("HUP", 129)] {
        let world = world("workspace: worktree", "smudge");
        let (thread, call) = hanging(&world);
        signal(name, call.id());
        let run: Run = call.wait_with_output().unwrap().into();
        run.exits(code)
            .says("while git made the worktree")
            .says("git was ended with everything that it had started");
        assert_eq!(alive(&world), Vec::<String>::new(), "{name}");
        goes_on(&world, &thread);
    }
}

#[test]
fn a_kill_of_the_thread_ends_git_too() {
    let world = world("workspace: worktree", "smudge");
    let (thread, call) = hanging(&world);
    world.uwf(&["thread", "kill", &thread]).exits(0);
    let run: Run = call.wait_with_output().unwrap().into();
    run.exits(7);
    assert_eq!(alive(&world), Vec::<String>::new());
}

#[test]
fn the_git_of_a_dead_call_is_named_and_ended_by_the_next_call() {
    let world = world("workspace: worktree", "smudge");
    let (thread, call) = hanging(&world);
    processes::kill(call);
    let shown = world.show(&thread)["orphans"].to_string();
    assert!(shown.contains("git -c"), "{shown}");
    let doctor = world.uwf(&["doctor", "--format", "text"]).stdout;
    assert!(
        doctor.contains("its engine is gone, and this still runs"),
        "{doctor}"
    );
    goes_on(&world, &thread).says("of a call that was killed");
    assert_eq!(world.show(&thread)["orphans"], Value::Null);
}

#[test]
fn a_worktree_is_made_though_a_killed_git_left_the_lock_of_its_branch() {
    for has_branch in [true, false] {
        let world = world("workspace: worktree", "smudge");
        let (thread, call) = hanging(&world);
        kill_all_of(&world);
        assert!(!call.wait_with_output().unwrap().status.success());
        let branch = world.project().join(".git/refs/heads/uwf").join(&thread);
        fs::write(branch.with_extension("lock"), "").unwrap();
        if !has_branch {
            fs::remove_file(&branch).unwrap();
        }
        goes_on(&world, &thread);
    }
}

#[test]
fn the_git_of_a_dead_call_ends_with_the_thread() {
    let world = world("workspace: worktree", "smudge");
    let (thread, call) = hanging(&world);
    processes::kill(call);
    world.uwf(&["thread", "kill", &thread]).exits(0);
    assert_eq!(alive(&world), Vec::<String>::new());
    world.uwf(&["thread", "rm", &thread]).exits(0);
}

#[test]
fn a_snapshot_that_hangs_costs_no_step() {
    let world = world("", "clean");
    world.configure("agents.default.timeout", "8s");
    let thread = world.start("again");
    world.write("do", "echo changed > sub/file");
    world.step(&thread).exits(0);
    assert_eq!(alive(&world), Vec::<String>::new());
    assert!(world.project().join("hangs").exists());
    let log = world.uwf(&["log", "show"]).exits(0).stdout;
    let note =
        "took longer than 2 s and was ended, with everything that it had started: perhaps a filter";
    assert!(log.contains(note), "{log}");
    let step = world.uwf(&["step", "show", &format!("{thread}@1")]);
    let step = step.exits(0).json();
    assert_eq!(step["files"], Value::Null, "{step}");
}

/// Does a step in a worktree, and lets git hang from now on when it looks there. Returns the thread.
fn hangs_in_worktree(world: &World) -> String {
    go(world);
    let thread = world.start("again");
    world.write("do", "true");
    world.step(&thread).exits(0);
    // It has the same size and another time, so git has to look into it.
    let file = place(world, &thread).join("sub/file");
    let content = fs::read(&file).unwrap();
    std::thread::sleep(Duration::from_millis(1100));
    fs::write(&file, content).unwrap();
    fs::remove_file(world.project().join("go")).unwrap();
    thread
}

/// Lets a call hang in git, and ends it with a signal.
#[track_caller]
fn ended(world: &World, args: &[&str]) -> Run {
    let hangs = world.project().join("hangs");
    let call = world.spawn(args);
    wait_until("git hangs", || hangs.exists());
    signal("TERM", call.id());
    let run: Run = call.wait_with_output().unwrap().into();
    let run = run.exits(143);
    assert_eq!(alive(world), Vec::<String>::new(), "{args:?}");
    fs::remove_file(&hangs).unwrap();
    run
}

#[test]
fn a_view_in_which_git_hangs_ends_with_a_signal_and_git_with_it() {
    let world = world("workspace: worktree", "clean");
    let thread = hangs_in_worktree(&world);
    ended(&world, &["thread", "show", &thread]).says("cannot be told");
    ended(&world, &["thread", "rm", "--force", &thread]).says("cannot be told");
    go(&world);
    let shown = world.show(&thread);
    assert_eq!(shown["workspace"]["uncommitted"], 0, "{shown}");
}

#[test]
fn a_signal_ends_a_removal_of_many_threads_and_all_that_follow_stay() {
    let world = world("workspace: worktree", "clean");
    let thread = hangs_in_worktree(&world);
    let bare = world.start("again");
    ended(&world, &["thread", "rm", "--force", &thread, &bare]).says("cannot be told");
    world.show(&bare);
    world.uwf(&["thread", "kill", &thread]).exits(0);
    world.uwf(&["thread", "kill", &bare]).exits(0);
    ended(&world, &["thread", "prune", "--ended", "--gc"]).says("cannot be told");
    world.show(&bare);
    go(&world);
    world.show(&thread);
}

#[test]
fn a_comparison_in_which_git_hangs_ends_with_a_signal() {
    let world = world("", "clean");
    go(&world);
    let thread = world.start("again");
    world.write("do", "exit 1");
    world.step(&thread).exits(3);
    fs::remove_file(world.project().join("go")).unwrap();
    ended(&world, &["thread", "diff", &thread]).says("run the same command again");
}

#[test]
fn an_agent_can_commit_though_the_git_of_a_killed_one_left_its_locks() {
    for with_engine in [false, true] {
        let world = World::new();
        world.put(&AGAIN.replace('@', "workspace: worktree"));
        repository(&world);
        let script = HANGS.replace('@', world.project().to_str().unwrap());
        let hook = world.script("hook.sh", &script);
        fs::rename(hook, world.project().join(".git/hooks/pre-commit")).unwrap();
        let commit = "echo new > new; git add new; git commit --quiet --all --message=new";
        world.write("do", commit);
        let (thread, call) = hanging(&world);
        let engine = call.id().to_string();
        for process in of_world(&world) {
            if with_engine || process != engine {
                processes::kill_if_there(&process);
            }
        }
        assert!(!call.wait_with_output().unwrap().status.success());
        let entry = world.project().join(".git/worktrees").join(&thread);
        assert!(entry.join("index.lock").exists());
        // Those of somebody else, from before and after.
        let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
        for (name, time) in [
            ("before.lock", SystemTime::now() - minutes(2)),
            ("after.lock", SystemTime::now() + minutes(2)),
        ] {
            let other = fs::File::create(entry.join(name)).unwrap();
            other.set_modified(time).unwrap();
        }
        // One that any git in the repository may have.
        let shared = world.project().join(".git/packed-refs.lock");
        fs::write(&shared, "").unwrap();
        go(&world);
        world.write("do", "exit 1");
        world
            .step(&thread)
            .exits(3)
            .says("index.lock`; it is removed")
            .says("packed-refs.lock` is removed, nobody can commit");
        fs::remove_file(&shared).unwrap();
        world.write("do", commit);
        world.step(&thread).exits(0);
        let newest = ["log", "-1", "--format=%s"];
        assert_eq!(git_at(&place(&world, &thread), &newest), "new");
        assert!(entry.join("before.lock").exists() && entry.join("after.lock").exists());
        let logged = world.uwf(&["log", "show"]).exits(0).stdout;
        assert!(logged.contains("git-unlocked"), "{logged}");
    }
}
