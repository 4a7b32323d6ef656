//! Collecting garbage: what anybody may still need stays, whatever happens meanwhile; the rest goes.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::gates::{NOTE, at_work, close_gate, gated_agent, open_gate};
use crate::processes::kill;
use crate::world::{ONE_STEP, REVIEW, Run, World, binary, wait_until};

pub(crate) const DAY: u64 = 24 * 60 * 60;

pub(crate) fn gc(world: &World, args: &[&str]) -> Run {
    world.uwf(&[&["cas", "gc"], args].concat())
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

pub(crate) fn put_text(world: &World, text: &str) -> String {
    let put = world.uwf(&["cas", "put-text", text]).exits(0).json();
    put["hash"].as_str().unwrap().to_owned()
}

pub(crate) fn has(world: &World, hash: &str) -> bool {
    world.uwf(&["cas", "has", hash]).code == 0
}

pub(crate) fn node_file(world: &World, hash: &str) -> PathBuf {
    world.root().join("cas").join(format!("{hash}.bin"))
}

/// Makes a file as old as if nobody had used it for so many seconds.
pub(crate) fn age(path: &Path, seconds: u64) {
    let file = fs::File::open(path).unwrap();
    let time = SystemTime::now() - Duration::from_secs(seconds);
    file.set_modified(time).unwrap();
}

/// Makes every file of the store old.
pub(crate) fn age_all(world: &World, seconds: u64) {
    for path in nodes(world) {
        age(&path, seconds);
    }
}

pub(crate) fn nodes(world: &World) -> Vec<PathBuf> {
    let files = fs::read_dir(world.root().join("cas")).unwrap();
    let mut files: Vec<PathBuf> = files
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "bin"))
        .collect();
    files.sort();
    files
}

/// Returns all that people can read of the threads.
pub(crate) fn all_views(world: &World) -> BTreeMap<String, String> {
    let listed = world.uwf(&["thread", "list", "--all"]).exits(0).json();
    let mut views = BTreeMap::new();
    for item in listed.as_array().unwrap() {
        let thread = text(&item["thread"]);
        for command in ["read", "steps", "show"] {
            let view = world.uwf(&["thread", command, &thread]).exits(0);
            views.insert(format!("{command} {thread}"), view.stdout);
        }
        for step in step_hashes(world, &thread) {
            let view = world.uwf(&["step", "show", &step]).exits(0);
            views.insert(format!("step {step}"), view.stdout);
        }
    }
    views
}

pub(crate) fn step_hashes(world: &World, thread: &str) -> Vec<String> {
    let steps = world.uwf(&["thread", "steps", thread]).exits(0).json();
    let steps = steps["steps"].as_array().unwrap();
    steps[1..].iter().map(|step| text(&step["hash"])).collect()
}

/// A thread that has done one step.
fn stepped(world: &World) -> String {
    let thread = world.start("review");
    world.step(&thread).exits(0);
    thread
}

/// A world with a thread of each kind, and with garbage that is long out of use.
pub(crate) fn full_world() -> (World, Vec<String>) {
    let world = World::new();
    world.put(REVIEW);
    gated_agent(
        &world,
        "roles:\n  writer:\n    - output: { plan: p }\n  reviewer:\n    - output: { $status: ask, question: q }\n    - output: { $status: approved, summary: s }\n",
    );
    let ended = stepped(&world);
    world.step(&ended).exits(0);
    world
        .uwf(&["thread", "resume", &ended, "-p", "yes"])
        .exits(0);
    let asks = stepped(&world);
    world.step(&asks).exits(0);
    let killed = stepped(&world);
    world.uwf(&["thread", "kill", &killed]).exits(0);
    let poked = stepped(&world);
    let old = text(&world.uwf(&["thread", "poke", &poked]).exits(0).json()["replaced"]);
    world.uwf(&["thread", "fork", &old]).exits(0);
    let failed = stepped(&world);
    let fails = world.script("fails.sh", "exit 1");
    let fails = fails.to_str().unwrap();
    world
        .uwf(&["thread", "step", &failed, "--agent", fails])
        .exits(3);
    let garbage = ["one", "two", "three"].map(|word| put_text(&world, word));
    age_all(&world, 30 * DAY);
    (world, garbage.to_vec())
}

#[test]
fn threads_of_every_kind_stay_as_they_are_and_garbage_goes() {
    let (world, garbage) = full_world();
    let before = all_views(&world);
    // One that is at work, and one whose engine was killed when its agent had finished.
    let adopted = world.start("review");
    kill(at_work(&world, &["thread", "step", &adopted]));
    open_gate(&world);
    wait_until("the agent has finished", || {
        world.pending(&adopted).is_some()
    });
    world.wait_until_free(&adopted);
    age_all(&world, 30 * DAY);
    let running = world.start("review");
    let engine = at_work(&world, &["thread", "step", &running]);

    let collected = gc(&world, &[]).exits(0).json();
    assert!(collected["removed"].as_u64().unwrap() >= 3, "{collected}");
    for hash in garbage {
        assert!(!has(&world, &hash), "{hash}");
    }
    world.uwf(&["cas", "verify"]).exits(0);
    open_gate(&world);
    assert!(engine.wait_with_output().unwrap().status.success());
    let report = world.step(&adopted).exits(0).json();
    assert_eq!(report["adopted"], json!(true));
    let after = all_views(&world);
    for (name, view) in &before {
        assert_eq!(Some(view), after.get(name), "{name}");
    }
    gc(&world, &[]).exits(0);
    world.uwf(&["cas", "verify"]).exits(0);
    assert_eq!(after, all_views(&world));
}

#[test]
fn a_dry_run_tells_what_would_go_and_changes_nothing() {
    let (world, garbage) = full_world();
    let before = nodes(&world);
    let told = gc(&world, &["--dry-run"]).exits(0).json();
    assert_eq!(told["dryRun"], json!(true));
    let listed: Vec<String> = told["garbage"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| text(&item["hash"]))
        .collect();
    for hash in &garbage {
        assert!(listed.contains(hash), "{hash}: {told}");
    }
    assert_eq!(nodes(&world), before);
    let done = gc(&world, &[]).exits(0).json();
    for key in ["nodes", "used", "young", "removed", "bytes"] {
        assert_eq!(done[key], told[key], "{key}");
    }
    assert_eq!(done.get("garbage"), None);
    assert_eq!(done["removed"], json!(listed.len()));
    assert_eq!(nodes(&world).len(), before.len() - listed.len());
    let again = gc(&world, &["--format", "text"]).exits(0);
    assert!(
        again.stdout.starts_with("0 nodes removed"),
        "{}",
        again.stdout
    );
}

#[test]
fn young_nodes_are_kept_with_all_that_they_refer_to() {
    let (world, _) = full_world();
    let schema = r#"{"type":"object","properties":{"to":{"oneOf":[{"type":"null"},{"type":"string","format":"ocas_ref"}]}}}"#;
    let meta = "CTS5P6RD8HMCS";
    let put = |kind: &str, data: &str| {
        let put = world.uwf(&["cas", "put", kind, data]).exits(0).json();
        text(&put["hash"])
    };
    let kind = put(meta, schema);
    let deep = put_text(&world, "deep");
    let middle = put(&kind, &json!({ "to": deep }).to_string());
    age_all(&world, 30 * DAY);
    let top = put(&kind, &json!({ "to": middle }).to_string());
    let collected = gc(&world, &[]).exits(0).json();
    assert_eq!(collected["young"], json!(4));
    for hash in [&kind, &deep, &middle, &top] {
        assert!(has(&world, hash), "{hash}");
    }
    // Three days are enough when that is asked for, and what is put again is young again.
    age_all(&world, 4 * DAY);
    gc(&world, &[]).exits(0);
    assert!(has(&world, &top));
    put_text(&world, "deep");
    gc(&world, &["--older-than", "3d"]).exits(0);
    let left = [&kind, &deep, &middle, &top].map(|hash| has(&world, hash));
    assert_eq!(left, [false, true, false, false]);
    world.uwf(&["cas", "verify"]).exits(0);
}

#[test]
fn what_is_too_short_a_time_is_a_wrong_command_line() {
    let world = World::new();
    for time in ["0", "59m", "soon", "-1d"] {
        let option = format!("--older-than={time}");
        gc(&world, &[&option]).exits(2).says("at least 1h");
    }
}

#[test]
fn a_node_that_is_needed_and_lost_or_damaged_stops_everything() {
    let (world, garbage) = full_world();
    let listed = world.uwf(&["thread", "list", "--all"]).exits(0).json();
    let thread = text(&listed[0]["thread"]);
    let step = step_hashes(&world, &thread).remove(0);
    let node = world.uwf(&["cas", "get", &step]).exits(0).json();
    let workflow = text(&listed[0]["workflow"]);
    let start = text(&node["payload"]["start"]);
    for hash in ["output", "detail", "assembledPrompt"]
        .map(|key| text(&node["payload"][key]))
        .into_iter()
        .chain([step.clone(), workflow, start, text(&node["type"])])
    {
        let file = node_file(&world, &hash);
        let content = fs::read(&file).unwrap();
        fs::remove_file(&file).unwrap();
        let before = nodes(&world);
        let refused = gc(&world, &[]).exits(4).says("nothing was removed");
        refused
            .says(&format!("`{hash}`"))
            .says("is not in the store");
        fs::write(&file, b"nonsense").unwrap();
        gc(&world, &[]).exits(4).says("is damaged").says("--lost");
        fs::remove_file(&file).unwrap();
        assert_eq!(nodes(&world), before, "{hash}");
        fs::write(&file, content).unwrap();
    }
    for hash in &garbage {
        assert!(has(&world, hash));
    }
    // Who knows that a node will not come back says so.
    let output = text(&node["payload"]["output"]);
    fs::remove_file(node_file(&world, &output)).unwrap();
    gc(&world, &["--lost", &output]).exits(0);
    assert!(!has(&world, &garbage[0]));
}

#[test]
fn a_file_that_cannot_be_understood_stops_everything() {
    let (world, garbage) = full_world();
    let before = nodes(&world);
    for (name, code) in [
        ("threads.yaml", 4),
        ("history.jsonl", 4),
        ("registry.yaml", 4),
    ] {
        let path = world.root().join(name);
        let content = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{content}nonsense\n")).unwrap();
        gc(&world, &[]).exits(code).says(name);
        assert_eq!(nodes(&world), before, "{name}");
        fs::write(&path, content).unwrap();
    }
    // What is there and cannot be read.
    let run = fs::read_dir(world.root().join("runs")).unwrap().next();
    let record = run.unwrap().unwrap().path().join("strange.json");
    fs::create_dir(&record).unwrap();
    gc(&world, &[]).exits(4).says("strange.json");
    assert_eq!(nodes(&world), before);
    fs::remove_dir(&record).unwrap();
    gc(&world, &[]).exits(0);
    assert!(!has(&world, &garbage[0]));
}

#[test]
fn a_store_whose_users_are_not_known_is_left_alone() {
    let world = World::new();
    let hash = put_text(&world, "alone");
    age_all(&world, 30 * DAY);
    gc(&world, &[]).exits(1).says("says which nodes are in use");
    let mut ocas = std::process::Command::new(binary());
    std::os::unix::process::CommandExt::arg0(&mut ocas, "ocas");
    let ocas = ocas.arg("gc").env_clear().envs(world.environment());
    Run::from(ocas.output().unwrap()).exits(1).says("--root");
    assert!(has(&world, &hash));

    let (world, garbage) = full_world();
    let before = nodes(&world);
    for name in ["cas/variables.db", "threads.yaml.migrated"] {
        let path = world.root().join(name);
        fs::write(&path, "").unwrap();
        gc(&world, &[]).exits(1).says("another program").says(name);
        fs::remove_file(&path).unwrap();
    }
    assert_eq!(nodes(&world), before);
    assert!(has(&world, &garbage[0]));
}

/// Runs a command of another root that uses the store of the first.
fn of_other(world: &World, args: &[&str]) -> Run {
    let mut command = world.command(args);
    command.env("OCAS_DIR", world.root().join("cas"));
    command.env("UWF_STORAGE_ROOT", world.dir().join("other"));
    Run::from(command.output().unwrap())
}

#[test]
fn a_root_is_known_to_the_store_as_soon_as_it_forks_or_steps() {
    let world = World::new();
    world.put(REVIEW);
    world.mock("roles: { writer: [{ output: { plan: p } }], reviewer: [{ exit: 3 }] }");
    let thread = world.start("review");
    let start = text(&world.show(&thread)["head"]);
    let listed = || world.state("cas/.roots");
    let other = world.dir().join("other").display().to_string() + "\n";
    let forked = of_other(&world, &["thread", "fork", &start]).exits(0);
    assert_eq!(listed(), other);
    let thread = text(&forked.json()["thread"]);
    // As if the root had been moved there.
    fs::remove_file(world.root().join("cas/.roots")).unwrap();
    let config = "config.yaml";
    fs::copy(
        world.root().join(config),
        world.dir().join("other").join(config),
    )
    .unwrap();
    of_other(&world, &["thread", "step", &thread]).exits(0);
    assert_eq!(listed(), other);
    age_all(&world, 30 * DAY);
    gc(&world, &[]).exits(0);
    let read = of_other(&world, &["thread", "read", &thread]).exits(0);
    assert!(read.stdout.contains("plan: p"), "{}", read.stdout);
}

#[test]
fn a_store_of_several_roots_is_collected_for_all_of_them() {
    let (world, garbage) = full_world();
    let other = world.dir().join("other");
    let shared = |args: &[&str]| of_other(&world, args);
    shared(&["cas", "gc"]).exits(1).says("--used-by");
    world.write("one.yaml", ONE_STEP);
    shared(&["workflow", "put", "one.yaml"]).exits(0);
    let started = shared(&["thread", "start", "one", "-p", "other task"]).exits(0);
    let thread = text(&started.json()["thread"]);
    let read = shared(&["thread", "read", &thread]).exits(0).stdout;
    age_all(&world, 30 * DAY);
    let views = all_views(&world);
    shared(&["cas", "gc", "--used-by", "nowhere"])
        .exits(1)
        .says("is not a storage root");
    assert!(has(&world, &garbage[0]));
    // The root that the store lies in collects for the other one, and the other way round.
    gc(&world, &[]).exits(0);
    assert!(!has(&world, &garbage[0]));
    let waste = put_text(&world, "waste");
    age_all(&world, 30 * DAY);
    shared(&["cas", "gc"]).exits(0);
    assert!(!has(&world, &waste));
    assert_eq!(all_views(&world), views);
    assert_eq!(shared(&["thread", "read", &thread]).exits(0).stdout, read);
    world.uwf(&["cas", "verify"]).exits(0);
    fs::rename(&other, world.dir().join("moved")).unwrap();
    gc(&world, &[])
        .exits(1)
        .says("is not a storage root")
        .says(".roots");
}

#[test]
fn what_a_step_at_work_has_put_is_kept_for_as_long_as_it_works() {
    let world = World::new();
    world.put(ONE_STEP);
    gated_agent(&world, NOTE);
    let thread = world.start("one");
    let [early, earlier] = ["early", "earlier"].map(|word| put_text(&world, word));
    let engine = at_work(&world, &["thread", "step", &thread]);
    world.agent_at_work(&thread);
    // As if it had begun three days ago.
    let path = world.root().join("runs").join(&thread).join("holder.json");
    let mut holder: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let began = holder["startedAtMs"].as_u64().unwrap() - 3 * DAY * 1000;
    holder["startedAtMs"] = json!(began);
    fs::write(&path, holder.to_string()).unwrap();
    age(&node_file(&world, &early), 2 * DAY);
    age(&node_file(&world, &earlier), 4 * DAY);
    gc(&world, &["--older-than", "1h"]).exits(0);
    assert_eq!((has(&world, &early), has(&world, &earlier)), (true, false));
    open_gate(&world);
    assert!(engine.wait_with_output().unwrap().status.success());
    gc(&world, &["--older-than", "1h"]).exits(0);
    assert!(!has(&world, &early));
}

#[test]
fn an_agent_that_nobody_knows_of_keeps_what_is_younger_than_two_weeks() {
    let world = World::new();
    world.put(ONE_STEP);
    let body = "while [ -e wait ]; do sleep 0.02; done\nprintf -- '---\\nnote: n\\n---\\n'";
    let tool = world.script("tool.sh", body);
    let thread = world.start("one");
    let [early, earlier] = ["early", "earlier"].map(|word| put_text(&world, word));
    age(&node_file(&world, &early), 13 * DAY);
    age(&node_file(&world, &earlier), 15 * DAY);
    close_gate(&world);
    let tool = tool.to_str().unwrap();
    let mut agent = world.spawn(&["agent", "command", "--", tool, &thread, "writer"]);
    let lock = world.root().join("runs").join(&thread).join("lock");
    wait_until("the agent has the thread", || lock.exists());
    wait_until("the thread is held", || {
        world
            .uwf(&["thread", "step", &thread, "--agent", "false"])
            .code
            == 5
    });
    gc(&world, &["--older-than", "1h"]).exits(0);
    assert_eq!((has(&world, &early), has(&world, &earlier)), (true, false));
    open_gate(&world);
    assert!(agent.wait().unwrap().success());
}

#[test]
fn temporary_files_that_nobody_uses_go_too() {
    let (world, _) = full_world();
    let run = fs::read_dir(world.root().join("runs")).unwrap().next();
    let run = run.unwrap().unwrap().path();
    let cas = world.root().join("cas");
    let stale = [
        cas.join("0123456789012.abc.tmp"),
        cas.join("_index/0123456789012.abc.tmp"),
        world.root().join(".uwf-temp-abc"),
        run.join(".uwf-temp-abc"),
        world.root().join("locks/.uwf-temp-abc"),
        world.root().join("shared/.uwf-temp-abc"),
        world.root().join("worktrees/.uwf-temp-abc"),
        world.root().join(".uwf-temp-folder"),
    ];
    let young = cas.join("0123456789012.xyz.tmp");
    let folder = stale.last().unwrap();
    for path in [
        &world.root().join("shared"),
        &world.root().join("worktrees"),
        folder,
    ] {
        fs::create_dir(path).unwrap();
    }
    for path in stale.iter().chain([&young]).filter(|path| !path.is_dir()) {
        fs::write(path, "half").unwrap();
    }
    fs::write(folder.join("file"), "half").unwrap();
    for path in &stale {
        age(path, 30 * DAY);
    }
    let told = gc(&world, &["--dry-run"]).exits(0).json();
    assert_eq!(told["temporaryFiles"], json!(8));
    assert!(stale.iter().all(|path| path.exists()));
    gc(&world, &[]).exits(0);
    assert!(!stale.iter().any(|path| path.exists()));
    assert!(young.exists());
}
