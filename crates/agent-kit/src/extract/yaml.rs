//! The YAML of a front matter block as a tree that still knows how each scalar was written.
//!
//! What a scalar means is for the role's schema to say: `0123456789012` is a number to YAML and a hash to
//! a role that answers with one. So the tree keeps both, and [`super::candidate`] chooses.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Number, Value};
use serde_saphyr::options::{NonFiniteFloatPolicy, Options};
use serde_saphyr::{Error, Spanned};

/// A node of the tree.
pub(super) enum Yaml {
    Scalar {
        /// What YAML 1.2 takes it for; a number that is not finite is `None`.
        value: Option<Value>,
        /// The text: as written for a plain scalar, what it stands for when it is quoted.
        text: String,
    },
    List(Vec<Yaml>),
    Map(Vec<(String, Yaml)>),
}

impl Yaml {
    /// Reads a block; an empty one is an empty mapping.
    pub(super) fn parse(block: &str) -> Result<Self, Error> {
        let parsed: Node = serde_saphyr::from_str_with_options(block, options())?;
        Ok(match parsed.with_text(block) {
            Self::Scalar {
                value: Some(Value::Null),
                ..
            } if is_blank(block) => Self::Map(Vec::new()),
            tree => tree,
        })
    }

    /// Returns the text of a scalar.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Scalar { text, .. } => Some(text),
            Self::List(_) | Self::Map(_) => None,
        }
    }

    /// Returns the value as YAML understands it, whatever a schema may want.
    pub(super) fn into_value(self) -> Value {
        match self {
            Self::Scalar {
                value: Some(value), ..
            } => value,
            Self::Scalar { value: None, text } => Value::String(text),
            Self::List(items) => items.into_iter().map(Self::into_value).collect(),
            Self::Map(fields) => {
                let fields = fields
                    .into_iter()
                    .map(|(name, node)| (name, node.into_value()));
                Value::Object(fields.collect())
            }
        }
    }
}

fn is_blank(block: &str) -> bool {
    block
        .lines()
        .all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'))
}

fn options() -> Options {
    let mut options = Options::default();
    options.strict_booleans = true;
    options.strict_indentation = true;
    options.leading_zero_numbers_as_strings = true;
    options.underscored_numbers_as_strings = true;
    // `12E4567890123` overflows a float and is a fine hash.
    options.non_finite_float_policy = NonFiniteFloatPolicy::PassThrough;
    options
}

/// A node as the parser hands it over: its place in the source instead of its text.
struct Node(Spanned<Kind>);

enum Kind {
    Null,
    Bool(bool),
    Integer(Number),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

impl Node {
    fn with_text(self, source: &str) -> Yaml {
        let span = self.0.defined.span();
        let written = || {
            let start = usize::try_from(span.byte_offset()?).ok()?;
            let end = start + usize::try_from(span.byte_len()?).ok()?;
            Some(source.get(start..end)?.trim().to_owned())
        };
        let scalar = |value: Option<Value>, fallback: String| Yaml::Scalar {
            value,
            text: written().unwrap_or(fallback),
        };
        match self.0.value {
            Kind::Null => scalar(Some(Value::Null), String::new()),
            Kind::Bool(value) => scalar(Some(Value::Bool(value)), value.to_string()),
            Kind::Integer(number) => scalar(Some(number.clone().into()), number.to_string()),
            Kind::Float(value) => scalar(number(value), value.to_string()),
            Kind::Text(text) => Yaml::Scalar {
                value: Some(Value::String(text.clone())),
                text,
            },
            Kind::List(items) => Yaml::List(
                items
                    .into_iter()
                    .map(|node| node.with_text(source))
                    .collect(),
            ),
            Kind::Map(fields) => {
                let fields = fields
                    .into_iter()
                    .map(|(name, node)| (name, node.with_text(source)));
                Yaml::Map(fields.collect())
            }
        }
    }
}

/// Returns the number as JSON writes it: without a fraction when it is a safe integer.
fn number(value: f64) -> Option<Value> {
    const SAFE: f64 = 9_007_199_254_740_991.0;
    if value.fract() == 0.0 && value.abs() <= SAFE {
        return Some(Value::from(value as i64));
    }
    Number::from_f64(value).map(Value::Number)
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Spanned::deserialize(deserializer).map(Self)
    }
}

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(KindVisitor)
    }
}

struct KindVisitor;

impl<'de> Visitor<'de> for KindVisitor {
    type Value = Kind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any YAML value")
    }

    fn visit_unit<E>(self) -> Result<Kind, E> {
        Ok(Kind::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Kind, E> {
        Ok(Kind::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Kind, E> {
        Ok(Kind::Integer(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Kind, E> {
        Ok(Kind::Integer(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Kind, E> {
        Ok(Kind::Float(value))
    }

    fn visit_str<E>(self, text: &str) -> Result<Kind, E> {
        Ok(Kind::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Kind, E> {
        Ok(Kind::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Kind, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Kind::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Kind, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = access.next_entry()? {
            fields.push(field);
        }
        Ok(Kind::Map(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn value(block: &str) -> Value {
        Yaml::parse(block).unwrap().into_value()
    }

    fn text(block: &str) -> String {
        let Ok(Yaml::Map(fields)) = Yaml::parse(block) else {
            panic!("{block}")
        };
        let [(_, Yaml::Scalar { text, .. })] = &fields[..] else {
            panic!("{block}")
        };
        text.clone()
    }

    #[test]
    fn scalars_mean_what_the_core_schema_says() {
        assert_eq!(
            value("a: 5\nb: 5.0\nc: .5\nd: 0x1F\ne: 0o17\n"),
            json!({"a":5,"b":5,"c":0.5,"d":31,"e":15})
        );
        assert_eq!(
            value("a: True\nb: yes\nc: ~\nd:\n"),
            json!({"a":true,"b":"yes","c":null,"d":null})
        );
        assert_eq!(
            value("a: 017\nb: 1_000\nc: 2026-06-03\n"),
            json!({"a":"017","b":"1_000","c":"2026-06-03"})
        );
        assert_eq!(value("a: [1, {b: null}]\n"), json!({"a":[1,{"b":null}]}));
        assert_eq!(value("\n# nothing\n"), json!({}));
    }

    #[test]
    fn the_text_of_a_scalar_is_kept() {
        assert_eq!(text("a: 0123456789012 # id\n"), "0123456789012");
        assert_eq!(text("a: 12E4567890123\n"), "12E4567890123");
        assert_eq!(text("a: 1.50\n"), "1.50");
        assert_eq!(text("ü: True\n"), "True");
        assert_eq!(text("a: &id 0123\n"), "0123");
        assert_eq!(text("a: '5'\n"), "5");
        assert_eq!(text("a: |\n  x\n  y\n"), "x\ny\n");
    }

    #[test]
    fn what_is_not_yaml_is_an_error_with_its_line() {
        let line = |block: &str| match Yaml::parse(block) {
            Err(error) => error.location().map(|place| place.line()),
            Ok(_) => panic!("{block}"),
        };
        assert_eq!(line("a: 1\na: 2\n"), Some(2));
        assert_eq!(line("a: 1\nb: c: d\n"), Some(2));
        assert_eq!(line("a: @x\n"), Some(1));
        assert!(line("a:\n\t- b\n\t- c\n").is_some());
        assert!(line("a: 1\n--- b\n").is_some());
    }
}
