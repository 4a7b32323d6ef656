//! What every command prints, in every format: golden transcripts, and how the format is chosen.

use std::fs::File;

use serde_json::{Value, json};

use crate::golden::Transcript;
use crate::pty::on_terminal;
use crate::world::{REVIEW, Run, World, fixture};

pub(crate) const SCRIPT: &str = r#"
roles:
  writer:
    - output: { plan: first draft }
    - exit: 3
      stderr: "no model\n"
  reviewer:
    - output: { $status: rejected, reason: too short }
"#;

const ASKING: &str = r#"
roles:
  writer:
    - output: { plan: p }
  reviewer:
    - output: { $status: ask, question: "blue\nor green?" }
    - output: { $status: approved, summary: good }
"#;

/// A world with the demo workflow, whose hashes do not depend on where and when it is made.
pub(crate) fn demo(script: &str) -> World {
    let world = World::new();
    let yaml = std::fs::read_to_string(fixture("workflows/demo.yaml")).unwrap();
    world.put(&yaml);
    world.mock(script);
    world
}

/// Starts a thread whose start node is the same in every run.
pub(crate) fn start(world: &World) -> String {
    let args = ["thread", "start", "demo", "-p", "The task", "--cwd", "/"];
    let started = world.uwf(&args).exits(0).json();
    started["thread"].as_str().unwrap().to_owned()
}

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

#[test]
fn workflows() {
    let world = demo(SCRIPT);
    let mut transcript = Transcript::of(&world);
    transcript.show(&["workflow", "put", "demo.yaml"]);
    transcript.show(&["workflow", "validate", "demo.yaml"]);
    transcript.show(&["workflow", "show", "demo"]);
    transcript.show(&["workflow", "graph", "demo"]);
    transcript.say(&["workflow", "graph", "demo", "--format", "mermaid"]);
    transcript.say(&["workflow", "graph", "demo", "--format", "dot"]);
    world.write(".workflow/local.yaml", REVIEW);
    transcript.show(&["workflow", "list"]);
    transcript.matches("workflows");
}

#[test]
fn workflows_with_conditions() {
    let world = World::new();
    let yaml = std::fs::read_to_string(fixture("workflows/solve-issue.yaml")).unwrap();
    world.write("solve-issue.yaml", &yaml);
    world.uwf(&["workflow", "put", "solve-issue.yaml"]).exits(0);
    let mut transcript = Transcript::of(&world);
    transcript.show(&["workflow", "show", "solve-issue"]);
    transcript.show(&["workflow", "graph", "solve-issue"]);
    transcript.matches("workflows-with-conditions");
}

#[test]
fn workflows_with_limits() {
    let world = World::new();
    let yaml = std::fs::read_to_string(fixture("workflows/limited.yaml")).unwrap();
    world.write("limited.yaml", &yaml);
    world
        .uwf(&["workflow", "validate", "limited.yaml"])
        .exits(0);
    world.uwf(&["workflow", "put", "limited.yaml"]).exits(0);
    let mut transcript = Transcript::of(&world);
    transcript.show(&["workflow", "show", "limited"]);
    transcript.matches("workflows-with-limits");
}

#[test]
fn a_thread_that_goes_on() {
    let world = demo(SCRIPT);
    let threads = [start(&world), start(&world), start(&world)];
    let [a, b, c] = threads.each_ref().map(String::as_str);
    let mut transcript = Transcript::of(&world);
    let begin = ["thread", "start", "demo", "-p", "The task", "--cwd", "/"];
    transcript.show_each([&begin, &begin, &begin]);
    transcript.show(&["thread", "show", a]);
    transcript.show_each([
        &["thread", "step", a],
        &["thread", "step", b],
        &["thread", "step", c],
    ]);
    transcript.say(&["thread", "step", a, "-c", "2"]);
    transcript.show(&["thread", "show", a]);
    transcript.show(&["thread", "steps", a]);
    transcript.show(&["thread", "list"]);
    transcript.show(&["thread", "label", a, "team=web"]);
    transcript.show(&["thread", "rename", a, "fix-42"]);
    transcript.show_each([
        &["thread", "kill", a],
        &["thread", "kill", b],
        &["thread", "kill", c],
    ]);
    transcript.show(&["thread", "show", b]);
    transcript.show(&["thread", "list", "--all", "--take", "2"]);
    transcript.matches("thread-that-goes-on");
}

#[test]
fn a_thread_that_asks() {
    let world = demo(ASKING);
    let threads = [start(&world), start(&world), start(&world)];
    let [a, b, c] = threads.each_ref().map(String::as_str);
    for thread in [a, b, c] {
        world.step(thread).exits(0);
    }
    let mut transcript = Transcript::of(&world);
    transcript.show_each([
        &["thread", "step", a],
        &["thread", "step", b],
        &["thread", "step", c],
    ]);
    transcript.say(&["thread", "step", a]);
    transcript.show(&["thread", "show", a]);
    transcript.show(&["thread", "list", "--take", "1"]);
    transcript.show_each([
        &["thread", "resume", a, "-p", "blue"],
        &["thread", "resume", b, "-p", "blue"],
        &["thread", "resume", c, "-p", "blue"],
    ]);
    transcript.show(&["thread", "show", a]);
    transcript.say(&["thread", "step", a]);
    transcript.matches("thread-that-asks");
}

#[test]
fn a_thread_that_is_poked() {
    let world = demo(SCRIPT);
    let threads = [start(&world), start(&world), start(&world)];
    let [a, b, c] = threads.each_ref().map(String::as_str);
    let mut transcript = Transcript::of(&world);
    transcript.say(&["thread", "poke", a]);
    for thread in [a, b, c] {
        world.step(thread).exits(0);
    }
    transcript.show_each([
        &["thread", "poke", a, "-p", "shorter"],
        &["thread", "poke", b, "-p", "shorter"],
        &["thread", "poke", c, "-p", "shorter"],
    ]);
    let fails = world.script("fails.sh", "echo no model >&2; exit 3");
    transcript.say(&["thread", "poke", a, "--agent", fails.to_str().unwrap()]);
    transcript.show(&["thread", "steps", a]);
    transcript.show(&["thread", "show", a]);
    transcript.matches("thread-that-is-poked");
}

#[test]
fn steps() {
    let world = demo(SCRIPT);
    let thread = start(&world);
    let mut transcript = Transcript::of(&world);
    world.uwf(&["thread", "step", &thread, "-c", "2"]).exits(0);
    let head = world.show(&thread)["head"].clone();
    let head = text(&head);
    transcript.show(&["step", "list", &thread]);
    transcript.show(&["workflow", "graph", "--thread", &thread]);
    transcript.show(&["step", "show", head]);
    transcript.say(&["thread", "step-details", head, "--format", "json"]);
    let fork = ["step", "fork", head];
    transcript.show_each([&fork, &fork, &fork]);
    transcript.matches("steps");
}

#[test]
fn nodes() {
    let world = demo(SCRIPT);
    let thread = start(&world);
    let start = world.show(&thread)["head"].clone();
    let start = text(&start);
    world.uwf(&["cas", "put-text", "hello"]).exits(0);
    let mut transcript = Transcript::of(&world);
    transcript.show(&["cas", "put-text", "hello"]);
    transcript.show(&["cas", "put", "7VQ43ZSJTEWA7", "\"hello\""]);
    transcript.show(&["cas", "hash", "7VQ43ZSJTEWA7", "\"hello\""]);
    transcript.show(&["cas", "get", "95ST8MZ0QTKP9"]);
    transcript.show(&["cas", "get", start, "--timestamp"]);
    transcript.show(&["cas", "has", start]);
    transcript.show(&["cas", "has", "0000000000000"]);
    transcript.show(&["cas", "refs", start]);
    transcript.show(&["cas", "refs", "95ST8MZ0QTKP9"]);
    transcript.show(&["cas", "walk", start]);
    transcript.show(&["cas", "which", start]);
    transcript.show(&["cas", "list", "--type", "44P8EP6N3NXZ5"]);
    transcript.show(&["cas", "verify"]);
    transcript.show(&["cas", "verify", start, "0000000000000"]);
    transcript.show(&["cas", "reindex"]);
    transcript.show(&["cas", "schema", "list"]);
    transcript.show(&["cas", "schema", "get", "CJAJAAQQEZCFD"]);
    transcript.matches("nodes");
}

#[test]
fn garbage() {
    let world = demo(SCRIPT);
    let mut transcript = Transcript::of(&world);
    let waste = world.uwf(&["cas", "put-text", "waste"]).exits(0).json();
    world.uwf(&["cas", "put-text", "young"]).exits(0);
    let file = world
        .root()
        .join("cas")
        .join(format!("{}.bin", text(&waste["hash"])));
    let long_ago = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1 << 30);
    File::open(file).unwrap().set_modified(long_ago).unwrap();
    transcript.show(&["cas", "gc", "--dry-run"]);
    transcript.say(&["cas", "gc"]);
    transcript.show(&["cas", "gc"]);
    let registry = world.root().join("registry.yaml");
    let names = std::fs::read_to_string(&registry).unwrap();
    let workflow = names.trim_end().rsplit(' ').next().unwrap();
    let node = world.root().join("cas").join(format!("{workflow}.bin"));
    std::fs::remove_file(node).unwrap();
    transcript.say(&["cas", "gc"]);
    // No workflow has a name any more, on purpose.
    std::fs::write(registry, "{}\n").unwrap();
    transcript.say(&["cas", "gc"]);
    transcript.matches("garbage");
}

#[test]
fn config_values() {
    let world = World::new();
    let mut transcript = Transcript::of(&world);
    transcript.say(&["config", "list"]);
    for (key, value) in [
        ("defaultAgent", "hermes"),
        ("agents.hermes.command", "uwf-hermes"),
        ("agents.hermes.args", r#"["--fast", "2"]"#),
        ("agents.hermes.timeout", "5m"),
        ("providers.p.apiKey", "sk-secret"),
        ("agentOverrides.solve-issue.developer", "cursor"),
    ] {
        transcript.show(&["config", "set", key, value]);
    }
    transcript.show(&["config", "get", "defaultAgent"]);
    transcript.show(&["config", "get", "agents.hermes"]);
    transcript.show(&["config", "get", "providers.p.apiKey"]);
    transcript.show(&["config", "list"]);
    transcript.matches("config");
}

#[test]
fn log_lines() {
    let world = demo(SCRIPT);
    let mut transcript = Transcript::of(&world);
    transcript.show(&["log", "list"]);
    let thread = start(&world);
    world.step(&thread).exits(0);
    transcript.show(&["log", "list"]);
    transcript.show(&["log", "show", "--thread", &thread]);
    transcript.show(&["log", "clean", "--before", "2020-01-01"]);
    transcript.matches("log");
}

#[test]
fn without_a_word_a_program_gets_compact_json() {
    let world = demo(SCRIPT);
    let listed = world.uwf(&["workflow", "list"]).exits(0);
    let expected = r#"[{"name":"demo","hash":"FMY62H9Z46AAV","origin":"global"}]"#;
    assert_eq!(listed.stdout, format!("{expected}\n"));
}

#[test]
fn the_environment_chooses_the_format_and_the_flag_beats_it() {
    let world = demo(SCRIPT);
    let list = |name: &str, args: &[&str]| -> Run {
        let args = [&["workflow", "list"], args].concat();
        let mut command = world.command(&args);
        command.env("UWF_FORMAT", name).output().unwrap().into()
    };
    let json = list("", &[]).exits(0).stdout;
    let yaml = list("yaml", &[]).exits(0).stdout;
    assert!(json.starts_with("[{"), "{json}");
    assert!(yaml.starts_with("- name: demo\n"), "{yaml}");
    assert_eq!(list("YAML", &[]).exits(0).stdout, yaml);
    assert_eq!(list("yaml", &["--format", "json"]).exits(0).stdout, json);
    assert_eq!(
        list("nonsense", &["--format", "json"]).exits(0).stdout,
        json
    );
}

#[test]
fn an_unknown_format_is_a_wrong_command_line_and_nothing_is_done() {
    let world = World::new();
    let put = ["cas", "put-text", "x"];
    let by_flag = world.uwf(&[&put[..], &["--format", "xml"]].concat());
    assert_eq!(by_flag.exits(2).says("xml").stdout, "");
    let mut command = world.command(&put);
    let by_env: Run = command.env("UWF_FORMAT", "xml").output().unwrap().into();
    assert_eq!(by_env.exits(2).says("UWF_FORMAT").stdout, "");
    assert!(!world.root().exists());
}

#[test]
fn the_global_options_stand_before_or_after_the_command() {
    let world = demo(SCRIPT);
    let before = world.uwf(&["--format", "yaml", "workflow", "list"]);
    let after = world.uwf(&["workflow", "list", "--format", "yaml"]);
    assert_eq!(before.exits(0).stdout, after.exits(0).stdout);
}

#[test]
fn a_value_may_begin_with_a_hyphen_and_options_are_still_options() {
    let world = demo(ASKING);
    let task = "- write\n- review";
    let begin = ["thread", "start", "demo", "-p", task, "--format", "json"];
    let started = world.uwf(&begin).exits(0).json();
    let thread = text(&started["thread"]).to_owned();
    let steps = world.uwf(&["thread", "steps", &thread]).exits(0).json();
    assert_eq!(steps["steps"][0]["prompt"], json!(task));
    world.uwf(&["thread", "step", &thread, "-c", "2"]).exits(0);
    let answer = ["thread", "resume", &thread, "-p", "-1"];
    world.uwf(&answer).exits(0);
    let number = ["cas", "put", "BEAZQGKVXMZT8", "-1", "--no-validate"];
    world.uwf(&number).exits(0);
    for args in [
        &["cas", "put-text", "-- a", "--format", "text"][..],
        &["cas", "put-text", "--format", "text", "-- a"],
        &["--format", "text", "cas", "put-text", "--", "-- a"],
    ] {
        let put = world.uwf(args).exits(0).stdout;
        let node = world.uwf(&["cas", "get", put.trim()]).exits(0).json();
        assert_eq!(node["payload"], json!("-- a"));
    }
}

#[test]
fn on_a_terminal_text_is_the_default_and_nothing_is_obeyed() {
    let world = demo(
        "roles:\n  writer: [{ output: { plan: p } }]\n  reviewer:\n    - { output: { $status: ask, question: \"a\\e[31mb\" }, body: \"\\e[31mc\" }\n",
    );
    let thread = start(&world);
    world.uwf(&["thread", "step", &thread, "-c", "2"]).exits(0);
    let shown = on_terminal(&world, 80, &["thread", "show", &thread]);
    assert!(shown.starts_with("thread    0"), "{shown}");
    for command in ["show", "steps", "read", "list"] {
        let args = ["thread", command, &thread];
        let args = if command == "list" { &args[..2] } else { &args };
        let shown = on_terminal(&world, 80, args);
        assert!(!shown.contains('\u{1b}'), "{shown:?}");
    }
    let read = on_terminal(&world, 80, &["thread", "read", &thread]);
    assert!(read.contains(r"\u{1b}[31m"), "{read}");
    let piped = world.uwf(&["thread", "read", &thread]).stdout;
    assert!(piped.contains(r"\u{1b}[31m"), "{piped}");
    world.step(&thread).exits(6).says(r"\u{1b}[31m");
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let world = demo(SCRIPT);
    let mut child = world.spawn(&["workflow", "show", "demo"]);
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn keys_of_the_reference_come_first() {
    let world = demo(SCRIPT);
    let thread = start(&world);
    world.step(&thread).exits(0);
    let keys = |value: &Value| -> Vec<String> {
        let keys = value.as_object().unwrap().keys();
        keys.cloned().collect()
    };
    let shown = world.show(&thread);
    assert_eq!(keys(&shown)[9], "hint");
    let listed = world.uwf(&["thread", "list"]).json();
    let item = keys(&listed[0]);
    let reference = [
        "thread",
        "workflow",
        "head",
        "status",
        "currentRole",
        "statusDisplay",
    ];
    assert_eq!(item[..6], reference);
    let steps = world.uwf(&["thread", "steps", &thread]).json();
    assert_eq!(keys(&steps)[..3], ["thread", "workflow", "steps"]);
    let entries = &steps["steps"];
    assert_eq!(
        keys(&entries[0])[..4],
        ["hash", "workflow", "prompt", "timestamp"]
    );
    let reference = [
        "hash",
        "role",
        "output",
        "detail",
        "agent",
        "timestamp",
        "durationMs",
    ];
    assert_eq!(keys(&entries[1])[..7], reference);
    let shown = world.uwf(&["workflow", "show", "demo"]).json();
    assert_eq!(
        keys(&shown),
        ["hash", "name", "type", "payload", "timestamp"]
    );
    let payload = ["name", "graph", "roles", "description"];
    assert_eq!(keys(&shown["payload"]), payload);
    let node = json!(world.uwf(&["cas", "get", text(&entries[1]["hash"])]).json());
    let stored = [
        "cwd",
        "prev",
        "role",
        "agent",
        "start",
        "detail",
        "output",
        "edgePrompt",
        "startedAtMs",
        "completedAtMs",
        "assembledPrompt",
    ];
    assert_eq!(keys(&node["payload"]), stored);
}

#[test]
fn with_json_asked_for_every_message_is_one_json_object() {
    let world = World::new();
    let records = |run: &Run| -> Vec<Value> {
        let lines = run.stderr.lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let unknown = world.uwf(&[
        "--format",
        "json",
        "thread",
        "show",
        "01M8ABCDEFGHJKMNPQRSTVWXYZ",
    ]);
    let [record] = &records(&unknown)[..] else {
        panic!("{}", unknown.stderr);
    };
    assert_eq!(record["exitCode"], 1);
    assert!(
        record["error"]
            .as_str()
            .unwrap()
            .contains("01M8ABCDEFGHJKMNPQRSTVWXYZ")
    );
    assert!(
        record["hint"]
            .as_str()
            .unwrap()
            .contains("thread list --all")
    );
    // The parser's own complaints, and a format that the environment asks for.
    let usage = world.uwf(&["thread", "stepp", "--format=json"]);
    assert_eq!(records(&usage.exits(2))[0]["exitCode"], 2);
    let mut command = world.command(&["thread", "kill"]);
    let by_env: Run = command.env("UWF_FORMAT", "json").output().unwrap().into();
    assert_eq!(records(&by_env.exits(2))[0]["exitCode"], 2);
    // What follows `--` belongs to another program.
    let not_ours = world.uwf(&["thread", "stepp", "--", "--format", "json"]);
    assert!(not_ours.exits(2).stderr.starts_with("error: "));
}

#[test]
fn the_mistakes_of_a_workflow_file_are_data() {
    let world = World::new();
    world.write("bad.yaml", "name: bad\nroles: {}\ngraph: 5\n");
    let run = world.uwf(&["workflow", "validate", "bad.yaml"]).exits(1);
    let view = run.json();
    assert_eq!(view["valid"], false);
    let problem = &view["problems"][0];
    assert_eq!(problem["file"], "bad.yaml");
    assert!(
        problem["line"].as_u64().is_some_and(|line| line > 0),
        "{view}"
    );
    assert!(run.stderr.contains(problem["message"].as_str().unwrap()));
}
