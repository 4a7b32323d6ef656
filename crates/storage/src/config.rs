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
    write(root, &setting)?;
    Ok(look_up(&shown, key).cloned().unwrap_or_default())
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

fn write(root: &Root, setting: &Setting) -> Result<(), StorageError> {
    let _lock = FileLock::acquire(&root.state_lock_file())?;
    let text = read_text(root)?.unwrap_or_default();
    let mut data = Value::Object(parse(&text, root)?);
    setting.put_into(&mut data)?;
    let text = config_edit::edit(&text, setting)
        .filter(|edited| parse(edited, root).is_ok_and(|map| Value::Object(map) == data))
        .unwrap_or_else(|| yaml::render(&data));
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
