//! `uwf setup`: by flags and by questions, what it writes and what it leaves alone.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::model_server::{ModelServer, Scripted};
use crate::pty::Terminal;
use crate::world::{ONE_STEP, Run, World, path_with, wait_until};

pub(crate) const SECRET: &str = "sk-0123456789-secret";

pub(crate) fn setup(world: &World, args: &[&str]) -> Run {
    world.uwf(&[&["setup"], args].concat())
}

fn answering() -> ModelServer {
    ModelServer::start(vec![Scripted::says("ok")])
}

/// Returns the flags that name a provider at this address, and a model.
pub(crate) fn flags(base_url: &str) -> [&str; 6] {
    [
        "--provider",
        "mine",
        "--base-url",
        base_url,
        "--model",
        "m-1",
    ]
}

pub(crate) fn config_of(world: &World) -> Value {
    world.uwf(&["config", "list"]).exits(0).json()
}

fn mode(world: &World, name: &str) -> u32 {
    let metadata = fs::metadata(world.root().join(name)).unwrap();
    metadata.permissions().mode() & 0o777
}

#[test]
fn flags_make_a_config_that_is_valid_and_the_model_is_called_once() {
    let world = World::new();
    let server = answering();
    let url = format!("{}//", server.base_url());
    let args = [
        &flags(&url)[..],
        &["--api-key", SECRET, "--agent", "uwf-mock"],
    ]
    .concat();
    let run = setup(&world, &args)
        .exits(0)
        .says("visible in process lists");
    assert!(!run.stdout.contains(SECRET) && !run.stderr.contains(SECRET));
    let expected = json!({
        "configPath": world.root().join("config.yaml"),
        "provider": "mine",
        "model": "m-1",
        "defaultAgent": "mock",
        "validation": { "ok": true },
    });
    assert_eq!(run.json(), expected);
    let expected = json!({
        "providers": { "mine": { "baseUrl": server.base_url(), "apiKeyEnv": "MINE_API_KEY" } },
        "models": { "default": { "provider": "mine", "name": "m-1" } },
        "defaultModel": "default",
        "agents": { "mock": { "command": "uwf-mock" } },
        "defaultAgent": "mock",
    });
    assert_eq!(config_of(&world), expected);
    assert_eq!(world.state(".env"), format!("MINE_API_KEY={SECRET}\n"));
    assert_eq!(
        (mode(&world, "config.yaml"), mode(&world, ".env")),
        (0o600, 0o600)
    );
    assert_eq!(mode(&world, ""), 0o700);
    world.uwf(&["config", "validate"]).exits(0);
    let requests = server.requests();
    assert_eq!(requests.len(), 1);
    let bearer = format!("Bearer {SECRET}");
    assert_eq!(requests[0].header("authorization"), Some(bearer.as_str()));
    assert_eq!(requests[0].json()["model"], json!("m-1"));
}

#[test]
fn a_key_comes_from_standard_input_or_a_variable() {
    let world = World::new();
    let server = answering();
    let url = server.base_url();
    let args = [
        &["setup"],
        &flags(&url)[..],
        &["--api-key", "-", "--key-in-config"],
    ]
    .concat();
    let mut command = world.command(&args);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(format!("{SECRET}\n").as_bytes()).unwrap();
    drop(stdin);
    let run = Run::from(child.wait_with_output().unwrap()).exits(0);
    assert!(!run.stderr.contains("process lists"), "{}", run.stderr);
    assert!(
        world
            .state("config.yaml")
            .contains(&format!("apiKey: {SECRET}"))
    );
    assert_eq!(world.state(".env"), "");

    let mut command =
        world.command(&[&["setup"], &flags(&url)[..], &["--api-key-env", "K"]].concat());
    let run: Run = command.env("K", SECRET).output().unwrap().into();
    assert_eq!(run.exits(0).json()["validation"], json!({ "ok": true }));
    let provider = &config_of(&world)["providers"]["mine"];
    assert_eq!(*provider, json!({ "baseUrl": url, "apiKeyEnv": "K" }));
    let requests = server.requests();
    assert_eq!(
        requests[0].header("authorization"),
        requests[1].header("authorization")
    );
}

#[test]
fn a_model_that_does_not_answer_is_told_and_the_config_kept() {
    for (answer, code) in [
        (Scripted::body(401, "no such key"), "unauthorized"),
        (Scripted::body(404, "no such model"), "not_found"),
        (Scripted::Reset, "connection_failed"),
    ] {
        let world = World::new();
        let server = ModelServer::start(vec![answer]);
        let url = server.base_url();
        let args = [&flags(&url)[..], &["--api-key", SECRET]].concat();
        let run = setup(&world, &args).exits(0).says("the test call failed");
        let validation = &run.json()["validation"];
        assert_eq!(
            (&validation["ok"], &validation["code"]),
            (&json!(false), &json!(code))
        );
        assert!(!run.stdout.contains(SECRET) && !run.stderr.contains(SECRET));
        assert_eq!(config_of(&world)["defaultModel"], json!("default"));
        let text = setup(&world, &[&args[..], &["--format", "text"]].concat()).exits(0);
        assert!(text.stdout.contains("test call: FAILED"), "{}", text.stdout);
        assert!(
            text.stdout.contains(&format!(" ({code})\n")),
            "{}",
            text.stdout
        );
    }
}

#[test]
fn what_was_there_stays_with_its_comments() {
    let world = World::new();
    let server = answering();
    fs::create_dir(world.root()).unwrap();
    let before = "\
# mine
providers:
  other: { baseUrl: http://h/v1 } # the other
  mine: { baseUrl: http://old/v1, apiKey: old } # replaced
models:
  big: { provider: other, name: b }
agents:
  mock: { command: /my/mock } # not yours
defaultModel: big # stays
";
    fs::write(world.root().join("config.yaml"), before).unwrap();
    fs::write(
        world.root().join(".env"),
        "# secrets\nA=1\nMINE_API_KEY=old\n",
    )
    .unwrap();
    let url = server.base_url();
    let args = [&flags(&url)[..], &["--api-key", "new", "--agent", "mock"]].concat();
    setup(&world, &args).exits(0);
    let after = world.state("config.yaml");
    for kept in [
        "# mine\n",
        "other: { baseUrl: http://h/v1 } # the other\n",
        "# replaced\n",
        "mock: { command: /my/mock } # not yours\n",
        "defaultModel: big # stays\n",
    ] {
        assert!(after.contains(kept), "{kept}: {after}");
    }
    let config = config_of(&world);
    let expected = json!({ "baseUrl": server.base_url(), "apiKeyEnv": "MINE_API_KEY" });
    assert_eq!(config["providers"]["mine"], expected);
    assert_eq!(config["defaultAgent"], json!("mock"));
    assert_eq!(world.state(".env"), "# secrets\nA=1\nMINE_API_KEY=new\n");
}

#[test]
fn a_config_that_cannot_be_read_is_not_touched() {
    let server = answering();
    for text in ["a: [\n", "- x\n", "agnts: {}\n", "a: 1\na: 2\n"] {
        let world = World::new();
        fs::create_dir(world.root()).unwrap();
        fs::write(world.root().join("config.yaml"), text).unwrap();
        let url = server.base_url();
        let args = [&flags(&url)[..], &["--api-key", "k"]].concat();
        setup(&world, &args).exits(1).says("config.yaml:");
        setup(&world, &["--agent", "mock"]).exits(1);
        assert_eq!(world.state("config.yaml"), text);
        assert!(!world.root().join(".env").exists());
    }
    assert!(server.requests().is_empty());
}

#[test]
fn without_a_terminal_what_is_missing_is_named() {
    let world = World::new();
    for (args, missing) in [
        (
            &[][..],
            "`--provider`, `--model`, `--api-key` or `--api-key-env`",
        ),
        (&["--provider", "openai"], "needs `--model`, `--api-key`"),
        (
            &["--provider", "mine", "--model", "m"],
            "`--base-url` (the provider is not a preset)",
        ),
        (&["--model", "m", "--api-key", "-"], "needs `--provider`"),
    ] {
        setup(&world, args).exits(2).says(missing);
    }
    assert!(!world.root().exists());
}

#[test]
fn an_agent_alone_is_set_up_without_a_model() {
    let world = World::new();
    let run = setup(&world, &["--agent", "uwf-mock"]).exits(0);
    let run = run.says("uwf config set agents.mock.args '[\"script.yaml\"]'");
    let json = run.json();
    assert_eq!(json["defaultAgent"], json!("mock"));
    assert_eq!(
        (&json["model"], &json["validation"]),
        (&Value::Null, &Value::Null)
    );
    let expected =
        json!({ "agents": { "mock": { "command": "uwf-mock" } }, "defaultAgent": "mock" });
    assert_eq!(config_of(&world), expected);
}

/// Answers everything up to the place of the key.
fn answer_until_key(terminal: &mut Terminal, url: &str) {
    terminal.shows(" 1 openai").shows("Provider").types("16");
    terminal.shows("A name for it").types("mine");
    terminal.shows("address").types(url);
    terminal.shows("Key for mine").types_hidden(SECRET);
}

#[test]
fn the_wizard_asks_for_everything() {
    let world = World::new();
    let agent = world.script("bin/uwf-here", "exit 0");
    let models =
        json!({ "data": [{ "id": "zeta" }, { "id": "text-embedding" }, { "id": "alpha" }] });
    let server = ModelServer::start(vec![
        Scripted::body(200, &models.to_string()),
        Scripted::says("ok"),
    ]);
    let path = path_with(agent.parent().unwrap());
    let mut terminal = Terminal::start(&world, &["setup"], &[("PATH", &path)]);
    answer_until_key(&mut terminal, &server.base_url());
    terminal
        .shows(".env, as MINE_API_KEY")
        .shows("Place")
        .types("");
    terminal
        .shows(" 1 alpha")
        .shows(" 2 zeta")
        .shows("Model")
        .types("2");
    terminal.shows("here (").shows("Agent").types("here");
    let run = terminal.end().exits(0);
    assert!(!run.stderr.contains(SECRET), "{}", run.stderr);
    assert!(!run.stderr.contains("text-embedding"));
    let json = run.json();
    assert_eq!(
        (&json["model"], &json["validation"]["ok"]),
        (&json!("zeta"), &json!(true))
    );
    assert_eq!(json["defaultAgent"], json!("here"));
    assert_eq!(world.state(".env"), format!("MINE_API_KEY={SECRET}\n"));
    let config = config_of(&world);
    assert_eq!(config["agents"]["here"]["command"], json!("uwf-here"));
    assert_eq!(config["models"]["default"]["name"], json!("zeta"));
}

#[test]
fn the_wizard_asks_only_for_what_flags_leave_open() {
    let world = World::new();
    let server = ModelServer::start(vec![Scripted::body(404, "no list"), Scripted::says("ok")]);
    let url = server.base_url();
    let args = [
        "setup",
        "--provider",
        "mine",
        "--base-url",
        &url,
        "--agent",
        "mock",
    ];
    let mut terminal = Terminal::start(&world, &args, &[("MINE_API_KEY", SECRET)]);
    terminal
        .shows("empty for the one in MINE_API_KEY")
        .types_hidden("");
    terminal
        .shows("cannot be listed")
        .shows("Model (name)")
        .types("my-model");
    let run = terminal.end().exits(0);
    assert!(!run.stderr.contains("Provider (number"), "{}", run.stderr);
    assert_eq!(run.json()["model"], json!("my-model"));
    assert_eq!(
        config_of(&world)["providers"]["mine"]["apiKeyEnv"],
        json!("MINE_API_KEY")
    );
    assert_eq!(world.state(".env"), "");
    let bearer = format!("Bearer {SECRET}");
    let requests = server.requests();
    assert_eq!(
        requests.last().unwrap().header("authorization"),
        Some(bearer.as_str())
    );
}

/// Interrupts the wizard where the answers lead it, and looks at what is left.
#[track_caller]
fn check_interrupt(answer: impl FnOnce(&mut Terminal, &ModelServer)) {
    let world = World::new();
    let server = ModelServer::start(vec![Scripted::Hang]);
    let mut terminal = Terminal::start(&world, &["setup"], &[]);
    answer(&mut terminal, &server);
    terminal.interrupts();
    terminal.end().exits(130);
    assert!(!world.root().exists());
}

#[test]
fn an_interrupt_at_a_question_leaves_nothing() {
    check_interrupt(|terminal, _| {
        terminal.shows("Provider");
    });
}

#[test]
fn an_interrupt_at_the_secret_leaves_nothing() {
    check_interrupt(|terminal, server| {
        terminal.shows("Provider").types("another");
        terminal.shows("A name for it").types("mine");
        terminal.shows("address").types(&server.base_url());
        terminal.shows("Key for mine").hides();
    });
}

#[test]
fn an_interrupt_during_a_call_leaves_nothing() {
    check_interrupt(|terminal, server| {
        answer_until_key(terminal, &server.base_url());
        wait_until("the models are asked for", || !server.requests().is_empty());
    });
}

#[test]
fn a_wrong_answer_is_asked_for_again_with_the_reason() {
    let world = World::new();
    let server = ModelServer::start(vec![Scripted::body(404, "no list"), Scripted::says("ok")]);
    let mut terminal = Terminal::start(&world, &["setup"], &[]);
    terminal.shows("Provider (").types("99");
    terminal.shows("`99` is not a number from the list");
    terminal.shows("Provider (").types("openia");
    terminal.shows("did you mean `openai`?").shows("`another`");
    terminal.shows("Provider (").types("another");
    terminal.shows("A name for it").types("mine");
    let address = server.base_url();
    terminal
        .shows("address")
        .types(&address.replace("http://", ""));
    terminal
        .shows("error: ")
        .shows("hint: put `https://` before it");
    terminal.shows("address").types(&address);
    terminal.shows("Key for mine").types_hidden(SECRET);
    terminal.shows("Place").types("here");
    terminal.shows("`here` is not in the list");
    terminal.shows("Place").types("1");
    terminal.shows("Model (name)").types("m-1");
    terminal.shows("Agent (").types("bultin");
    terminal.shows("did you mean `builtin`?");
    terminal.shows("Agent (").types("builtin");
    terminal.shows("Without asking").types("");
    let run = terminal.end().exits(0);
    assert!(!run.stderr.contains(SECRET), "{}", run.stderr);
    assert_eq!(run.json()["validation"]["ok"], json!(true));
    assert_eq!(
        config_of(&world)["providers"]["mine"]["baseUrl"],
        json!(address)
    );
}

#[test]
fn an_endpoint_that_is_only_called_like_this_machine_needs_a_key() {
    let world = World::new();
    setup(&world, &flags("http://localhost.invalid:9/v1"))
        .exits(2)
        .says("`--api-key` or `--api-key-env`");
    assert!(!world.root().exists());
}

#[test]
fn the_help_names_every_built_in_agent() {
    let help = World::new().uwf(&["agent", "--help"]).exits(0).stdout;
    let words: Vec<&str> = help.split([' ', ',', '\n']).collect();
    for agent in uwf_agents::BUILT_IN {
        assert!(words.contains(agent), "{agent}: {help}");
    }
}

#[test]
fn an_agent_without_its_model_or_with_unknown_options_says_so() {
    let world = World::new();
    world.put(ONE_STEP);
    world.agent("uwf-llm", &[]);
    let thread = world.start("one");
    world
        .step(&thread)
        .exits(3)
        .says("no model is configured (no_model)")
        .says("hint: `uwf setup` makes one");
    world.agent("uwf-builtin", &["--allow-everything"]);
    world.step(&thread).exits(3).says("unknown option");
}
