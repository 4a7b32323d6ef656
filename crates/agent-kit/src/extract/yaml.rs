//! The YAML of a front matter block, as a tree that keeps how each scalar was written.
//!
//! The role's schema decides what a scalar means: `0123456789012` is a number in YAML, but can be a hash in an answer.
//! The tree keeps both readings, and [`super::candidate`] chooses one.

use serde_json::{Number, Value};
use uwf_yaml::{Data, Dialect, Node, Problem};

/// A node of the tree.
pub(super) enum Yaml {
    Scalar {
        /// The value by the rules of YAML 1.2.
        value: Value,
        /// The text: as written for a plain scalar, the content for a quoted one.
        text: String,
    },
    List(Vec<Yaml>),
    Map(Vec<(String, Yaml)>),
}

impl Yaml {
    /// Reads a block that follows `lines_before` lines of the answer. An empty block is an empty mapping.
    pub(super) fn parse(block: &str, lines_before: usize) -> Result<Self, Problem> {
        let root = uwf_yaml::parse_after(block, Dialect::Tolerant, lines_before)?;
        Ok(root.map_or_else(|| Self::Map(Vec::new()), Self::of))
    }

    fn of(node: Node) -> Self {
        let written = node.written.unwrap_or_default().into_string();
        let scalar = |value: Value| Self::Scalar {
            value,
            text: written,
        };
        match node.data {
            Data::Null | Data::Broken => scalar(Value::Null),
            Data::Bool(value) => scalar(Value::Bool(value)),
            Data::Number(number) => scalar(without_fraction(number)),
            Data::Text(text) => Self::Scalar {
                value: Value::String(text.clone()),
                text,
            },
            Data::List(items) => Self::List(items.into_iter().map(Self::of).collect()),
            Data::Map(entries) => {
                let entries = entries.into_iter();
                Self::Map(
                    entries
                        .map(|(key, value)| (key.text, Self::of(value)))
                        .collect(),
                )
            }
        }
    }

    /// Returns the text of a scalar.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Scalar { text, .. } => Some(text),
            Self::List(_) | Self::Map(_) => None,
        }
    }
}

/// Tells whether a node can store the number exactly: numbers of nodes are doubles.
pub(super) fn is_exact(number: &Number) -> bool {
    match (number.as_u64(), number.as_i64()) {
        (Some(integer), _) => i128::from(integer) == integer as f64 as i128,
        (None, Some(integer)) => i128::from(integer) == integer as f64 as i128,
        (None, None) => true,
    }
}

/// Returns the number as JSON writes it: without a fraction when it is a safe integer.
fn without_fraction(number: Number) -> Value {
    const SAFE: f64 = 9_007_199_254_740_991.0;
    match number.as_f64().filter(|_| number.is_f64()) {
        Some(value) if value.fract() == 0.0 && value.abs() <= SAFE => Value::from(value as i64),
        Some(_) | None => Value::Number(number),
    }
}

#[cfg(test)]
mod tests {
    use super::super::candidate;
    use super::*;
    use serde_json::json;

    /// Returns the data of a block for a role whose schema says nothing.
    fn value(block: &str) -> Value {
        let Ok(Yaml::Map(fields)) = Yaml::parse(block, 0) else {
            panic!("{block}")
        };
        candidate::pick(fields, &json!({})).output
    }

    fn text(block: &str) -> String {
        let Ok(Yaml::Map(fields)) = Yaml::parse(block, 0) else {
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
        let line = |block: &str| match Yaml::parse(block, 0) {
            Err(problem) => Some(problem.at.line),
            Ok(_) => panic!("{block}"),
        };
        assert_eq!(line("a: 1\na: 2\n"), Some(2));
        assert_eq!(line("a: 1\nb: c: d\n"), Some(2));
        assert_eq!(line("a: @x\n"), Some(1));
        assert!(line("a:\n\t- b\n\t- c\n").is_some());
        assert!(line("a: 1\n--- b\n").is_some());
    }
}
