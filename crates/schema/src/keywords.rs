//! The keywords that a schema may have, and the schema of schemas that follows from them.

use serde_json::{Map, Value, json};

/// How many arrays and objects of a schema may enclose each other, the outermost included.
pub const MAX_DEPTH: usize = 256;

/// The names that `type` can have.
pub const TYPE_NAMES: [&str; 7] = [
    "string", "number", "integer", "boolean", "object", "array", "null",
];

/// What the value of a keyword must look like.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Form {
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
pub(crate) const KEYWORDS: [(&str, Form); 40] = [
    ("type", Form::Type),
    ("properties", Form::SchemaMap),
    ("required", Form::Texts),
    ("additionalProperties", Form::BooleanOrSchema),
    ("anyOf", Form::NonEmptySchemaList),
    ("oneOf", Form::NonEmptySchemaList),
    ("allOf", Form::NonEmptySchemaList),
    ("not", Form::Schema),
    ("if", Form::Schema),
    ("then", Form::Schema),
    ("else", Form::Schema),
    ("items", Form::Schema),
    ("prefixItems", Form::SchemaList),
    ("contains", Form::Schema),
    ("propertyNames", Form::Schema),
    ("patternProperties", Form::SchemaMap),
    ("enum", Form::NonEmptyList),
    ("const", Form::Any),
    ("format", Form::Text),
    ("title", Form::Text),
    ("description", Form::Text),
    ("default", Form::Any),
    ("examples", Form::List),
    ("minimum", Form::Number),
    ("maximum", Form::Number),
    ("exclusiveMinimum", Form::Number),
    ("exclusiveMaximum", Form::Number),
    ("multipleOf", Form::Number),
    ("minLength", Form::Number),
    ("maxLength", Form::Number),
    ("pattern", Form::Text),
    ("minItems", Form::Number),
    ("maxItems", Form::Number),
    ("uniqueItems", Form::Boolean),
    ("minProperties", Form::Number),
    ("maxProperties", Form::Number),
    ("readOnly", Form::Boolean),
    ("writeOnly", Form::Boolean),
    ("deprecated", Form::Boolean),
    ("$comment", Form::Text),
];

/// Returns the schema of schemas.
///
/// It says which keywords there are and what form their values have, one level deep;
/// [`check`](crate::check()) knows more. Its bytes are those of the reference program.
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
fn schema_of(form: Form) -> Value {
    let schema = json!({ "type": "object", "additionalProperties": false });
    match form {
        Form::Any => json!({}),
        Form::Text => json!({ "type": "string" }),
        Form::Number => json!({ "type": "number" }),
        Form::Boolean => json!({ "type": "boolean" }),
        Form::Schema => schema,
        Form::BooleanOrSchema => json!({ "anyOf": [{ "type": "boolean" }, schema] }),
        Form::SchemaMap => json!({ "type": "object", "additionalProperties": schema }),
        Form::SchemaList | Form::NonEmptySchemaList => json!({ "type": "array", "items": schema }),
        Form::List | Form::NonEmptyList => json!({ "type": "array" }),
        Form::Texts => json!({ "type": "array", "items": { "type": "string" } }),
        Form::Type => {
            let name = json!({ "type": "string", "enum": TYPE_NAMES });
            json!({ "anyOf": [name, { "type": "array", "items": name }] })
        }
    }
}
