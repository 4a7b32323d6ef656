//! The configuration file: read, shown without its secrets, and changed one key at a time.

#![expect(clippy::unwrap_used, reason = "a test may fail in its helpers too")]

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;
use uwf_config::secret::MASK;
use uwf_config::{ConfigError, get_masked, list_masked, load, set};
use uwf_protocol::config::Config;
use uwf_storage::Root;

const FILE: &str = "\
# my models
providers:
  openrouter:
    baseUrl: https://openrouter.ai/api/v1 # theirs
    apiKey: sk-secret # mine
models:
  gpt-4.1: {provider: openrouter, name: openai/gpt-4.1}
agents:
  mock:
    command: uwf-mock
    args: [script.yaml]

defaultAgent: mock
";

fn root_with(content: &str) -> (tempfile::TempDir, Root) {
    let temp = tempfile::tempdir().unwrap();
    let root = Root::at(temp.path().to_owned());
    fs::write(root.config_file(), content).unwrap();
    (temp, root)
}

fn content(root: &Root) -> String {
    fs::read_to_string(root.config_file()).unwrap()
}

#[test]
fn a_missing_file_is_no_config_and_a_blank_one_is_empty() {
    let temp = tempfile::tempdir().unwrap();
    let root = Root::at(temp.path().to_owned());
    assert_eq!(load(&root).unwrap(), None);
    assert_eq!(list_masked(&root).unwrap(), json!({}));
    let (_temp, root) = root_with("# nothing yet\n");
    assert_eq!(load(&root).unwrap(), Some(Config::default()));
    assert_eq!(list_masked(&root).unwrap(), json!({}));
}

#[test]
fn the_file_is_loaded_with_its_types() {
    let (_temp, root) = root_with(FILE);
    let config = load(&root).unwrap().unwrap();
    assert_eq!(
        config.providers["openrouter"].api_key.as_deref(),
        Some("sk-secret")
    );
    assert_eq!(config.agents["mock"].args, ["script.yaml"]);
    assert_eq!(config.default_agent.as_deref(), Some("mock"));
}

#[test]
fn an_error_says_where() {
    let check = |text: &str, place: &str, problem: &str| {
        let (_temp, root) = root_with(text);
        let error = load(&root).unwrap_err().to_string();
        assert!(error.contains(place) && error.contains(problem), "{error}");
    };
    check(
        "defaultAgent: a\nagnets: {}\n",
        "config.yaml:2:1`",
        "agnets",
    );
    check(
        "defaultAgent: a\ndefaultAgent: b\n",
        "config.yaml:2:1`",
        "defaultAgent",
    );
    check("agents:\n  a:\n    args: 3\n", "config.yaml:3:", "");
    check("agents: {a: [}\n", "config.yaml:1:", "");
}

#[test]
fn secrets_are_never_shown() {
    let (_temp, root) = root_with(FILE);
    assert_eq!(
        list_masked(&root).unwrap()["providers"]["openrouter"]["apiKey"],
        MASK
    );
    assert_eq!(
        get_masked(&root, "providers.openrouter.apiKey").unwrap(),
        MASK
    );
    assert_eq!(
        get_masked(&root, "providers").unwrap()["openrouter"]["apiKey"],
        MASK
    );
    assert_eq!(set(&root, "providers.x.apiKey", "sk-2").unwrap(), MASK);
}

#[test]
fn keys_are_followed_through_mappings_lists_and_dotted_names() {
    let (_temp, root) = root_with(FILE);
    assert_eq!(
        get_masked(&root, "agents.mock.args.0").unwrap(),
        "script.yaml"
    );
    assert_eq!(
        get_masked(&root, "models.gpt-4.1.provider").unwrap(),
        "openrouter"
    );
    let error = get_masked(&root, "agents.mock.arg")
        .unwrap_err()
        .to_string();
    assert!(error.contains("did you mean `agents.mock.args`"), "{error}");
    let error = get_masked(&root, "agents.mock.args.7")
        .unwrap_err()
        .to_string();
    assert!(error.contains("`agents.mock.args.7`"), "{error}");
}

#[test]
fn a_changed_value_leaves_everything_else_as_it_was() {
    let check = |key: &str, value: &str, old: &str, new: &str| {
        let (_temp, root) = root_with(FILE);
        set(&root, key, value).unwrap();
        assert_eq!(content(&root), FILE.replace(old, new), "{key}");
    };
    check(
        "defaultAgent",
        "hermes",
        "defaultAgent: mock",
        "defaultAgent: hermes",
    );
    check(
        "providers.openrouter.apiKey",
        "sk #1",
        "sk-secret #",
        "'sk #1' #",
    );
    check(
        "agents.mock.args",
        r#"["a","b c"]"#,
        "[script.yaml]",
        r#"["a","b c"]"#,
    );
    check(
        "agents.mock.timeout",
        "2h",
        "[script.yaml]\n",
        "[script.yaml]\n    timeout: 2h\n",
    );
    check(
        "agents.other.command",
        "x",
        "[script.yaml]\n",
        "[script.yaml]\n  other:\n    command: x\n",
    );
    check(
        "modelOverrides.extract",
        "m",
        "defaultAgent: mock\n",
        "defaultAgent: mock\nmodelOverrides:\n  extract: m\n",
    );
}

#[test]
fn values_in_braces_are_changed_too() {
    let (_temp, root) = root_with(FILE);
    set(&root, "models.gpt-4.1.name", "other").unwrap();
    assert_eq!(get_masked(&root, "models.gpt-4.1.name").unwrap(), "other");
    assert_eq!(
        get_masked(&root, "models.gpt-4.1.provider").unwrap(),
        "openrouter"
    );
    assert_eq!(
        load(&root).unwrap().unwrap().agents["mock"].args,
        ["script.yaml"]
    );
    let (_temp, root) = root_with("agents: {}\n");
    set(&root, "agents.a.command", "x").unwrap();
    assert_eq!(get_masked(&root, "agents.a.command").unwrap(), "x");
}

#[test]
fn values_that_look_like_something_else_stay_texts() {
    for value in [
        "123",
        "true",
        "null",
        "~",
        "- x",
        "a: b",
        " blank ",
        "",
        "é\n\"'\\",
        "*x",
        "1e3",
    ] {
        let (_temp, root) = root_with(FILE);
        set(&root, "models.m.name", value).unwrap();
        assert_eq!(
            get_masked(&root, "models.m.name").unwrap(),
            value,
            "{}",
            content(&root)
        );
        set(&root, "models.m.name", "x").unwrap();
        set(&root, "models.m.name", value).unwrap();
        assert_eq!(
            get_masked(&root, "models.m.name").unwrap(),
            value,
            "{}",
            content(&root)
        );
    }
}

#[test]
fn a_file_that_cannot_be_parsed_is_not_touched() {
    for broken in ["a: [\n", "- list\n", "a: 1\na: 2\n"] {
        let (_temp, root) = root_with(broken);
        let error = set(&root, "defaultAgent", "x").unwrap_err();
        assert!(matches!(error, ConfigError::Invalid { .. }), "{error}");
        assert_eq!(content(&root), broken);
    }
}

#[test]
fn a_new_file_is_private() {
    let temp = tempfile::tempdir().unwrap();
    let root = Root::at(temp.path().join("new"));
    set(&root, "defaultAgent", "a").unwrap();
    set(&root, "agents.a.command", "b").unwrap();
    assert_eq!(
        content(&root),
        "defaultAgent: a\nagents:\n  a:\n    command: b\n"
    );
    let mode = root.config_file().metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}
