//! Reads `config.yaml`, as the program's [`Config`] or as data for people, and changes it key by key. The keys are in
//! `key`, the checks in `check`. `edit` changes a text without losing comments.

use serde_json::{Map, Value};
use uwf_durable::Durability;
use uwf_protocol::config::Config;
use uwf_storage::{Env, Root};
use uwf_yaml::{At, Dialect, Node};

use crate::check::{self, Findings};
use crate::key::{self, Change};
use crate::secret::mask;
use crate::{ConfigError, dotenv, edit};

/// Reads the configuration; `None` if there is no file.
///
/// # Errors
/// [`ConfigError::Invalid`] with the place in the file, [`ConfigError::Storage`].
pub fn load(root: &Root) -> Result<Option<Config>, ConfigError> {
    let Some(text) = read_text(root)? else {
        return Ok(None);
    };
    let Some(tree) = parse_tree(&text, root)? else {
        return Ok(Some(Config::default()));
    };
    let config: Option<Config> = tree.to_type().map_err(|problem| {
        let findings = check::check_tree(&tree, &|_| true);
        match findings.errors.into_iter().find(|one| one.unreadable) {
            Some(finding) => invalid(root, (finding.line, finding.column), finding.problem),
            None => invalid(root, (0, 0), problem),
        }
    })?;
    Ok(Some(config.unwrap_or_default()))
}

/// Returns the whole configuration as data, with every secret masked. A missing file is an empty configuration.
///
/// # Errors
/// Those of [`load`].
pub fn list_masked(root: &Root) -> Result<Value, ConfigError> {
    let text = read_text(root)?.unwrap_or_default();
    let mut data = Value::Object(parse(&text, root)?);
    mask(&mut data);
    Ok(data)
}

/// Returns the value of a dotted key, such as `agents.mock.args.0`, with every secret masked. A name in the key may have
/// dots itself.
///
/// # Errors
/// [`ConfigError::Key`] if nothing is there, [`ConfigError::NoConfig`], and those of [`list_masked`].
pub fn get_masked(root: &Root, key: &str) -> Result<Value, ConfigError> {
    existing_text(root)?;
    let data = list_masked(root)?;
    look_up(&data, key)
        .cloned()
        .ok_or_else(|| not_there(&data, key))
}

/// Sets a dotted key, and makes the file if needed. Returns the stored value, masked if it is a secret.
///
/// # Errors
/// [`ConfigError::Key`] for an invalid key or value, and those of [`change`].
pub fn set(root: &Root, key: &str, value: &str) -> Result<Value, ConfigError> {
    let setting = Change::parse(key, value)?;
    let path = setting.path.clone();
    // What else the file says decides what is a secret: the `secrets` of an agent name variables of its `env`.
    let mut shown = Value::Object(parse(&read_text(root)?.unwrap_or_default(), root)?);
    setting.apply_to(&mut shown)?;
    mask(&mut shown);
    change(root, &[setting], &[])?;
    let stored = path.iter().try_fold(&shown, |place, key| child(place, key));
    Ok(stored.cloned().unwrap_or_default())
}

/// Removes the entry of a dotted key, and the mappings that become empty.
///
/// # Errors
/// [`ConfigError::Key`] if nothing is there, and those of [`change`].
pub fn unset(root: &Root, key: &str) -> Result<(), ConfigError> {
    let data = Value::Object(parse(&existing_text(root)?, root)?);
    let mut path = path_of(&data, key).ok_or_else(|| not_there(&data, key))?;
    while path.len() > 1 && is_only_entry(&data, &path) {
        path.pop();
    }
    change(root, &[Change { path, value: None }], &[])
}

/// Changes the configuration and the variables in `.env`. If the configuration cannot be changed, neither file is. New
/// files have mode 0600.
///
/// Comments and layout stay. Only a file without comments may be rewritten as a whole.
///
/// # Errors
/// [`ConfigError::Invalid`] for a file that cannot be parsed, and [`ConfigError::Comments`] for one that cannot be changed
/// without losing comments. [`ConfigError::Key`] if a key has a value where a mapping is needed. In these cases no file
/// was touched. [`ConfigError::Storage`].
pub fn change(
    root: &Root,
    changes: &[Change],
    variables: &[(String, String)],
) -> Result<(), ConfigError> {
    let _lock = root.lock_state()?;
    let mut text = read_text(root)?.unwrap_or_default();
    let mut data = Value::Object(parse(&text, root)?);
    for change in changes {
        change.apply_to(&mut data)?;
        text = changed_text(&text, change, &data, root)?;
    }
    // The variables come first: the configuration refers to them.
    if !variables.is_empty() {
        let path = root.env_file();
        let text = String::from_utf8(uwf_durable::read(&path)?.unwrap_or_default())
            .map_err(|_| ConfigError::not_utf8(&path))?;
        let text = dotenv::with_variables(&text, variables);
        uwf_durable::replace(&path, text.as_bytes(), Durability::Durable)?;
    }
    Ok(uwf_durable::replace(
        &root.config_file(),
        text.as_bytes(),
        Durability::Durable,
    )?)
}

/// Finds everything that is wrong with the file, also names that refer to nothing, and variables that neither the
/// environment nor `.env` has.
///
/// # Errors
/// [`ConfigError::NoConfig`], [`ConfigError::Storage`].
pub fn check(root: &Root, env: &Env) -> Result<Findings, ConfigError> {
    let text = match existing_text(root) {
        Err(ConfigError::Invalid { problem, .. }) => {
            return Ok(Findings::of_text(At::default(), problem));
        }
        other => other?,
    };
    check_text(&text, root, env)
}

/// Finds everything that is wrong with a text that may become the file.
///
/// # Errors
/// [`ConfigError::Storage`] if `.env` cannot be read.
pub fn check_text(text: &str, root: &Root, env: &Env) -> Result<Findings, ConfigError> {
    let variables = dotenv::load_dotenv(root)?;
    let is_set = |name: &str| {
        env.var(name).is_some()
            || variables
                .iter()
                .any(|(known, value)| known == name && !value.is_empty())
    };
    Ok(check::check(text, &is_set))
}

/// Returns the text with one change. `data` is what the changed text must mean.
fn changed_text(
    text: &str,
    change: &Change,
    data: &Value,
    root: &Root,
) -> Result<String, ConfigError> {
    let edited = match &change.value {
        Some(value) => edit::set(text, &change.path, value),
        None => edit::unset(text, &change.path),
    };
    let edited =
        edited.filter(|edited| parse(edited, root).is_ok_and(|map| Value::Object(map) == *data));
    match edited {
        Some(edited) => Ok(edited),
        None if edit::has_comments(text) => Err(ConfigError::Comments {
            path: root.config_file(),
            key: change.path.join("."),
        }),
        None => Ok(uwf_yaml::render(data)),
    }
}

fn existing_text(root: &Root) -> Result<String, ConfigError> {
    read_text(root)?.ok_or_else(|| ConfigError::NoConfig {
        path: root.config_file(),
    })
}

pub(crate) fn read_text(root: &Root) -> Result<Option<String>, ConfigError> {
    let path = root.config_file();
    let Some(content) = uwf_durable::read(&path)? else {
        return Ok(None);
    };
    let text = String::from_utf8(content).map_err(|_| ConfigError::not_utf8(&path))?;
    Ok(Some(text))
}

/// Parses the file as data. A blank file is an empty mapping. Unknown keys are data, too.
fn parse(text: &str, root: &Root) -> Result<Map<String, Value>, ConfigError> {
    let Some(tree) = parse_tree(text, root)? else {
        return Ok(Map::new());
    };
    match tree.to_json() {
        Value::Object(map) => Ok(map),
        Value::Null => Ok(Map::new()),
        _ => {
            let place = (tree.at.line as u64, tree.at.column as u64);
            Err(invalid(root, place, check::NO_MAPPING.to_owned()))
        }
    }
}

fn parse_tree(text: &str, root: &Root) -> Result<Option<Node>, ConfigError> {
    uwf_yaml::parse(text, Dialect::Tolerant).map_err(|problem| {
        let At { line, column, .. } = problem.at;
        invalid(root, (line as u64, column as u64), problem.message)
    })
}

fn invalid(root: &Root, place: (u64, u64), problem: String) -> ConfigError {
    ConfigError::Invalid {
        path: root.config_file(),
        line: place.0,
        column: place.1,
        problem,
    }
}

fn not_there(data: &Value, key: &str) -> ConfigError {
    ConfigError::Key {
        key: key.to_owned(),
        problem: key::not_there(data, key),
    }
}

/// Follows a dotted key. A dot may also be part of a name.
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

/// Tells whether the mapping with the path's last key has no other key.
fn is_only_entry(data: &Value, path: &[String]) -> bool {
    let parents = &path[..path.len() - 1];
    let parent = parents
        .iter()
        .try_fold(data, |place, key| child(place, key));
    parent
        .and_then(Value::as_object)
        .is_some_and(|map| map.len() == 1)
}

/// Splits a dotted key into the keys of mappings that lead to an existing entry.
fn path_of(data: &Value, key: &str) -> Option<Vec<String>> {
    let map = data.as_object()?;
    if map.contains_key(key) {
        return Some(vec![key.to_owned()]);
    }
    key.match_indices('.').find_map(|(dot, _)| {
        let mut path = path_of(map.get(&key[..dot])?, &key[dot + 1..])?;
        path.insert(0, key[..dot].to_owned());
        Some(path)
    })
}
