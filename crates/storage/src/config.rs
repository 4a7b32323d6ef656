//! `config.yaml`: read as the program uses it, read as data for people, and changed one key at a time.
//! Which keys there are is in `config_key`, how comments survive a change is in `config_edit`.

use serde_json::{Map, Value};
use uwf_protocol::config::Config;

use crate::config_key::Setting;
use crate::files::{self, Durability};
use crate::lock::FileLock;
use crate::{Root, StorageError, config_edit, config_key, yaml};

/// What is shown in place of a secret.
pub const MASK: &str = "***MASKED***";

/// Reads the configuration; `None` if there is no file.
///
/// # Errors
/// [`StorageError::Invalid`] with the place in the file, [`StorageError::Io`].
pub fn load(root: &Root) -> Result<Option<Config>, StorageError> {
    let Some(text) = read_text(root)? else {
        return Ok(None);
    };
    let config: Option<Config> = yaml::parse_written(&text, &root.config_file())?;
    Ok(Some(config.unwrap_or_default()))
}

/// Returns the whole configuration as data, with every API key masked.
///
/// # Errors
/// [`StorageError::NoConfig`], and those of [`load`].
pub fn list_masked(root: &Root) -> Result<Value, StorageError> {
    let text = read_text(root)?.ok_or_else(|| StorageError::NoConfig {
        path: root.config_file(),
    })?;
    let mut data = Value::Object(parse(&text, root)?);
    mask(&mut data);
    Ok(data)
}

/// Returns the value of a dotted key, such as `agents.mock.args.0`, with every API key masked. Names that
/// have dots themselves are found too.
///
/// # Errors
/// [`StorageError::ConfigKey`] if nothing is there, and those of [`list_masked`].
pub fn get_masked(root: &Root, key: &str) -> Result<Value, StorageError> {
    let data = list_masked(root)?;
    look_up(&data, key)
        .cloned()
        .ok_or_else(|| StorageError::ConfigKey {
            key: key.to_owned(),
            problem: config_key::not_there(&data, key),
        })
}

/// Sets a dotted key, makes the file if needed, and returns the stored value, masked if it is a secret.
///
/// Comments and layout stay where the value is, or becomes, a line of its own in block style. Otherwise
/// the file is written anew, without its comments.
///
/// # Errors
/// [`StorageError::ConfigKey`] for a key or a value that cannot be; [`StorageError::Invalid`] for a file
/// that cannot be understood, which is not touched; [`StorageError::Io`], [`StorageError::Link`].
pub fn set(root: &Root, key: &str, value: &str) -> Result<Value, StorageError> {
    let setting = Setting::parse(key, value)?;
    let mut shown = Value::Object(Map::new());
    setting.put_into(&mut shown)?;
    mask(&mut shown);
    write_all(root, &[setting])?;
    Ok(look_up(&shown, key).cloned().unwrap_or_default())
}

/// Sets several dotted keys at once: all of them, or none.
///
/// # Errors
/// See [`set`].
pub fn set_all(root: &Root, settings: &[(&str, &str)]) -> Result<(), StorageError> {
    let settings: Result<Vec<_>, _> = settings
        .iter()
        .map(|(key, value)| Setting::parse(key, value))
        .collect();
    write_all(root, &settings?)
}

/// Replaces the API keys in a configuration that is going to be shown.
pub fn mask(data: &mut Value) {
    match data {
        Value::Object(map) => {
            for (key, value) in map {
                if key == "apiKey" && !value.is_null() {
                    *value = MASK.into();
                } else {
                    mask(value);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(mask),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn write_all(root: &Root, settings: &[Setting]) -> Result<(), StorageError> {
    let _lock = FileLock::acquire(&root.state_lock_file())?;
    let mut text = read_text(root)?.unwrap_or_default();
    for setting in settings {
        let mut data = Value::Object(parse(&text, root)?);
        setting.put_into(&mut data)?;
        text = config_edit::edit(&text, setting)
            .filter(|edited| parse(edited, root).is_ok_and(|map| Value::Object(map) == data))
            .unwrap_or_else(|| yaml::render(&data));
    }
    files::replace(&root.config_file(), text.as_bytes(), Durability::Durable)
}

fn read_text(root: &Root) -> Result<Option<String>, StorageError> {
    let path = root.config_file();
    let Some(content) = files::read(&path)? else {
        return Ok(None);
    };
    match String::from_utf8(content) {
        Ok(text) => Ok(Some(text)),
        Err(_) => Err(StorageError::Invalid {
            path,
            line: 0,
            column: 0,
            problem: "bytes that are not UTF-8".to_owned(),
        }),
    }
}

/// Reads the file as data; a blank one is an empty mapping.
fn parse(text: &str, root: &Root) -> Result<Map<String, Value>, StorageError> {
    let data: Option<Map<String, Value>> = yaml::parse_written(text, &root.config_file())?;
    Ok(data.unwrap_or_default())
}

/// Follows a dotted key; a dot may also be part of a name.
fn look_up<'a>(data: &'a Value, key: &str) -> Option<&'a Value> {
    if let Some(found) = child(data, key) {
        return Some(found);
    }
    key.match_indices('.')
        .find_map(|(dot, _)| look_up(child(data, &key[..dot])?, &key[dot + 1..]))
}

fn child<'a>(data: &'a Value, key: &str) -> Option<&'a Value> {
    match data {
        Value::Object(map) => map.get(key),
        Value::Array(items) => items.get(key.parse::<usize>().ok()?),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use serde_json::json;

    use super::*;

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
        assert!(matches!(
            list_masked(&root),
            Err(StorageError::NoConfig { .. })
        ));
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
        check("agents:\n  a:\n    args: []\n", "config.yaml:3:", "command");
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
            "\"sk #1\" #",
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
    fn where_a_line_cannot_be_changed_the_file_is_written_anew() {
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
    fn a_file_that_cannot_be_understood_is_not_touched() {
        for broken in ["a: [\n", "- list\n", "a: 1\na: 2\n"] {
            let (_temp, root) = root_with(broken);
            let error = set(&root, "defaultAgent", "x").unwrap_err();
            assert!(matches!(error, StorageError::Invalid { .. }), "{error}");
            assert_eq!(content(&root), broken);
        }
    }

    #[test]
    fn a_new_file_is_for_its_owner_alone() {
        let temp = tempfile::tempdir().unwrap();
        let root = Root::at(temp.path().join("new"));
        set_all(&root, &[("defaultAgent", "a"), ("agents.a.command", "b")]).unwrap();
        assert_eq!(
            content(&root),
            "defaultAgent: a\nagents:\n  a:\n    command: b\n"
        );
        let mode = root.config_file().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn of_several_keys_none_is_set_if_one_cannot_be() {
        let (_temp, root) = root_with(FILE);
        let result = set_all(
            &root,
            &[("defaultAgent", "x"), ("agents.a.timeout", "soon")],
        );
        assert!(matches!(result, Err(StorageError::ConfigKey { .. })));
        assert_eq!(content(&root), FILE);
    }
}
