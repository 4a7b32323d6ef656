//! How agents are called: arguments, environment, directory, streams, and which agent plays whom.

use std::path::Path;

use serde_json::json;

use crate::failures::AGAIN;
use crate::processes::signal;
use crate::world::{ONE_STEP, World, binary, wait_until};

const NOTE: &str = "roles:\n  writer:\n    - output: { note: n }\n";

/// A world whose agent notes how it was called in the project and then does its step.
fn world(workflow: &str, note: &str) -> World {
    let world = World::new();
    world.put(workflow);
    agent(&world, "agent.sh", note);
    world
}

fn agent(world: &World, name: &str, note: &str) -> String {
    world.write("note.yaml", NOTE);
    let body = format!(
        "dir={dir}\nuwf={uwf}\n{note}\nexec \"$uwf\" agent mock \"$dir/note.yaml\" \"$@\"",
        dir = world.project().display(),
        uwf = binary().display(),
    );
    let path = world.script(name, &body).to_str().unwrap().to_owned();
    world.agent(&path, &[]);
    path
}

fn noted(world: &World, name: &str) -> String {
    std::fs::read_to_string(world.project().join(name)).unwrap()
}

const NOTE_ARGS: &str = "printf '%s\\n' \"$@\" > \"$dir/args\"";

#[test]
fn thread_and_role_follow_the_agents_own_arguments() {
    let world = world(ONE_STEP, "shift 2");
    let thread = world.start("one");
    let path = agent(
        &world,
        "agent.sh",
        "printf '%s\\n' \"$@\" > \"$dir/args\"; shift 2",
    );
    world.agent(&path, &["--fast", "two words"]);
    world.step(&thread).exits(0);
    assert_eq!(
        noted(&world, "args"),
        format!("--fast\ntwo words\n{thread}\nwriter\n")
    );
}

#[test]
fn the_named_form_passes_flags_and_is_answered_with_json() {
    let world = world(ONE_STEP, NOTE_ARGS);
    world.configure("agents.default.protocol", "named");
    let thread = world.start("one");
    world.step(&thread).exits(0);
    let expected = format!("--thread\n{thread}\n--role\nwriter\n--prompt\nWrite a note.\n");
    assert_eq!(noted(&world, "args"), expected);
    let printed = std::fs::read_to_string(world.root().join("runs").join(&thread).join("stdout"));
    assert!(printed.unwrap().trim().starts_with("{\"stepHash\":\""));
}

#[test]
fn the_environment_tells_the_agent_where_it_is() {
    let world = world(ONE_STEP, "env -0 | tr '\\0' '\\n' > \"$dir/env\"");
    std::fs::write(
        world.root().join(".env"),
        "TOKEN=a$b${HOME}\nPATH=/nowhere\nQUOTED='x y' # no\nexport EXPORTED=1\nUWF_ROLE=wrong\n",
    )
    .unwrap();
    let thread = world.start("one");
    let head = world.show(&thread)["head"].as_str().unwrap().to_owned();
    world.step(&thread).exits(0);
    let text = noted(&world, "env");
    let prompt = world
        .uwf(&["cas", "hash", "7VQ43ZSJTEWA7", "\"Write a note.\""])
        .json();
    let expected = [
        ("UWF_THREAD_ID", thread.as_str()),
        ("UWF_ROLE", "writer"),
        ("UWF_HEAD", &head),
        ("UWF_EDGE_PROMPT", "Write a note."),
        ("UWF_EDGE_PROMPT_REF", prompt["hash"].as_str().unwrap()),
        ("UWF_STORAGE_ROOT", world.root().to_str().unwrap()),
        ("OCAS_DIR", world.root().join("cas").to_str().unwrap()),
        ("TOKEN", "a$b${HOME}"),
        ("QUOTED", "x y"),
        ("EXPORTED", "1"),
    ]
    .map(|(name, value)| format!("{name}={value}"));
    for line in expected {
        assert!(
            text.lines().any(|found| found == line),
            "no {line} in\n{text}"
        );
    }
    // What is set already is not the file's to change.
    assert!(
        !text.contains("/nowhere") && !text.contains("wrong"),
        "{text}"
    );
}

#[test]
fn stdin_is_empty_and_the_agent_leads_a_group_of_its_own() {
    let note = "cat > \"$dir/stdin\"; cut -d' ' -f1,5 /proc/$$/stat > \"$dir/stat\"";
    let world = world(ONE_STEP, note);
    let thread = world.start("one");
    let mut command = world.command(&["thread", "step", &thread]);
    let (reader, mut writer) = std::io::pipe().unwrap();
    std::io::Write::write_all(&mut writer, b"for nobody").unwrap();
    assert!(command.stdin(reader).output().unwrap().status.success());
    assert_eq!(noted(&world, "stdin"), "");
    let stat = noted(&world, "stat");
    let (pid, group) = stat.trim().split_once(' ').unwrap();
    assert_eq!(pid, group);
}

/// A planner who says where the builder works, and how much the builder is told.
const PLACES: &str = r#"
name: places
description: Work in a place
roles:
  planner:
    description: Plans
    goal: You plan.
    capabilities: []
    procedure: Plan.
    output: A place.
    frontmatter: { type: object, properties: { place: { type: string }, words: { type: string } }, required: [place, words] }
  writer:
    description: Writes
    goal: You write.
    capabilities: []
    procedure: Write.
    output: A note.
    frontmatter: { type: object, properties: { note: { type: string } }, required: [note] }
graph:
  $START: { _: { role: planner, prompt: "Plan." } }
  planner: { _: { role: writer, prompt: "Write: {{words}}", location: "{{place}}" } }
  writer: { _: { role: $END, prompt: "Done." } }
"#;

/// Starts a thread whose planner answers this, and returns it when it is the writer's turn.
fn planned(world: &World, place: &str, words: &str) -> String {
    let plan =
        json!({ "roles": { "planner": [{ "output": { "place": place, "words": words } }] } });
    let script = world.write("plan.yaml", &plan.to_string());
    let thread = world.start("places");
    let planner = format!("uwf-mock {}", script.display());
    world
        .uwf(&["thread", "step", &thread, "--agent", &planner])
        .exits(0);
    thread
}

#[test]
fn the_agent_works_where_the_edge_says_or_else_where_the_thread_lives() {
    let world = world(PLACES, "pwd > \"$dir/pwd\"");
    let there = world.project().join("there");
    std::fs::create_dir(&there).unwrap();
    for place in ["there", there.to_str().unwrap()] {
        let thread = planned(&world, place, "x");
        world.step(&thread).exits(0);
        assert_eq!(noted(&world, "pwd").trim(), there.to_str().unwrap());
    }
    let thread = planned(&world, "gone", "x");
    world
        .step(&thread)
        .exits(1)
        .says("gone")
        .says("does not exist");
    assert_eq!(world.show(&thread)["status"], json!("idle"));
    std::fs::create_dir(world.project().join("gone")).unwrap();
    world.step(&thread).exits(0);

    world.put(ONE_STEP);
    let started = world.uwf(&["thread", "start", "one", "-p", "x", "--cwd", "there"]);
    let thread = started.json()["thread"].as_str().unwrap().to_owned();
    // Not where the step is called from.
    let mut command = world.command(&["thread", "step", &thread]);
    assert!(command.current_dir("/").output().unwrap().status.success());
    assert_eq!(noted(&world, "pwd").trim(), there.to_str().unwrap());
}

#[test]
fn an_instruction_that_is_too_long_for_the_environment_is_read_from_the_store() {
    let note = "printf %s \"$UWF_EDGE_PROMPT\" > \"$dir/inline\"; \"$uwf\" cas get \"$UWF_EDGE_PROMPT_REF\" > \"$dir/node\"";
    let world = world(PLACES, note);
    let long = format!("{}end", "long ".repeat(40_000));
    let thread = planned(&world, ".", &long);
    let report = world.step(&thread).exits(0).json();
    assert_eq!(noted(&world, "inline"), "");
    let node: serde_json::Value = serde_json::from_str(&noted(&world, "node")).unwrap();
    assert_eq!(node["payload"], json!(format!("Write: {long}")));
    let read = world.uwf(&["step", "read", "--prompt", report["step"].as_str().unwrap()]);
    assert!(read.stdout.contains(&long), "the agent was not told");
}

#[test]
fn an_instruction_that_no_argument_can_hold_is_refused_in_words() {
    let world = world(PLACES, "");
    let protocol = |name: &str| {
        let key = "agents.default.protocol";
        world.configure(key, name);
    };
    let long = "long ".repeat(40_000);
    for (words, problem) in [(long.as_str(), "too long"), ("a\0b", "a zero byte")] {
        let thread = planned(&world, ".", words);
        protocol("named");
        world
            .step(&thread)
            .exits(1)
            .says("as `--prompt`")
            .says(problem)
            .says("hint: `uwf config set agents.<alias>.protocol positional`");
        assert_eq!(world.show(&thread)["status"], json!("idle"));
        protocol("positional");
        world.step(&thread).exits(0);
    }
}

#[test]
fn an_instruction_with_a_zero_byte_reaches_the_agent() {
    let world = world(
        PLACES,
        "\"$uwf\" cas get \"$UWF_EDGE_PROMPT_REF\" > \"$dir/node\"",
    );
    let thread = planned(&world, ".", "a\0b");
    world.step(&thread).exits(0);
    let node: serde_json::Value = serde_json::from_str(&noted(&world, "node")).unwrap();
    assert_eq!(node["payload"], json!("Write: a\0b"));
}

#[test]
fn verbose_shows_what_the_agent_says_while_it_works() {
    let world = world(
        ONE_STEP,
        "echo first words >&2; while [ ! -e \"$dir/go\" ]; do sleep 0.02; done; echo last words >&2",
    );
    let thread = world.start("one");
    let mut child = world.spawn(&["-v", "thread", "step", &thread]);
    let mut stderr = std::io::BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut stderr, &mut line).unwrap();
    assert_eq!(line, "| first words\n");
    assert!(child.try_wait().unwrap().is_none());
    world.write("go", "");
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut stderr, &mut rest).unwrap();
    assert_eq!(rest, "| last words\n");
    assert!(child.wait().unwrap().success());

    let quiet = world.start("one");
    assert_eq!(world.step(&quiet).exits(0).stderr, "");
}

#[test]
fn the_call_then_the_override_then_the_default_choose_the_agent() {
    let world = world(ONE_STEP, "echo default > \"$dir/who\"");
    let alias = agent(&world, "alias.sh", "echo alias > \"$dir/who\"");
    let words = agent(&world, "words.sh", "echo \"$1 $2\" > \"$dir/who\"; shift 2");
    agent(&world, "agent.sh", "echo default > \"$dir/who\"");
    world.configure("agents.other.command", &alias);
    let step = |args: &[&str]| {
        let thread = world.start("one");
        world
            .uwf(&[&["thread", "step", &thread], args].concat())
            .exits(0);
        noted(&world, "who").trim().to_owned()
    };
    assert_eq!(step(&[]), "default");
    assert_eq!(step(&["--agent", "other"]), "alias");
    assert_eq!(step(&["--agent", &format!("{words} one  two")]), "one two");
    let quoted = format!("{words} 'Bash(git diff:*)' two\\ three");
    assert_eq!(step(&["--agent", &quoted]), "Bash(git diff:*) two three");
    world.configure("agentOverrides.one.writer", "other");
    assert_eq!(step(&[]), "alias");
    assert_eq!(step(&["--agent", "default"]), "default");
    world.configure("agentOverrides.one.writer", "nobody");
    let thread = world.start("one");
    world
        .step(&thread)
        .exits(1)
        .says("agent `nobody` is not defined");
}

/// Returns a line of what the system says of a process, such as `SigCgt`.
fn status_of(pid: u64, key: &str) -> String {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(key));
    line.unwrap().trim_start_matches(':').trim().to_owned()
}

#[test]
fn a_built_in_agent_is_a_process_of_its_own_that_ends_by_signals() {
    let world = World::new();
    world.put(ONE_STEP);
    world.mock("roles:\n  writer:\n    - { sleepMs: 60000, output: { note: n } }\n");
    let thread = world.start("one");
    let engine = world.spawn(&["thread", "step", &thread]);
    let agent = world.agent_at_work(&thread);
    assert_ne!(agent, u64::from(engine.id()));
    wait_until("the agent has its name", || {
        let line = std::fs::read(format!("/proc/{agent}/cmdline")).unwrap_or_default();
        line.starts_with(b"uwf-mock\0")
    });
    // HUP, INT, TERM and CHLD are the engine's to catch, and nobody's to block.
    let watched = (1 << 0) | (1 << 1) | (1 << 14) | (1 << 16);
    for key in ["SigCgt", "SigBlk", "SigIgn"] {
        let signals = u64::from_str_radix(&status_of(agent, key), 16).unwrap();
        assert_eq!(signals & watched, 0, "{key}");
    }
    let stdin = std::fs::read_link(format!("/proc/{agent}/fd/0")).unwrap();
    assert_eq!(stdin, Path::new("/dev/null"));
    signal("TERM", agent);
    let ended = engine.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(3));
    let shown = world.show(&thread);
    let error = shown["attempts"][0]["error"].as_str().unwrap();
    assert!(error.contains("signal"), "{error}");
}

#[test]
fn the_programs_name_may_say_the_role_and_the_place_where_it_was_looked_for_is_told() {
    let world = World::new();
    world.put(ONE_STEP);
    world.script("agents/writer.sh", "echo ---; echo note: n; echo ---");
    world.agent("uwf-command", &["--", "./agents/{role}.sh"]);
    world.step(&world.start("one")).exits(0);
    std::fs::remove_file(world.project().join("agents/writer.sh")).unwrap();
    let place = world.project().canonicalize().unwrap();
    let failed = format!(
        "`./agents/writer.sh` could not be started in `{}`",
        place.display()
    );
    world.step(&world.start("one")).exits(3).says(&failed);
}

#[test]
fn what_is_typed_next_keeps_the_agent_of_the_call() {
    let world = World::new();
    world.put(&format!("{AGAIN}limits: {{ maxSteps: 1 }}\n"));
    let note = world.write(
        "note.yaml",
        "roles:\n  writer:\n    - output: { $status: more, note: n }\n",
    );
    let agent = format!("uwf-mock '{}'", note.display());
    let thread = world.start("again");
    let step = |format: &str| {
        world.uwf(&[
            "thread", "step", &thread, "--agent", &agent, "--format", format,
        ])
    };
    let next = format!("uwf thread resume {thread} --raise maxSteps=2 --agent \"{agent}\"");
    let done = step("text").exits(0).stdout;
    assert!(done.contains(&format!("next    {next}")), "{done}");
    step("text")
        .exits(6)
        .says(&format!("hint: `{next}` goes on"));
    let failing = world.start("again");
    let words = "sh -c 'exit 9'";
    world
        .uwf(&["thread", "step", &failing, "--agent", words])
        .exits(3)
        .says(&format!(
            "`uwf thread step {failing} --agent \"{words}\"` tries again"
        ));
}
