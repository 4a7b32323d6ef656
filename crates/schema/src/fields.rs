//! The fields and variants of an object: every field that a valid object may have. For example, a prompt shows them.

use serde_json::Value;

use crate::walk::{Schema, parts};

/// A field that an object may have.
#[derive(Debug, Clone, PartialEq)]
pub struct Field<'s> {
    /// The name.
    pub name: &'s str,
    /// Whether some part of the schema requires it.
    pub required: bool,
    /// The schemas of the field in all parts, outermost first.
    pub schemas: Vec<Schema<'s>>,
    /// The value that it must have, if it is the field that tells the variants apart.
    pub fixed: Option<&'s Value>,
}

/// One of the variants of an object, told apart by the value of one field.
#[derive(Debug, Clone, PartialEq)]
pub struct Variant<'s> {
    /// The value that the discriminating field has in this variant.
    pub value: &'s Value,
    /// The fields of this variant.
    pub fields: Vec<Field<'s>>,
}

impl<'s> Field<'s> {
    fn new(name: &'s str, schema: Schema<'s>) -> Self {
        Self {
            name,
            required: false,
            schemas: vec![schema],
            fixed: None,
        }
    }
}

/// Returns every field that the schemas or their variants name, in their order, with the leading field first.
#[must_use]
pub fn fields<'s>(schemas: &[Schema<'s>], leading: &str) -> Vec<Field<'s>> {
    let mut fields = Vec::new();
    collect(&parts(schemas), &mut fields);
    lead(&mut fields, leading);
    fields
}

/// Returns the discriminating field and the variants, if the schema is a choice between objects that each
/// give one field a value of its own. The leading field discriminates if it can, else the first one that can.
#[must_use]
pub fn variants<'s>(schema: Schema<'s>, leading: &str) -> Option<(&'s str, Vec<Variant<'s>>)> {
    let keyword = ["oneOf", "anyOf"]
        .into_iter()
        .find(|keyword| schema.get(keyword).is_some())?;
    let choices: Vec<Schema<'s>> = schema.schemas(keyword).collect();
    if choices.len() < 2 {
        return None;
    }
    let discriminant = discriminant(&choices, leading)?;
    let beside: Vec<Schema<'s>> = schema.branches_except(keyword).collect();
    let common = [vec![schema], parts(&beside)].concat();
    let variant = |choice: &Schema<'s>| {
        let value = choice.property(discriminant)?.fixed_value()?;
        let mut fields = Vec::new();
        collect(&common, &mut fields);
        collect(&parts(&[*choice]), &mut fields);
        lead(&mut fields, leading);
        for field in &mut fields {
            field.schemas.reverse();
            field.fixed = (field.name == discriminant).then_some(value);
        }
        Some(Variant { value, fields })
    };
    let variants = choices.iter().map(variant).collect::<Option<_>>()?;
    Some((discriminant, variants))
}

/// Returns every value that one of the [`parts`] lists, each once.
#[must_use]
pub fn values<'s>(parts: &[Schema<'s>]) -> Vec<&'s Value> {
    let mut values = Vec::new();
    for value in parts.iter().filter_map(|part| part.values()).flatten() {
        if !values.contains(&value) {
            values.push(value);
        }
    }
    values
}

/// Adds the fields that the parts name. The schema of a field that is listed already is added to it.
fn collect<'s>(parts: &[Schema<'s>], fields: &mut Vec<Field<'s>>) {
    for (name, schema) in parts.iter().flat_map(|part| part.properties()) {
        match fields.iter_mut().find(|field| field.name == name) {
            Some(field) => field.schemas.push(schema),
            None => fields.push(Field::new(name, schema)),
        }
    }
    for field in fields {
        field.required |= parts.iter().any(|part| part.requires(field.name));
    }
}

/// Moves the leading field to the front.
fn lead(fields: &mut [Field<'_>], leading: &str) {
    if let Some(at) = fields.iter().position(|field| field.name == leading) {
        fields[..=at].rotate_right(1);
    }
}

/// Returns the name of a field with a fixed value in every choice: the leading field if it has one, else the first.
fn discriminant<'s>(choices: &[Schema<'s>], leading: &str) -> Option<&'s str> {
    let fixed_everywhere = |name: &&str| {
        let mut members = choices.iter().map(|choice| choice.property(name));
        members.all(|member| member.and_then(Schema::fixed_value).is_some())
    };
    let names = || choices[0].properties().map(|(name, _)| name);
    let leading = names()
        .find(|name| *name == leading)
        .filter(fixed_everywhere);
    leading.or_else(|| names().find(fixed_everywhere))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const LEADING: &str = "$status";

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
        let fields = fields(&[Schema::new(&schema)], LEADING);
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
        let (field, variants) = variants(Schema::new(&schema), LEADING).unwrap();
        assert_eq!(field, "$status");
        assert_eq!(variants[1].value, "failed");
        assert_eq!(
            names(&variants[0].fields),
            [("$status", true), ("note", false), ("a", false)]
        );
    }

    #[test]
    fn other_schemas_have_no_variants() {
        let check = |schema: Value| {
            assert_eq!(variants(Schema::new(&schema), LEADING), None, "{schema}");
        };
        check(json!({ "properties": { "$status": { "const": "done" } } }));
        check(json!({ "oneOf": [{ "properties": { "$status": { "const": "done" } } }] }));
        check(json!({ "oneOf": [{ "properties": { "a": { "const": 1 } } }, { "type": "null" }] }));
        check(json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] }));
    }

    #[test]
    fn what_stands_beside_the_choice_belongs_to_every_variant() {
        let schema = json!({
            "allOf": [{ "properties": { "note": {} }, "required": ["note"] }],
            "properties": { "$status": { "enum": ["done", "failed"] } },
            "oneOf": [
                { "properties": { "$status": { "const": "done" } } },
                { "properties": { "$status": { "const": "failed" }, "why": {} } },
            ],
        });
        let (_, variants) = variants(Schema::new(&schema), LEADING).unwrap();
        assert_eq!(
            names(&variants[0].fields),
            [("$status", false), ("note", true)]
        );
        assert_eq!(variants[1].fields.len(), 3);
        let fixed = variants.iter().map(|one| one.fields[0].fixed.unwrap());
        assert_eq!(fixed.collect::<Vec<_>>(), ["done", "failed"]);
    }

    #[test]
    fn a_field_that_several_schemas_name_is_one_field() {
        let one = json!({ "properties": { "a": { "title": "1" } } });
        let other = json!({ "properties": { "a": { "title": "2" } }, "required": ["a"] });
        let fields = fields(&[Schema::new(&one), Schema::new(&other)], LEADING);
        assert_eq!(names(&fields), [("a", true)]);
        assert_eq!(fields[0].schemas.len(), 2);
    }

    #[test]
    fn values_are_those_of_all_parts() {
        let schema = json!({ "enum": ["a", 1], "anyOf": [{ "const": "b" }, { "enum": ["a"] }] });
        let found = values(&parts(&[Schema::new(&schema)]));
        assert_eq!(found, [&json!("a"), &json!(1), &json!("b")]);
    }
}
