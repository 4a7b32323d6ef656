//! The shape of a value by its schema: which members every valid value has, and which texts they may be.
//!
//! This is not a validator. It reads the keywords that say something about members (`properties`, `required`,
//! `items`, `const`, `enum`, `type` and the combinators) and says "unknown" for everything else. Which of `then` and
//! `else` holds depends on the value, so both are unknown.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::walk::Schema;

/// The most forms that are told apart. A schema with more counts as unknown.
const MAX_FORMS: usize = 64;

/// How deep nested combinators are followed.
const MAX_DEPTH: usize = 16;

/// The most schemas under combinators that are visited. A schema with more counts as unknown.
const MAX_BRANCHES: usize = 4096;

/// The forms that a value may have: the variants of its schema. Without any form, the value has no members.
#[derive(Debug, Clone, Default)]
pub struct Shape<'s> {
    forms: Vec<Form<'s>>,
}

/// One form of a value: all of the schemas apply to it. Without schemas nothing is known.
#[derive(Debug, Clone, Default)]
struct Form<'s> {
    schemas: Vec<Schema<'s>>,
    /// The one type of this form, where the schemas allow several.
    narrowed_to: Option<&'s str>,
}

/// Whether a value has a member. For a chain of members the least of their values counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Presence {
    /// The schema has no place for it.
    Never,
    /// It may be left out, or only some forms have it.
    Sometimes,
    /// The schema does not say.
    Unknown,
    /// Every valid value has it.
    Always,
}

/// The texts that a member may be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Texts<'s> {
    /// The values that the schema lists.
    pub listed: BTreeSet<&'s str>,
    /// Any other text is possible, too.
    pub open: bool,
    /// The member may be missing, or something else than a text.
    pub absent: bool,
}

impl<'s> Shape<'s> {
    /// Returns the shape of the values of a schema.
    #[must_use]
    pub fn of(document: &'s Value) -> Self {
        Self::of_all(vec![Schema::new(document)])
    }

    /// Returns the shape of a value that has no members.
    #[must_use]
    pub fn nothing() -> Self {
        Self::default()
    }

    /// Returns the shape of a value that nothing is known about.
    #[must_use]
    pub fn unknown() -> Self {
        Self::of_form(Form::default())
    }

    fn of_form(form: Form<'s>) -> Self {
        Self { forms: vec![form] }
    }

    /// Returns the shape of a value that all of the schemas apply to.
    fn of_all(schemas: Vec<Schema<'s>>) -> Self {
        let mut all = vec![Form::default()];
        let mut left = MAX_BRANCHES;
        for schema in schemas {
            let forms =
                forms_of(schema, MAX_DEPTH, &mut left).and_then(|forms| combine(&all, &forms));
            match forms {
                Some(forms) => all = forms,
                None => return Self::unknown(),
            }
        }
        Self { forms: all }
    }

    fn union(shapes: impl Iterator<Item = Self>) -> Self {
        Self {
            forms: shapes.flat_map(|shape| shape.forms).collect(),
        }
    }

    /// Returns whether the value has a member: a key of an object, or a position in a list.
    #[must_use]
    pub fn presence(&self, word: &str) -> Presence {
        let each: Vec<Presence> = self.forms.iter().map(|form| form.presence(word)).collect();
        if each.iter().all(|presence| *presence == Presence::Never) {
            return Presence::Never;
        }
        let least = each.into_iter().min();
        least.map_or(Presence::Never, |least| least.max(Presence::Sometimes))
    }

    /// Returns the shape of a member.
    #[must_use]
    pub fn member(&self, word: &str) -> Self {
        Self::union(self.forms.iter().map(|form| form.member(word)))
    }

    /// Returns the shape of a value that is known to be there and not `null`.
    #[must_use]
    pub fn present(&self) -> Self {
        let kinds = self.forms.iter().flat_map(Form::kinds);
        let present = kinds.filter(|form| form.narrowed_to != Some("null"));
        Self {
            forms: present.collect(),
        }
    }

    /// Returns the shape inside a template section over the value: that of the items of a list, or of the value itself;
    /// `None` for a boolean, which has neither.
    #[must_use]
    pub fn inside(&self) -> Option<Self> {
        let in_section =
            self.present()
                .forms
                .into_iter()
                .filter_map(|form| match form.narrowed_to {
                    Some("boolean") => None,
                    Some("array") => Some(form.items()),
                    Some(_) => Some(Self::of_form(form)),
                    None => Some(Self::unknown()),
                });
        let inside = Self::union(in_section);
        (!inside.forms.is_empty()).then_some(inside)
    }

    /// Returns the texts that a member may be.
    #[must_use]
    pub fn texts(&self, word: &str) -> Texts<'s> {
        let mut texts = Texts::default();
        for form in &self.forms {
            form.add_texts(word, &mut texts);
        }
        texts
    }

    /// Returns the shape that is left when a member is known to be this text.
    #[must_use]
    pub fn with_text(&self, word: &str, text: &str) -> Self {
        let may_be_text = |form: &&Form<'s>| {
            let mut texts = Texts::default();
            form.add_texts(word, &mut texts);
            texts.open || texts.listed.contains(text)
        };
        Self {
            forms: self.forms.iter().filter(may_be_text).cloned().collect(),
        }
    }

    /// Tells whether a form leaves it open which of several texts a member is.
    #[must_use]
    pub fn has_form_with_texts(&self, word: &str) -> bool {
        self.forms.iter().any(|form| {
            let mut texts = Texts::default();
            form.add_texts(word, &mut texts);
            texts.open || texts.listed.len() > 1
        })
    }

    /// Tells whether every form requires a member.
    #[must_use]
    pub fn requires(&self, word: &str) -> bool {
        self.forms.iter().all(|form| form.requires(word))
    }

    /// Returns how many forms there are.
    #[must_use]
    pub fn forms(&self) -> usize {
        self.forms.len()
    }

    /// Returns how many forms have no place for a member.
    #[must_use]
    pub fn forms_without(&self, word: &str) -> usize {
        let without = |form: &&Form<'_>| form.presence(word) == Presence::Never;
        self.forms.iter().filter(without).count()
    }

    /// Returns the members that the schema lists.
    #[must_use]
    pub fn names(&self) -> BTreeSet<&'s str> {
        let schemas = self.forms.iter().flat_map(|form| &form.schemas);
        schemas
            .flat_map(|schema| schema.properties())
            .map(|(name, _)| name)
            .collect()
    }
}

impl<'s> Form<'s> {
    fn presence(&self, word: &str) -> Presence {
        if word.parse::<usize>().is_ok() && self.may_be("array") {
            return Presence::Sometimes;
        }
        if !self.may_be("object") {
            return Presence::Never;
        }
        if self.requires(word) {
            match self.types().as_deref() {
                None | Some(["object"]) => Presence::Always,
                Some(_) => Presence::Sometimes,
            }
        } else if self.schemas.iter().any(|s| s.property(word).is_some()) {
            // Without any `required`, the author may not have thought about required members.
            if self.schemas.iter().any(|s| s.get("required").is_some()) {
                Presence::Sometimes
            } else {
                Presence::Unknown
            }
        } else if self.is_open() {
            Presence::Unknown
        } else {
            Presence::Never
        }
    }

    fn member(&self, word: &str) -> Shape<'s> {
        if self.presence(word) == Presence::Never {
            return Shape::nothing();
        }
        if word.parse::<usize>().is_ok() && self.may_be("array") {
            return self.items();
        }
        let schemas = self.schemas.iter().filter_map(|s| s.property(word));
        Shape::of_all(schemas.collect())
    }

    /// Returns the shape of the items of a list.
    fn items(&self) -> Shape<'s> {
        let items = self.schemas.iter().filter_map(|s| s.schema("items"));
        Shape::of_all(items.collect())
    }

    /// Tells whether objects of this form may have members that the schemas do not list.
    fn is_open(&self) -> bool {
        const OPENING: [&str; 6] = ["patternProperties", "if", "then", "else", "not", "$ref"];
        let mut lists = false;
        for schema in &self.schemas {
            match schema.get("additionalProperties") {
                Some(Value::Bool(false)) => lists = true,
                Some(_) => return true,
                None => lists |= schema.get("properties").is_some(),
            }
            if OPENING.iter().any(|key| schema.get(key).is_some()) {
                return true;
            }
        }
        !lists
    }

    /// Returns the types that all schemas allow, or `None` if none names a type.
    fn types(&self) -> Option<Vec<&'s str>> {
        if let Some(name) = self.narrowed_to {
            return Some(vec![name]);
        }
        let named = self.schemas.iter().filter_map(|s| s.types());
        let common = named.reduce(|mut all: Vec<&str>, names| {
            all.retain(|name| names.contains(name));
            all
        });
        let has = |key: &str| self.schemas.iter().any(|schema| schema.get(key).is_some());
        common
            .or_else(|| has("properties").then(|| vec!["object"]))
            .or_else(|| has("items").then(|| vec!["array"]))
    }

    fn may_be(&self, name: &str) -> bool {
        self.types().is_none_or(|types| types.contains(&name))
    }

    /// Returns the form once per type that it allows.
    fn kinds(&self) -> Vec<Self> {
        let Some(types) = self.types() else {
            return vec![self.clone()];
        };
        let narrowed = types.into_iter().map(|name| Self {
            schemas: self.schemas.clone(),
            narrowed_to: Some(name),
        });
        narrowed.collect()
    }

    /// Returns the values that all schemas allow, or `None` if none lists values.
    fn values(&self) -> Option<Vec<&'s Value>> {
        let listed = self.schemas.iter().filter_map(|s| s.values());
        listed.reduce(|mut all, values| {
            all.retain(|value| values.contains(value));
            all
        })
    }

    fn requires(&self, word: &str) -> bool {
        self.schemas.iter().any(|schema| schema.requires(word))
    }

    fn add_texts(&self, word: &str, texts: &mut Texts<'s>) {
        if self.presence(word) != Presence::Always {
            texts.absent = true;
        }
        for value in self.member(word).forms {
            let listed = value.values();
            for value in listed.iter().flatten() {
                match value.as_str() {
                    Some(text) => drop(texts.listed.insert(text)),
                    None => texts.absent = true,
                }
            }
            if listed.is_none() {
                let types = value.types().unwrap_or_else(|| vec!["string"]);
                texts.open |= types.contains(&"string");
                texts.absent |= types.iter().any(|name| *name != "string");
            }
        }
    }
}

/// Returns the forms that a schema allows, or `None` if they are too many.
fn forms_of<'s>(schema: Schema<'s>, depth: usize, left: &mut usize) -> Option<Vec<Form<'s>>> {
    let depth = depth.checked_sub(1)?;
    *left = left.checked_sub(1)?;
    if let Some(target) = schema.referenced() {
        return forms_of(target, depth, left);
    }
    let mut all = vec![Form {
        schemas: vec![schema],
        narrowed_to: None,
    }];
    for part in schema.schemas("allOf") {
        all = combine(&all, &forms_of(part, depth, left)?)?;
    }
    for keyword in ["oneOf", "anyOf"] {
        if schema.get(keyword).is_none() {
            continue;
        }
        let mut either = Vec::new();
        for option in schema.schemas(keyword) {
            either.extend(forms_of(option, depth, left)?);
        }
        all = combine(&all, &either)?;
    }
    Some(all)
}

/// Returns every combination of two lists of forms, or `None` if they are too many.
fn combine<'s>(left: &[Form<'s>], right: &[Form<'s>]) -> Option<Vec<Form<'s>>> {
    if left.len() * right.len() > MAX_FORMS {
        return None;
    }
    let pairs = left
        .iter()
        .flat_map(|one| right.iter().map(move |other| (one, other)));
    let joined = pairs.map(|(one, other)| Form {
        schemas: [one.schemas.as_slice(), &other.schemas].concat(),
        narrowed_to: None,
    });
    Some(joined.collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_form_allows_the_values_that_all_its_schemas_list() {
        let schema = json!({
            "properties": { "s": { "enum": ["a", "b", "c"] } },
            "required": ["s"],
            "oneOf": [
                { "properties": { "s": { "const": "a" } } },
                { "properties": { "s": { "enum": ["b", "d"] }, "why": {} }, "required": ["why"] },
            ],
        });
        let shape = Shape::of(&schema);
        let expected = Texts {
            listed: BTreeSet::from(["a", "b"]),
            ..Texts::default()
        };
        assert_eq!(shape.texts("s"), expected);
        assert_eq!(shape.with_text("s", "b").presence("why"), Presence::Always);
        assert_eq!(shape.with_text("s", "c").forms(), 0);
        assert!(!shape.has_form_with_texts("s"));
    }

    #[test]
    fn a_member_is_always_there_where_every_form_requires_it() {
        let check = |schema: Value, expected: bool| {
            assert_eq!(Shape::of(&schema).requires("a"), expected, "{schema}");
        };
        let requires = || json!({ "required": ["a"] });
        check(requires(), true);
        check(json!({ "allOf": [{}, requires()] }), true);
        check(json!({ "oneOf": [requires(), requires()] }), true);
        check(json!({ "oneOf": [requires(), {}] }), false);
        check(json!({ "then": requires() }), false);
    }

    #[test]
    fn a_member_that_depends_on_a_condition_is_unknown() {
        let schema = json!({
            "properties": { "s": { "enum": ["a", "b"] } },
            "required": ["s"],
            "if": { "properties": { "s": { "const": "a" } } },
            "then": { "properties": { "why": {} }, "required": ["why"] },
        });
        let shape = Shape::of(&schema);
        assert_eq!(shape.presence("why"), Presence::Unknown);
        assert_eq!(shape.presence("s"), Presence::Always);
    }

    #[test]
    fn a_reference_within_the_document_is_followed_and_a_circle_is_unknown() {
        let schema = json!({
            "definitions": { "b": { "properties": { "b": { "const": "x" } }, "required": ["b"] } },
            "properties": { "a": { "$ref": "#/definitions/b" }, "c": { "allOf": [{ "$ref": "#/properties/c" }] } },
        });
        let shape = Shape::of(&schema);
        assert_eq!(shape.member("a").presence("b"), Presence::Always);
        assert_eq!(shape.member("a").presence("c"), Presence::Never);
        assert_eq!(shape.member("c").presence("b"), Presence::Unknown);
    }
}
