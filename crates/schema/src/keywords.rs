//! The keywords that a schema may have, and the schema of schemas that follows from them.

use serde_json::{Map, Value, json};

/// How deep arrays and objects of a schema may be nested, the outermost included.
pub const MAX_DEPTH: usize = 256;

/// The names that `type` can have.
pub const TYPE_NAMES: [&str; 7] = [
    "string", "number", "integer", "boolean", "object", "array", "null",
];

/// The form that the value of a keyword must have.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ValueForm {
    Any,
    Text,
    Number,
    Boolean,
    Schema,
    BooleanOrSchema,
    /// An object with a schema under each key.
    SchemaMap,
    SchemaList,
    NonEmptySchemaList,
    List,
    NonEmptyList,
    Texts,
    /// The name of a type or a list of them.
    Type,
}

/// Every keyword that a schema may have.
pub(crate) const KEYWORDS: [(&str, ValueForm); 40] = [
    ("type", ValueForm::Type),
    ("properties", ValueForm::SchemaMap),
    ("required", ValueForm::Texts),
    ("additionalProperties", ValueForm::BooleanOrSchema),
    ("anyOf", ValueForm::NonEmptySchemaList),
    ("oneOf", ValueForm::NonEmptySchemaList),
    ("allOf", ValueForm::NonEmptySchemaList),
    ("not", ValueForm::Schema),
    ("if", ValueForm::Schema),
    ("then", ValueForm::Schema),
    ("else", ValueForm::Schema),
    ("items", ValueForm::Schema),
    ("prefixItems", ValueForm::SchemaList),
    ("contains", ValueForm::Schema),
    ("propertyNames", ValueForm::Schema),
    ("patternProperties", ValueForm::SchemaMap),
    ("enum", ValueForm::NonEmptyList),
    ("const", ValueForm::Any),
    ("format", ValueForm::Text),
    ("title", ValueForm::Text),
    ("description", ValueForm::Text),
    ("default", ValueForm::Any),
    ("examples", ValueForm::List),
    ("minimum", ValueForm::Number),
    ("maximum", ValueForm::Number),
    ("exclusiveMinimum", ValueForm::Number),
    ("exclusiveMaximum", ValueForm::Number),
    ("multipleOf", ValueForm::Number),
    ("minLength", ValueForm::Number),
    ("maxLength", ValueForm::Number),
    ("pattern", ValueForm::Text),
    ("minItems", ValueForm::Number),
    ("maxItems", ValueForm::Number),
    ("uniqueItems", ValueForm::Boolean),
    ("minProperties", ValueForm::Number),
    ("maxProperties", ValueForm::Number),
    ("readOnly", ValueForm::Boolean),
    ("writeOnly", ValueForm::Boolean),
    ("deprecated", ValueForm::Boolean),
    ("$comment", ValueForm::Text),
];

/// Returns the schema of schemas.
///
/// It lists the keywords and the forms of their values, one level deep; [`check`](crate::check()) is stricter. Its
/// bytes are fixed: the hashes of all stored schemas depend on them.
#[must_use]
pub fn meta_schema() -> Value {
    let properties: Map<String, Value> = KEYWORDS
        .iter()
        .map(|(keyword, form)| ((*keyword).to_owned(), schema_of(*form)))
        .collect();
    json!({
        "type": "object",
        "additionalProperties": false,
        "description": "ocas JSON Schema meta-schema",
        "properties": properties,
    })
}

/// Returns the schema of a value of this form.
fn schema_of(form: ValueForm) -> Value {
    let schema = json!({ "type": "object", "additionalProperties": false });
    match form {
        ValueForm::Any => json!({}),
        ValueForm::Text => json!({ "type": "string" }),
        ValueForm::Number => json!({ "type": "number" }),
        ValueForm::Boolean => json!({ "type": "boolean" }),
        ValueForm::Schema => schema,
        ValueForm::BooleanOrSchema => json!({ "anyOf": [{ "type": "boolean" }, schema] }),
        ValueForm::SchemaMap => json!({ "type": "object", "additionalProperties": schema }),
        ValueForm::SchemaList | ValueForm::NonEmptySchemaList => {
            json!({ "type": "array", "items": schema })
        }
        ValueForm::List | ValueForm::NonEmptyList => json!({ "type": "array" }),
        ValueForm::Texts => json!({ "type": "array", "items": { "type": "string" } }),
        ValueForm::Type => {
            let name = json!({ "type": "string", "enum": TYPE_NAMES });
            json!({ "anyOf": [name, { "type": "array", "items": name }] })
        }
    }
}
