//! `uwf setup`: what agents may do, what is refused or warned of, and what the wizard asks again.

use serde_json::json;

use crate::model_server::{ModelServer, Scripted};
use crate::pty::Terminal;
use crate::setup::{SECRET, config_of, flags, setup};
use crate::world::World;

#[test]
fn an_agent_that_nobody_knows_is_refused_and_nothing_written() {
    let world = World::new();
    setup(&world, &["--agent", "nobody-has-it"])
        .exits(1)
        .says("there is no agent `nobody-has-it`");
    setup(&world, &["--agent", "claude"])
        .exits(1)
        .says("did you mean `claude-code`?")
        .says("uwf agent --help");
    setup(&world, &["--agent", "./mine"]).exits(1);
    assert!(!world.root().exists());
}

#[test]
fn what_keeps_an_agent_from_its_work_is_said() {
    let world = World::new();
    let run = setup(&world, &["--agent", "codex", "--permissions", "edit"]).exits(0);
    let run = run.says("`codex`, which `codex` drives, is not on PATH");
    assert!(!run.stderr.contains("refuse"), "{}", run.stderr);
    setup(&world, &["--agent", "claude-code"])
        .exits(0)
        .says("will refuse to edit files and to run commands")
        .says("uwf setup --agent claude-code --permissions edit");
    let run = world.uwf(&["doctor", "--offline", "--format", "text"]);
    assert!(
        run.stdout.contains("nothing says what it may do"),
        "{}",
        run.stdout
    );
    setup(&world, &["--agent", "mock"])
        .exits(0)
        .says("uwf config set agents.mock.args");
    let run = setup(&world, &["--agent", "builtin"]).exits(0);
    assert_eq!(run.stderr, "");
}

#[test]
fn a_new_agent_gets_limits_of_time_and_one_without_is_named_by_the_doctor() {
    let world = World::new();
    let args = [
        "--agent",
        "claude-code",
        "--permissions",
        "edit",
        "--format",
        "text",
    ];
    let run = setup(&world, &args).exits(0);
    let said = "its limits: 2h for a step, 45m without output";
    assert!(run.stdout.contains(said), "{}", run.stdout);
    let agent = |world: &World| config_of(world)["agents"]["claude-code"].clone();
    let limits = |world: &World| {
        (
            agent(world)["timeout"].clone(),
            agent(world)["idleTimeout"].clone(),
        )
    };
    assert_eq!(limits(&world), (json!("2h"), json!("45m")));
    setup(&world, &["--timeout", "3h"]).exits(0);
    setup(&world, &["--idle-timeout", "soon"])
        .exits(2)
        .says("a duration such as");
    assert_eq!(limits(&world), (json!("3h"), json!("45m")));

    let doctor = || {
        world
            .uwf(&["doctor", "--offline", "--format", "text"])
            .stdout
    };
    let warning = "it has no limit of time";
    assert!(!doctor().contains(warning));
    for key in ["timeout", "idleTimeout"] {
        let key = format!("agents.claude-code.{key}");
        world.uwf(&["config", "unset", &key]).exits(0);
    }
    assert!(doctor().contains(warning));
    // What was taken away is not written again.
    setup(&world, &["--agent", "claude-code"]).exits(0);
    assert_eq!(limits(&world), (json!(null), json!(null)));
}

#[test]
fn an_agent_that_cannot_be_restricted_is_refused_and_a_word_that_does_not_exist() {
    let world = World::new();
    setup(&world, &["--agent", "command", "--permissions", "run"])
        .exits(1)
        .says("cannot be restricted so")
        .says("leave `--permissions` out");
    assert!(!world.root().exists());
    setup(&world, &["--agent", "codex", "--permissions", "write"])
        .exits(2)
        .says("read (read files only)");
}

#[test]
fn on_a_terminal_it_is_asked_what_the_agent_may_do() {
    let world = World::new();
    let mut terminal = Terminal::start(&world, &["setup", "--agent", "claude-code"], &[]);
    terminal
        .shows(" 3 run: ")
        .shows("Without asking")
        .types("write");
    terminal.shows("`write` is not in the list");
    terminal.shows("Without asking").types("3");
    terminal.end().exits(0);
    let entry = || config_of(&world)["agents"]["claude-code"].clone();
    assert_eq!(entry()["permissions"], json!("run"));
    // What was chosen is not asked for again.
    let before = entry();
    let terminal = Terminal::start(&world, &["setup", "--agent", "claude-code"], &[]);
    terminal.end().exits(0);
    assert_eq!(entry(), before);
}

/// Starts a setup on a terminal that knows the provider, its address and the agent, and asks for the rest.
fn asked_about(world: &World, server: &ModelServer) -> Terminal {
    let url = server.base_url();
    let provider = ["--provider", "mine", "--base-url", &url];
    let args = [&["setup"], &provider[..], &["--agent", "mock"]].concat();
    Terminal::start(world, &args, &[])
}

#[test]
fn a_key_that_is_refused_is_asked_for_again_before_its_place_is() {
    let world = World::new();
    let server = ModelServer::start(vec![
        Scripted::body(401, "no such key"),
        Scripted::body(200, r#"{"data":[{"id":"tiny-1"},{"id":"big-2"}]}"#),
        Scripted::says("ok"),
    ]);
    let mut terminal = asked_about(&world, &server);
    terminal.shows("Key for mine").types_hidden("wrong");
    terminal
        .shows("provider `mine` at")
        .shows("refused the key");
    terminal.shows("empty to keep it").types_hidden(SECRET);
    terminal.shows("Place").types("1");
    terminal.shows("Model").types("tiny");
    terminal.shows("`tiny` is not in the list, did you mean `tiny-1`?");
    terminal.shows("once more");
    terminal.shows("Model").types("tiny-1");
    let run = terminal.end().exits(0);
    assert!(!run.stderr.contains(SECRET), "{}", run.stderr);
    assert_eq!(world.state(".env"), format!("MINE_API_KEY={SECRET}\n"));
    assert_eq!(run.json()["model"], json!("tiny-1"));
}

#[test]
fn a_model_that_no_list_has_is_taken_when_it_is_typed_twice() {
    let world = World::new();
    let list = r#"{"data":[{"id":"tiny-1"}]}"#;
    let server = ModelServer::start(vec![Scripted::body(200, list), Scripted::says("ok")]);
    let mut terminal = asked_about(&world, &server);
    terminal.shows("Key for mine").types_hidden("");
    terminal.shows("Model").types("my model");
    terminal.shows("it has a blank");
    terminal.shows("Model").types("mine");
    terminal.shows("`mine` is not in the list");
    terminal.shows("Model").types("mine");
    assert_eq!(terminal.end().exits(0).json()["model"], json!("mine"));
}

#[test]
fn a_server_that_cannot_be_reached_is_asked_for_again() {
    let world = World::new();
    let server = ModelServer::start(vec![
        Scripted::body(200, r#"{"data":[{"id":"m-1"}]}"#),
        Scripted::says("ok"),
    ]);
    let args = ["setup", "--provider", "mine", "--agent", "mock"];
    let mut terminal = Terminal::start(&world, &args, &[]);
    terminal.shows("address").types("http://127.0.0.1:9/v1");
    terminal.shows("Key for mine").types_hidden("");
    terminal.shows("cannot be reached");
    terminal
        .shows("Its address, again")
        .types(&server.base_url());
    terminal.shows(" 1 m-1").shows("Model").types("1");
    terminal.end().exits(0);
    let provider = config_of(&world)["providers"]["mine"].clone();
    assert_eq!(provider["baseUrl"], json!(server.base_url()));
}

#[test]
fn a_second_setup_offers_what_the_first_one_wrote() {
    let world = World::new();
    let server = ModelServer::start(vec![
        Scripted::says("ok"),
        Scripted::body(200, r#"{"data":[{"id":"m-0"},{"id":"m-1"}]}"#),
        Scripted::says("ok"),
    ]);
    let url = server.base_url();
    let args = [&flags(&url)[..], &["--api-key", SECRET, "--agent", "mock"]].concat();
    setup(&world, &args).exits(0);
    let before = world.state("config.yaml");
    let mut terminal = Terminal::start(&world, &["setup"], &[]);
    terminal
        .shows("16 mine")
        .shows("Provider")
        .shows("mine")
        .types("");
    terminal.shows("address").shows(&url).types("");
    terminal
        .shows("empty for the one in MINE_API_KEY")
        .types_hidden("");
    terminal.shows("Model").shows("m-1").types("");
    terminal.shows("Agent").shows("mock").types("");
    let run = terminal.end().exits(0);
    assert_eq!(run.json()["validation"]["ok"], json!(true));
    assert_eq!(world.state("config.yaml"), before);
}
