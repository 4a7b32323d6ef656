//! Warns of schemas that require what they do not describe, which is mostly a slip of the pen.

use serde_json::Value;
use uwf_protocol::workflow::{Problem, Workflow};

use super::with_suggestion;

/// How deep schemas are followed.
const MAX_DEPTH: usize = 16;

/// The keywords whose schemas hold for the same value, each a list.
const COMBINATORS: [&str; 3] = ["oneOf", "anyOf", "allOf"];

/// Returns a warning for each required member without a property.
pub(super) fn check(workflow: &Workflow<Value>) -> Vec<Problem> {
    let mut warnings = Vec::new();
    for (name, role) in &workflow.roles {
        let mut found = Vec::new();
        look(&role.schema, &[], MAX_DEPTH, &mut found);
        let path = ["roles", name.as_str(), "frontmatter"];
        warnings.extend(found.into_iter().map(|one| Problem::warning(&path, one)));
    }
    warnings
}

/// Looks at a schema; `around` has the properties of the schemas that hold for the same value.
fn look(schema: &Value, around: &[&str], depth: usize, found: &mut Vec<String>) {
    let Some(depth) = depth.checked_sub(1) else {
        return;
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    let mut known = around.to_vec();
    known.extend(
        properties
            .into_iter()
            .flatten()
            .map(|(name, _)| name.as_str()),
    );
    let combined = COMBINATORS.map(|key| schema.get(key).and_then(Value::as_array));
    let options: Vec<&Value> = combined.into_iter().flatten().flatten().collect();
    // What the options describe may be required for all of them.
    let described = options
        .iter()
        .filter_map(|option| option.get("properties")?.as_object());
    let described: Vec<&str> = described
        .flat_map(|map| map.keys().map(String::as_str))
        .collect();
    if properties.is_some() && schema.get("patternProperties").is_none() {
        let required = schema.get("required").and_then(Value::as_array);
        for name in required.into_iter().flatten().filter_map(Value::as_str) {
            if !known.contains(&name) && !described.contains(&name) {
                let message =
                    format!("`required` names `{name}`, which is not among the `properties`");
                found.push(with_suggestion(message, name, known.iter().copied()));
            }
        }
    }
    for option in options {
        look(option, &known, depth, found);
    }
    for (_, member) in properties.into_iter().flatten() {
        look(member, &[], depth, found);
    }
    if let Some(items) = schema.get("items") {
        look(items, &[], depth, found);
    }
}
