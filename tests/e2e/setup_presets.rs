//! The providers that `uwf setup` knows by name.

use serde_json::json;

use crate::model_server::{ModelServer, Scripted};
use crate::setup::{SECRET, config_of, flags, setup};
use crate::world::{Run, World};

#[test]
fn a_key_of_anthropic_or_google_is_enough() {
    let world = World::new();
    let answer = json!({
        "type": "message", "role": "assistant", "model": "claude-x", "stop_reason": "end_turn",
        "content": [{ "type": "text", "text": "ok" }], "usage": { "input_tokens": 1, "output_tokens": 1 },
    });
    let server = ModelServer::start(vec![Scripted::body(200, &answer.to_string())]);
    // The address leads to a server of this machine in place of that of the preset.
    let url = server.base_url();
    let agent = ["--model", "claude-x", "--agent", "uwf-mock"];
    let flags = [
        "--provider",
        "anthropic",
        "--base-url",
        &url,
        "--api-key",
        SECRET,
    ];
    let run = setup(&world, &[&flags[..], &agent].concat()).exits(0);
    assert_eq!(run.json()["validation"]["ok"], json!(true));
    let requests = server.requests();
    assert!(
        requests[0].target.ends_with("/messages"),
        "{}",
        requests[0].target
    );
    assert_eq!(requests[0].header("x-api-key"), Some(SECRET));
    let expected = json!({ "baseUrl": url, "api": "messages", "apiKeyEnv": "ANTHROPIC_API_KEY" });
    assert_eq!(config_of(&world)["providers"]["anthropic"], expected);

    // Nobody is called: the proxy is not there.
    let flags = [
        "setup",
        "--provider",
        "google",
        "--model",
        "gemini-x",
        "--agent",
        "uwf-mock",
    ];
    let mut command = world.command(&flags);
    command
        .env("GEMINI_API_KEY", SECRET)
        .env("HTTPS_PROXY", "http://127.0.0.1:9");
    let run = Run::from(command.output().unwrap()).exits(0);
    assert_eq!(run.json()["validation"]["ok"], json!(false));
    let expected = json!({
        "baseUrl": "https://generativelanguage.googleapis.com/v1beta/openai",
        "apiKeyEnv": "GEMINI_API_KEY",
    });
    assert_eq!(config_of(&world)["providers"]["google"], expected);
}

#[test]
fn presets_are_named_where_one_is_wanted() {
    let world = World::new();
    let run = setup(&world, &["--provider", "openia", "--model", "m"]).exits(2);
    run.says("did you mean `openai`?")
        .says("venice")
        .says("--base-url");
    let help = setup(&world, &["--help"]).exits(0).stdout;
    for preset in ["openai", "siliconflow", "ollama"] {
        assert!(help.contains(preset), "{help}");
    }
    let args = [&flags("127.0.0.1:9/v1")[..], &["--api-key-env", "K"]].concat();
    let run = setup(&world, &args).exits(1);
    run.says("`--base-url`: not an address")
        .says("put `https://` before it");
    assert!(!world.root().exists());
}
