//! Data whose strings are templates: the parameters of a provider and the items of a loop.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Template;

/// A JSON value whose strings, at any depth, are templates. Keys of objects are not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Tree {
    /// A string.
    Text(Template),
    /// An array.
    List(Vec<Tree>),
    /// An object, in the order of the document.
    Map(TreeMap),
    /// A number, a boolean or null.
    Plain(Value),
}

/// The members of an object.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Map<String, Value>", into = "Map<String, Value>")]
pub struct TreeMap(pub Vec<(String, Tree)>);

impl TreeMap {
    /// Tells whether there are no members.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns a member.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Tree> {
        let found = self.0.iter().find(|(key, _)| key == name);
        found.map(|(_, tree)| tree)
    }
}

impl Tree {
    /// Returns the value with the sources of its templates.
    #[must_use]
    pub fn to_json(&self) -> Value {
        match self {
            Self::Text(template) => Value::String(template.source().to_owned()),
            Self::List(items) => items.iter().map(Self::to_json).collect(),
            Self::Map(members) => Value::Object(members.clone().into()),
            Self::Plain(value) => value.clone(),
        }
    }

    /// Reads a value. A string with a bad variable, which only a damaged store has, stays text without variables.
    fn of(value: Value) -> Self {
        match value {
            Value::String(text) => match Template::parse(&text) {
                Ok(template) => Self::Text(template),
                Err(_) => Self::Plain(Value::String(text)),
            },
            Value::Array(items) => Self::List(items.into_iter().map(Self::of).collect()),
            Value::Object(members) => Self::Map(members.into()),
            value => Self::Plain(value),
        }
    }
}

impl From<Map<String, Value>> for TreeMap {
    fn from(members: Map<String, Value>) -> Self {
        let members = members.into_iter();
        Self(members.map(|(key, value)| (key, Tree::of(value))).collect())
    }
}

impl From<TreeMap> for Map<String, Value> {
    fn from(map: TreeMap) -> Self {
        let members = map.0.into_iter();
        members.map(|(key, tree)| (key, tree.to_json())).collect()
    }
}
