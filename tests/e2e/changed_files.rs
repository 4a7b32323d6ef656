//! What steps change in a git repository: it is recorded, shown and put back, and nothing of the user is touched.

use std::fs;

use serde_json::{Value, json};

use crate::processes::signal;
use crate::worktrees::git;
use crate::world::{AGAIN, Run, World, binary, wait_until};

/// An agent that does what the file `do` says, and answers.
const AGENT: &str = "#!/bin/sh\n. ./do >&2 || exit 9\nprintf -- '---\\nstatus: more\\n---\\n'\n";

/// A world whose project is a git repository, with a thread.
pub(crate) fn world() -> (World, String) {
    let world = World::new();
    world.put(&AGAIN.replace('@', ""));
    let agent = world.script("agent.sh", AGENT);
    world.agent("uwf-command", &["--", agent.to_str().unwrap()]);
    git(&world, &["init", "--quiet", "--initial-branch=main"]);
    git(&world, &["config", "user.name", "Test"]);
    git(&world, &["config", "user.email", "test@localhost"]);
    world.write(".gitignore", "do\nbuilt\n");
    world.write("kept", "one\n");
    git(&world, &["add", "--all"]);
    git(&world, &["commit", "--quiet", "--message=first"]);
    let thread = world.start("again");
    (world, thread)
}

/// Does a step whose agent does this.
#[track_caller]
pub(crate) fn step(world: &World, thread: &str, script: &str) -> Value {
    world.write("do", script);
    world.step(thread).exits(0).json()
}

fn diff(world: &World, args: &[&str]) -> Value {
    let all = [&["thread", "diff"], args].concat();
    world.uwf(&all).exits(0).json()["repositories"][0].clone()
}

/// Returns what a comparison tells of each file: its path, what happened, new and removed lines.
fn files(compared: &Value) -> Vec<String> {
    let files = compared["files"].as_array().unwrap().iter();
    let told = files.map(|file| {
        let path = file["path"].as_str().unwrap();
        let change = file["change"].as_str().unwrap();
        format!("{path} {change} {} {}", file["added"], file["removed"])
    });
    told.collect()
}

fn references(world: &World) -> Vec<String> {
    let names = git(world, &["for-each-ref", "--format=%(refname)", "refs/uwf"]);
    names.lines().map(str::to_owned).collect()
}

#[test]
fn what_a_step_changed_is_recorded_and_shown() {
    let (world, thread) = world();
    world.write("mine", "not committed\n");
    git(&world, &["add", "mine"]);
    let before = git(&world, &["status", "--porcelain=v2", "--branch"]);
    step(
        &world,
        &thread,
        "echo two >> kept; echo new > 'a new file'; echo built > built",
    );
    step(
        &world,
        &thread,
        "rm kept; printf '\\000\\001' > 'a new file'",
    );
    let expected = ["a new file added 1 0", "kept modified 1 0"];
    let compared = diff(&world, &[&format!("{thread}@1")]);
    assert_eq!(files(&compared), expected);
    assert_eq!(compared["repository"], json!(world.project()));
    let compared = diff(&world, &[&format!("{thread}@2")]);
    assert_eq!(
        files(&compared),
        ["a new file modified null null", "kept deleted 0 2"]
    );
    let compared = diff(&world, &[&thread]);
    assert_eq!(
        files(&compared),
        ["a new file added null null", "kept deleted 0 1"]
    );
    assert_eq!(compared["steps"].as_array().unwrap().len(), 2);
    let text = |args: &[&str]| {
        let all = [&["thread", "diff", "--format", "text", &thread], args].concat();
        world.uwf(&all).exits(0).stdout
    };
    assert!(text(&[]).contains("\n-one\n"), "{}", text(&[]));
    assert!(!text(&["--stat"]).contains("\n-one\n"));
    assert!(text(&["--stat"]).contains("  D kept        +0 -1"));
    // The user's index and branch are as they were, but for what the agent did.
    git(&world, &["checkout", "kept"]);
    fs::remove_file(world.project().join("a new file")).unwrap();
    assert_eq!(
        git(&world, &["status", "--porcelain=v2", "--branch"]),
        before
    );
    assert_eq!(git(&world, &["stash", "list"]), "");
    assert_eq!(references(&world), [format!("refs/uwf/threads/{thread}")]);
    world.uwf(&["cas", "verify"]).exits(0);
}

#[test]
fn a_step_counts_everything_since_its_first_attempt() {
    let (world, thread) = world();
    world.write("do", "echo first > first; exit 1");
    world.step(&thread).exits(3);
    // What the failed attempt changed is seen at once.
    let seen = diff(&world, &[&thread]);
    assert_eq!(files(&seen), ["first added 1 0"]);
    assert_eq!(
        (&seen["unfinished"], &seen["steps"]),
        (&json!(true), &json!([]))
    );
    let text = ["thread", "diff", "--format", "text", &thread];
    let text = world.uwf(&text).exits(0).stdout;
    for told in ["an unfinished step", "+first"] {
        assert!(text.contains(told), "{text}");
    }
    step(&world, &thread, "echo second > second");
    let expected = ["first added 1 0", "second added 1 0"];
    assert_eq!(files(&diff(&world, &[&format!("{thread}@1")])), expected);
    assert_eq!(diff(&world, &[&thread])["unfinished"], json!(null));
    world.write("mine", "");
    step(&world, &thread, "true");
    let none: [&str; 0] = [];
    assert_eq!(files(&diff(&world, &[&format!("{thread}@2")])), none);
    // A failed poke of the second step, then a thread that is ended with it.
    world.write("do", "echo third > third; exit 1");
    world.uwf(&["thread", "poke", &thread]).exits(3);
    let all = || files(&diff(&world, &[&thread]));
    assert!(all().contains(&"third added 1 0".to_owned()), "{:?}", all());
    world.uwf(&["thread", "kill", &thread]).exits(0);
    assert!(
        !all().contains(&"third added 1 0".to_owned()),
        "{:?}",
        all()
    );
}

#[test]
fn an_answer_whose_engine_was_killed_keeps_what_was_there_before() {
    let (world, thread) = world();
    world.write(
        "do",
        "echo new > new; touch at-work; while [ ! -e go ]; do sleep 0.05; done",
    );
    let call = world.spawn(&["thread", "step", &thread]);
    wait_until("it works", || world.project().join("at-work").exists());
    signal("KILL", call.id());
    call.wait_with_output().unwrap();
    world.write("go", "");
    world.uwf(&["thread", "step", &thread, "--wait"]).exits(0);
    let found = files(&diff(&world, &[&format!("{thread}@1")]));
    assert!(found.contains(&"new added 1 0".to_owned()), "{found:?}");
}

#[test]
fn files_are_put_back_unless_changes_would_be_lost() {
    let (world, thread) = world();
    step(&world, &thread, "echo one > new; echo two > kept");
    step(
        &world,
        &thread,
        "rm new; echo three > kept; echo later > later",
    );
    let text = |name: &str| fs::read_to_string(world.project().join(name)).unwrap_or_default();
    let status = git(&world, &["diff", "--cached", "--name-only"]);
    let restore = |args: &[&str]| -> Run {
        let first = format!("{thread}@1");
        world.uwf(&[&["thread", "restore", &first], args].concat())
    };
    let restored = restore(&[]).exits(0).json();
    assert_eq!(
        [text("new"), text("kept"), text("later")],
        ["one\n", "two\n", ""]
    );
    assert_eq!(files(&restored).len(), 3);
    assert_eq!(git(&world, &["diff", "--cached", "--name-only"]), status);
    restore(&["--before"]).exits(0);
    assert_eq!([text("new"), text("kept")], ["", "one\n"]);
    // What nobody has kept is refused, twice.
    world.write("kept", "mine\n");
    for _ in 0..2 {
        restore(&[]).exits(1).says("`kept`").says("restore --force");
        restore(&["--before"])
            .exits(1)
            .says("restore --force --before");
        assert_eq!(text("kept"), "mine\n");
    }
    let forced = restore(&["--force"]).exits(0).json();
    assert_eq!(text("kept"), "two\n");
    let kept = format!("{}:kept", forced["replaced"].as_str().unwrap());
    assert_eq!(git(&world, &["show", &kept]), "mine");
    // What is committed is not lost.
    world.write("kept", "committed\n");
    git(&world, &["add", "--all"]);
    git(&world, &["commit", "--quiet", "--message=second"]);
    restore(&[]).exits(0);
    assert_eq!(text("kept"), "two\n");
    // A thread stands for its last step.
    world.uwf(&["thread", "restore", &thread]).exits(0);
    assert_eq!([text("kept"), text("later")], ["three\n", "later\n"]);
}

#[test]
fn snapshots_go_with_their_thread_and_stay_with_a_fork() {
    let (world, thread) = world();
    step(&world, &thread, "echo one > new");
    let fork = world
        .uwf(&["thread", "fork", &format!("{thread}@1")])
        .exits(0)
        .json();
    let fork = fork["thread"].as_str().unwrap().to_owned();
    world.uwf(&["thread", "rm", "--force", &thread]).exits(0);
    assert_eq!(references(&world), [format!("refs/uwf/threads/{fork}")]);
    git(&world, &["gc", "--quiet", "--prune=now"]);
    assert_eq!(files(&diff(&world, &[&fork])), ["new added 1 0"]);
    world.uwf(&["thread", "kill", &fork]).exits(0);
    world.uwf(&["thread", "prune", "--ended"]).exits(0);
    assert!(references(&world).is_empty());
}

#[test]
fn without_a_repository_or_by_the_config_nothing_is_recorded() {
    let (world, thread) = world();
    world.configure("snapshots.enabled", "false");
    step(&world, &thread, "echo new > new");
    world
        .uwf(&["thread", "diff", &thread])
        .exits(1)
        .says("no step of thread")
        .says("snapshots");
    world
        .uwf(&["thread", "restore", &thread])
        .exits(1)
        .says("has recorded no files");
    assert!(references(&world).is_empty());
    // Where there is no repository at all, that is said.
    fs::remove_dir_all(world.project().join(".git")).unwrap();
    let project = world.project().display().to_string();
    world
        .uwf(&["thread", "diff", &thread])
        .exits(1)
        .says(&format!(
            "has recorded files: `{project}` is in no git repository"
        ))
        .says("hint: files are recorded when an agent works in a git repository");
}

#[test]
fn a_step_is_done_though_its_files_cannot_be_recorded() {
    let (world, thread) = world();
    let large = "x".repeat(2 << 20);
    world.configure("snapshots.maxFileMib", "1");
    world.write("large", &large);
    step(&world, &thread, "echo new > new");
    let compared = diff(&world, &[&thread]);
    assert_eq!(files(&compared), ["new added 1 0"]);
    assert_eq!(compared["leftOut"], json!(["large"]));
    let restored = ["thread", "restore", "--before", &thread];
    let restored = world.uwf(&restored).exits(0).json();
    assert_eq!(restored["leftOut"], json!(["large"]));
    world.uwf(&["thread", "restore", &thread]).exits(0);
    // A program that is called git and fails.
    let bin = world.project().join("bin");
    fs::create_dir(&bin).unwrap();
    fs::rename(
        world.script("git", "#!/bin/sh\necho broken >&2; exit 128\n"),
        bin.join("git"),
    )
    .unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let mut command = world.command_of(binary());
    let run: Run = command
        .args(["thread", "step", &thread])
        .env("PATH", path)
        .output()
        .unwrap()
        .into();
    run.exits(0);
    let log = world
        .uwf(&["log", "show", "--thread", &thread])
        .exits(0)
        .stdout;
    for told in ["leaves out `large`", "is not recorded", "broken"] {
        assert!(log.contains(told), "{told}: {log}");
    }
    assert_eq!(files(&diff(&world, &[&thread])), ["new added 1 0"]);
    world
        .uwf(&["thread", "diff", &format!("{thread}@2")])
        .exits(1);
}

#[test]
fn snapshots_of_a_repository_that_was_moved_are_there_again_when_it_is() {
    let (world, thread) = world();
    step(&world, &thread, "echo new > new");
    let (git, away) = (world.project().join(".git"), world.project().join("away"));
    fs::rename(&git, &away).unwrap();
    for command in ["diff", "restore"] {
        world
            .uwf(&["thread", command, &thread])
            .exits(1)
            .says("the snapshots are in that repository: put it back where it was");
    }
    fs::rename(&away, &git).unwrap();
    assert_eq!(files(&diff(&world, &[&thread])), ["new added 1 0"]);
}

#[test]
fn what_is_recorded_is_shown_though_the_files_as_they_are_now_cannot_be_compared() {
    let (world, thread) = world();
    let indexes = world.root().join("locks/indexes");
    let breaks = || {
        fs::remove_dir_all(&indexes).unwrap_or_default();
        fs::write(&indexes, "").unwrap();
    };
    world.write("do", "echo failed > failed; exit 1");
    world.step(&thread).exits(3);
    breaks();
    // Nothing else could be shown.
    world.uwf(&["thread", "diff", &thread]).exits(1);
    fs::remove_file(&indexes).unwrap();
    step(&world, &thread, "echo new > new");
    world.write("do", "echo more > more; exit 1");
    world.step(&thread).exits(3);
    breaks();
    let whole = world.uwf(&["thread", "diff", &thread]).exits(0);
    let whole = whole.says("warning: ").says("indexes").json();
    let shown = &whole["repositories"][0];
    assert_eq!(files(shown), ["failed added 1 0", "new added 1 0"]);
    assert_eq!(shown["unfinished"], json!(null));
    let problem = whole["problem"].as_str().unwrap();
    assert!(problem.contains("indexes"), "{problem}");
}

#[test]
fn a_file_that_only_looks_like_that_of_a_run_hides_nothing() {
    let (world, thread) = world();
    let place = json!({ "thread": thread, "root": "/" });
    step(
        &world,
        &thread,
        &format!("mkdir a; echo '{place}' > a/thread; echo x > a/new"),
    );
    let shown = files(&diff(&world, &[&thread]));
    assert_eq!(shown, ["a/new added 1 0", "a/thread added 1 0"]);
}

#[test]
fn what_a_replaced_step_changed_is_told_unless_it_was_put_back() {
    let (world, thread) = world();
    let poke = |thread: &str, script: &str, options: &[&str]| {
        world.write("do", script);
        let all = [&["thread", "poke", thread], options].concat();
        world.uwf(&all).exits(0);
    };
    let fork = |thread: &str| {
        let forked = world.uwf(&["thread", "fork", thread]).exits(0).json();
        forked["thread"].as_str().unwrap().to_owned()
    };
    let all = |thread: &str| files(&diff(&world, &[thread]));
    step(&world, &thread, "echo two >> kept");
    let poked_fork = fork(&thread);
    poke(&thread, "echo three >> kept", &[]);
    assert_eq!(all(&thread), ["kept modified 2 0"]);
    let compared = diff(&world, &[&thread]);
    assert_eq!(compared["steps"].as_array().unwrap().len(), 1);
    // One step alone changed what it changed.
    assert_eq!(all(&format!("{thread}@1")), ["kept modified 1 0"]);
    poke(&thread, "echo four >> kept", &[]);
    step(&world, &thread, "echo five >> kept");
    assert_eq!(all(&thread), ["kept modified 4 0"]);
    assert_eq!(all(&fork(&thread)), ["kept modified 4 0"]);
    poke(&thread, "echo six >> kept", &["--restore"]);
    assert_eq!(all(&thread), ["kept modified 4 0"]);
    poke(&poked_fork, "echo seven >> kept", &[]);
    assert_eq!(all(&poked_fork), ["kept modified 5 0"]);
}
