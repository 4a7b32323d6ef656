//! The keys of `config.yaml`, and what their values must be. All code that needs the keys uses this table.

mod kind;
mod path;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value};
use uwf_protocol::config::{Config, RemoteConfig, Retry};
use uwf_protocol::hooks::HookEvent;
use uwf_protocol::limits::Limits;
use uwf_protocol::permissions::Permissions;
use uwf_util::suggest;

pub(crate) use kind::{Kind, variable_problem};

use crate::ConfigError;
use path::parse_path;

pub(crate) type Fields = &'static [(&'static str, Kind)];

/// What follows a top-level key in a dotted key.
pub(crate) enum Shape {
    /// Nothing: the top-level key itself has the value.
    Value(Kind),
    /// `<field>`.
    Section(Fields),
    /// `<limit>`, or `maxVisits.<role>`.
    Limits,
    /// `<name>.<field>`.
    Entries(Fields),
    /// `<model>.<field>`, where the model is a name or the beginning of names.
    Prices,
    /// `<event>.<field>`, where the event is one of these.
    Known(&'static [&'static str], Fields),
    /// `<purpose>`, one of these.
    Purposes(&'static [&'static str]),
    /// `<workflow>.<role>`.
    MapOfMaps(Kind),
}

const PROVIDER: Fields = &[
    ("baseUrl", Kind::Url),
    ("apiKey", Kind::Text),
    ("apiKeyEnv", Kind::Variable),
    ("api", Kind::Word(&["chat", "messages", "responses"])),
];
const MODEL: Fields = &[
    ("provider", Kind::Text),
    ("name", Kind::Text),
    (
        "responseFormat",
        Kind::Word(&["json_schema", "json_object", "none"]),
    ),
];
const PERMISSIONS: Kind = Kind::Word(&Permissions::WORDS);
const AGENT: Fields = &[
    ("command", Kind::Text),
    ("args", Kind::TextList),
    ("permissions", PERMISSIONS),
    ("protocol", Kind::Word(&["positional", "named"])),
    ("timeout", Kind::Duration),
    ("idleTimeout", Kind::Duration),
    ("maxRunning", Kind::Count),
    ("keepRunning", Kind::Flag),
    ("env", Kind::Variables),
    ("secrets", Kind::VariableList),
    ("retry", Kind::Group(RETRY)),
    ("fallback", Kind::TextList),
];
const RETRY: Fields = &[
    ("max", Kind::Retries),
    ("backoff", Kind::Duration),
    ("on", Kind::Words(Retry::CLASSES)),
];
const MCP_SERVER: Fields = &[
    ("command", Kind::Text),
    ("args", Kind::TextList),
    ("env", Kind::Variables),
    ("keepEnv", Kind::VariableList),
    ("permissions", PERMISSIONS),
    ("timeout", Kind::Duration),
];
const HOOK: Fields = &[("command", Kind::Text), ("timeout", Kind::Duration)];
const SUPERVISOR: Fields = &[
    ("every", Kind::Count),
    ("model", Kind::Text),
    ("timeout", Kind::Duration),
];
const SUMMARY: Fields = &[
    ("auto", Kind::Flag),
    ("model", Kind::Text),
    ("timeout", Kind::Duration),
];
const CONTEXT: Fields = &[
    ("maxChars", Kind::Chars),
    ("older", Kind::Word(&["drop", "summary"])),
];
const SNAPSHOTS: Fields = &[("enabled", Kind::Flag), ("maxFileMib", Kind::Count)];
const WORKSPACE: Fields = &[
    ("mode", Kind::Word(&["worktree", "shared"])),
    ("folder", Kind::Text),
];
const REMOTE: Fields = &[
    ("url", Kind::Text),
    ("schema", Kind::Text),
    (
        "lease",
        Kind::DurationWithin(RemoteConfig::LEAST_LEASE_MS, RemoteConfig::LONGEST_LEASE_MS),
    ),
];
pub(crate) const PRICE: Fields = &[
    ("input", Kind::Rate),
    ("output", Kind::Rate),
    ("cacheRead", Kind::Rate),
    ("cacheWrite", Kind::Rate),
];
const CONCURRENCY: Fields = &[("maxRunning", Kind::Count)];
pub(crate) const TOP: &[(&str, Shape)] = &[
    ("providers", Shape::Entries(PROVIDER)),
    ("models", Shape::Entries(MODEL)),
    ("prices", Shape::Prices),
    ("agents", Shape::Entries(AGENT)),
    ("mcpServers", Shape::Entries(MCP_SERVER)),
    ("agentOverrides", Shape::MapOfMaps(Kind::Text)),
    ("permissionOverrides", Shape::MapOfMaps(PERMISSIONS)),
    ("modelOverrides", Shape::Purposes(Config::PURPOSES)),
    ("defaultAgent", Shape::Value(Kind::Text)),
    ("defaultModel", Shape::Value(Kind::Text)),
    ("extract", Shape::Value(Kind::Word(&["strict", "llm"]))),
    ("limits", Shape::Limits),
    ("supervisor", Shape::Section(SUPERVISOR)),
    ("summary", Shape::Section(SUMMARY)),
    ("context", Shape::Section(CONTEXT)),
    ("snapshots", Shape::Section(SNAPSHOTS)),
    ("workspace", Shape::Section(WORKSPACE)),
    ("remote", Shape::Section(REMOTE)),
    ("concurrency", Shape::Section(CONCURRENCY)),
    ("maxDepth", Shape::Value(Kind::Count)),
    ("hooks", Shape::Known(HookEvent::NAMES, HOOK)),
    ("grace", Shape::Value(Kind::Duration)),
];

/// Returns every key of the configuration, with placeholders such as `<name>` for names that the user chooses.
#[must_use]
pub fn keys() -> Vec<String> {
    let mut keys = Vec::new();
    for (top, shape) in TOP {
        match shape {
            Shape::Value(_) => keys.push((*top).to_owned()),
            Shape::Section(fields) => {
                keys.extend(fields.iter().map(|(field, _)| format!("{top}.{field}")));
            }
            Shape::Limits => keys.extend(Limits::KEYS.map(|limit| format!("{top}.{limit}"))),
            Shape::Purposes(known) => {
                keys.extend(known.iter().map(|purpose| format!("{top}.{purpose}")));
            }
            Shape::Known(_, fields) => {
                let keys_of = fields.iter();
                keys.extend(keys_of.map(|(field, _)| format!("{top}.<event>.{field}")));
            }
            Shape::MapOfMaps(_) => keys.push(format!("{top}.<workflow>.<role>")),
            Shape::Prices => {
                let keys_of = PRICE.iter();
                keys.extend(keys_of.map(|(field, _)| format!("{top}.<model>.{field}")));
            }
            Shape::Entries(fields) => keys.extend(keys_below(&format!("{top}.<name>"), fields)),
        }
    }
    keys
}

fn keys_below(prefix: &str, fields: Fields) -> Vec<String> {
    let below = fields.iter().flat_map(|(field, kind)| {
        let key = format!("{prefix}.{field}");
        match kind {
            Kind::Group(fields) => keys_below(&key, fields),
            Kind::Variables => vec![format!("{key}.<variable>")],
            _ => vec![key],
        }
    });
    below.collect()
}

/// A change of one key.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The keys from the top of the file to the value.
    pub path: Vec<String>,
    /// The new value, a scalar or a list of scalars; `None` to remove the key.
    pub value: Option<Value>,
}

impl Change {
    /// Returns the change that sets a path to a value.
    #[must_use]
    pub fn set(path: &[&str], value: impl Into<Value>) -> Self {
        Self {
            path: path.iter().map(ToString::to_string).collect(),
            value: Some(value.into()),
        }
    }

    /// Returns the change that removes the entry at a path.
    #[must_use]
    pub fn unset(path: &[&str]) -> Self {
        Self {
            path: path.iter().map(ToString::to_string).collect(),
            value: None,
        }
    }

    /// Parses a dotted key and the text of its value.
    ///
    /// # Errors
    /// [`ConfigError::Key`] for an invalid key or value.
    pub fn parse(key: &str, value: &str) -> Result<Self, ConfigError> {
        parse_path(key)
            .and_then(|(path, kind)| Ok(Self::set(&path, kind.parse(key, value)?)))
            .map_err(|problem| ConfigError::Key {
                key: key.to_owned(),
                problem,
            })
    }

    /// Makes the change in the data of a file. Missing mappings on the path are added.
    pub(crate) fn apply_to(&self, data: &mut Value) -> Result<(), ConfigError> {
        let (last, parents) = self.path.split_last().expect("a path has a first key");
        let mut place = data;
        for (depth, parent) in parents.iter().enumerate() {
            let mapping = self.mapping(place, depth)?;
            place = mapping.entry(parent).or_insert(Value::Null);
        }
        let mapping = self.mapping(place, parents.len())?;
        let is_single = self.value.as_ref().is_some_and(|value| !value.is_object());
        if is_single && let Some(entries) = mapping.get(last).filter(|it| has_entries(it)) {
            return Err(self.replaces_entries(entries));
        }
        match &self.value {
            Some(value) => {
                mapping.insert(last.clone(), value.clone());
            }
            None => {
                mapping.shift_remove(last);
            }
        }
        Ok(())
    }

    /// Returns the error for a value that would replace a whole mapping.
    fn replaces_entries(&self, entries: &Value) -> ConfigError {
        let key = self.path.join(".");
        let entries = entries.as_object().into_iter().flatten();
        let entries: Vec<String> = entries.map(|(name, _)| format!("`{key}.{name}`")).collect();
        ConfigError::Key {
            problem: format!(
                "the value would replace {}; `uwf config unset {key}` removes them first",
                entries.join(", ")
            ),
            key,
        }
    }

    /// Returns the mapping at a place. The first `depth` keys of the path lead there.
    fn mapping<'a>(
        &self,
        place: &'a mut Value,
        depth: usize,
    ) -> Result<&'a mut Map<String, Value>, ConfigError> {
        if place.is_null() {
            *place = Value::Object(Map::new());
        }
        place.as_object_mut().ok_or_else(|| {
            let part = self.path[..depth].join(".");
            ConfigError::Key {
                key: self.path.join("."),
                problem: format!(
                    "`{part}` has a value in the file that is no mapping; `uwf config unset {part}` removes it"
                ),
            }
        })
    }
}

fn has_entries(value: &Value) -> bool {
    value.as_object().is_some_and(|map| !map.is_empty())
}

/// Returns the message about an unknown key, with the nearest known one and a list of all.
pub(crate) fn unknown<'a>(word: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    let meant = suggest::question(word, known.clone());
    format!("`{word}` is not known{meant} (valid: {})", listed(known))
}

fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

/// Returns the message about a key without a value, with the nearest key that has one.
pub(crate) fn not_there(data: &Value, key: &str) -> String {
    let mut keys = Vec::new();
    collect_keys(data, "", &mut keys);
    let meant = suggest::question(key, keys.iter().map(String::as_str));
    format!("nothing is there{meant}")
}

fn collect_keys(data: &Value, prefix: &str, keys: &mut Vec<String>) {
    for (key, value) in data.as_object().into_iter().flatten() {
        let path = format!("{prefix}{key}");
        collect_keys(value, &format!("{path}."), keys);
        keys.push(path);
    }
}
