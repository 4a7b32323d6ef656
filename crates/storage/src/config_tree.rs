//! A YAML file as data of which each part knows its line and column. What the data mean is said elsewhere.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_saphyr::Spanned;

/// A place in a file: line and column, both from 1; 0 if not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) line: u64,
    pub(crate) column: u64,
}

/// What stands at a place.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) place: Place,
    pub(crate) tree: Tree,
}

#[derive(Debug)]
pub(crate) enum Tree {
    Scalar(Value),
    List(Vec<Node>),
    /// Key, place of the key, value.
    Map(Vec<(String, Place, Node)>),
}

impl Node {
    /// Returns the same as data without places.
    pub(crate) fn data(&self) -> Value {
        match &self.tree {
            Tree::Scalar(value) => value.clone(),
            Tree::List(items) => items.iter().map(Self::data).collect(),
            Tree::Map(entries) => {
                let entries = entries.iter();
                Value::Object(
                    entries
                        .map(|(key, _, value)| (key.clone(), value.data()))
                        .collect(),
                )
            }
        }
    }

    /// Tells whether nothing is written here.
    pub(crate) fn is_null(&self) -> bool {
        matches!(self.tree, Tree::Scalar(Value::Null))
    }

    /// Returns the entries, of which a node without a value has none; `None` if it is no mapping.
    pub(crate) fn entries(&self) -> Option<&[(String, Place, Self)]> {
        match &self.tree {
            Tree::Map(entries) => Some(entries),
            Tree::Scalar(Value::Null) => Some(&[]),
            Tree::Scalar(_) | Tree::List(_) => None,
        }
    }

    /// Returns the value of a key, if this is a mapping that has it.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        let entries = self.entries()?;
        let (_, _, value) = entries.iter().find(|(known, _, _)| known == key)?;
        Some(value)
    }

    /// Returns the text of a scalar that is one.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.tree {
            Tree::Scalar(value) => value.as_str(),
            Tree::List(_) | Tree::Map(_) => None,
        }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned: Spanned<Tree> = Deserialize::deserialize(deserializer)?;
        Ok(Self {
            place: place_of(&spanned),
            tree: spanned.value,
        })
    }
}

fn place_of<T>(spanned: &Spanned<T>) -> Place {
    Place {
        line: spanned.referenced.line(),
        column: spanned.referenced.column(),
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Scalar(Value::Null))
    }

    fn visit_none<E>(self) -> Result<Tree, E> {
        Ok(Tree::Scalar(Value::Null))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Tree, D::Error> {
        Tree::deserialize(deserializer)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
        Ok(Tree::Scalar(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Tree, E> {
        Ok(Tree::Scalar(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Tree, E> {
        Ok(Tree::Scalar(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Tree, E> {
        Ok(Tree::Scalar(value.into()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Tree, E> {
        Ok(Tree::Scalar(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Tree, A::Error> {
        let mut nodes = Vec::new();
        while let Some(node) = items.next_element()? {
            nodes.push(node);
        }
        Ok(Tree::List(nodes))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tree, A::Error> {
        let mut entries = Vec::new();
        while let Some((key, value)) = map.next_entry::<Spanned<String>, Node>()? {
            let place = place_of(&key);
            entries.push((key.value, place, value));
        }
        Ok(Tree::Map(entries))
    }
}
