//! A worktree for each thread: agents work there on a branch of its own, nothing of the user is touched, and no work is lost.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::world::{AGAIN, Run, World};

pub(crate) fn git_at(folder: &Path, args: &[&str]) -> String {
    let mut command = Command::new("git");
    let command = command.args(args).current_dir(folder);
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout)
        .unwrap()
        .trim_end()
        .to_owned()
}

pub(crate) fn git(world: &World, args: &[&str]) -> String {
    git_at(&world.project(), args)
}

/// Makes the project a git repository, and lets the agents do what the file `do` of the project says.
pub(crate) fn repository(world: &World) {
    let body = format!(
        ". {}/do >&2 || exit 9\nprintf -- '---\\nstatus: more\\n---\\n'",
        world.project().display()
    );
    let agent = world.script("agent.sh", &format!("#!/bin/sh\n{body}\n"));
    world.agent("uwf-command", &["--", agent.to_str().unwrap()]);
    git(world, &["init", "--quiet", "--initial-branch=main"]);
    git(world, &["config", "user.name", "Test"]);
    git(world, &["config", "user.email", "test@localhost"]);
    world.write(".gitignore", "do\n*.yaml\nagent.sh\nlog\n");
    world.write("kept", "one\n");
    fs::create_dir(world.project().join("sub")).unwrap();
    world.write("sub/file", "two\n");
    git(world, &["add", "--all"]);
    git(world, &["commit", "--quiet", "--message=first"]);
    world.write("do", "true");
}

/// A world whose project is a git repository, with the workflow `again`, whose threads have worktrees.
pub(crate) fn world() -> World {
    let world = World::new();
    world.put(&AGAIN.replace('@', "workspace: worktree"));
    repository(&world);
    world
}

/// Does a step whose agent does this.
#[track_caller]
pub(crate) fn step(world: &World, thread: &str, script: &str) -> Run {
    world.write("do", script);
    world.step(thread).exits(0)
}

/// Starts a thread with a name.
pub(crate) fn named(world: &World, name: &str) -> String {
    let args = ["thread", "start", "again", "-p", "task", "--name", name];
    let started = world.uwf(&args).exits(0).json();
    started["thread"].as_str().unwrap().to_owned()
}

pub(crate) fn place(world: &World, thread: &str) -> PathBuf {
    world.root().join("worktrees").join(thread)
}

pub(crate) fn branches(world: &World) -> Vec<String> {
    let names = git(world, &["branch", "--format=%(refname:short)"]);
    names.lines().map(str::to_owned).collect()
}

/// Returns everything of the user that no thread may change.
pub(crate) fn of_the_user(world: &World) -> [String; 4] {
    [
        git(world, &["status", "--porcelain=v2", "--branch"]),
        git(world, &["stash", "list"]),
        git(world, &["rev-parse", "HEAD", "main"]),
        git(world, &["ls-files", "--stage"]),
    ]
}

#[test]
fn agents_work_on_a_branch_of_the_thread_and_the_users_tree_stays_as_it_is() {
    let world = world();
    let hook = world.script("hook.sh", "#!/bin/sh\ntouch hook-ran\n");
    fs::rename(hook, world.project().join(".git/hooks/post-checkout")).unwrap();
    world.write("kept", "not committed\n");
    world.write("mine", "staged\n");
    git(&world, &["add", "mine"]);
    let before = of_the_user(&world);
    let sub = world.project().join("sub");
    let args = ["thread", "start", "again", "-p", "task", "--name", "mine"];
    let started = world.uwf(&[&args[..], &["--cwd", sub.to_str().unwrap()]].concat());
    let thread = started.exits(0).json()["thread"].clone();
    let thread = thread.as_str().unwrap();
    let place = place(&world, thread);
    let planned = world.uwf(&["thread", "step", thread, "--dry-run"]);
    assert_eq!(planned.exits(0).json()["cwd"], json!(place.join("sub")));
    assert!(!place.exists());
    let first = step(
        &world,
        thread,
        "echo new > new; env > $OLDPWD/env 2>/dev/null; env > ../log",
    );
    let base = git(&world, &["rev-parse", "HEAD"]);
    first
        .says(&format!(
            "works in `{}`, on branch `uwf/mine`",
            place.display()
        ))
        .says("it does not have 2 uncommitted files");
    let second = step(
        &world,
        thread,
        "git add new; git commit --quiet --message=second",
    );
    assert!(!second.stderr.contains("uwf/mine"), "{}", second.stderr);
    assert_eq!(of_the_user(&world), before);
    assert!(!place.join("hook-ran").exists());
    let log = fs::read_to_string(place.join("log")).unwrap();
    assert!(log.contains("\nUWF_BRANCH=uwf/mine\n") || log.starts_with("UWF_BRANCH=uwf/mine\n"));
    assert!(log.contains(&format!("UWF_BRANCH_BASE={base}\n")));
    assert_eq!(git(&world, &["show", "uwf/mine:sub/new"]), "new");
    let detail = world.uwf(&["step", "show", &format!("{thread}@1")]);
    assert!(
        detail
            .exits(0)
            .stdout
            .contains(&format!("{}", place.join("sub").display()))
    );
    // What the config says later changes nothing.
    world.configure("workspace.folder", "/nowhere");
    step(&world, thread, "pwd > ../log");
    world.uwf(&["cas", "verify"]).exits(0);
}

#[test]
fn a_worktree_is_shown_with_what_is_not_merged_yet() {
    let world = world();
    let thread = named(&world, "mine");
    step(
        &world,
        &thread,
        "echo new > new; git add new; git commit --quiet --message=new",
    );
    let base = git(&world, &["rev-parse", "HEAD"]);
    let place = place(&world, &thread);
    let shown = world.show(&thread)["workspace"].clone();
    let expected = json!({
        "mode": "worktree", "folder": place, "branch": "uwf/mine", "base": base, "repository": world.project(),
        "exists": true, "uncommitted": 0, "unmerged": 1,
    });
    assert_eq!(shown, expected);
    let text = world.uwf(&["thread", "show", &thread, "--format", "text"]);
    let row = format!(
        "{}, branch uwf/mine from {}, 1 unmerged commit",
        place.display(),
        &base[..10]
    );
    assert!(text.exits(0).stdout.contains(&row));
}

#[test]
fn a_thread_is_removed_with_its_worktree_only_if_nothing_would_be_lost() {
    let world = world();
    let thread = named(&world, "one");
    step(&world, &thread, "echo new > new");
    world
        .uwf(&["thread", "rm", &thread])
        .exits(1)
        .says("has not ended");
    world.uwf(&["thread", "kill", &thread]).exits(0);
    let place = place(&world, &thread);
    assert!(place.join("new").exists());
    let rm = || world.uwf(&["thread", "rm", &thread]);
    rm().exits(1)
        .says("has 1 uncommitted file")
        .says("thread rm --drop-worktree");
    git_at(&place, &["add", "new"]);
    git_at(&place, &["commit", "--quiet", "--message=new"]);
    let pruned = world.uwf(&["thread", "prune", "--ended"]).exits(0).json();
    assert_eq!(pruned["removed"], json!(0));
    assert_eq!(pruned["unkept"][0]["thread"], json!(thread));
    let prune = ["thread", "prune", "--ended", "--format", "text"];
    let told = world.uwf(&prune).exits(0);
    assert_eq!(told.stdout, "0 threads removed, 1 kept\n");
    told.says("note: ")
        .says("its branch `uwf/one` has 1 commit that no other branch has")
        .says("thread rm --drop-worktree");
    let refused = rm().exits(1);
    assert!(
        !refused.stderr.contains("uncommitted"),
        "{}",
        refused.stderr
    );
    refused.follow_hint("git ");
    assert!(world.project().join("new").exists(), "it was merged");
    rm().exits(0);
    assert_eq!(branches(&world), ["main"]);
    assert!(!place.exists());
    assert_eq!(git(&world, &["worktree", "list"]).lines().count(), 1);
    assert_eq!(git(&world, &["for-each-ref", "refs/uwf"]), "");
    let records = fs::read_dir(world.root().join("worktrees")).unwrap();
    assert_eq!(records.count(), 0);
}

#[test]
fn work_is_given_up_on_demand_and_a_worktree_without_any_goes_by_itself() {
    let world = world();
    let [lost, idle] = ["lost", "idle"].map(|name| named(&world, name));
    step(&world, &idle, "true");
    step(
        &world,
        &lost,
        "echo x > x; git add x; git commit --quiet --message=x; echo y > y",
    );
    let refused = world.uwf(&["thread", "rm", "--force", &lost]).exits(1);
    refused
        .says("has 1 uncommitted file, and its branch `uwf/lost` has 1 commit")
        .says("thread rm --force --drop-worktree");
    world
        .uwf(&["thread", "rm", "--force", "--drop-worktree", &lost])
        .exits(0);
    world
        .uwf(&["thread", "show", &lost])
        .exits(1)
        .says("was removed");
    world.uwf(&["thread", "kill", &idle]).exits(0);
    let pruned = world.uwf(&["thread", "prune", "--ended"]).exits(0).json();
    assert_eq!(pruned["removed"], json!(1));
    assert_eq!(branches(&world), ["main"]);
}

#[test]
fn a_worktree_that_cannot_be_removed_keeps_no_other_one() {
    let world = world();
    let threads = ["one", "two", "last-one"].map(|name| named(&world, name));
    for thread in &threads {
        step(&world, thread, "true");
        world.uwf(&["thread", "kill", thread]).exits(0);
    }
    // Two programs seem to change these branches.
    let locks = ["one", "two"].map(|name| format!(".git/refs/heads/uwf/{name}.lock"));
    for lock in &locks {
        world.write(lock, "");
    }
    let prune = || world.uwf(&["thread", "prune", "--ended"]);
    let pruned = prune().exits(1);
    assert_eq!(pruned.json()["removed"], json!(3));
    for thread in &threads[..2] {
        let told = format!("the worktree of thread `{thread}` cannot be removed");
        assert!(pruned.stderr.contains(&told), "{}", pruned.stderr);
    }
    assert_eq!(branches(&world), ["main", "uwf/one", "uwf/two"]);
    for lock in &locks {
        fs::remove_file(world.project().join(lock)).unwrap();
    }
    world.uwf(&["thread", "rm", &threads[0]]).exits(0);
    prune().exits(0);
    assert_eq!(branches(&world), ["main"]);
}

#[test]
fn a_branch_that_the_user_has_checked_out_stays() {
    let world = world();
    let thread = named(&world, "one");
    step(
        &world,
        &thread,
        "echo x > x; git add x; git commit --quiet --message=x",
    );
    git(
        &world,
        &["checkout", "--quiet", "--ignore-other-worktrees", "uwf/one"],
    );
    world.uwf(&["thread", "rm", "--force", &thread]).exits(0);
    assert!(!place(&world, &thread).exists());
    assert_eq!(branches(&world), ["main", "uwf/one"]);
}

#[test]
fn a_fork_begins_with_the_files_that_its_step_left() {
    let world = world();
    let thread = world.start("again");
    step(&world, &thread, "echo one > new");
    step(&world, &thread, "echo two > new; echo later > later");
    world.write("later-of-the-user", "");
    git(&world, &["add", "--all"]);
    git(&world, &["commit", "--quiet", "--message=later"]);
    let fork = world.uwf(&["thread", "fork", &format!("{thread}@1")]);
    let fork = fork.exits(0).json()["thread"].as_str().unwrap().to_owned();
    step(&world, &fork, "ls > log");
    let text = |thread: &str, name: &str| fs::read_to_string(place(&world, thread).join(name));
    assert_eq!(text(&fork, "new").unwrap(), "one\n");
    assert_eq!(text(&thread, "new").unwrap(), "two\n");
    assert_eq!(text(&fork, "log").unwrap(), "kept\nlog\nnew\nsub\n");
    // It begins where the thread began, so that a merge takes nothing of the user back.
    assert_eq!(world.show(&fork)["workspace"]["unmerged"], json!(0));
    git(
        &world,
        &["merge", "--quiet", "--no-edit", &format!("uwf/{fork}")],
    );
    for file in ["new", "later-of-the-user"] {
        assert!(world.project().join(file).exists(), "{file}");
    }
    // A fork at the start begins as a new thread does.
    let fork = world.uwf(&["thread", "fork", &format!("{thread}~2")]);
    let fork = fork.exits(0).json()["thread"].as_str().unwrap().to_owned();
    step(&world, &fork, "true");
    assert_eq!(
        world.show(&fork)["workspace"]["base"],
        json!(git(&world, &["rev-parse", "HEAD"]))
    );
}

#[test]
fn what_keeps_a_worktree_from_being_made_is_told_before_an_agent_is_started() {
    let world = World::new();
    world.put(&AGAIN.replace('@', "workspace: worktree"));
    let agent = world.script(
        "agent.sh",
        "#!/bin/sh\ntouch ran\nprintf -- '---\\nstatus: more\\n---\\n'\n",
    );
    world.agent("uwf-command", &["--", agent.to_str().unwrap()]);
    let thread = world.start("again");
    let refused = |says: &str| world.step(&thread).exits(1).says(says);
    refused("is in no working tree of git").follow_hint("git ");
    git(&world, &["config", "user.name", "Test"]);
    git(&world, &["config", "user.email", "test@localhost"]);
    refused("has no commit yet").follow_hint("git ");
    world.configure(
        "workspace.folder",
        world.project().join("trees").to_str().unwrap(),
    );
    refused("lies in the repository").says("workspace.folder");
    world.uwf(&["config", "unset", "workspace.folder"]).exits(0);
    git(&world, &["branch", "uwf"]);
    refused("has a branch `uwf`").follow_hint("git ");
    fs::create_dir_all(place(&world, &thread)).unwrap();
    fs::write(place(&world, &thread).join("work"), "").unwrap();
    refused("no record tells whose work is in it").follow_hint("mv ");
    let mut command = world.command(&["thread", "step", &thread]);
    let run: Run = command.env("PATH", "/nowhere").output().unwrap().into();
    run.exits(1)
        .says("git cannot be started")
        .says("install git");
    assert!(world.show(&thread).get("workspace").is_none());
    assert!(
        world.show(&thread)["attempts"]
            .as_array()
            .unwrap()
            .is_empty()
    );
    world.step(&thread).exits(0);
    assert!(place(&world, &thread).join("ran").exists());
}

#[test]
fn a_branch_of_a_person_is_never_taken() {
    let world = world();
    git(&world, &["branch", "uwf/one"]);
    let [first, second, third] = ["one", "two..lock", "three.lock"].map(|name| named(&world, name));
    for thread in [&first, &second, &third] {
        step(&world, thread, "true");
        assert_eq!(
            world.show(thread)["workspace"]["branch"],
            json!(format!("uwf/{thread}"))
        );
    }
    world.uwf(&["thread", "rm", "--force", &first]).exits(0);
    assert!(branches(&world).contains(&"uwf/one".to_owned()));
}

#[test]
fn a_worktree_that_is_gone_is_brought_back_or_given_up() {
    let world = world();
    let thread = named(&world, "one");
    step(
        &world,
        &thread,
        "echo x > x; git add x; git commit --quiet --message=x; echo y > y",
    );
    let place = place(&world, &thread);
    fs::remove_dir_all(&place).unwrap();
    assert_eq!(world.show(&thread)["workspace"]["exists"], json!(false));
    let refused = world.step(&thread).exits(1).says("is gone");
    refused.follow_hint("git ");
    assert!(place.join("x").exists());
    world.uwf(&["thread", "restore", &thread]).exits(0);
    step(&world, &thread, "cat y > z");
    fs::remove_dir_all(&place).unwrap();
    world
        .uwf(&["thread", "rm", "--force", &thread])
        .exits(1)
        .says("has 1 commit");
    let drop = ["thread", "rm", "--force", "--drop-worktree", &thread];
    world.uwf(&drop).exits(0);
    assert_eq!(branches(&world), ["main"]);
    assert_eq!(git(&world, &["worktree", "list"]).lines().count(), 1);
}

#[test]
fn a_location_of_the_repository_means_the_folder_in_the_worktree() {
    let world = World::new();
    let elsewhere = world.dir().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let located = |location: &str| {
        let yaml = AGAIN.replace('@', "workspace: worktree");
        let edge = format!("prompt: \"Write.\", location: \"{location}\"");
        world.put(&yaml.replace("prompt: \"Write.\"", &edge));
        let thread = world.start("again");
        step(&world, &thread, "pwd");
        let steps = world.uwf(&["thread", "steps", &thread]).exits(0).json();
        let hash = steps["steps"].as_array().unwrap().last().unwrap()["hash"].clone();
        let node = world
            .uwf(&["cas", "get", hash.as_str().unwrap()])
            .exits(0)
            .json();
        let cwd = node["payload"]["cwd"].as_str().unwrap().to_owned();
        (cwd, place(&world, &thread))
    };
    repository(&world);
    let absolute = world.project().join("sub");
    for location in ["sub", "./sub/../sub", absolute.to_str().unwrap()] {
        let (cwd, place) = located(location);
        assert_eq!(cwd, place.join("sub").to_str().unwrap(), "{location}");
    }
    let (cwd, _) = located(elsewhere.to_str().unwrap());
    assert_eq!(cwd, elsewhere.to_str().unwrap());
}

#[test]
fn a_damaged_record_is_no_reason_to_make_another_worktree() {
    let world = world();
    let thread = world.start("again");
    step(&world, &thread, "echo new > new");
    let record = world
        .root()
        .join("worktrees")
        .join(format!("{thread}.json"));
    fs::write(&record, "{").unwrap();
    world
        .step(&thread)
        .exits(4)
        .says(".json")
        .says("git worktree list");
    assert!(place(&world, &thread).join("new").exists());
    fs::remove_file(&record).unwrap();
    world.step(&thread).exits(1).says("is there already");
}

#[test]
fn the_keys_are_checked_shown_compared_and_written_out() {
    let world = World::new();
    let set = world.uwf(&["config", "set", "workspace.mode", "branch"]);
    set.exits(1).says("`worktree` or `shared`");
    world.put(&AGAIN.replace('@', "workspace: shared"));
    let shown = world.uwf(&["workflow", "show", "again", "--format", "text"]);
    assert!(shown.exits(0).stdout.contains("\nworkspace: shared\n"));
    let exported = world.uwf(&["workflow", "export", "again"]).exits(0).stdout;
    assert!(exported.contains("\nworkspace: shared\n"), "{exported}");
    world.write("again.yaml", &AGAIN.replace('@', "workspace: worktree"));
    let diff = ["workflow", "diff", "again", "./again.yaml", "--format"];
    let data = world.uwf(&[&diff[..], &["json"]].concat()).json();
    assert_eq!(
        data["diff"]["workspace"],
        json!({ "before": "shared", "after": "worktree" })
    );
    let text = world.uwf(&[&diff[..], &["text"]].concat()).stdout;
    assert!(text.contains("~ workspace: shared → worktree"), "{text}");
    let plain = world.put(&AGAIN.replace('@', ""));
    let node = world.uwf(&["cas", "get", &plain]).exits(0).json();
    assert_eq!(node["payload"].get("workspace"), None::<&Value>);
}
