//! What programs and people put in place of the files of a run: it is named, the hint works when it is typed, and a repair
//! renames it and removes nothing.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::crash::reader::Ledger;
use crate::world::{Run, World};

/// A world with the run `r`, which its last step has stopped. The step succeeds when the file `ok` is there.
fn stopped() -> World {
    let world = World::new();
    let steps = "steps:\n  - {name: A, command: [sh, -c, 'echo a; echo e >&2']}\n  - {name: B, command: [sh, -c, 'echo b >&2; test -e ok']}\n";
    world.write("p.yaml", steps);
    run(&world).exits(1);
    world.write("ok", "");
    world
}

/// Runs `p.yaml` as the run `r`.
fn run(world: &World) -> Run {
    world.uwf(&["orchestrate", "run", "p.yaml", "--run-id", "r"])
}

/// Runs a pipeline whose first step does this, in the folder of the run.
fn tricked(trick: &str) -> (World, Run) {
    let world = World::new();
    let first = format!("cd \"$ORCHESTRATE_RUN_ROOT\"; {trick}; echo a; echo e >&2");
    let steps = serde_json::json!({"steps": [
        {"name": "A", "command": ["sh", "-c", first]},
        {"name": "B", "command": ["sh", "-c", "echo b >&2"]},
    ]});
    world.write("p.yaml", &steps.to_string());
    let said = run(&world).exits(1);
    (world, said)
}

fn resume(world: &World, run: &str) -> Run {
    world.uwf(&["orchestrate", "resume", run])
}

fn folder(world: &World) -> PathBuf {
    world.project().join(".orchestrate/runs/r")
}

fn thread(world: &World) -> String {
    let threads = Ledger::read(&world.root()).threads;
    threads.into_keys().next().unwrap()
}

/// Returns the command in a hint that begins so.
#[track_caller]
fn command(said: &Run, begin: &str) -> String {
    let (_, hint) = said.stderr.split_once("hint: ").expect("a hint");
    let mut commands = hint.split('`').skip(1).step_by(2);
    let command = commands.find(|one| one.starts_with(begin));
    command
        .unwrap_or_else(|| panic!("no `{begin}`: {}", said.stderr))
        .to_owned()
}

/// Types a command of a hint.
#[track_caller]
fn type_in(world: &World, said: &Run, begin: &str) -> Run {
    let command = command(said, begin);
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    world.uwf(&words)
}

fn make_fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Puts something in place of a file in the folder of the run. What was there is `away` in the world.
fn put(world: &World, name: &str, what: &str) {
    let place = match name {
        "" => folder(world),
        name => folder(world).join(name),
    };
    let away = world.dir().join("away");
    fs::rename(&place, &away).unwrap();
    match what {
        "link" => symlink(&away, &place).unwrap(),
        "dangling" => symlink("/nowhere/at/all", &place).unwrap(),
        "fifo" => make_fifo(&place),
        "file" => fs::write(&place, "theirs").unwrap(),
        _ => {
            fs::create_dir(&place).unwrap();
            fs::write(place.join("theirs"), "").unwrap();
        }
    }
}

#[test]
fn a_repair_renames_what_is_in_place_of_a_file_of_the_run_and_removes_nothing() {
    for (name, what) in [
        ("state.json", "folder"),
        ("state.json", "link"),
        ("state.json", "fifo"),
        ("logs", "link"),
        ("logs", "fifo"),
        ("logs", "file"),
        ("logs/orchestrator.log", "link"),
        ("logs/orchestrator.log", "folder"),
        ("logs/orchestrator.log", "fifo"),
        ("thread", "dangling"),
    ] {
        let world = stopped();
        put(&world, name, what);
        let mut said = resume(&world, "r");
        if name == "thread" {
            said = said.exits(2);
            assert!(command(&said, "uwf").contains(&thread(&world)));
        }
        let place = folder(&world).join(name);
        assert!(
            said.stderr.contains(place.to_str().unwrap()) || name == "thread",
            "{}",
            said.stderr
        );
        let repaired = type_in(&world, &said, "uwf orchestrate resume");
        assert_eq!(repaired.code, 0, "{name}, {what}: {}", repaired.stderr);
        let aside = format!("{}.aside", place.display());
        repaired.says(&format!("it is `{aside}` now"));
        assert!(
            Path::new(&aside).symlink_metadata().is_ok(),
            "{name}, {what}"
        );
        assert!(!place.is_symlink() && place.exists(), "{name}, {what}");
        resume(&world, "r").exits(0);
    }
}

#[test]
fn the_link_in_place_of_logs_may_be_removed() {
    for name in ["logs", "logs/orchestrator.log"] {
        let world = stopped();
        put(&world, name, "link");
        let said = resume(&world, "r").exits(1).says("is a symbolic link");
        said.follow_hint("rm ");
        resume(&world, "r").exits(0);
        assert!(world.dir().join("away").exists());
    }
}

#[test]
fn a_command_about_threads_says_what_belongs_in_place_of_a_link() {
    for name in ["", "logs"] {
        let world = stopped();
        let thread = thread(&world);
        put(&world, name, "link");
        let said = world.uwf(&["thread", "resume", &thread]).exits(1);
        said.says("is a symbolic link")
            .says("hint: put a folder in its place");
    }
    let world = stopped();
    let thread = thread(&world);
    put(&world, "state.json", "link");
    let said = world.uwf(&["thread", "resume", &thread]).exits(1);
    let repair = format!("uwf orchestrate resume {thread} --repair");
    assert_eq!(command(&said, "uwf orchestrate resume"), repair);
    type_in(&world, &said, "uwf orchestrate resume").exits(0);
}

#[test]
fn a_link_in_place_of_the_folder_of_a_run_is_replaced_by_the_folder() {
    let world = stopped();
    put(&world, "", "link");
    let said = resume(&world, "r").exits(1);
    said.follow_hint("rm ");
    assert!(!folder(&world).is_symlink());
    resume(&world, "r").exits(0);
    for what in ["dangling", "file"] {
        let world = stopped();
        put(&world, "", what);
        let by_id = resume(&world, "r").exits(1);
        let thread = thread(&world);
        let said = resume(&world, &thread).exits(1);
        let begin = if what == "file" { "mv " } else { "rm " };
        assert_eq!(command(&by_id, begin), command(&said, begin));
        said.follow_hint(begin);
        let resumed = type_in(&world, &said, "uwf orchestrate resume").exits(0);
        drop(resumed);
        assert!(folder(&world).join("state.json").is_file());
    }
}

#[test]
fn a_link_to_a_folder_of_somebody_else_is_removed_and_the_folder_stays() {
    let world = stopped();
    let photos = world.dir().join("photos");
    fs::create_dir(&photos).unwrap();
    fs::write(photos.join("one"), "").unwrap();
    fs::remove_dir_all(folder(&world)).unwrap();
    symlink(&photos, folder(&world)).unwrap();
    let thread = thread(&world);
    resume(&world, &thread).exits(1).follow_hint("rm ");
    assert_eq!(fs::read_dir(&photos).unwrap().count(), 1);
    resume(&world, &thread).exits(0);
    assert!(folder(&world).join("state.json").is_file());
}

#[test]
fn a_step_that_puts_something_in_the_way_is_told_by_its_own_run() {
    for (trick, begin) in [
        (
            "rm -r logs; mkfifo logs",
            "uwf orchestrate resume r --repair",
        ),
        ("rm -r logs; : > logs", "uwf orchestrate resume r --repair"),
        (
            "mkdir -p logs/B.stderr/x",
            "uwf orchestrate resume r --repair",
        ),
        (
            "mv state.json ../s; ln -s ../s state.json",
            "uwf orchestrate resume r --repair",
        ),
        (
            "rm state.json; mkdir state.json",
            "uwf orchestrate resume r --repair",
        ),
    ] {
        let (world, said) = tricked(trick);
        fs::write(world.project().join("p.yaml"), harmless()).unwrap();
        let accept = format!("{begin} --accept-changed-workflow");
        command(&said, begin);
        let words: Vec<&str> = accept.split(' ').skip(1).collect();
        let repaired = world.uwf(&words);
        assert_eq!(repaired.code, 0, "{trick}: {}", repaired.stderr);
        repaired.says(".aside` now");
    }
}

fn harmless() -> String {
    serde_json::json!({"steps": [
        {"name": "A", "command": ["sh", "-c", "echo a"]},
        {"name": "B", "command": ["sh", "-c", "echo b >&2"]},
    ]})
    .to_string()
}

#[test]
fn a_run_whose_folder_was_removed_meanwhile_names_its_thread() {
    let (world, said) = tricked("rm -rf \"$PWD\"");
    let thread = thread(&world);
    let shown = type_in(&world, &said, &format!("uwf orchestrate report {thread}"));
    shown.exits(0);
    let again = format!("uwf orchestrate resume {thread}");
    command(&said, &again);
    let listed = world
        .uwf(&["orchestrate", "list", "--json"])
        .exits(0)
        .json();
    assert_eq!(listed["runs"][0]["thread"], thread.as_str());
    world.write("p.yaml", &harmless());
    world
        .uwf(&["orchestrate", "resume", "r", "--accept-changed-workflow"])
        .exits(0);
    assert!(folder(&world).join("state.json").is_file());
}

#[test]
fn a_draft_that_a_killed_process_left_in_a_completed_run_is_removed_by_the_next_resume() {
    let world = stopped();
    resume(&world, "r").exits(0);
    let state = fs::read(folder(&world).join("state.json")).unwrap();
    let drafts = [".uwf-temp-abc", "logs/.uwf-temp-def"].map(|it| folder(&world).join(it));
    for draft in &drafts {
        fs::write(draft, "half").unwrap();
    }
    resume(&world, "r").exits(0).says("nothing is left to do");
    for draft in drafts {
        assert!(!draft.exists(), "{}", draft.display());
    }
    let now = fs::read(folder(&world).join("state.json")).unwrap();
    assert_eq!(now, state);
}

#[test]
fn an_emptied_folder_of_a_run_is_no_place_for_another_run_of_its_id() {
    let world = stopped();
    fs::remove_dir_all(folder(&world)).unwrap();
    fs::create_dir(folder(&world)).unwrap();
    run(&world).exits(2);
    let refused = resume(&world, "r").exits(2);
    let thread = thread(&world);
    let command = format!("`uwf orchestrate resume {thread}` goes on");
    assert!(refused.stderr.contains(&command), "{}", refused.stderr);
    resume(&world, &thread).exits(0);
    assert_eq!(Ledger::read(&world.root()).threads.len(), 1);
}
