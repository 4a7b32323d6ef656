//! Warns about schemas that require a property that they do not describe: usually a typo.

use serde_json::Value;
use uwf_protocol::workflow::{Problem, Workflow};
use uwf_schema::Schema;

use super::with_suggestion;

/// How deep schemas are followed.
const MAX_DEPTH: usize = 16;

/// Returns a warning for each required member without a property.
pub(super) fn check(workflow: &Workflow<Value>) -> Vec<Problem> {
    let mut warnings = Vec::new();
    for (name, role) in &workflow.roles {
        let mut found = Vec::new();
        look(Schema::new(&role.schema), &[], MAX_DEPTH, &mut found);
        let path = ["roles", name.as_str(), "frontmatter"];
        warnings.extend(found.into_iter().map(|one| Problem::warning(&path, one)));
    }
    warnings
}

/// Checks a schema. `around` has the properties of the other schemas for the same value.
fn look(schema: Schema<'_>, around: &[&str], depth: usize, found: &mut Vec<String>) {
    let Some(depth) = depth.checked_sub(1) else {
        return;
    };
    let mut known = around.to_vec();
    known.extend(schema.properties().map(|(name, _)| name));
    let branches: Vec<Schema<'_>> = schema.branches().collect();
    // A property that a branch describes may be required outside of the branch.
    let described = branches.iter().flat_map(|branch| branch.properties());
    let described: Vec<&str> = described.map(|(name, _)| name).collect();
    if schema.get("properties").is_some() && schema.get("patternProperties").is_none() {
        for name in schema.required() {
            if !known.contains(&name) && !described.contains(&name) {
                let message =
                    format!("`required` names `{name}`, which is not among the `properties`");
                found.push(with_suggestion(message, name, known.iter().copied()));
            }
        }
    }
    for branch in branches {
        look(branch, &known, depth, found);
    }
    for (_, member) in schema.properties() {
        look(member, &[], depth, found);
    }
    if let Some(items) = schema.schema("items") {
        look(items, &[], depth, found);
    }
}
