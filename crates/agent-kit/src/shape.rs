//! The shape of an answer as its JSON Schema describes it: which fields there are, and which variants.
//!
//! Both the prompt, which shows the shape, and the extraction, which looks for the fields, go by it.

use serde_json::{Map, Value};

/// A field that an answer may have.
#[derive(Debug, Clone, PartialEq)]
pub struct Field<'a> {
    /// The name.
    pub name: &'a str,
    /// Whether some part of the schema requires it.
    pub required: bool,
    /// What the parts of the schema say about it, outermost first.
    pub schemas: Vec<&'a Value>,
}

/// One of the forms that an answer may have, told apart by the value of one field.
#[derive(Debug, Clone, PartialEq)]
pub struct Variant<'a> {
    /// The value that the discriminating field has in this form.
    pub value: &'a Value,
    /// The fields of this form.
    pub fields: Vec<Field<'a>>,
}

/// The keywords whose schemas describe the same value as the schema that they stand in.
const COMBINATORS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
const CONDITIONALS: [&str; 2] = ["then", "else"];

/// Returns every field that the schema or one of its variants names, `$status` first, else in their order.
#[must_use]
pub fn fields(schema: &Value) -> Vec<Field<'_>> {
    let mut fields = Vec::new();
    collect(schema, &mut fields);
    status_first(fields)
}

/// Returns the discriminating field and the variants, if the schema is a choice between objects that each
/// give one field a value of its own.
#[must_use]
pub fn variants(schema: &Value) -> Option<(&str, Vec<Variant<'_>>)> {
    let list = |keyword: &str| Some(schema.get(keyword)?.as_array()?.as_slice());
    let choices = list("oneOf").or_else(|| list("anyOf"))?;
    if choices.len() < 2 {
        return None;
    }
    let field = discriminant(choices)?;
    let variant = |choice| {
        let mut fields = own_properties(schema);
        collect(choice, &mut fields);
        let schemas = |field: &mut Field<'_>| field.schemas.reverse();
        fields.iter_mut().for_each(schemas);
        let fields = status_first(fields);
        Some(Variant {
            value: fixed_value(property(choice, field)?)?,
            fields,
        })
    };
    Some((field, choices.iter().map(variant).collect::<Option<_>>()?))
}

/// Returns the one value that the schema allows, if it says so by `const` or an `enum` of one.
#[must_use]
pub fn fixed_value(schema: &Value) -> Option<&Value> {
    if let Some(value) = schema.get("const") {
        return Some(value);
    }
    match schema.get("enum")?.as_array()?.as_slice() {
        [value] => Some(value),
        _ => None,
    }
}

/// Returns the schemas of a list's items, as far as they say anything.
#[must_use]
pub fn items<'a>(schemas: &[&'a Value]) -> Vec<&'a Value> {
    let mut found = Vec::new();
    for schema in schemas {
        each_part(schema, &mut |part| found.extend(part.get("items")));
    }
    found
}

/// Calls back with the schema and, in depth, with every part that describes the same value.
pub(crate) fn each_part<'a>(schema: &'a Value, visit: &mut dyn FnMut(&'a Value)) {
    visit(schema);
    for keyword in COMBINATORS {
        for part in schema
            .get(keyword)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            each_part(part, visit);
        }
    }
    for keyword in CONDITIONALS {
        if let Some(part) = schema.get(keyword) {
            each_part(part, visit);
        }
    }
}

fn collect<'a>(schema: &'a Value, fields: &mut Vec<Field<'a>>) {
    each_part(schema, &mut |part| {
        for (name, property) in properties(part).into_iter().flatten() {
            match fields.iter_mut().find(|field| field.name == name) {
                Some(field) => field.schemas.push(property),
                None => fields.push(Field {
                    name,
                    required: false,
                    schemas: vec![property],
                }),
            }
        }
    });
    each_part(schema, &mut |part| {
        for field in fields.iter_mut() {
            field.required |= is_required(part, field.name);
        }
    });
}

/// Returns the fields that the schema itself names, without its variants.
fn own_properties<'a>(schema: &'a Value) -> Vec<Field<'a>> {
    let entries = properties(schema).into_iter().flatten();
    let field = |(name, property): (&'a String, &'a Value)| Field {
        name,
        required: is_required(schema, name),
        schemas: vec![property],
    };
    entries.map(field).collect()
}

fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    schema.get("properties")?.as_object()
}

fn property<'a>(schema: &'a Value, name: &str) -> Option<&'a Value> {
    properties(schema)?.get(name)
}

fn is_required(schema: &Value, name: &str) -> bool {
    let names = schema.get("required").and_then(Value::as_array);
    names.is_some_and(|names| names.iter().any(|required| required == name))
}

/// Returns the name that every choice gives a fixed value: `$status` if it is one, else the first.
fn discriminant(choices: &[Value]) -> Option<&str> {
    let fixed_everywhere = |name: &&str| {
        let is_fixed = |choice| property(choice, name).and_then(fixed_value).is_some();
        choices.iter().all(is_fixed)
    };
    let names = || {
        properties(&choices[0])
            .into_iter()
            .flatten()
            .map(|(name, _)| name.as_str())
    };
    let status = names()
        .find(|name| *name == "$status")
        .filter(fixed_everywhere);
    status.or_else(|| names().find(fixed_everywhere))
}

/// Moves the field that routes to the front: the store keeps short names first, people read it first.
fn status_first(mut fields: Vec<Field<'_>>) -> Vec<Field<'_>> {
    if let Some(at) = fields.iter().position(|field| field.name == "$status") {
        fields[..=at].rotate_right(1);
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn names<'a>(fields: &[Field<'a>]) -> Vec<(&'a str, bool)> {
        fields
            .iter()
            .map(|field| (field.name, field.required))
            .collect()
    }

    #[test]
    fn fields_come_from_the_schema_and_all_its_variants() {
        let schema = json!({
            "properties": { "a": {}, "$status": {} },
            "required": ["a"],
            "oneOf": [
                { "properties": { "b": { "type": "string" } }, "required": ["b"] },
                { "allOf": [{ "properties": { "c": {} } }], "properties": { "b": { "type": "number" } } },
            ],
        });
        let fields = fields(&schema);
        assert_eq!(
            names(&fields),
            [("$status", false), ("a", true), ("b", true), ("c", false)]
        );
        assert_eq!(fields[2].schemas.len(), 2);
    }

    #[test]
    fn a_choice_of_objects_is_told_apart_by_a_field_with_fixed_values() {
        let schema = json!({
            "properties": { "note": {} },
            "oneOf": [
                { "properties": { "a": { "const": 1 }, "$status": { "const": "done" } }, "required": ["$status"] },
                { "properties": { "a": { "const": 2 }, "$status": { "enum": ["failed"] } } },
            ],
        });
        let (field, variants) = variants(&schema).unwrap();
        assert_eq!(field, "$status");
        assert_eq!(variants[1].value, "failed");
        assert_eq!(
            names(&variants[0].fields),
            [("$status", true), ("note", false), ("a", false)]
        );
    }

    #[test]
    fn other_schemas_have_no_variants() {
        let check = |schema: Value| assert_eq!(variants(&schema), None, "{schema}");
        check(json!({ "properties": { "$status": { "const": "done" } } }));
        check(json!({ "oneOf": [{ "properties": { "$status": { "const": "done" } } }] }));
        check(json!({ "oneOf": [{ "properties": { "a": { "const": 1 } } }, { "type": "null" }] }));
        check(json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] }));
    }
}
