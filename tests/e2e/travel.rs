//! Threads that travel to another root: all of them arrives, nothing here is overwritten, and a bundle that is not sound
//! changes nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::gates::{NOTE, at_work, gated_agent, open_gate};
use crate::gc::{all_views, text};
use crate::world::{ONE_STEP, REVIEW, Run, World};

/// A review that asks, is answered, and ends.
const REVIEWED: &str = "roles:\n  writer:\n    - output: { plan: p }\n    - output: { plan: better }\n  reviewer:\n    - output: { $status: ask, question: q }\n    - output: { $status: approved, summary: s }\n";

/// A world with a thread that has ended, one that waits for a person, and one that has only started.
pub(crate) fn three_threads() -> (World, [String; 3]) {
    let world = World::new();
    world.put(REVIEW);
    world.mock(REVIEWED);
    let threads = [(); 3].map(|()| world.start("review"));
    for thread in &threads[..2] {
        world.uwf(&["thread", "step", thread, "-c", "2"]).exits(0);
    }
    world
        .uwf(&["thread", "resume", &threads[0], "-p", "yes"])
        .exits(0);
    (world, threads)
}

/// Returns another root for the same machine.
pub(crate) fn other_root(world: &World) -> PathBuf {
    world.dir().join("other")
}

fn at(root: &Path, args: &[&str]) -> Vec<String> {
    let root = ["--root", root.to_str().unwrap()];
    root.iter().chain(args).map(ToString::to_string).collect()
}

fn uwf_at(world: &World, root: &Path, args: &[&str]) -> Run {
    let args = at(root, args);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    world.uwf(&args)
}

fn export(world: &World, threads: &[&str], file: &str) -> Vec<u8> {
    world
        .uwf(&[&["thread", "export", "-o", file], threads].concat())
        .exits(0);
    fs::read(world.project().join(file)).unwrap()
}

fn import(world: &World, file: &str) -> Run {
    uwf_at(world, &other_root(world), &["thread", "import", file])
}

/// Returns what happened to each thread.
fn outcomes(run: &Run) -> BTreeMap<String, String> {
    let result = run.json();
    let threads = result["threads"].as_array().unwrap().iter();
    let outcome = |one: &Value| (text(&one["thread"]), text(&one["outcome"]));
    threads.map(outcome).collect()
}

#[track_caller]
fn only_outcome(run: &Run) -> String {
    let outcomes = outcomes(run);
    assert_eq!(outcomes.len(), 1, "{outcomes:?}");
    outcomes.into_values().next().unwrap()
}

#[test]
fn threads_arrive_whole_and_the_same_threads_make_the_same_bytes() {
    let (world, threads) = three_threads();
    let all = export(&world, &["--all"], "all.tar");
    let by_id: Vec<&str> = threads.iter().rev().map(String::as_str).collect();
    assert!(export(&world, &by_id, "ids.tar") == all);
    let views = all_views(&world);
    let arrived = outcomes(&import(&world, "all.tar").exits(0));
    assert!(arrived.values().all(|one| one == "added"), "{arrived:?}");
    assert_eq!(arrived.len(), 3);
    let again = outcomes(&import(&world, "all.tar").exits(0));
    assert!(again.values().all(|one| one == "unchanged"), "{again:?}");

    fs::rename(world.root(), world.dir().join("home")).unwrap();
    fs::rename(other_root(&world), world.root()).unwrap();
    assert!(export(&world, &["--all"], "back.tar") == all);
    world.uwf(&["cas", "verify"]).exits(0);
    let mut arrived = all_views(&world);
    // The name of a workflow belongs to a root.
    let unnamed = |views: &mut BTreeMap<String, String>| {
        views
            .values_mut()
            .for_each(|view| *view = view.replace("\"review\"", "null"));
    };
    let mut views = views;
    unnamed(&mut views);
    unnamed(&mut arrived);
    assert_eq!(
        views.keys().collect::<Vec<_>>(),
        arrived.keys().collect::<Vec<_>>()
    );
    for (name, view) in &views {
        if name.starts_with("step ") {
            assert_eq!(arrived[name], *view, "{name}");
        }
    }
}

#[test]
fn an_unpacked_bundle_is_a_store() {
    let (world, threads) = three_threads();
    export(&world, &[&threads[0]], "one.tar");
    let unpacked = world.dir().join("unpacked");
    fs::create_dir(&unpacked).unwrap();
    let tar = Command::new("tar")
        .args(["-x", "-f"])
        .arg(world.project().join("one.tar"))
        .arg("-C")
        .arg(&unpacked)
        .status();
    assert!(tar.unwrap().success());
    let head = text(&world.show(&threads[0])["head"]);
    let verified = uwf_at(&world, &unpacked, &["cas", "verify"])
        .exits(0)
        .json();
    assert!(verified["checked"].as_u64().unwrap() > 10, "{verified}");
    uwf_at(&world, &unpacked, &["cas", "get", &head]).exits(0);
}

#[test]
fn a_thread_that_is_behind_goes_forward_and_one_that_is_ahead_stays() {
    let (world, threads) = three_threads();
    let thread = threads[2].as_str();
    export(&world, &[thread], "start.tar");
    assert_eq!(only_outcome(&import(&world, "start.tar").exits(0)), "added");
    world.uwf(&["thread", "step", thread, "-c", "2"]).exits(0);
    export(&world, &[thread], "asks.tar");
    assert_eq!(
        only_outcome(&import(&world, "asks.tar").exits(0)),
        "fastForwarded"
    );
    assert_eq!(only_outcome(&import(&world, "start.tar").exits(0)), "ahead");
    world
        .uwf(&["thread", "resume", thread, "-p", "yes"])
        .exits(0);
    export(&world, &[thread], "ended.tar");
    assert_eq!(
        only_outcome(&import(&world, "ended.tar").exits(0)),
        "fastForwarded"
    );
    assert_eq!(
        only_outcome(&import(&world, "ended.tar").exits(0)),
        "unchanged"
    );
    assert_eq!(only_outcome(&import(&world, "asks.tar").exits(0)), "ahead");
    let there = uwf_at(&world, &other_root(&world), &["thread", "show", thread]).exits(0);
    assert_eq!(there.json()["status"], "completed");
    assert_eq!(there.json()["head"], world.show(thread)["head"]);
}

#[test]
fn a_step_that_was_done_again_travels_and_its_thread_goes_forward() {
    let (world, threads) = three_threads();
    let thread = threads[1].as_str();
    let old = text(&world.show(thread)["head"]);
    export(&world, &[thread], "before.tar");
    import(&world, "before.tar").exits(0);
    world.uwf(&["thread", "poke", thread]).exits(0);
    export(&world, &[thread], "poked.tar");
    assert_eq!(
        only_outcome(&import(&world, "poked.tar").exits(0)),
        "fastForwarded"
    );
    assert_eq!(
        only_outcome(&import(&world, "before.tar").exits(0)),
        "ahead"
    );
    let other = other_root(&world);
    let steps = uwf_at(&world, &other, &["thread", "steps", thread]).exits(0);
    assert!(steps.stdout.contains(&old), "{}", steps.stdout);
    uwf_at(&world, &other, &["step", "show", &old]).exits(0);
}

#[test]
fn a_thread_that_went_on_in_both_places_is_refused_or_becomes_a_fork() {
    let (world, threads) = three_threads();
    let thread = threads[2].as_str();
    export(&world, &[thread, &threads[0]], "start.tar");
    import(&world, "start.tar").exits(0);
    let other = other_root(&world);
    fs::copy(world.root().join("config.yaml"), other.join("config.yaml")).unwrap();
    world.step(thread).exits(0);
    uwf_at(&world, &other, &["thread", "step", thread]).exits(0);
    let [here, there] = [&other, &world.root()].map(|root| {
        let shown = uwf_at(&world, root, &["thread", "show", thread]).exits(0);
        text(&shown.json()["head"])
    });
    assert_ne!(here, there, "steps have times");
    export(&world, &["--all"], "all.tar");
    let state = |name: &str| fs::read_to_string(other.join(name)).unwrap_or_default();
    let before = ["threads.yaml", "history.jsonl"].map(state);
    let refused = import(&world, "all.tar").exits(1).says(&here).says(&there);
    let refused = refused.says(" thread import --as-fork all.tar`");
    assert!(refused.stdout.is_empty());
    assert_eq!(["threads.yaml", "history.jsonl"].map(state), before);

    let args = ["thread", "import", "--as-fork", "all.tar"];
    let forked = uwf_at(&world, &other, &args).exits(0).json();
    let fork = forked["threads"].as_array().unwrap().iter();
    let fork = fork
        .clone()
        .find(|one| one["forkedFrom"] == thread)
        .unwrap();
    assert_eq!(
        (text(&fork["outcome"]), text(&fork["head"])),
        ("added".to_owned(), there)
    );
    let again = uwf_at(&world, &other, &args).exits(0).json();
    let threads = again["threads"].as_array().unwrap();
    assert!(threads.iter().any(|one| one["thread"] == fork["thread"]));
    assert!(
        threads.iter().all(|one| one["outcome"] == "unchanged"),
        "{again}"
    );
    let shown = uwf_at(&world, &other, &["thread", "show", thread]).exits(0);
    assert_eq!(text(&shown.json()["head"]), here);
}

#[test]
fn a_thread_that_was_cancelled_here_is_not_brought_back() {
    let (world, threads) = three_threads();
    let thread = threads[2].as_str();
    export(&world, &[thread], "start.tar");
    import(&world, "start.tar").exits(0);
    let other = other_root(&world);
    uwf_at(&world, &other, &["thread", "kill", thread]).exits(0);
    assert_eq!(only_outcome(&import(&world, "start.tar").exits(0)), "ahead");
    world.step(thread).exits(0);
    export(&world, &[thread], "on.tar");
    import(&world, "on.tar").exits(1).says("was cancelled here");
}

#[test]
fn failed_attempts_and_raised_limits_travel() {
    let world = World::new();
    world.put(&format!("{ONE_STEP}limits: {{ maxSteps: 1 }}\n"));
    world.mock("roles:\n  writer:\n    - { exit: 3, stderr: broken }\n");
    let thread = world.start("one");
    world.step(&thread).exits(3);
    export(&world, &[&thread], "failed.tar");
    import(&world, "failed.tar").exits(0);
    let other = other_root(&world);
    let attempts = |root: &Path| {
        let shown = uwf_at(&world, root, &["thread", "steps", &thread]).exits(0);
        shown.json()["attempts"].clone()
    };
    assert_eq!(attempts(&other), attempts(&world.root()));
    assert_eq!(attempts(&other).as_array().unwrap().len(), 1);
    // Attempts of both places are kept, also when the thread stands where it stood.
    world.step(&thread).exits(3);
    fs::copy(world.root().join("config.yaml"), other.join("config.yaml")).unwrap();
    uwf_at(&world, &other, &["thread", "step", &thread]).exits(3);
    export(&world, &[&thread], "failed.tar");
    assert_eq!(
        only_outcome(&import(&world, "failed.tar").exits(0)),
        "updated"
    );
    assert_eq!(
        only_outcome(&import(&world, "failed.tar").exits(0)),
        "unchanged"
    );
    let numbers: Vec<Value> = attempts(&other)
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["number"].clone())
        .collect();
    assert_eq!(numbers, [json!(1), json!(2), json!(3)]);
}

#[test]
fn an_import_names_the_limits_that_it_raises() {
    let world = World::new();
    world.put(&format!("{REVIEW}limits: {{ maxSteps: 1 }}\n"));
    world.mock(REVIEWED);
    let thread = world.start("review");
    world.step(&thread).exits(0);
    export(&world, &[&thread], "before.tar");
    let resume = ["thread", "resume", &thread, "--raise", "maxSteps=2"];
    world.uwf(&resume).exits(0);
    export(&world, &[&thread], "after.tar");
    let raised = |file: &str| import(&world, file).exits(0).json()["threads"][0]["raised"].clone();
    assert_eq!(raised("before.tar"), Value::Null);
    assert_eq!(raised("after.tar"), json!(["maxSteps=2"]));
    assert_eq!(raised("after.tar"), Value::Null);
    let third = world.dir().join("third");
    let args = ["thread", "import", "after.tar", "--format", "text"];
    let said = uwf_at(&world, &third, &args).exits(0).stdout;
    let expected = "added; its limits are raised: maxSteps=2";
    assert!(said.contains(expected), "{said}");
}

#[test]
fn a_running_thread_is_exported_as_committed_and_not_moved() {
    let world = World::new();
    world.put(ONE_STEP);
    gated_agent(&world, NOTE);
    let thread = world.start("one");
    let head = text(&world.show(&thread)["head"]);
    export(&world, &[&thread], "start.tar");
    let mut engine = at_work(&world, &["thread", "step", &thread]);
    export(&world, &[&thread], "running.tar");
    let added = import(&world, "running.tar").exits(0).json();
    assert_eq!(text(&added["threads"][0]["head"]), head);
    open_gate(&world);
    assert!(engine.wait().unwrap().success());
    export(&world, &[&thread], "done.tar");

    let other = other_root(&world);
    fs::copy(world.root().join("config.yaml"), other.join("config.yaml")).unwrap();
    let args = at(&other, &["thread", "step", &thread]);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let mut engine = at_work(&world, &args);
    assert_eq!(only_outcome(&import(&world, "done.tar").exits(5)), "busy");
    open_gate(&world);
    assert!(engine.wait().unwrap().success());
    // Both places did the step.
    import(&world, "done.tar").exits(1).says("--as-fork");
}

/// Returns every file below a folder with its content.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    found
}

#[test]
fn threads_of_a_root_of_another_program_are_exported_and_their_root_is_not_changed() {
    let (world, threads) = three_threads();
    let root = world.root();
    let table = fs::read_to_string(root.join("threads.yaml")).unwrap();
    let mut yaml = String::from("# written by hand\n");
    for line in table.lines().rev() {
        let (thread, head) = line.split_once(": ").unwrap();
        yaml += &format!("\"{thread}\":\n  head: {head}\n  suspendedRole: null\n");
    }
    fs::write(root.join("threads.yaml"), yaml).unwrap();
    fs::rename(root.join("registry.yaml"), root.join("workflows.yaml")).unwrap();
    for folder in ["locks", "runs", "logs"] {
        fs::remove_dir_all(root.join(folder)).unwrap();
    }
    let before = files(&root);
    export(&world, &["--all"], "all.tar");
    assert!(files(&root) == before);
    let arrived = outcomes(&import(&world, "all.tar").exits(0));
    assert!(
        threads.iter().all(|thread| arrived[thread] == "added"),
        "{arrived:?}"
    );
}

#[test]
fn a_bundle_goes_through_a_pipe_but_not_to_a_terminal() {
    let (world, threads) = three_threads();
    let file = export(&world, &[&threads[0]], "one.tar");
    let args = ["thread", "export", "-o", "-", &threads[0]];
    let piped = world.command(&args).output().unwrap();
    assert!(piped.status.success());
    assert!(piped.stdout == file);
    let args = at(&other_root(&world), &["thread", "import", "-"]);
    let mut import = world.command(&[]);
    import
        .args(args)
        .stdin(fs::File::open(world.project().join("one.tar")).unwrap());
    let imported: Run = import.stdout(Stdio::piped()).output().unwrap().into();
    assert_eq!(only_outcome(&imported.exits(0)), "added");
    world
        .uwf(&["thread", "export", &threads[0], "-o", "."])
        .exits(1)
        .says("is not a file");
    world.uwf(&["thread", "export", "-o", "x.tar"]).exits(2);
    world
        .uwf(&["thread", "import", "nowhere.tar"])
        .exits(1)
        .says("no such file");
}

#[test]
fn a_thread_with_a_lost_node_is_not_exported() {
    let (world, threads) = three_threads();
    let head = text(&world.show(&threads[0])["head"]);
    let output = world.uwf(&["cas", "refs", &head]).exits(0).json();
    let lost = text(&output["refs"][2]);
    fs::remove_file(world.root().join("cas").join(format!("{lost}.bin"))).unwrap();
    world.write("old.tar", "kept");
    world
        .uwf(&["thread", "export", &threads[0], "-o", "old.tar"])
        .exits(4)
        .says(&lost);
    assert_eq!(fs::read(world.project().join("old.tar")).unwrap(), b"kept");
}

#[test]
fn names_and_labels_travel_and_take_no_name_from_a_thread() {
    let (world, [ended, waiting, started]) = three_threads();
    let other = other_root(&world);
    let here = |args: &[&str]| world.uwf(args).exits(0);
    let there = |args: &[&str]| uwf_at(&world, &other, args);
    here(&["thread", "rename", &ended, "fix-41"]);
    here(&["thread", "label", &ended, "team=web"]);
    here(&["thread", "rename", &waiting, "fix-42"]);
    here(&["thread", "label", &waiting, "team=core"]);
    export(&world, &["--all"], "all.tar");
    // Another thread has one of the names in the other root.
    export(&world, &[&started], "started.tar");
    import(&world, "started.tar").exits(0);
    there(&["thread", "rename", &started, "fix-42"]).exits(0);
    let imported = import(&world, "all.tar").exits(0);
    let result = imported.json();
    let about = |thread: &String| {
        let threads = result["threads"].as_array().unwrap();
        let found = threads.iter().find(|one| one["thread"] == json!(thread));
        found.unwrap().clone()
    };
    assert_eq!(about(&ended).get("takenName"), None);
    let taken = json!({ "name": "fix-42", "by": started });
    assert_eq!(about(&waiting)["takenName"], taken);
    let shown = |thread: &str| {
        let shown = there(&["thread", "show", thread]).exits(0).json();
        (shown["name"].clone(), shown["labels"].clone())
    };
    assert_eq!(shown(&ended), (json!("fix-41"), json!({ "team": "web" })));
    assert_eq!(shown(&waiting), (Value::Null, json!({ "team": "core" })));
    assert_eq!(shown(&started), (json!("fix-42"), json!({})));
    // A thread that is there already is called what it is called there.
    there(&["thread", "rename", &ended, "old"]).exits(0);
    import(&world, "all.tar").exits(0);
    assert_eq!(shown(&ended).0, json!("old"));
    // In text, it is said beside the thread.
    there(&["thread", "rm", "--force", &waiting]).exits(0);
    let args = ["thread", "import", "all.tar", "--format", "text"];
    let text = there(&args).exits(0).stdout;
    let said = format!("added, without its name `fix-42`, which {started} has");
    assert!(text.contains(&said), "{text}");
}
