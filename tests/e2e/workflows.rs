//! Workflow files: the forms that are read, what they become in the store, and how they route real threads.

use std::fs;

use serde_json::{Value, json};

use crate::world::{ONE_STEP, REVIEW, World, fixture};

/// Copies a workflow file of the golden data into the project and registers it; returns its hash.
#[track_caller]
fn put_fixture(world: &World, name: &str) -> String {
    let yaml = fs::read_to_string(fixture("workflows").join(name)).unwrap();
    world.write(name, &yaml);
    let put = world.uwf(&["workflow", "put", name]).exits(0).json();
    put["hash"].as_str().unwrap().to_owned()
}

/// Returns the roles that ran in a thread, oldest first.
fn roles(world: &World, thread: &str) -> Vec<String> {
    let steps = world.uwf(&["thread", "steps", thread]).exits(0).json();
    let steps = steps["steps"].as_array().unwrap()[1..].iter();
    steps
        .map(|step| step["role"].as_str().unwrap().to_owned())
        .collect()
}

/// Returns the data that was stored for the newest step of a thread.
fn last_node(world: &World, thread: &str) -> Value {
    let head = world.show(thread)["head"].clone();
    let node = world.uwf(&["cas", "get", head.as_str().unwrap()]);
    node.exits(0).json()["payload"].clone()
}

#[test]
fn the_demo_has_the_hashes_of_the_reference() {
    let world = World::new();
    assert_eq!(put_fixture(&world, "demo.yaml"), "FMY62H9Z46AAV");
    let shown = world.uwf(&["workflow", "show", "demo"]).exits(0).json();
    let roles = &shown["payload"]["roles"];
    assert_eq!(roles["writer"]["frontmatter"], json!("CJAJAAQQEZCFD"));
    assert_eq!(roles["reviewer"]["frontmatter"], json!("00WV0VACAK5SK"));
    let title = |hash: &str| {
        let schema = world.uwf(&["cas", "schema", "get", hash]).exits(0).json();
        schema["title"].clone()
    };
    assert_eq!(title("CJAJAAQQEZCFD"), json!("demo.writer"));
    assert_eq!(title("00WV0VACAK5SK"), json!("demo.reviewer"));
    assert_eq!(put_fixture(&world, "demo.yaml"), "FMY62H9Z46AAV");
    world.uwf(&["cas", "verify"]).exits(0);
}

#[test]
fn the_order_of_keys_and_the_way_of_writing_do_not_change_the_hash() {
    let world = World::new();
    let hash = world.put(ONE_STEP);
    let value: Value = serde_saphyr::from_str(ONE_STEP).unwrap();
    let mut members: Vec<_> = value.as_object().unwrap().iter().collect();
    members.reverse();
    let lines = members
        .iter()
        .map(|(key, value)| format!("{key}: {value}\n"));
    let reversed: String = lines.collect();
    world.write("other/one.yml", &format!("# JSON is YAML\n{reversed}"));
    let put = world.uwf(&["workflow", "add", "other/one.yml"]).exits(0);
    assert_eq!(put.json()["hash"], json!(hash));
}

#[test]
fn the_first_example_runs_until_the_reviewer_approves() {
    let world = World::new();
    let workflow = put_fixture(&world, "solve-issue.yaml");
    world.mock(
        r#"
roles:
  planner: [{ output: { plan: p, steps: [one, two] } }]
  developer:
    - output: { filesChanged: [a.rs], summary: first }
    - output: { filesChanged: [a.rs, b.rs], summary: second }
  reviewer:
    - output: { approved: false, comments: no tests }
    - output: { approved: true, comments: good }
"#,
    );
    let thread = world.start("solve-issue");
    let run = world.uwf(&["thread", "step", &thread, "-c", "9"]).exits(0);
    let last: Value = serde_json::from_str(run.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(last["status"], json!("completed"));
    assert_eq!(last["workflow"], json!(workflow));
    let ran = ["planner", "developer", "reviewer", "developer", "reviewer"];
    assert_eq!(roles(&world, &thread), ran);
    let shown = world.uwf(&["workflow", "show", "solve-issue"]).json();
    let keys = |value: &Value| -> Vec<String> {
        let mut keys: Vec<String> = value.as_object().unwrap().keys().cloned().collect();
        keys.sort();
        keys
    };
    let payload = ["conditions", "description", "graph", "name", "roles"];
    assert_eq!(keys(&shown["payload"]), payload);
    assert!(shown["payload"]["roles"]["planner"]["meta"].is_string());
    let verdict = json!({ "approved": true, "comments": "good" });
    let steps = world.uwf(&["thread", "steps", &thread]).json();
    assert_eq!(steps["steps"][5]["output"], verdict);
    world.uwf(&["cas", "verify"]).exits(0);
}

#[test]
fn list_edges_with_helper_functions_and_a_location_are_followed() {
    let world = World::new();
    let yaml = fs::read_to_string(fixture("workflows/gen-1.yaml")).unwrap();
    let place = world.dir().join("place");
    fs::create_dir(&place).unwrap();
    let yaml = yaml.replace("/srv", place.to_str().unwrap());
    world.put(&yaml);
    world.mock("roles:\n  coder:\n    - output: { ok: false }\n    - output: { ok: true }\n");
    let thread = world.start("gen-1");
    world.step(&thread).exits(0);
    let first = last_node(&world, &thread);
    assert_eq!(first["edgePrompt"], json!("Begin."));
    let project = world.project().canonicalize().unwrap();
    assert_eq!(first["cwd"], json!(project));
    let report = world.step(&thread).exits(0).json();
    assert_eq!(report["status"], json!("completed"));
    let second = last_node(&world, &thread);
    assert_eq!(second["edgePrompt"], json!("Fix it."));
    assert_eq!(second["cwd"], json!(place.canonicalize().unwrap()));
}

#[test]
fn a_status_map_with_all_that_it_may_have_is_followed() {
    let world = World::new();
    let yaml = fs::read_to_string(fixture("workflows/gen-3.yaml")).unwrap();
    let src = world.dir().join("src");
    fs::create_dir_all(src.join("engine")).unwrap();
    let yaml = yaml.replace("/src/", &format!("{}/", src.display()));
    let name = "name: gen-3\n";
    let yaml = format!("{name}{}", yaml.replace(name, ""));
    world.put(&yaml);
    world.mock(
        r#"
roles:
  planner:
    - output: { $status: unclear, question: which repo? }
    - output: { $status: ready, repo: engine }
  builder: [{ output: { summary: built } }]
"#,
    );
    let thread = world.start("gen-3");
    let asked = world.step(&thread).exits(0).json();
    assert_eq!(asked["suspendMessage"], json!("which repo?"));
    let resumed = world.uwf(&["thread", "resume", &thread, "-p", "engine"]);
    assert_eq!(resumed.exits(0).json()["currentRole"], json!("builder"));
    let done = world.step(&thread).exits(0).json();
    assert_eq!(done["status"], json!("completed"));
    let place = src.join("engine").canonicalize().unwrap();
    assert_eq!(last_node(&world, &thread)["cwd"], json!(place));
}

#[test]
fn a_location_that_is_not_there_stops_before_an_agent_starts() {
    let world = World::new();
    let yaml = ONE_STEP.replace(
        "prompt: \"Write a note.\"",
        "prompt: Write., location: /no/such/place",
    );
    world.put(&yaml);
    world.mock("roles:\n  writer: [{ output: { note: n } }]\n");
    let thread = world.start("one");
    let run = world.step(&thread).exits(1);
    let run = run.says("the `location` of `writer`, `/no/such/place`");
    assert!(!run.stderr.contains("--cwd"), "{}", run.stderr);
    assert_eq!(world.show(&thread)["steps"], json!(0));
}

#[test]
fn conditions_see_the_first_and_the_last_answer_of_a_role_and_the_task() {
    let world = World::new();
    world.put(
        r#"
name: count
description: Counts
roles:
  counter: { description: d, goal: g, capabilities: [], procedure: p, output: o, meta: { type: object, properties: { n: { type: integer } }, required: [n] } }
conditions:
  grew: { description: More than at first, expression: "$last('counter').n > $first('counter').n + 1" }
  asked: { description: The task says so, expression: "start.prompt = 'the task' and $count(steps) < 2" }
  done: { description: Enough, expression: "$exists(steps[2]) and steps[-1].output.n in [9, 10]" }
graph:
  $START: [{ role: counter }]
  counter:
    - { role: counter, condition: asked, prompt: "Again after {{n}}." }
    - { role: $END, condition: done }
    - { role: counter, condition: grew, prompt: "It grew to {{n}}." }
    - { role: $SUSPEND, prompt: "Stuck at {{n}}" }
"#,
    );
    world.mock(
        "roles:\n  counter: [{ output: { n: 1 } }, { output: { n: 3 } }, { output: { n: 9 } }]\n",
    );
    let thread = world.start("count");
    let run = world.uwf(&["thread", "step", &thread, "-c", "9"]).exits(0);
    assert_eq!(run.stdout.lines().count(), 3);
    assert_eq!(world.show(&thread)["status"], json!("completed"));
    assert_eq!(
        last_node(&world, &thread)["edgePrompt"],
        json!("It grew to 3.")
    );
    world.mock("roles:\n  counter: [{ output: { n: 1 } }]\n");
    let other = world.start("count");
    world.uwf(&["thread", "step", &other, "-c", "9"]).exits(6);
    assert_eq!(world.show(&other)["suspendMessage"], json!("Stuck at 1"));
}

#[test]
fn what_is_included_counts_as_if_it_were_written_there() {
    let world = World::new();
    let plain = world.put(ONE_STEP);
    let schema = "{ type: object, properties: { note: { type: string } }, required: [note] }";
    let split = ONE_STEP
        .replace(schema, "!include schemas/note.json")
        .replace("goal: You write.", "goal: !include goal.md")
        .replace("graph:\n", "graph: !include graph.yaml\n");
    let (head, graph) = split.split_once("graph: !include graph.yaml\n").unwrap();
    let json = r#"{"type":"object","properties":{"note":{"type":"string"}},"required":["note"]}"#;
    world.write("split/schemas/note.json", json);
    world.write("split/goal.md", "You write.");
    world.write("split/graph.yaml", graph);
    world.write(
        "split/one.yaml",
        &format!("{head}graph: !include graph.yaml\n"),
    );
    let put = world.uwf(&["workflow", "put", "split/one.yaml"]).exits(0);
    assert_eq!(put.json()["hash"], json!(plain));
}

#[test]
fn includes_stay_in_their_folder_and_end() {
    let world = World::new();
    world.write("secret.md", "secret");
    let include =
        |path: &str| ONE_STEP.replace("goal: You write.", &format!("goal: !include {path}"));
    let check = |path: &str| {
        world.write("in/one.yaml", &include(path));
        let run = world.uwf(&["workflow", "validate", "in/one.yaml"]).exits(1);
        assert!(
            run.stderr.contains("in/one.yaml:7:"),
            "{path}: {}",
            run.stderr
        );
        assert!(!run.stderr.contains("secret\n"), "{}", run.stderr);
    };
    check("../secret.md");
    check("missing.md");
    check(world.project().join("secret.md").to_str().unwrap());
    std::os::unix::fs::symlink("../secret.md", world.project().join("in/link.md")).unwrap();
    check("link.md");
    world.write("in/a.yaml", "!include b.yaml\n");
    world.write("in/b.yaml", "!include a.yaml\n");
    world.write("in/one.yaml", &include("a.yaml"));
    world.uwf(&["workflow", "validate", "in/one.yaml"]).exits(1);
}

#[test]
fn all_mistakes_come_at_once_with_their_places() {
    let world = World::new();
    let yaml = REVIEW
        .replace("name: review", "name: other")
        .replace("{{plan}}", "{{plna}}")
        .replace("role: writer, prompt: \"Fix", "role: writr, prompt: \"Fix")
        .replace(
            "    capabilities: [writing]\n",
            "    capabilties: [writing]\n",
        );
    world.write("bad.yaml", &yaml);
    let unread = world.uwf(&["workflow", "validate", "bad.yaml"]).exits(1);
    assert!(unread.stderr.contains("bad.yaml:8:5"), "{}", unread.stderr);
    assert!(unread.stderr.contains("capabilities"), "{}", unread.stderr);
    world.write("bad.yaml", &yaml.replace("capabilties", "capabilities"));
    let run = world.uwf(&["workflow", "validate", "bad.yaml"]).exits(1);
    let places: Vec<&str> = run
        .stderr
        .lines()
        .filter_map(|line| line.strip_prefix("cause: "))
        .map(|line| line.split(": ").next().unwrap())
        .collect();
    assert_eq!(
        places,
        ["bad.yaml:2:7", "bad.yaml:25:42", "bad.yaml:28:23"],
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("`writer`"), "{}", run.stderr);
    let put = world.uwf(&["workflow", "put", "bad.yaml"]).exits(1);
    assert_eq!(put.stderr, run.stderr);
    assert!(!world.root().exists());
}

#[test]
fn the_name_is_that_of_the_file_or_of_the_folder_around_an_index() {
    let world = World::new();
    let put = |path: &str| {
        world.write(path, ONE_STEP);
        world.uwf(&["workflow", "put", path])
    };
    put("one.yaml").exits(0);
    put("one.yml").exits(0);
    put("one/index.yaml").exits(0);
    put("two.yaml").exits(1).says("`two`");
    put("two/index.yaml").exits(1).says("`two`");
    let mut command = world.command(&["workflow", "put", "index.yaml"]);
    command.current_dir(world.project().join("one"));
    assert_eq!(command.output().unwrap().status.code(), Some(0));
}

#[test]
fn putting_again_replaces_the_name_and_keeps_the_old_node() {
    let world = World::new();
    let old = world.put(ONE_STEP);
    assert_eq!(world.put(ONE_STEP), old);
    let new = world.put(&ONE_STEP.replace("You write.", "You write well."));
    assert_ne!(new, old);
    let listed = world.uwf(&["workflow", "list"]).json();
    let expected = json!([{ "name": "one", "hash": new, "origin": "global" }]);
    assert_eq!(listed, expected);
    assert_eq!(world.state("registry.yaml"), format!("one: {new}\n"));
    let shown = world.uwf(&["workflow", "show", &old]).exits(0).json();
    assert_eq!(shown["name"], json!(null));
}

#[test]
fn a_thread_keeps_its_workflow_when_the_file_changes() {
    let world = World::new();
    let old = world.put(ONE_STEP);
    world
        .mock("roles:\n  writer: [{ output: { note: n } }]\n  editor: [{ output: { note: n } }]\n");
    let thread = world.start("one");
    let new = world.put(&ONE_STEP.replace("writer", "editor"));
    let report = world.step(&thread).exits(0).json();
    assert_eq!(report["role"], json!("writer"));
    assert_eq!(report["workflow"], json!(old));
    let later = world.start("one");
    let report = world.step(&later).exits(0).json();
    assert_eq!(report["role"], json!("editor"));
    assert_eq!(report["workflow"], json!(new));
}

#[test]
fn a_workflow_shows_its_roles_and_edges_from_the_start_on() {
    let world = World::new();
    let role = "{ goal: g, frontmatter: { type: object, properties: { x: { type: string } } } }";
    let names = ["coder", "tester", "planner", "releaser"];
    let roles: String = names
        .iter()
        .map(|name| format!("  {name}: {role}\n"))
        .collect();
    let edge = |from: &str, to: &str| format!("  {from}: {{ _: {{ role: {to}, prompt: p }} }}\n");
    let ways = [
        ("coder", "tester"),
        ("tester", "releaser"),
        ("planner", "coder"),
        ("releaser", "$END"),
        ("$START", "planner"),
    ];
    let graph: String = ways.iter().map(|(from, to)| edge(from, to)).collect();
    world.put(&format!("\nname: chain\nroles:\n{roles}graph:\n{graph}"));
    let shown = world
        .uwf(&["workflow", "show", "chain", "--format", "text"])
        .exits(0)
        .stdout;
    let first_words: Vec<&str> = shown
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    let order = ["planner", "coder", "tester", "releaser"];
    let at = |word: &str| first_words.iter().position(|found| *found == word).unwrap();
    let (of_roles, of_edges) = (at("ROLE") + 1, at("FROM") + 1);
    assert_eq!(first_words[of_roles..of_roles + 4], order, "{shown}");
    assert_eq!(first_words[of_edges], "$START", "{shown}");
    assert_eq!(first_words[of_edges + 1..of_edges + 5], order, "{shown}");
}
