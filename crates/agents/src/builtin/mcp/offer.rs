//! What of a server's tools is offered to the model: under names that every API takes, and within bounds. Pure.
//!
//! A server is not trusted to list sensible tools: all of them are a part of every request to the model.

use serde_json::{Map, Value, json};
use uwf_agent_kit::llm::ToolSpec;
use uwf_util::text::cut;

/// What stands between the name of a server and that of its tool.
pub(super) const BETWEEN: &str = "__";

/// How many tools of all servers are offered at most.
const MAX_TOOLS: usize = 100;
/// The longest name that every API takes.
const MAX_NAME: usize = 64;
/// How much of a description is offered, in characters.
const MAX_DESCRIPTION: usize = 2_000;
/// The size of the largest schema that is offered, in bytes, and of all of them with their descriptions.
const MAX_SCHEMA: usize = 16 * 1024;
const MAX_SCHEMAS: usize = 256 * 1024;

/// A tool of a server.
#[derive(Debug, PartialEq)]
pub(super) struct Offered {
    /// What the server calls it.
    pub(super) name: String,
    /// What the model sees.
    pub(super) spec: ToolSpec,
}

/// What is offered so far, of all servers.
#[derive(Debug, Default)]
pub(super) struct Offers {
    names: Vec<String>,
    size: usize,
}

impl Offers {
    /// Returns a tool as it is offered. The error says why it is not.
    pub(super) fn offer(&mut self, server: &str, listed: &Value) -> Result<Offered, String> {
        let name = listed["name"].as_str().unwrap_or_default();
        if name.is_empty() {
            return Err("a tool without a name is left out".to_owned());
        }
        let left_out = |why: &str| Err(format!("the tool `{}` is left out: {why}", cut(name, 100)));
        let Some(parameters) = parameters(&listed["inputSchema"]) else {
            return left_out("its schema is not that of an object");
        };
        let description = listed["description"].as_str();
        let description = description.or(listed["title"].as_str()).unwrap_or_default();
        let description = cut(description, MAX_DESCRIPTION).into_owned();
        let schema_size = parameters.to_string().len();
        if schema_size > MAX_SCHEMA {
            return left_out("its schema has more than 16 KiB");
        }
        let size = self.size + schema_size + description.len();
        if self.names.len() == MAX_TOOLS || size > MAX_SCHEMAS {
            return left_out("there are too many tools, at most 100 with 256 KiB are offered");
        }
        let offered_name = self.free_name(&format!("{server}{BETWEEN}{name}"));
        self.names.push(offered_name.clone());
        self.size = size;
        Ok(Offered {
            name: name.to_owned(),
            spec: ToolSpec {
                name: offered_name,
                description,
                parameters,
            },
        })
    }

    /// Returns a name that every API takes, and that no other tool has.
    fn free_name(&self, name: &str) -> String {
        let plain = |char: char| char.is_ascii_alphanumeric() || char == '-' || char == '_';
        let name: String = name
            .chars()
            .map(|char| if plain(char) { char } else { '_' })
            .collect();
        let numbered = |number: usize| match number {
            1 => name.chars().take(MAX_NAME).collect(),
            _ => {
                let number = format!("_{number}");
                let begin: String = name.chars().take(MAX_NAME - number.len()).collect();
                begin + &number
            }
        };
        let mut names = (1..).map(numbered);
        names
            .find(|name: &String| !self.names.contains(name))
            .expect("there are more numbers than tools")
    }
}

/// Returns the schema of a tool's arguments as every API takes it: with `properties`, also if there are none.
fn parameters(schema: &Value) -> Option<Value> {
    let mut fields = match schema {
        Value::Null => Map::new(),
        Value::Object(fields) => fields.clone(),
        _ => return None,
    };
    let kind = fields.entry("type").or_insert_with(|| json!("object"));
    if *kind != json!("object") {
        return None;
    }
    let properties = fields.entry("properties").or_insert_with(|| json!({}));
    properties.is_object().then_some(Value::Object(fields))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(name: &str) -> Value {
        json!({ "name": name, "inputSchema": { "type": "object" } })
    }

    fn offered(offers: &mut Offers, name: &str) -> String {
        offers.offer("s", &listed(name)).unwrap().spec.name
    }

    #[test]
    fn names_are_those_that_every_api_takes_and_differ() {
        let mut offers = Offers::default();
        assert_eq!(offered(&mut offers, "read_file"), "s__read_file");
        assert_eq!(offered(&mut offers, "a.b/c ä"), "s__a_b_c__");
        assert_eq!(offered(&mut offers, "a_b/c ä"), "s__a_b_c___2");
        let long = offered(&mut offers, &"x".repeat(200));
        assert_eq!(long.len(), MAX_NAME);
        let other = offered(&mut offers, &"x".repeat(201));
        assert_eq!(other.len(), MAX_NAME);
        assert!(other.ends_with("x_2"), "{other}");
    }

    #[test]
    fn the_schema_is_one_of_an_object_with_properties() {
        let parameters_of = |schema: Value| {
            let tool = json!({ "name": "t", "title": "T", "inputSchema": schema });
            let offered = Offers::default().offer("s", &tool)?;
            assert_eq!(offered.spec.description, "T");
            Ok::<_, String>(offered.spec.parameters)
        };
        let empty = json!({ "type": "object", "properties": {} });
        assert_eq!(parameters_of(Value::Null).unwrap(), empty);
        assert_eq!(parameters_of(json!({ "type": "object" })).unwrap(), empty);
        let full = json!({ "type": "object", "properties": { "a": {} }, "required": ["a"] });
        assert_eq!(parameters_of(full.clone()).unwrap(), full);
        for wrong in [
            json!([]),
            json!({ "type": "array" }),
            json!({ "properties": 1 }),
        ] {
            let problem = parameters_of(wrong).unwrap_err();
            assert!(problem.contains("`t` is left out"), "{problem}");
        }
    }

    #[test]
    fn what_is_too_much_is_left_out() {
        let mut offers = Offers::default();
        assert!(offers.offer("s", &json!({ "name": "" })).is_err());
        assert!(offers.offer("s", &json!("tool")).is_err());
        let large =
            json!({ "name": "t", "inputSchema": { "description": "x".repeat(MAX_SCHEMA) } });
        let problem = offers.offer("s", &large).unwrap_err();
        assert!(problem.contains("16 KiB"), "{problem}");
        for number in 0..MAX_TOOLS {
            offered(&mut offers, &format!("t{number}"));
        }
        let problem = offers.offer("s", &listed("more")).unwrap_err();
        assert!(problem.contains("at most 100"), "{problem}");

        let mut offers = Offers::default();
        let tool = json!({ "name": "t", "description": "x".repeat(9_000) });
        let offered = offers.offer("s", &tool).unwrap();
        assert!(offered.spec.description.chars().count() <= MAX_DESCRIPTION + 1);
    }
}
