//! What other programs of the family wrote: their mutable files, their ids and their nodes, also older ones.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::world::{ONE_STEP, World, fixture};

/// A workflow of the reference's store; a thread of two steps ran in it.
pub(crate) const MINI: &str = "5TPN3F60MJJRG";
pub(crate) const MINI_START: &str = "97C2YXG9NPK8G";
pub(crate) const MINI_FIRST: &str = "7GTJT2J27EKTY";
pub(crate) const MINI_HEAD: &str = "2Q3G0BFJGMNMV";
/// Ids as the reference makes them: the time is shifted by two bits.
pub(crate) const SHIFTED: &str = "06F8J61JS00000000000000000";
const SHIFTED_TIME_MS: i64 = 1_780_416_525_000;
pub(crate) const ID_A: &str = "01J7K9Z000000000000000000A";
pub(crate) const ID_B: &str = "01J7K9Z000000000000000000B";
pub(crate) const ID_C: &str = "01J7K9Z000000000000000000C";

/// A world whose store is a copy of the reference's.
fn foreign_world() -> World {
    let world = World::new();
    copy_nodes(&fixture("store/cas"), &world.root().join("cas"));
    world
}

pub(crate) fn copy_nodes(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
        }
    }
}

fn write_state(world: &World, name: &str, text: &str) {
    fs::write(world.root().join(name), text).unwrap();
}

#[track_caller]
fn put(world: &World, schema: &str, payload: &Value) -> String {
    let args = ["cas", "put", schema, &payload.to_string()];
    let put = world.uwf(&args).exits(0).json();
    put["hash"].as_str().unwrap().to_owned()
}

/// Stores a start and a first step of the oldest shape: no directory, no times, no prompts. Returns both.
fn oldest_nodes(world: &World) -> (String, String) {
    let text = json!({ "type": "string" });
    let schema = |title: &str, keys: &[&str]| {
        let properties = keys.iter().map(|key| ((*key).to_owned(), json!({})));
        json!({
            "title": title,
            "type": "object",
            "required": keys,
            "properties": Value::Object(properties.collect()),
            "additionalProperties": false,
        })
    };
    let meta = "CTS5P6RD8HMCS";
    let start_type = put(world, meta, &schema("StartNode", &["workflow", "prompt"]));
    let start = json!({ "workflow": MINI, "prompt": "an old task" });
    let start = put(world, &start_type, &start);
    let keys = ["start", "prev", "role", "output", "detail", "agent"];
    let step_type = put(world, meta, &schema("StepNode", &keys));
    let output = put(
        world,
        "CMZGZVD0CJS40",
        &json!({ "$status": "ok", "note": "old note" }),
    );
    let detail_type = put(world, meta, &text);
    let detail = put(world, &detail_type, &json!("the raw output"));
    let step = json!({
        "start": start, "prev": null, "role": "worker", "output": output, "detail": detail,
        "agent": "uwf-hermes",
    });
    (start.clone(), put(world, &step_type, &step))
}

#[test]
fn heads_in_quotes_and_in_mappings_are_read() {
    let world = foreign_world();
    let threads = format!(
        "# written by another program\n{ID_B}: \"{MINI_FIRST}\"\n'{ID_A}':\n  head: {MINI_HEAD}\n  \
         suspendedRole: worker\n  suspendMessage: |-\n    which: one?\n{SHIFTED}: {MINI_START}\n"
    );
    write_state(&world, "threads.yaml", &threads);
    let listed = world.uwf(&["thread", "list"]).exits(0).json();
    let heads: Vec<_> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|item| {
            (
                item["thread"].as_str().unwrap(),
                item["head"].as_str().unwrap(),
            )
        })
        .collect();
    let expected = [(SHIFTED, MINI_START), (ID_A, MINI_HEAD), (ID_B, MINI_FIRST)];
    assert_eq!(heads, expected);
    assert_eq!(world.state("threads.yaml"), threads);
    let fork = world.uwf(&["thread", "fork", MINI_START]).exits(0).json();
    let fork = fork["thread"].as_str().unwrap();
    let mut lines = [
        format!("{ID_A}: {MINI_HEAD}"),
        format!("{ID_B}: {MINI_FIRST}"),
        format!("{SHIFTED}: {MINI_START}"),
        format!("{fork}: {MINI_START}"),
    ];
    lines.sort();
    let written = world.state("threads.yaml");
    assert_eq!(written.lines().collect::<Vec<_>>(), lines);
}

#[test]
fn a_shifted_id_has_the_time_that_was_meant() {
    let world = foreign_world();
    write_state(
        &world,
        "threads.yaml",
        &format!("{SHIFTED}: {MINI_START}\n"),
    );
    let listed = |args: &[&str]| {
        let list = world.uwf(&[&["thread", "list"], args].concat()).exits(0);
        list.json().as_array().unwrap().len()
    };
    assert_eq!(
        listed(&["--after", "2026-06-02", "--before", "2026-06-03"]),
        1
    );
    assert_eq!(listed(&["--after", "2026-06-03"]), 0);
    let steps = world.uwf(&["thread", "steps", SHIFTED]).exits(0).json();
    assert_eq!(steps["steps"][0]["timestamp"], json!(SHIFTED_TIME_MS));
    world
        .uwf(&["thread", "show", &SHIFTED.to_lowercase()])
        .exits(0);
}

#[test]
fn the_registry_of_older_programs_is_read_and_left_alone() {
    let world = foreign_world();
    let older = format!("mini: '{MINI}'\nbroken: null\n");
    write_state(&world, "workflows.yaml", &older);
    let listed = world.uwf(&["workflow", "list"]).exits(0).json();
    let expected = json!([{ "name": "mini", "hash": MINI, "origin": "global" }]);
    assert_eq!(listed, expected);
    let started = world.uwf(&["thread", "start", "mini", "-p", "x"]).exits(0);
    assert_eq!(started.json()["workflow"], json!(MINI));
    let one = world.put(ONE_STEP);
    let listed = world.uwf(&["workflow", "list"]).exits(0).json();
    let expected = json!([
        { "name": "one", "hash": one, "origin": "global" },
        { "name": "mini", "hash": MINI, "origin": "global" },
    ]);
    assert_eq!(listed, expected);
    assert_eq!(world.state("workflows.yaml"), older);
    let newer = world.put(&ONE_STEP.replace("name: one", "name: mini"));
    let shown = world.uwf(&["workflow", "show", "mini"]).exits(0).json();
    assert_eq!(shown["hash"], json!(newer));
}

#[test]
fn the_history_of_older_programs_is_read() {
    let world = foreign_world();
    let line = |id: &str, rest: &str| {
        format!(
            r#"{{"thread":"{id}","workflow":"{MINI}","head":"{MINI_HEAD}","completedAt":1780444833000{rest}}}"#
        )
    };
    let lines = [
        line(ID_A, ""),
        line(ID_B, r#","reason":null"#),
        line(ID_C, r#","reason":"completed","more":1"#),
        line(ID_C, r#","reason":"cancelled""#),
        String::new(),
        "{\"torn".to_owned(),
    ];
    write_state(&world, "history.jsonl", &lines.join("\n"));
    for (id, status) in [
        (ID_A, "completed"),
        (ID_B, "completed"),
        (ID_C, "cancelled"),
    ] {
        assert_eq!(world.show(id)["status"], json!(status), "{id}");
        world.step(id).exits(7);
    }
    let listed = world.uwf(&["thread", "list", "--all"]).exits(0).json();
    assert_eq!(listed.as_array().unwrap().len(), 3);
    let read = world.uwf(&["thread", "read", ID_A]).exits(0).stdout;
    assert!(read.contains("verdict: good"), "{read}");
}

#[test]
fn a_thread_of_the_reference_is_shown_and_read() {
    let world = foreign_world();
    write_state(&world, "threads.yaml", &format!("{ID_A}: {MINI_HEAD}\n"));
    let shown = world.show(ID_A);
    assert_eq!(shown["workflow"], json!(MINI));
    assert_eq!(shown["steps"], json!(2));
    let steps = world.uwf(&["step", "list", ID_A]).exits(0).json();
    let second = &steps["steps"][2];
    assert_eq!(second["output"], json!({ "verdict": "good" }));
    assert_eq!(second["timestamp"], json!(1_780_444_833_000_i64));
    assert_eq!(second["durationMs"], json!(0));
    assert_eq!(second["extraction"], json!(null));
    let detail = world.uwf(&["step", "show", MINI_HEAD]).exits(0).json();
    assert_eq!(detail["sessionId"], json!("sess-checker-0"));
    let turn = json!({
        "role": "assistant", "content": "---\nverdict: good\n---\n", "reasoning": null, "toolCalls": null,
    });
    assert_eq!(detail["turns"], json!([turn]));
    let read = world.uwf(&["step", "read", MINI_HEAD]).exits(0).stdout;
    assert!(read.contains("**Turn role:** assistant"), "{read}");
    let prompt = world.uwf(&["step", "read", "--prompt", MINI_HEAD]).exits(0);
    assert!(prompt.stdout.contains("Check: third time"));
    let unkept = world
        .uwf(&["step", "read", "--prompt", MINI_FIRST])
        .exits(0);
    assert!(unkept.stdout.contains("not kept"), "{}", unkept.stdout);
}

#[test]
fn a_workflow_of_the_reference_runs_from_its_node() {
    let world = foreign_world();
    world.mock(
        "roles:\n  worker: [{ output: { $status: ok, note: n } }]\n  checker: [{ output: { verdict: good } }]\n",
    );
    let thread = world.start(MINI);
    let run = world.uwf(&["thread", "step", &thread, "-c", "9"]).exits(0);
    assert_eq!(run.stdout.lines().count(), 2);
    assert_eq!(world.show(&thread)["status"], json!("completed"));
}

#[test]
fn a_fork_of_a_reference_step_needs_its_directory() {
    let world = foreign_world();
    world.mock("roles:\n  checker: [{ output: { verdict: good } }]\n");
    let fork = world.uwf(&["thread", "fork", MINI_FIRST]).exits(0).json();
    let fork = fork["thread"].as_str().unwrap();
    assert_eq!(world.show(fork)["currentRole"], json!("checker"));
    world.step(fork).exits(1).says("/srv/golden");
}

#[test]
fn nodes_of_the_oldest_shape_are_shown_and_stepped_on() {
    let world = foreign_world();
    let (start, step) = oldest_nodes(&world);
    world.mock(
        "roles:\n  worker: [{ output: { $status: ok, note: n } }]\n  checker: [{ output: { verdict: good } }]\n",
    );
    let fork = world.uwf(&["thread", "fork", &step]).exits(0).json();
    let thread = fork["thread"].as_str().unwrap();
    assert_eq!(world.show(thread)["currentRole"], json!("checker"));
    let steps = world.uwf(&["thread", "steps", thread]).exits(0).json();
    assert_eq!(steps["steps"][0]["prompt"], json!("an old task"));
    assert_eq!(steps["steps"][1]["durationMs"], json!(null));
    assert_eq!(steps["steps"][1]["edgePrompt"], json!(null));
    let text = ["thread", "steps", thread, "--format", "text"];
    world.uwf(&text).exits(0);
    let read = world.uwf(&["thread", "read", thread]).exits(0).stdout;
    assert!(read.contains("old note") && !read.contains("NaN"), "{read}");
    world.uwf(&["step", "read", &step]).exits(0);
    world.uwf(&["step", "read", "--prompt", &step]).exits(0);
    let detail = world.uwf(&["step", "show", &step]).exits(0);
    assert_eq!(detail.json()["detail"], json!("the raw output"));
    let report = world.step(thread).exits(0).json();
    assert_eq!(report["done"], json!(true));
    let node = world
        .uwf(&["cas", "get", report["step"].as_str().unwrap()])
        .json();
    assert_eq!(node["payload"]["prev"], json!(step));
    assert_eq!(node["payload"]["start"], json!(start));
    assert_eq!(node["payload"]["edgePrompt"], json!("Check: old note"));
    let restarted = world.uwf(&["step", "fork", &start]).exits(0).json();
    let restarted = restarted["thread"].as_str().unwrap().to_owned();
    let report = world.step(&restarted).exits(0).json();
    assert_eq!(report["role"], json!("worker"));
}

#[test]
fn a_state_file_that_cannot_be_understood_stops_writers_and_is_left_alone() {
    let world = foreign_world();
    for text in [
        format!("{ID_A}: {MINI_HEAD}\n{ID_B}: nonsense\n"),
        format!("{ID_A}: {MINI_HEAD}\n{ID_A}: {MINI_FIRST}\n"),
        "- a list\n".to_owned(),
    ] {
        write_state(&world, "threads.yaml", &text);
        for args in [
            &["thread", "list"][..],
            &["thread", "fork", MINI_HEAD],
            &["thread", "start", MINI, "-p", "x"],
        ] {
            world.uwf(args).exits(4).says("threads.yaml:");
        }
        assert_eq!(world.state("threads.yaml"), text);
    }
}
