//! The strict form of a schema, for endpoints that enforce one: every object is closed and requires all its fields. Pure.
//!
//! A field that may be left out can be null in this form, and is taken out again if it is. Keywords that only limit a value,
//! such as `pattern` or `minimum`, are left out: the kit checks every answer by the schema of the role itself.

use serde_json::{Map, Value, json};
use uwf_schema::{Schema, Validator, fields, items, parts};

/// The keywords whose meaning the strict form cannot say.
const UNKNOWN: [&str; 9] = [
    "allOf",
    "not",
    "if",
    "then",
    "else",
    "prefixItems",
    "contains",
    "propertyNames",
    "patternProperties",
];

/// How many objects and lists may be nested.
const LEVELS: usize = 10;

/// Tells whether the fields of a role are all that its schema allows, so that they can be closed.
pub(super) fn can_be_closed(role: &Value) -> bool {
    let role = Schema::new(role);
    is_closable(role) && role.get("patternProperties").is_none() && !fields(&[role], "").is_empty()
}

/// Returns the strict form of a schema, or `None` if it has something that this form cannot say: a keyword, an object or a
/// list without a schema of its members, a value of any type, or too many levels.
pub(super) fn closed(schema: &Value) -> Option<Value> {
    close(Schema::new(schema), LEVELS)
}

/// Returns the members without those that are null although the schema allows no null there.
pub(super) fn without_forced_nulls(
    members: &Map<String, Value>,
    schemas: &[Schema<'_>],
) -> Map<String, Value> {
    let fields = fields(schemas, "");
    let mut kept = Map::new();
    for (name, value) in members {
        let field = fields.iter().find(|field| field.name == name);
        let schemas = field.map_or(&[][..], |field| &field.schemas);
        if !value.is_null() || schemas.iter().copied().any(accepts_null) {
            kept.insert(name.clone(), without_nulls_inside(value, schemas));
        }
    }
    kept
}

fn without_nulls_inside(value: &Value, schemas: &[Schema<'_>]) -> Value {
    match value {
        Value::Object(members) => Value::Object(without_forced_nulls(members, schemas)),
        Value::Array(values) => {
            let of_items = items(&parts(schemas));
            let values = values.iter();
            values
                .map(|value| without_nulls_inside(value, &of_items))
                .collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

fn accepts_null(schema: Schema<'_>) -> bool {
    let validator = Validator::new(schema.value());
    validator.is_ok_and(|validator| validator.validate(&Value::Null).is_ok())
}

fn close(schema: Schema<'_>, levels: usize) -> Option<Value> {
    let levels = levels.checked_sub(1)?;
    let keywords = schema.value().as_object()?;
    if keywords.keys().any(|key| UNKNOWN.contains(&key.as_str())) || !is_closable(schema) {
        return None;
    }
    let mut closed = match (choices(schema), schema.values()) {
        (Some(choices), None) if !has_structure(schema) => {
            let choices = choices.into_iter().map(|choice| close(choice, levels));
            Map::from_iter([("anyOf".to_owned(), choices.collect::<Option<_>>()?)])
        }
        (None, Some(values)) if values.iter().all(|value| is_scalar(value)) => {
            let types = values.iter().map(|value| type_of(value));
            Map::from_iter([
                ("type".to_owned(), types_of(types.collect())),
                ("enum".to_owned(), json!(values)),
            ])
        }
        (None, None) => close_structure(schema, levels)?,
        (_, Some(_)) | (Some(_), None) => return None,
    };
    let hints = ["title", "description"].into_iter();
    closed.extend(hints.filter_map(|hint| Some((hint.to_owned(), schema.get(hint)?.clone()))));
    Some(Value::Object(closed))
}

/// Closes a schema that says which types a value has.
fn close_structure(schema: Schema<'_>, levels: usize) -> Option<Map<String, Value>> {
    let types = match schema.types() {
        Some(types) => types,
        None if schema.get("properties").is_some() => vec!["object"],
        None => return None,
    };
    let mut closed = Map::from_iter([("type".to_owned(), types_of(types.clone()))]);
    if types.contains(&"object") {
        schema.get("properties")?;
        let mut properties = Map::new();
        for (name, field) in schema.properties() {
            let closed = close(field, levels)?;
            let stays = schema.requires(name) || accepts_null(field);
            let closed = if stays { closed } else { or_null(&closed) };
            properties.insert(name.to_owned(), closed);
        }
        closed.insert("required".to_owned(), properties.keys().cloned().collect());
        closed.insert("properties".to_owned(), properties.into());
        closed.insert("additionalProperties".to_owned(), false.into());
    }
    if types.contains(&"array") {
        let items = close(schema.schema("items")?, levels)?;
        closed.insert("items".to_owned(), items);
    }
    Some(closed)
}

/// Tells whether the schema does not ask for members that it does not name.
fn is_closable(schema: Schema<'_>) -> bool {
    let others = schema.get("additionalProperties");
    others.is_none_or(|others| *others == Value::Bool(false))
}

fn choices<'s>(schema: Schema<'s>) -> Option<Vec<Schema<'s>>> {
    let mut keywords = ["anyOf", "oneOf"].into_iter();
    let keyword = keywords.find(|keyword| schema.get(keyword).is_some())?;
    Some(schema.schemas(keyword).collect())
}

/// Tells whether the schema says more about a value than which choices there are.
fn has_structure(schema: Schema<'_>) -> bool {
    let has = |keyword| schema.get(keyword).is_some();
    ["type", "properties", "required", "items"]
        .into_iter()
        .any(has)
        || (has("anyOf") && has("oneOf"))
}

fn or_null(closed: &Value) -> Value {
    json!({ "anyOf": [closed, { "type": "null" }] })
}

fn is_scalar(value: &Value) -> bool {
    !value.is_array() && !value.is_object()
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Returns the value of `type`: a name, or a list of different ones.
fn types_of(mut types: Vec<&str>) -> Value {
    types.sort_unstable();
    types.dedup();
    match types[..] {
        [one] => one.into(),
        _ => types.into(),
    }
}

#[cfg(test)]
mod tests;
