//! Every verb of the content-addressed store, on our own nodes and on a store of the reference program.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::world::{REVIEW, Run, World, binary, fixture};

const TEXT: &str = "7VQ43ZSJTEWA7";
const META: &str = "CTS5P6RD8HMCS";
const STEP: &str = "108DB063KRQWW";
const WORKFLOW: &str = "4EAEYQKFHTJ23";
/// The node for the text "hello".
const HELLO: &str = "95ST8MZ0QTKP9";
/// A schema of the reference's tests, and a node of it.
const PERSON: &str = r#"{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"number"}},"required":["name"],"additionalProperties":false}"#;
const PERSON_HASH: &str = "FRBAB1BF0ZBCS";
const ALICE: &str = r#"{"age":30,"name":"Alice"}"#;
const ALICE_HASH: &str = "9W3MGR3184QYE";

fn cas(world: &World, args: &[&str]) -> Run {
    world.uwf(&[&["cas"], args].concat())
}

/// Runs a command that reads standard input.
fn piped(mut command: Command, input: &str) -> Run {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    drop(stdin);
    child.wait_with_output().unwrap().into()
}

fn cas_piped(world: &World, args: &[&str], input: &str) -> Run {
    piped(world.command(&[&["cas"], args].concat()), input)
}

#[track_caller]
fn hash(run: Run) -> String {
    run.exits(0).json()["hash"].as_str().unwrap().to_owned()
}

fn hashes(value: &Value) -> Vec<&str> {
    let items = value.as_array().unwrap().iter();
    items.map(|item| item.as_str().unwrap()).collect()
}

fn node_file(world: &World, hash: &str) -> PathBuf {
    world.root().join("cas").join(format!("{hash}.bin"))
}

/// Flips one bit of a file.
fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 1;
    fs::write(path, bytes).unwrap();
}

#[test]
fn texts_have_the_hashes_of_the_reference() {
    let world = World::new();
    for (text, expected) in [
        ("hello", HELLO),
        ("", "BZXYV1VK9W6ZQ"),
        ("héllo", "5F3VF6J5SRVWA"),
    ] {
        assert_eq!(hash(cas(&world, &["put-text", text])), expected, "{text}");
        let by_input = cas_piped(&world, &["put-text", "-"], text);
        assert_eq!(hash(by_input), expected, "{text}");
        let node = cas(&world, &["get", expected]).exits(0).json();
        assert_eq!(node, json!({ "type": TEXT, "payload": text }));
    }
}

#[test]
fn a_text_is_kept_to_the_last_byte() {
    let world = World::new();
    let text = "日本語 🎉\r\n\ttab \u{1b}[0m\u{feff}\n\n";
    let put = hash(cas_piped(&world, &["put-text", "-"], text));
    let node = cas(&world, &["get", &put]).exits(0).json();
    assert_eq!(node["payload"], json!(text));
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    let world = World::new();
    world.write("bytes", "");
    fs::write(world.project().join("bytes"), b"a\xff").unwrap();
    let mut command = world.command(&["cas", "put-text", "-"]);
    command.stdin(fs::File::open(world.project().join("bytes")).unwrap());
    let run: Run = command.output().unwrap().into();
    run.exits(1).says("standard input");
    cas(&world, &["put", TEXT, "bytes"]).exits(1);
}

#[test]
fn a_node_is_put_inline_from_a_file_and_from_standard_input() {
    let world = World::new();
    assert_eq!(hash(cas(&world, &["put", META, PERSON])), PERSON_HASH);
    world.write("alice.json", ALICE);
    let inline = cas(&world, &["put", PERSON_HASH, ALICE]);
    let file = cas(&world, &["put", PERSON_HASH, "alice.json"]);
    let input = cas_piped(&world, &["put", PERSON_HASH, "-"], ALICE);
    for put in [inline, file, input] {
        assert_eq!(hash(put), ALICE_HASH);
    }
    let node = cas(&world, &["get", ALICE_HASH]).exits(0);
    let expected = format!(r#"{{"type":"{PERSON_HASH}","payload":{{"age":30,"name":"Alice"}}}}"#);
    assert_eq!(node.stdout.trim(), expected);
}

#[test]
fn a_node_must_fit_its_schema_unless_that_is_not_wanted() {
    let world = World::new();
    cas(&world, &["put", META, PERSON]).exits(0);
    let unfit = r#"{"name":1}"#;
    let refused = cas(&world, &["put", PERSON_HASH, unfit]).exits(1);
    assert!(refused.stderr.contains("name"), "{}", refused.stderr);
    let forced = hash(cas(&world, &["put", PERSON_HASH, unfit, "--no-validate"]));
    let verified = cas(&world, &["verify", &forced]).exits(4).json();
    assert_eq!(verified["problems"][0]["verdict"], json!("invalid"));
    let unknown = cas(&world, &["put", "0000000000000", "1"]).exits(1);
    unknown.says("0000000000000");
}

#[test]
fn a_schema_that_the_store_does_not_know_is_refused() {
    let world = World::new();
    for schema in [
        r#"{"$ref":"x"}"#,
        r#"{"type":"text"}"#,
        "[]",
        "{\"oneOf\":[]}",
    ] {
        cas(&world, &["put", META, schema]).exits(1);
    }
}

#[test]
fn putting_again_changes_nothing() {
    let world = World::new();
    cas(&world, &["put-text", "hello"]).exits(0);
    let stored = fs::read(node_file(&world, HELLO)).unwrap();
    let time = cas(&world, &["get", HELLO, "--timestamp"]).json();
    cas(&world, &["put-text", "hello"]).exits(0);
    assert_eq!(fs::read(node_file(&world, HELLO)).unwrap(), stored);
    let again = cas(&world, &["get", HELLO, "--timestamp"]).json();
    assert_eq!(time, again);
    assert!(time["timestamp"].as_i64().unwrap() > 1_700_000_000_000);
}

#[test]
fn a_hash_is_told_without_storing_anything() {
    let world = World::new();
    let start = r#"{"workflow":"0000000000000","prompt":"hi","cwd":"/tmp"}"#;
    let told = cas(&world, &["hash", "44P8EP6N3NXZ5", start]);
    assert_eq!(hash(told), "3GV2EBFFMDP2H");
    assert_eq!(hash(cas(&world, &["hash", TEXT, r#""hello""#])), HELLO);
    assert!(!world.root().exists());
    let meta = cas(&world, &["put-text", "x"]);
    meta.exits(0);
    let meta = cas(&world, &["schema", "get", META]).exits(0).stdout;
    assert_eq!(hash(cas(&world, &["hash", "-", &meta])), META);
    assert_eq!(hash(cas_piped(&world, &["hash", "-", "-"], &meta)), META);
}

#[test]
fn a_node_that_is_not_there_is_told_by_has() {
    let world = World::new();
    cas(&world, &["put-text", "hello"]).exits(0);
    let there = cas(&world, &["has", HELLO]).exits(0).json();
    let not_there = cas(&world, &["has", "0000000000000"]).exits(1).json();
    assert_eq!(there, json!({ "exists": true }));
    assert_eq!(not_there, json!({ "exists": false }));
}

/// A world with a thread of two steps; returns its head.
fn world_with_thread() -> (World, String) {
    let world = World::new();
    world.put(REVIEW);
    world.mock("roles:\n  writer: [{ output: { plan: p } }]\n  reviewer: [{ output: { $status: rejected, reason: r } }]\n");
    let thread = world.start("review");
    world.uwf(&["thread", "step", &thread, "-c", "2"]).exits(0);
    let head = world.show(&thread)["head"].as_str().unwrap().to_owned();
    (world, head)
}

#[test]
fn a_walk_goes_over_a_whole_thread() {
    let (world, head) = world_with_thread();
    let node = cas(&world, &["get", &head]).json()["payload"].clone();
    let refs = cas(&world, &["refs", &head]).exits(0).json();
    let named = ["prev", "start", "detail", "output", "assembledPrompt"];
    let named: Vec<&str> = named
        .iter()
        .map(|key| node[key].as_str().unwrap())
        .collect();
    assert_eq!(hashes(&refs["refs"]), named);
    let walked = cas(&world, &["walk", &head]).exits(0).json();
    let walked = hashes(&walked["hashes"]);
    assert_eq!(walked[0], head);
    assert_eq!(walked[1..=5], named);
    let distinct: BTreeSet<_> = walked.iter().collect();
    assert_eq!(distinct.len(), walked.len());
    let workflow = world.uwf(&["workflow", "show", "review"]).json();
    assert!(walked.contains(&workflow["hash"].as_str().unwrap()));
    let schema = workflow["payload"]["roles"]["writer"]["frontmatter"].clone();
    assert!(walked.contains(&schema.as_str().unwrap()));
}

#[test]
fn nodes_are_listed_by_type() {
    let (world, head) = world_with_thread();
    let all = cas(&world, &["list"]).exits(0).json();
    let steps = cas(&world, &["list", "--type", STEP]).exits(0).json();
    let steps = hashes(&steps["hashes"]);
    assert_eq!(steps.len(), 2);
    assert!(steps.contains(&head.as_str()));
    assert!(hashes(&all["hashes"]).len() > 20);
    let none = cas(&world, &["list", "--type", "0000000000000"]).exits(0);
    assert_eq!(none.json(), json!({ "hashes": [] }));
    let types: BTreeSet<String> = hashes(&all["hashes"])
        .iter()
        .map(|hash| cas(&world, &["get", hash]).json()["type"].to_string())
        .collect();
    let mut found = 0;
    for of_type in &types {
        let listed = cas(&world, &["list", "--type", of_type.trim_matches('"')]);
        found += hashes(&listed.json()["hashes"]).len();
    }
    assert_eq!(found, hashes(&all["hashes"]).len());
}

#[test]
fn verify_finds_a_flipped_bit_and_says_where() {
    let (world, head) = world_with_thread();
    let sound = cas(&world, &["verify"]).exits(0).json();
    assert_eq!(sound["ok"], json!(true));
    let path = node_file(&world, &head);
    let length = fs::read(&path).unwrap().len();
    // The last bytes are the time of storing, which the format leaves out of the hash.
    for at in [0, length / 4, length / 2, length * 3 / 4] {
        flip(&path, at);
        let found = cas(&world, &["verify"]).exits(4).json();
        assert_eq!(found["checked"], sound["checked"]);
        let problems = found["problems"].as_array().unwrap();
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert_eq!(problems[0]["hash"], json!(head));
        assert_eq!(problems[0]["verdict"], json!("corrupted"));
        let one = cas(&world, &["verify", &head]).exits(4).json();
        for key in ["hash", "verdict", "reason"] {
            assert_eq!(one["problems"][0][key], problems[0][key]);
        }
        let needed_by = problems[0]["neededBy"].as_str().unwrap();
        assert!(needed_by.starts_with("the head of thread `"), "{needed_by}");
        flip(&path, at);
    }
    cas(&world, &["verify"]).exits(0);
}

#[test]
fn no_verb_believes_a_damaged_node() {
    let (world, head) = world_with_thread();
    let path = node_file(&world, &head);
    let prompt = b"Review: p";
    let bytes = fs::read(&path).unwrap();
    let at = bytes.windows(prompt.len()).position(|part| part == prompt);
    flip(&path, at.unwrap());
    for verb in ["get", "refs", "walk"] {
        cas(&world, &[verb, &head]).exits(4).says(&head);
    }
    world.uwf(&["step", "show", &head]).exits(4).says(&head);
}

#[test]
fn the_index_is_made_again_when_it_is_lost_or_damaged() {
    let (world, _) = world_with_thread();
    let list = |world: &World| cas(world, &["list", "--type", STEP]).exits(0).stdout;
    let before = list(&world);
    let index = world.root().join("cas/_index");
    fs::remove_dir_all(&index).unwrap();
    assert_eq!(list(&world), before);
    let made = cas(&world, &["reindex"]).exits(0).json();
    assert_eq!(made["status"], json!("reindexed"));
    assert!(index.is_dir());
    for entry in fs::read_dir(&index).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            fs::write(path, "\0nonsense\n95ST8").unwrap();
        }
    }
    cas(&world, &["reindex"]).exits(0);
    assert_eq!(list(&world), before);
    fs::remove_dir_all(&index).unwrap();
    fs::write(&index, "in the way").unwrap();
    cas(&world, &["verify"]).exits(0);
}

#[test]
fn the_binary_is_ocas_when_it_is_called_so() {
    let (world, head) = world_with_thread();
    let ocas = world.project().join("ocas");
    std::os::unix::fs::symlink(binary(), &ocas).unwrap();
    let run = |args: &[&str]| -> Run {
        let mut command = Command::new(&ocas);
        command
            .args(args)
            .env_clear()
            .env("UWF_STORAGE_ROOT", world.root())
            .stdin(Stdio::null());
        command.output().unwrap().into()
    };
    for args in [
        &["get", &head][..],
        &["get", &head, "--timestamp"],
        &["has", &head],
        &["has", "0000000000000"],
        &["refs", &head],
        &["walk", &head],
        &["list", "--type", STEP],
        &["put", TEXT, "\"hello\""],
        &["put-text", "hello"],
        &["hash", TEXT, "1"],
        &["verify"],
        &["reindex"],
        &["schema", "list"],
        &["schema", "get", STEP],
        &["get", "nonsense"],
    ] {
        let (ours, theirs) = (cas(&world, args), run(args));
        assert_eq!(ours.stdout, theirs.stdout, "{args:?}");
        assert_eq!((ours.code, &ours.stderr), (theirs.code, &theirs.stderr));
    }
    run(&["thread", "list"]).exits(2);
    run(&[]).exits(2).says("Usage: ocas");
}

/// A copy of the store that the reference program wrote.
struct Foreign {
    world: World,
    nodes: Vec<Value>,
}

impl Foreign {
    fn new() -> Self {
        let world = World::new();
        let dir = world.dir().join("ocas");
        fs::create_dir(&dir).unwrap();
        for entry in fs::read_dir(fixture("store/cas")).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                fs::copy(&path, dir.join(path.file_name().unwrap())).unwrap();
            }
        }
        let lines = fs::read_to_string(fixture("store/nodes.jsonl")).unwrap();
        let nodes = lines
            .lines()
            .map(|line| serde_json::from_str(line).unwrap());
        Self {
            nodes: nodes.collect(),
            world,
        }
    }

    fn cas(&self, args: &[&str]) -> Run {
        let mut command = self.world.command(&[&["cas"], args].concat());
        let dir = self.world.dir().join("ocas");
        command.env("OCAS_DIR", dir).output().unwrap().into()
    }
}

#[test]
fn every_node_of_the_reference_reads_as_it_was_written() {
    let foreign = Foreign::new();
    for node in &foreign.nodes {
        let hash = node["hash"].as_str().unwrap();
        let mut read = foreign.cas(&["get", hash, "--timestamp"]).exits(0).json();
        let mut written = node["node"].clone();
        for value in [&mut read, &mut written] {
            value.sort_all_objects();
        }
        assert_eq!(read, written, "{hash}");
    }
}

#[test]
fn the_store_of_the_reference_verifies_and_is_walked() {
    let foreign = Foreign::new();
    let verified = foreign.cas(&["verify"]).exits(4).json();
    assert_eq!(verified["checked"], json!(foreign.nodes.len()));
    // The reference stores an answer before it looks whether it fits; those that did not are found.
    let problems = verified["problems"].as_array().unwrap();
    assert_eq!(problems.len(), 6);
    assert!(
        problems
            .iter()
            .all(|problem| problem["verdict"] == json!("invalid"))
    );
    let listed = foreign.cas(&["list", "--type", STEP]).exits(0).json();
    let of_type = |node: &&Value| node["node"]["type"] == json!(STEP);
    let steps = foreign.nodes.iter().filter(of_type);
    let mut steps: Vec<&str> = steps.map(|node| node["hash"].as_str().unwrap()).collect();
    steps.sort_unstable();
    assert_eq!(hashes(&listed["hashes"]), steps);
    for step in steps {
        let walked = foreign.cas(&["walk", step]).exits(0).json();
        let walked = hashes(&walked["hashes"]);
        let is_workflow = |hash: &&str| {
            let node = foreign
                .nodes
                .iter()
                .find(|node| node["hash"] == json!(hash));
            node.unwrap()["node"]["type"] == json!(WORKFLOW)
        };
        assert!(walked.iter().any(is_workflow), "{step}: {walked:?}");
        foreign.cas(&[&["verify"], &walked[..]].concat()).exits(0);
        let refs = foreign.cas(&["refs", step]).exits(0).json();
        assert!(
            hashes(&refs["refs"])
                .iter()
                .all(|hash| walked.contains(hash))
        );
    }
    let schemas = foreign.cas(&["schema", "list"]).exits(0).json();
    assert_eq!(schemas[0]["hash"], json!(META));
    let titled = |title: &str| {
        let schemas = schemas.as_array().unwrap().iter();
        schemas
            .filter(|schema| schema["title"] == json!(title))
            .count()
    };
    for title in ["Workflow", "StartNode", "StepNode"] {
        assert!(titled(title) >= 1, "{title}");
    }
}

#[test]
fn looking_at_a_foreign_store_writes_nothing_but_its_index() {
    let foreign = Foreign::new();
    let names = || -> BTreeSet<String> {
        let entries = fs::read_dir(foreign.world.dir().join("ocas")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name != "_index").collect()
    };
    let before = names();
    foreign.cas(&["verify"]).exits(4);
    foreign.cas(&["list", "--type", STEP]).exits(0);
    foreign.cas(&["reindex"]).exits(0);
    assert_eq!(names(), before);
}

#[test]
fn a_node_in_the_folder_of_newer_programs_is_read() {
    let world = World::new();
    cas(&world, &["put-text", "hello"]).exits(0);
    let nested = world.root().join("cas/nodes");
    fs::create_dir(&nested).unwrap();
    let file = node_file(&world, HELLO);
    fs::rename(&file, nested.join(file.file_name().unwrap())).unwrap();
    cas(&world, &["get", HELLO]).exits(0);
    cas(&world, &["verify"]).exits(0);
    cas(&world, &["put-text", "hello"]).exits(0);
    assert!(!file.exists());
}

#[test]
fn without_a_store_looking_says_so_and_makes_none() {
    let world = World::new();
    assert_eq!(
        cas(&world, &["list"]).exits(0).json(),
        json!({ "hashes": [] })
    );
    cas(&world, &["verify"]).exits(0);
    cas(&world, &["has", HELLO]).exits(1);
    cas(&world, &["get", HELLO]).exits(1);
    assert!(!world.root().exists());
}
