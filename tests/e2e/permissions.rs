//! What agents may do without asking: who says it, what each adapter makes of it, and where it is shown.

use std::fs;

use serde_json::{Value, json};

use crate::setup::{config_of, setup};
use crate::world::{ONE_STEP, Run, World, path_with};

/// A world with a thread whose agent answers with the word that it got.
fn world(args: &[&str]) -> (World, String) {
    let world = World::new();
    world.put(ONE_STEP);
    let script = world.script(
        "answer.sh",
        r#"cat > /dev/null; printf -- '---\nnote: got [%s] and [%s]\n---\n' "$UWF_PERMISSIONS" "$1""#,
    );
    let program = ["--", script.to_str().unwrap()];
    world.agent(
        "uwf-command",
        &[args, &program, &["{permissions}"]].concat(),
    );
    let thread = world.start("one");
    (world, thread)
}

/// Does a step of a new thread, and returns what its agent got.
fn got(world: &World, options: &[&str]) -> String {
    let thread = world.start("one");
    let done = world.uwf(&[&["thread", "step", &thread], options].concat());
    let done = done.exits(0).json();
    let result = done["result"].as_str().unwrap();
    result.strip_prefix("Done: got ").unwrap().to_owned()
}

fn doctor(world: &World, subject: &str) -> Vec<Value> {
    let run = world.uwf(&["doctor", "--offline"]);
    let checks = run.json()["checks"].as_array().unwrap().clone();
    let is_it = |check: &Value| check["check"] == "permissions" && check["subject"] == subject;
    checks.into_iter().filter(is_it).collect()
}

#[test]
fn the_call_goes_before_the_role_and_the_role_before_the_agent() {
    let (world, _) = world(&[]);
    assert_eq!(got(&world, &[]), "[] and []");
    world.configure("agents.default.permissions", "edit");
    assert_eq!(got(&world, &[]), "[edit] and [edit]");
    world.configure("permissionOverrides.one.writer", "read");
    world.configure("permissionOverrides.other.writer", "all");
    assert_eq!(got(&world, &[]), "[read] and [read]");
    let run = ["--permissions", "run"];
    assert_eq!(got(&world, &run), "[run] and [run]");
    let thread = world.start("one");
    let plan = world.uwf(&[
        "thread",
        "step",
        &thread,
        "--dry-run",
        "--permissions",
        "all",
    ]);
    assert_eq!(plan.exits(0).json()["permissions"], "all");
}

#[test]
fn a_step_tells_what_its_agent_was_allowed_to_do() {
    let (world, thread) = world(&[]);
    let run = world.uwf(&["thread", "run", &thread, "--permissions", "read"]);
    run.exits(0);
    let steps = world.uwf(&["thread", "steps", &thread]).exits(0).json();
    let step = &steps["steps"][1];
    assert_eq!(step["permissions"], "read");
    let hash = step["hash"].as_str().unwrap();
    let json = |args: &[&str]| world.uwf(args).exits(0).json();
    let shown = json(&["step", "show", hash, "--format", "json"]);
    assert_eq!(shown["permissions"], "read");
    let text = |args: &[&str]| world.uwf(args).exits(0).stdout;
    for (view, part) in [
        (text(&["thread", "read", &thread]), "**Permissions:** read"),
        (text(&["step", "read", hash]), "**Permissions:** read"),
        (
            text(&["thread", "steps", &thread, "--format", "text"]),
            "uwf-command (permissions read)",
        ),
    ] {
        assert!(view.contains(part), "{view}");
    }
    world.uwf(&["cas", "verify"]).exits(0);
}

#[test]
fn what_poke_and_resume_say_counts_for_their_step() {
    let (world, thread) = world_that_asks();
    let asked = world.uwf(&["thread", "step", &thread, "--permissions", "edit"]);
    assert_eq!(permissions(&world, asked), "edit");
    let poked = world.uwf(&["thread", "poke", &thread, "--permissions", "read"]);
    assert_eq!(permissions(&world, poked), "read");
    let resumed = world.uwf(&[
        "thread",
        "resume",
        &thread,
        "-p",
        "yes",
        "--permissions",
        "run",
    ]);
    assert_eq!(resumed.exits(0).json()["result"], "Done: run");
}

/// Returns what the agent of a step was allowed to do.
fn permissions(world: &World, step: Run) -> Value {
    let step = step.exits(0).json()["step"].clone();
    let show = ["step", "show", step.as_str().unwrap(), "--format", "json"];
    world.uwf(&show).exits(0).json()["permissions"].clone()
}

/// A world whose agent asks on its first visit, and then answers with the word that it got.
fn world_that_asks() -> (World, String) {
    let world = World::new();
    world.put(ONE_STEP);
    let script = world.script(
        "ask.sh",
        r#"if [ "$1" = 1 ]; then printf -- '---\n$status: $SUSPEND\nreason: may I?\n---\n'
        else printf -- '---\nnote: %s\n---\n' "$UWF_PERMISSIONS"; fi; cat > /dev/null"#,
    );
    let script = script.to_str().unwrap();
    world.agent(
        "uwf-command",
        &["--obeys-permissions", "--", script, "{visit}"],
    );
    let thread = world.start("one");
    (world, thread)
}

#[test]
fn a_program_that_is_not_said_to_keep_to_them_is_not_started() {
    let (world, thread) = world(&[]);
    let script = world.script(
        "mark.sh",
        "touch started; printf -- '---\\nnote: n\\n---\\n'",
    );
    world.agent("uwf-command", &["--", script.to_str().unwrap()]);
    world.configure("agents.default.permissions", "read");
    let refused = world.step(&thread).exits(3);
    let refused = refused.says("nothing tells that the program of `uwf-command` keeps to them");
    refused.says("--obeys-permissions");
    assert!(!world.project().join("started").exists());
    let found = doctor(&world, "default");
    assert_eq!(found[0]["status"], "error", "{found:?}");
    // The same command with a word that restricts nothing.
    let step = ["thread", "step", &thread, "--permissions", "all"];
    world.uwf(&step).exits(0);
}

#[test]
fn a_failed_attempt_is_repeated_with_the_same_word() {
    let (world, thread) = world(&[]);
    let script = world.script("fail.sh", "exit 1");
    world.agent(
        "uwf-command",
        &["--obeys-permissions", "--", script.to_str().unwrap()],
    );
    let failed = world.uwf(&["thread", "step", &thread, "--permissions", "read"]);
    failed.exits(3).says("--permissions read");
    let shown = world.uwf(&["thread", "show", &thread, "--format", "text"]);
    let shown = shown.exits(0).stdout;
    assert!(shown.contains("--permissions read"), "{shown}");
}

#[test]
fn an_engine_inside_of_an_agent_hands_nothing_on_that_it_was_not_told() {
    let (world, thread) = world(&[]);
    let mut command = world.command(&["thread", "step", &thread]);
    let run: Run = command
        .env("UWF_PERMISSIONS", "read")
        .output()
        .unwrap()
        .into();
    assert_eq!(run.exits(0).json()["result"], "Done: got [] and []");
    world.write(".env", "UWF_PERMISSIONS=read\n");
    fs::copy(world.project().join(".env"), world.root().join(".env")).unwrap();
    assert_eq!(got(&world, &[]), "[] and []");
}

#[test]
fn a_word_that_does_not_exist_is_refused() {
    let (world, thread) = world(&[]);
    let step = ["thread", "step", &thread, "--permissions", "write"];
    world.uwf(&step).exits(2).says("read (read files only)");
    let key = "agents.default.permissions";
    let set = world.uwf(&["config", "set", key, "write"]);
    set.exits(1).says("`write` is not one of `read` or `edit`");
    let config = world.root().join("config.yaml");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(
        &config,
        text + "permissionOverrides: { one: { writer: Read } }\n",
    )
    .unwrap();
    let found = world.uwf(&["config", "validate"]).exits(1).stdout;
    assert!(found.contains("permissionOverrides.one.writer"), "{found}");
    world.step(&thread).exits(1);
}

/// Returns the rows of the table of docs/adapters.md with the options for each word, by agent.
fn documented() -> Vec<(String, Vec<String>)> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/adapters.md");
    let text = fs::read_to_string(path).unwrap();
    let table = text.split("into options:\n").nth(1).unwrap();
    let rows = table.trim_start().lines().skip(2);
    let rows = rows.take_while(|line| line.starts_with('|'));
    let row = |row: &str| {
        let cells = row.trim_matches('|').split('|').map(str::trim);
        let mut cells = cells.map(|cell| cell.trim_matches('`').to_owned());
        (cells.next().unwrap(), cells.collect())
    };
    rows.map(row).collect()
}

const WORDS: [&str; 4] = ["read", "edit", "run", "all"];

#[test]
fn each_adapter_gets_the_options_that_are_documented() {
    let rows = documented();
    assert_eq!(rows.len(), 8);
    for (agent, options) in rows {
        let world = World::new();
        world.put(ONE_STEP);
        for tool in [
            "claude",
            "codex",
            "gemini",
            "cursor-agent",
            "hermes",
            "opencode",
        ] {
            let script = r#"echo "$*" > called; echo "$OPENCODE_PERMISSION" > rules; exit 1"#;
            world.script(&format!("bin/{tool}"), script);
        }
        if agent == "acp" {
            world.configure("agents.acp.command", "uwf-acp");
            world.configure("agents.acp.args", r#"["--", "hermes"]"#);
        }
        for (word, options) in WORDS.into_iter().zip(options) {
            setup(&world, &["--agent", &agent, "--permissions", word]).exits(0);
            assert_eq!(config_of(&world)["agents"][&agent]["permissions"], word);
            let shown = doctor(&world, &agent);
            let shown = shown[0]["message"].as_str().unwrap();
            assert!(shown.contains(&format!("`{word}`")), "{shown}");
            assert!(shown.ends_with(&format!(": `{options}`")), "{shown}");
            let thread = world.start("one");
            let mut command = world.command(&["thread", "step", &thread]);
            command.env("PATH", path_with(&world.project().join("bin")));
            let run = Run::from(command.output().unwrap()).exits(3);
            assert!(
                !run.stderr.contains("usage:"),
                "{agent} {word}: {}",
                run.stderr
            );
            // The options of these adapters are those of their tools.
            let is_passed_on = ["claude-code", "codex", "gemini"].contains(&&*agent);
            let called = fs::read_to_string(world.project().join("called"));
            let called = called.unwrap_or_default();
            assert!(
                !is_passed_on || called.contains(&options),
                "{word}: {called}"
            );
            let rules = fs::read_to_string(world.project().join("rules"));
            let rules = rules.unwrap_or_default();
            let may_run = rules.contains(r#""bash":"allow""#);
            let is_told = agent == "opencode" && ["run", "all"].contains(&word);
            assert_eq!(may_run, is_told, "{agent} {word}: {rules}");
        }
    }
}

#[test]
fn permissions_take_the_place_of_what_the_arguments_say() {
    let world = World::new();
    world.put(ONE_STEP);
    world.script("bin/claude", r#"echo "$*" > called; exit 1"#);
    let args = ["--model", "m", "--permission-mode", "acceptEdits"];
    world.agent("uwf-claude-code", &args);
    let shown = doctor(&world, "default");
    let expected = "its `args` say what it may do: `--permission-mode acceptEdits`";
    assert_eq!(shown[0]["message"], expected);
    let step = |options: &[&str]| {
        let thread = world.start("one");
        let mut command = world.command(&[&["thread", "step", &thread], options].concat());
        command.env("PATH", path_with(&world.project().join("bin")));
        Run::from(command.output().unwrap()).exits(3)
    };
    let called = || fs::read_to_string(world.project().join("called")).unwrap();
    step(&[]);
    assert!(
        called().contains("--permission-mode acceptEdits"),
        "{}",
        called()
    );
    step(&["--permissions", "read"]);
    let said = called();
    assert!(
        said.contains("--permission-mode default --model m"),
        "{said}"
    );
    assert!(!said.contains("acceptEdits"), "{said}");

    world.configure("agents.default.permissions", "read");
    let shown = doctor(&world, "default");
    assert_eq!(shown[1]["status"], "warning", "{shown:?}");
    let hint = shown[1]["hint"].as_str().unwrap();
    assert!(
        hint.contains("uwf setup --agent default --permissions read"),
        "{hint}"
    );
    setup(&world, &["--agent", "default", "--permissions", "read"]).exits(0);
    assert_eq!(
        config_of(&world)["agents"]["default"]["args"],
        json!(["--model", "m"])
    );
    assert_eq!(doctor(&world, "default").len(), 1);

    fs::remove_file(world.project().join("called")).unwrap();
    let args = r#"["--", "--dangerously-skip-permissions"]"#;
    world.configure("agents.default.args", args);
    step(&[]).says("`--dangerously-skip-permissions` after `--` says what the tool may do, too");
    assert!(!world.project().join("called").exists());
}

#[test]
fn doctor_finds_a_role_whose_agent_cannot_keep_to_its_permissions() {
    let world = World::new();
    world.agent("uwf-command", &["--", "cat"]);
    world.configure("permissionOverrides.w.r", "read");
    let found = doctor(&world, "permissionOverrides.w.r");
    assert_eq!(found[0]["status"], "error", "{found:?}");
    world.configure("agents.own.command", "/bin/true");
    world.configure("agents.own.permissions", "edit");
    world.configure("agentOverrides.w.r", "own");
    assert_eq!(doctor(&world, "permissionOverrides.w.r"), [] as [Value; 0]);
    let found = doctor(&world, "own");
    let message = found[0]["message"].as_str().unwrap();
    assert!(
        message.ends_with("if it keeps to UWF_PERMISSIONS"),
        "{message}"
    );
}
