//! State that is not what it was: named as damage by those who need it, and never written over.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::gates::{NOTE, gated_agent, runs};
use crate::world::{ONE_STEP, REVIEW, World};

const SCRIPT: &str = "roles:\n  writer:\n    - output: { plan: p, note: n }\n  reviewer:\n    - output: { $status: approved, summary: s }\n";

fn world() -> World {
    let world = World::new();
    world.put(ONE_STEP);
    world.put(REVIEW);
    world.mock(SCRIPT);
    world
}

/// A world with an active thread that has a step, one that has none, and one that has ended.
fn three_threads() -> (World, [String; 3]) {
    let world = world();
    let stepped = world.start("review");
    world.step(&stepped).exits(0);
    let started = world.start("review");
    let ended = world.start("one");
    world.step(&ended).exits(0);
    (world, [stepped, started, ended])
}

fn file(world: &World, name: &str) -> PathBuf {
    world.root().join(name)
}

/// Returns what `doctor` says about something: status, message and hint.
pub(crate) fn doctor(world: &World, check: &str) -> (String, String, String) {
    let run = world.uwf(&["doctor", "--offline", "--format", "json"]);
    let checks = run.json()["checks"].clone();
    let all = checks.as_array().unwrap().iter();
    let mut of_kind = all.filter(|one| one["check"] == json!(check));
    let text = |one: &Value, key: &str| one[key].as_str().unwrap_or_default().to_owned();
    let worst = of_kind.clone().find(|one| one["status"] == json!("error"));
    let one = worst.or_else(|| of_kind.next()).unwrap();
    (text(one, "status"), text(one, "message"), text(one, "hint"))
}

#[test]
fn the_folder_of_a_lost_thread_is_not_to_be_deleted() {
    let (world, [stepped, ..]) = three_threads();
    let head = world.show(&stepped)["head"].clone();
    let pending = json!({ "step": head, "head": head, "atMs": 1 }).to_string();
    fs::write(world.pending_file(&stepped), pending).unwrap();
    fs::create_dir(file(&world, "runs/of-nobody")).unwrap();
    let path = file(&world, "threads.yaml");
    let good = fs::read_to_string(&path).unwrap();
    let others = good.lines().filter(|line| !line.contains(&stepped));
    fs::write(
        &path,
        others.map(|line| format!("{line}\n")).collect::<String>(),
    )
    .unwrap();
    let (status, message, hint) = doctor(&world, "state");
    assert_eq!(status, "error");
    assert!(message.contains(&stepped), "{message}");
    assert!(hint.contains("makes the thread active again"), "{hint}");
    let (_, message, _) = doctor(&world, "leftovers");
    assert!(
        message.starts_with("1 unused") && message.contains("of-nobody"),
        "{message}"
    );
    let (status, message, _) = doctor(&world, "pending");
    assert_eq!(status, "ok", "{message}");
}

#[test]
fn threads_that_a_file_of_the_state_has_lost_are_named_and_nothing_is_built_on_it() {
    let (world, [stepped, started, ended]) = three_threads();
    let path = file(&world, "threads.yaml");
    let good = fs::read_to_string(&path).unwrap();
    let first_line = &good[..=good.find('\n').unwrap()];
    let nothing: Option<&str> = None;
    for (content, lost) in [
        (Some(""), &started),
        (nothing, &started),
        (Some(first_line), &started),
    ] {
        match content {
            Some(content) => fs::write(&path, content).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
        for command in [
            &["thread", "step", lost][..],
            &["thread", "show", lost],
            &["thread", "steps", lost],
            &["thread", "read", lost],
            &["thread", "kill", lost],
            &["thread", "start", "one", "-p", "x"],
            &["thread", "list"],
            &["thread", "list", "--all"],
            &["cas", "gc"],
        ] {
            let run = world.uwf(command).exits(4);
            run.says("neither").says("threads.yaml").says("hint: bring");
        }
        if content == Some(first_line) {
            // A thread that is still there does not go on beside one that is not.
            world.step(&stepped).exits(4).says(&started);
        }
        let (status, message, hint) = doctor(&world, "state");
        assert_eq!(status, "error", "{message}");
        assert!(hint.contains(".forgotten"), "{hint}");
        assert_eq!(fs::read_to_string(&path).ok().as_deref(), content);
        // Of what is there all is told.
        let listed = world.uwf(&["thread", "list", "--all"]).json();
        let listed = listed.as_array().unwrap();
        assert!(listed.iter().any(|item| item["thread"] == json!(ended)));
    }
    fs::write(&path, good).unwrap();
    world.uwf(&["thread", "list"]).exits(0);
    world.step(&stepped).exits(0);
}

#[test]
fn no_agent_is_started_while_the_files_of_the_state_have_lost_a_thread() {
    let world = World::new();
    world.put(ONE_STEP);
    gated_agent(&world, NOTE);
    let [first, second] = [(); 2].map(|()| world.start("one"));
    let path = file(&world, "threads.yaml");
    let good = fs::read_to_string(&path).unwrap();
    let first_line = &good[..=good.find('\n').unwrap()];
    fs::write(&path, first_line).unwrap();
    world.step(&first).exits(4).says(&second);
    assert_eq!(runs(&world), 0);
    fs::write(&path, good).unwrap();
    for thread in [&first, &second] {
        world.step(thread).exits(0);
    }
}

#[test]
fn a_lost_history_is_named_and_a_torn_line_only_if_something_was_in_it() {
    let (world, [stepped, _, ended]) = three_threads();
    let path = file(&world, "history.jsonl");
    let good = fs::read_to_string(&path).unwrap();
    let torn = &good[..good.len() / 2];
    for content in [Some(""), None, Some(torn)] {
        match content {
            Some(content) => fs::write(&path, content).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
        for command in [
            &["thread", "show", &ended][..],
            &["thread", "kill", &stepped],
            &["thread", "list"],
            &["cas", "gc"],
        ] {
            let run = world.uwf(command).exits(4).says(&ended);
            if content == Some(torn) {
                run.says("history.jsonl:1`");
            }
        }
        assert_eq!(doctor(&world, "state").0, "error");
        assert_eq!(fs::read_to_string(&path).ok().as_deref(), content);
    }
    // What a power cut leaves of a line whose thread is still active is no damage, and is kept.
    fs::write(&path, format!("{good}{{\"thread\":\"{stepped}\",\"work")).unwrap();
    world.uwf(&["thread", "list"]).exits(0);
    world.uwf(&["thread", "kill", &stepped]).exits(0);
    let lines = world.state("history.jsonl");
    assert_eq!(lines.lines().count(), 2, "{lines}");
    assert!(world.state("history.torn").contains(&stepped));
    world.uwf(&["cas", "gc"]).exits(0);
}

#[test]
fn a_damaged_line_of_the_history_is_named_by_all_who_need_it_and_stops_writers() {
    let (world, [stepped, _, ended]) = three_threads();
    let path = file(&world, "history.jsonl");
    let good = fs::read_to_string(&path).unwrap();
    let bad = format!("nonsense {ended}\n");
    fs::write(&path, &bad).unwrap();
    for command in [
        &["thread", "show", &ended][..],
        &["thread", "read", &ended],
        &["thread", "kill", &stepped],
        &["thread", "list", "--all"],
        &["cas", "gc"],
    ] {
        let run = world.uwf(command).exits(4);
        run.says("history.jsonl:1`").says("hint: fix that line");
        assert_eq!(fs::read_to_string(&path).unwrap(), bad, "{command:?}");
    }
    let (status, message, hint) = doctor(&world, "state");
    assert_eq!(status, "error");
    assert!(message.contains("history.jsonl:1`"), "{message}");
    assert!(hint.contains("fix that line"), "{hint}");
    fs::write(&path, good).unwrap();
    world.uwf(&["thread", "show", &ended]).exits(0);
}

#[test]
fn the_hint_for_a_lost_thread_brings_it_back_or_lets_it_be_forgotten() {
    let (world, [stepped, started, _]) = three_threads();
    let path = file(&world, "threads.yaml");
    let head = world.show(&stepped)["head"].clone();
    fs::write(&path, "").unwrap();
    let hint = |world: &World, thread: &str| {
        let said = world.uwf(&["thread", "show", thread]).exits(4).stderr;
        let hint = said.split_once("hint: ").unwrap().1.to_owned();
        let commands = hint.split('`').skip(1).step_by(2);
        commands.map(str::to_owned).collect::<Vec<_>>()
    };
    let shell = |command: &str| {
        let run = std::process::Command::new("sh")
            .args(["-c", command])
            .status();
        assert!(run.unwrap().success(), "{command}");
    };
    let [bring_back, _] = &hint(&world, &stepped)[..] else {
        panic!("two commands are expected")
    };
    shell(bring_back);
    assert_eq!(world.show(&stepped)["head"], head);
    let commands = hint(&world, &started);
    shell(commands.last().unwrap());
    world.uwf(&["thread", "list"]).exits(0);
    assert!(
        world
            .root()
            .join(format!("runs/{started}.forgotten"))
            .is_dir()
    );
    world.step(&stepped).exits(0);
    world.start("one");
}

#[test]
fn a_fresh_root_and_one_without_records_of_runs_are_no_damage() {
    let world = world();
    world.uwf(&["thread", "list", "--all"]).exits(0);
    assert_eq!(doctor(&world, "state").0, "ok");
    let thread = world.start("one");
    fs::remove_dir_all(world.root().join("runs")).unwrap();
    fs::remove_dir_all(world.root().join("locks")).unwrap();
    world.step(&thread).exits(0);
    world.uwf(&["thread", "list", "--all"]).exits(0);
    world.uwf(&["cas", "gc"]).exits(0);
}

#[test]
fn a_torn_record_of_a_finished_step_is_named_and_nothing_is_paid_again() {
    let world = world();
    world.scripted_agent("echo run >> runs.log; exit 3");
    let thread = world.start("one");
    let path = world.pending_file(&thread);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let head = world.show(&thread)["head"].clone();
    let whole = json!({ "step": "0123456789012", "head": head, "atMs": 1 }).to_string();
    let half = whole.as_bytes()[..20].to_vec();
    for torn in [half, vec![0; 60], b"garbage".to_vec(), Vec::new()] {
        fs::write(&path, &torn).unwrap();
        for command in [
            &["thread", "step", &thread][..],
            &["thread", "show", &thread],
        ] {
            let run = world.uwf(command).exits(4).says("pending.json");
            run.says("hint: ").says(".torn");
        }
        let (status, message, hint) = doctor(&world, "pending");
        assert_eq!(status, "error", "{message}");
        assert!(hint.contains(".torn"), "{hint}");
        assert_eq!(fs::read(&path).unwrap(), torn);
    }
    assert!(!world.project().join("runs.log").exists());
    // Blanks are how a record is removed.
    fs::write(&path, vec![b' '; 60]).unwrap();
    world.step(&thread).exits(3);
    assert!(world.project().join("runs.log").exists());
}

#[test]
fn a_record_of_a_finished_step_with_one_changed_character_is_named_and_nothing_is_paid_again() {
    let world = world();
    let thread = world.start("one");
    // An agent without an engine leaves the record of its step.
    let script = world.project().join("script.yaml");
    let by_hand = ["agent", "mock", script.to_str().unwrap(), &thread, "writer"];
    world.uwf(&by_hand).exits(0);
    world.scripted_agent("echo run >> runs.log; exit 3");
    let pending = world.pending(&thread).unwrap();
    let text = |key: &str| pending[key].to_string();
    let path = world.pending_file(&thread);
    let good = fs::read_to_string(&path).unwrap();
    let change = |at: usize| {
        let mut bytes = good.clone().into_bytes();
        bytes[at] = if bytes[at] == b'7' { b'8' } else { b'7' };
        bytes
    };
    for key in ["step", "head", "atMs", "sum"] {
        let value = text(key);
        let at = good.find(&value).unwrap() + value.len() - 2;
        fs::write(&path, change(at)).unwrap();
        for command in [
            &["thread", "step", &thread][..],
            &["thread", "show", &thread],
        ] {
            let run = world.uwf(command).exits(4).says("checksum does not fit");
            run.says("hint: ").says("thread fork").says(".torn");
        }
        assert_eq!(doctor(&world, "pending").0, "error");
        assert_eq!(fs::read(&path).unwrap(), change(at));
    }
    // Other programs and older versions write no checksum.
    let without = good.replace(&format!(",\"sum\":{}", text("sum")), "");
    fs::write(&path, without).unwrap();
    let step = world.step(&thread).exits(0).json()["step"].clone();
    assert_eq!(step, pending["step"]);
    assert!(!world.project().join("runs.log").exists());
}

/// Returns the hashes of all nodes in the store.
fn stored(world: &World) -> Vec<String> {
    let entries = fs::read_dir(world.root().join("cas")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut hashes: Vec<String> = names
        .filter_map(|name| Some(name.strip_suffix(".bin")?.to_owned()))
        .collect();
    hashes.sort();
    hashes
}

#[test]
fn of_all_nodes_deleted_in_turn_each_that_is_needed_is_reported_with_who_needs_it() {
    let world = World::new();
    let bare = {
        let other = World::new();
        other.uwf(&["cas", "put-text", "x"]).exits(0);
        stored(&other)
    };
    world.put(REVIEW);
    world.mock(SCRIPT);
    let thread = world.start("review");
    world.step(&thread).exits(0);
    let ended = world.start("review");
    world.step(&ended).exits(0);
    world.step(&ended).exits(0);
    let mut needed = 0;
    for hash in stored(&world) {
        if bare.contains(&hash) {
            continue;
        }
        let path = world.root().join("cas").join(format!("{hash}.bin"));
        let aside = world.dir().join("aside");
        fs::rename(&path, &aside).unwrap();
        let run = world.uwf(&["cas", "verify"]);
        let problems = run.json()["problems"].clone();
        let problems = problems.as_array().unwrap();
        let named = problems.iter().find(|one| one["hash"] == json!(hash));
        if let Some(named) = named {
            needed += 1;
            assert_eq!((run.code, &named["verdict"]), (4, &json!("missing")));
            let by = named["neededBy"].as_str().unwrap();
            let known = by.contains(&thread) || by.contains(&ended) || by.contains("review");
            assert!(known, "{by}");
            let (status, message, _) = doctor(&world, "store");
            assert_eq!(status, "error");
            assert!(message.contains(&hash), "{message}");
        } else {
            // The instruction of a step is stored for its agent only.
            let payload = fs::read(&aside).unwrap();
            let text = String::from_utf8_lossy(&payload);
            assert!(
                text.contains("Begin writing") || text.contains("Review: p"),
                "{text}"
            );
            run.exits(0);
        }
        fs::rename(&aside, &path).unwrap();
    }
    assert!(needed >= 12, "{needed}");
    world.uwf(&["cas", "verify"]).exits(0);
}

#[test]
fn a_node_that_a_thread_needs_and_that_is_gone_is_damage_in_every_command() {
    let world = world();
    let thread = world.start("review");
    let first = world.step(&thread).exits(0).json()["head"].clone();
    let detail = world.uwf(&["thread", "steps", &thread]).json()["steps"][1]["detail"].clone();
    let start = world.uwf(&["thread", "steps", &thread]).json()["steps"][0].clone();
    let cas = world.root().join("cas");
    for (hash, verbs) in [
        (&first, &["step", "show", "steps", "read"][..]),
        (&start["hash"], &["step", "show", "steps", "read"]),
        (&start["workflow"], &["step", "show", "read"]),
        (&detail, &["step", "steps", "read"]),
    ] {
        let hash = hash.as_str().unwrap();
        let (path, aside) = (cas.join(format!("{hash}.bin")), world.dir().join("aside"));
        fs::rename(&path, &aside).unwrap();
        for verb in verbs {
            let run = world.uwf(&["thread", verb, &thread]).exits(4);
            run.says(hash).says("OCAS_DIR");
        }
        world.uwf(&["cas", "get", hash]).exits(1);
        fs::rename(&aside, &path).unwrap();
    }
    world.step(&thread).exits(0);
}

#[test]
fn verifying_beside_a_collector_raises_no_false_alarm() {
    let world = world();
    world.start("one");
    for round in 0..12 {
        for number in 0..40 {
            let text = format!("garbage {round} {number}");
            world.uwf(&["cas", "put-text", &text]).exits(0);
            if number == 8 && round > 0 {
                break;
            }
        }
        for entry in fs::read_dir(world.root().join("cas")).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                let old =
                    std::time::SystemTime::now() - std::time::Duration::from_secs(30 * 86_400);
                let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
                file.set_modified(old).unwrap();
            }
        }
        let collector = world.spawn(&["cas", "gc"]);
        world.uwf(&["cas", "verify"]).exits(0);
        let collected = collector.wait_with_output().unwrap();
        assert!(collected.status.success());
    }
}

#[test]
fn a_finished_step_that_waits_is_told_by_every_view() {
    let world = world();
    let thread = world.start("review");
    let head = world.show(&thread)["head"].clone();
    let step = world.step(&thread).exits(0).json()["step"].clone();
    let step = step.as_str().unwrap();
    // As if the engine had died between the agent's record and the head.
    let heads = world.state("threads.yaml");
    let head = head.as_str().unwrap();
    fs::write(file(&world, "threads.yaml"), heads.replace(step, head)).unwrap();
    let pending = json!({ "step": step, "head": head, "atMs": 1 });
    fs::write(world.pending_file(&thread), pending.to_string()).unwrap();
    for command in [
        &["thread", "list"][..],
        &["thread", "show", &thread],
        &["thread", "steps", &thread],
    ] {
        let json = world.uwf(command).exits(0).json();
        let told = if json.is_array() { &json[0] } else { &json };
        assert_eq!(told["finishedStep"], json!(step), "{command:?}");
        let text = world
            .uwf(&[command, &["--format", "text"]].concat())
            .exits(0);
        assert!(text.stdout.contains("finished"), "{}", text.stdout);
    }
    assert_eq!(world.step(&thread).exits(0).json()["step"], json!(step));
    assert_eq!(world.show(&thread).get("finishedStep"), None);
}

#[test]
fn a_collector_stops_where_threads_began_and_none_is_on_record() {
    let world = world();
    let thread = world.start("one");
    let start = world.show(&thread)["head"].as_str().unwrap().to_owned();
    for entry in fs::read_dir(world.root().join("cas")).unwrap() {
        let path = entry.unwrap().path();
        let old = std::time::SystemTime::now() - std::time::Duration::from_secs(30 * 86_400);
        let file = fs::File::open(&path).unwrap();
        file.set_modified(old).unwrap();
    }
    fs::remove_file(file(&world, "threads.yaml")).unwrap();
    fs::remove_dir_all(world.root().join("runs")).unwrap();
    fs::remove_dir_all(world.root().join("locks")).unwrap();
    world
        .uwf(&["cas", "gc"])
        .exits(4)
        .says(&start)
        .says("thread fork");
    let forked = world.uwf(&["thread", "fork", &start]).exits(0).json();
    world.uwf(&["cas", "gc"]).exits(0);
    world.step(forked["thread"].as_str().unwrap()).exits(0);
}
