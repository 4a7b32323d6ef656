//! The walker: finds the parts of a schema that describe a value, its members and its items.
//!
//! Schemas that this program stores have no `$ref`, because the keyword is not allowed. Other programs may store nodes
//! whose schemas have it, so the walker follows a `$ref` within its own document.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::Validator;

/// The keywords with a list of schemas that apply to the same value as the schema around them.
const COMBINATORS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
/// The keywords with a single such schema.
const CONDITIONALS: [&str; 2] = ["then", "else"];
/// The keywords whose schema is only tried on the same value, which may not fit it.
const TESTS: [&str; 2] = ["if", "not"];

/// A schema, or a part of one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Schema<'s> {
    /// The document, in which a `$ref` is looked up.
    document: &'s Value,
    value: &'s Value,
}

impl<'s> Schema<'s> {
    /// Returns the schema that is a whole document.
    #[must_use]
    pub fn new(document: &'s Value) -> Self {
        Self {
            document,
            value: document,
        }
    }

    /// Returns the schema as JSON.
    #[must_use]
    pub fn value(self) -> &'s Value {
        self.value
    }

    /// Returns the value of a keyword.
    #[must_use]
    pub fn get(self, keyword: &str) -> Option<&'s Value> {
        self.value.get(keyword)
    }

    /// Returns the text that a keyword has.
    #[must_use]
    pub fn text(self, keyword: &str) -> Option<&'s str> {
        self.get(keyword)?.as_str()
    }

    /// Returns the names in `type`, or `None` if it does not say.
    #[must_use]
    pub fn types(self) -> Option<Vec<&'s str>> {
        match self.get("type")? {
            Value::String(name) => Some(vec![name]),
            Value::Array(names) => Some(names.iter().filter_map(Value::as_str).collect()),
            _ => None,
        }
    }

    /// Returns the values that `const` or `enum` lists, or `None` if neither is there.
    #[must_use]
    pub fn values(self) -> Option<Vec<&'s Value>> {
        match self.get("const") {
            Some(value) => Some(vec![value]),
            None => Some(self.get("enum")?.as_array()?.iter().collect()),
        }
    }

    /// Returns the one value that is allowed, if `const` or an `enum` of one says so.
    #[must_use]
    pub fn fixed_value(self) -> Option<&'s Value> {
        match self.values()?[..] {
            [value] => Some(value),
            _ => None,
        }
    }

    /// Tells whether `required` names a member.
    #[must_use]
    pub fn requires(self, name: &str) -> bool {
        self.required().any(|required| required == name)
    }

    /// Returns the members that `required` names.
    pub fn required(self) -> impl Iterator<Item = &'s str> {
        let names = self.get("required").and_then(Value::as_array);
        names.into_iter().flatten().filter_map(Value::as_str)
    }

    /// Returns the members under `properties`, each with its schema.
    pub fn properties(self) -> impl Iterator<Item = (&'s str, Self)> {
        let members = self.map("properties").into_iter().flatten();
        members.map(move |(name, schema)| (name.as_str(), self.part(schema)))
    }

    /// Returns the schema of a member under `properties`.
    #[must_use]
    pub fn property(self, name: &str) -> Option<Self> {
        Some(self.part(self.map("properties")?.get(name)?))
    }

    /// Returns the schema that is the value of a keyword.
    #[must_use]
    pub fn schema(self, keyword: &str) -> Option<Self> {
        Some(self.part(self.get(keyword)?))
    }

    /// Returns the schemas in the list that is the value of a keyword.
    pub fn schemas(self, keyword: &str) -> impl Iterator<Item = Self> {
        let list = self.get(keyword).and_then(Value::as_array);
        list.into_iter()
            .flatten()
            .map(move |schema| self.part(schema))
    }

    /// Returns the schemas directly in this one that apply to the same value, all or some of them.
    pub fn branches(self) -> impl Iterator<Item = Self> {
        self.branches_except("")
    }

    /// Returns the [`branches`](Self::branches) that are not under this keyword.
    pub(crate) fn branches_except(self, keyword: &str) -> impl Iterator<Item = Self> {
        let is_other = move |other: &&str| *other != keyword;
        let combined = COMBINATORS.into_iter().filter(is_other);
        let combined = combined.flat_map(move |keyword| self.schemas(keyword));
        let conditional = CONDITIONALS.into_iter().filter(is_other);
        combined.chain(conditional.filter_map(move |keyword| self.schema(keyword)))
    }

    /// Returns the schemas directly in this one that are only tried on the same value.
    pub(crate) fn tests(self) -> impl Iterator<Item = Self> {
        TESTS
            .into_iter()
            .filter_map(move |keyword| self.schema(keyword))
    }

    /// Returns the schema that `$ref` names, which replaces this one; `None` without `$ref`, or if it names something
    /// outside the document.
    #[must_use]
    pub fn referenced(self) -> Option<Self> {
        let pointer = self.text("$ref")?.strip_prefix('#')?;
        Some(self.part(self.document.pointer(pointer)?))
    }

    fn map(self, keyword: &str) -> Option<&'s Map<String, Value>> {
        self.get(keyword)?.as_object()
    }

    fn part(self, value: &'s Value) -> Self {
        Self {
            document: self.document,
            value,
        }
    }
}

/// Returns the schemas and, recursively, all parts of them that describe the same value: under combinators, `then` and
/// `else`, and behind `$ref`.
#[must_use]
pub fn parts<'s>(schemas: &[Schema<'s>]) -> Vec<Schema<'s>> {
    Parts::of(schemas, false)
}

/// Returns the [`parts`] and those that are only tried on the value, under `if` and `not`.
pub(crate) fn parts_and_tests<'s>(schemas: &[Schema<'s>]) -> Vec<Schema<'s>> {
    Parts::of(schemas, true)
}

struct Parts<'s> {
    with_tests: bool,
    found: Vec<Schema<'s>>,
    /// The targets of `$ref`. Each is visited once, so that the walk ends when schemas refer to each other.
    referenced: Vec<Schema<'s>>,
}

impl<'s> Parts<'s> {
    fn of(schemas: &[Schema<'s>], with_tests: bool) -> Vec<Schema<'s>> {
        let mut parts = Self {
            with_tests,
            found: Vec::new(),
            referenced: Vec::new(),
        };
        schemas.iter().for_each(|schema| parts.visit(*schema));
        parts.found
    }

    fn visit(&mut self, schema: Schema<'s>) {
        if let Some(target) = schema.referenced() {
            let is_target = |known: &Schema<'_>| std::ptr::eq(known.value, target.value);
            if !self.referenced.iter().any(is_target) {
                self.referenced.push(target);
                self.visit(target);
            }
            return;
        }
        self.found.push(schema);
        schema.branches().for_each(|part| self.visit(part));
        if self.with_tests {
            schema.tests().for_each(|part| self.visit(part));
        }
    }
}

/// Returns the schemas that the [`parts`] have for all items of a list.
#[must_use]
pub fn items<'s>(parts: &[Schema<'s>]) -> Vec<Schema<'s>> {
    let all = parts.iter().filter_map(|part| part.schema("items"));
    all.collect()
}

/// Returns the schemas that the [`parts`] have for one item of a list: for its position, and for all items.
#[must_use]
pub fn item<'s>(parts: &[Schema<'s>], index: usize) -> Vec<Schema<'s>> {
    let by_place = |part: &Schema<'s>| part.schemas("prefixItems").nth(index);
    let mut found: Vec<Schema<'s>> = parts.iter().filter_map(by_place).collect();
    found.extend(items(parts));
    found
}

/// Finds the schemas of the members of objects. It caches compiled patterns.
#[derive(Debug, Default)]
pub struct Members {
    /// The compiled patterns; `None` for a pattern that cannot be used.
    patterns: HashMap<String, Option<Validator>>,
}

impl Members {
    /// Returns the schemas that the [`parts`] have for a member. Each part has them under `properties` and
    /// `patternProperties`, else under `additionalProperties`.
    pub fn of<'s>(&mut self, parts: &[Schema<'s>], name: &str) -> Vec<Schema<'s>> {
        let mut found = Vec::new();
        for part in parts {
            let before = found.len();
            found.extend(part.property(name));
            for (pattern, schema) in part.map("patternProperties").into_iter().flatten() {
                if self.matches(pattern, name) {
                    found.push(part.part(schema));
                }
            }
            if found.len() == before {
                found.extend(part.schema("additionalProperties"));
            }
        }
        found
    }

    /// Tells whether a name matches a pattern, as the validator understands patterns.
    fn matches(&mut self, pattern: &str, name: &str) -> bool {
        if !self.patterns.contains_key(pattern) {
            let validator = Validator::new(&serde_json::json!({ "pattern": pattern })).ok();
            self.patterns.insert(pattern.to_owned(), validator);
        }
        let validator = self.patterns.get(pattern).and_then(Option::as_ref);
        validator.is_some_and(|validator| validator.validate(&Value::from(name)).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn titles(schemas: &[Schema<'_>]) -> Vec<String> {
        let title = |schema: &Schema<'_>| schema.text("title").unwrap_or("-").to_owned();
        schemas.iter().map(title).collect()
    }

    fn titled(title: &str) -> Value {
        json!({ "title": title })
    }

    #[test]
    fn parts_describe_the_same_value_and_tests_may_not() {
        let schema = json!({
            "title": "whole",
            "allOf": [{ "title": "all", "anyOf": [titled("any")] }],
            "oneOf": [titled("one")],
            "if": titled("if"),
            "then": titled("then"),
            "else": titled("else"),
            "not": titled("not"),
            "properties": { "a": titled("a") },
            "items": titled("item"),
        });
        let schema = [Schema::new(&schema)];
        assert_eq!(
            titles(&parts(&schema)),
            ["whole", "all", "any", "one", "then", "else"]
        );
        assert_eq!(
            titles(&parts_and_tests(&schema)),
            ["whole", "all", "any", "one", "then", "else", "if", "not"]
        );
    }

    #[test]
    fn a_reference_within_the_document_stands_for_what_it_names() {
        let schema = json!({
            "definitions": { "a/b": { "title": "named", "properties": { "next": { "$ref": "#" } } } },
            "properties": { "a": { "$ref": "#/definitions/a~1b", "title": "ignored" } },
        });
        let document = parts(&[Schema::new(&schema)]);
        let a = parts(&Members::default().of(&document, "a"));
        assert_eq!(titles(&a), ["named"]);
        let next = parts(&Members::default().of(&a, "next"));
        assert_eq!(next, document);
        let elsewhere = json!({ "$ref": "https://example.com/schema" });
        assert_eq!(parts(&[Schema::new(&elsewhere)]).len(), 1);
    }

    #[test]
    fn the_walk_of_circular_references_ends() {
        let schema = json!({
            "title": "whole",
            "allOf": [{ "$ref": "#" }, { "$ref": "#/anyOf/0" }],
            "anyOf": [{ "title": "any", "oneOf": [{ "$ref": "#/anyOf/0" }, { "$ref": "#" }] }],
        });
        let found = parts(&[Schema::new(&schema)]);
        assert!(found.len() < 8, "{found:?}");
        let itself = json!({ "$ref": "#" });
        assert_eq!(parts(&[Schema::new(&itself)]), []);
    }

    #[test]
    fn a_member_without_a_name_or_pattern_in_the_schema_is_additional() {
        let schema = json!({
            "properties": { "a": titled("a") },
            "patternProperties": { "^b": titled("b") },
            "additionalProperties": titled("other"),
            "allOf": [{ "additionalProperties": titled("all") }],
        });
        let document = parts(&[Schema::new(&schema)]);
        let mut members = Members::default();
        let mut check = |name: &str, expected: [&str; 2]| {
            assert_eq!(titles(&members.of(&document, name)), expected, "{name}");
        };
        check("a", ["a", "all"]);
        check("b2", ["b", "all"]);
        check("c", ["other", "all"]);
    }

    #[test]
    fn an_item_has_the_schema_of_its_place_and_that_of_all() {
        let schema = json!({ "prefixItems": [titled("first")], "items": titled("all") });
        let document = parts(&[Schema::new(&schema)]);
        assert_eq!(titles(&item(&document, 0)), ["first", "all"]);
        assert_eq!(titles(&item(&document, 1)), ["all"]);
    }
}
