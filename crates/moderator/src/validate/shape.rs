//! What a JSON Schema promises about a value: which members it has, and which texts they may be.
//!
//! This is no validator. It reads the keywords that say something about members (`properties`, `required`,
//! `items`, `const`, `enum`, `type` and the combinators) and says "unknown" for everything else.

use std::collections::BTreeSet;

use serde_json::Value;

/// How many forms are told apart; a schema with more is taken as unknown.
const MAX_FORMS: usize = 64;

/// How deep combinators are followed.
const MAX_DEPTH: usize = 16;

/// The forms that a value may have: the variants of its schema. A value without any has no members.
#[derive(Debug, Clone, Default)]
pub(super) struct Shape<'s> {
    forms: Vec<Form<'s>>,
}

/// One form of a value: all of the schemas hold for it. Without schemas nothing is known.
#[derive(Debug, Clone, Default)]
struct Form<'s> {
    schemas: Vec<&'s Value>,
    /// The one type that is meant, where the schemas allow several.
    narrowed_to: Option<&'s str>,
}

/// Whether a value has a member. The order is that of a chain of members: the least of them counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Presence {
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
pub(super) struct Texts<'s> {
    /// The values that the schema lists.
    pub(super) listed: BTreeSet<&'s str>,
    /// Any other text is possible, too.
    pub(super) open: bool,
    /// The member may be missing, or something else than a text.
    pub(super) absent: bool,
}

impl<'s> Shape<'s> {
    /// Returns what a schema says.
    pub(super) fn of(schema: &'s Value) -> Self {
        Self::of_all(vec![schema])
    }

    /// Returns the shape of a value that has no members.
    pub(super) fn nothing() -> Self {
        Self::default()
    }

    /// Returns the shape of a value that nothing is known about.
    pub(super) fn unknown() -> Self {
        Self::of_form(Form::default())
    }

    fn of_form(form: Form<'s>) -> Self {
        Self { forms: vec![form] }
    }

    /// Returns the shape of a value that all of the schemas hold for.
    fn of_all(schemas: Vec<&'s Value>) -> Self {
        let mut all = vec![Form::default()];
        for schema in schemas {
            let forms = forms_of(schema, MAX_DEPTH).and_then(|forms| combine(&all, &forms));
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
    pub(super) fn presence(&self, word: &str) -> Presence {
        let each: Vec<Presence> = self.forms.iter().map(|form| form.presence(word)).collect();
        if each.iter().all(|presence| *presence == Presence::Never) {
            return Presence::Never;
        }
        let least = each.into_iter().min();
        least.map_or(Presence::Never, |least| least.max(Presence::Sometimes))
    }

    /// Returns the shape of a member.
    pub(super) fn member(&self, word: &str) -> Self {
        Self::union(self.forms.iter().map(|form| form.member(word)))
    }

    /// Returns the shape of a value that is known to be there and not `null`.
    pub(super) fn present(&self) -> Self {
        let kinds = self.forms.iter().flat_map(Form::kinds);
        let present = kinds.filter(|form| form.narrowed_to != Some("null"));
        Self {
            forms: present.collect(),
        }
    }

    /// Returns the shape of what a section over the value looks at: the items of a list, or the value
    /// itself; `None` if it is a plain truth value, which has nothing to look at.
    pub(super) fn inside(&self) -> Option<Self> {
        let looked_at =
            self.present()
                .forms
                .into_iter()
                .filter_map(|form| match form.narrowed_to {
                    Some("boolean") => None,
                    Some("array") => Some(form.items()),
                    Some(_) => Some(Self::of_form(form)),
                    None => Some(Self::unknown()),
                });
        let inside = Self::union(looked_at);
        (!inside.forms.is_empty()).then_some(inside)
    }

    /// Returns the texts that a member may be.
    pub(super) fn texts(&self, word: &str) -> Texts<'s> {
        let mut texts = Texts::default();
        for form in &self.forms {
            form.add_texts(word, &mut texts);
        }
        texts
    }

    /// Returns the shape that is left when a member is known to be this text.
    pub(super) fn with_text(&self, word: &str, text: &str) -> Self {
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
    pub(super) fn has_form_with_texts(&self, word: &str) -> bool {
        self.forms.iter().any(|form| {
            let mut texts = Texts::default();
            form.add_texts(word, &mut texts);
            texts.open || texts.listed.len() > 1
        })
    }

    /// Returns how many forms there are.
    pub(super) fn forms(&self) -> usize {
        self.forms.len()
    }

    /// Returns how many forms have no place for a member.
    pub(super) fn forms_without(&self, word: &str) -> usize {
        let without = |form: &&Form<'_>| form.presence(word) == Presence::Never;
        self.forms.iter().filter(without).count()
    }

    /// Returns the members that the schema lists.
    pub(super) fn names(&self) -> BTreeSet<&'s str> {
        let schemas = self.forms.iter().flat_map(|form| &form.schemas);
        let objects = schemas.filter_map(|schema| schema.get("properties")?.as_object());
        objects
            .flat_map(|object| object.keys().map(String::as_str))
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
        let requires = |schema: &&Value| {
            let names = schema.get("required").and_then(Value::as_array);
            names.is_some_and(|names| names.iter().any(|name| name == word))
        };
        if self.schemas.iter().any(requires) {
            match self.types().as_deref() {
                None | Some(["object"]) => Presence::Always,
                Some(_) => Presence::Sometimes,
            }
        } else if self.schemas.iter().any(|s| property(s, word).is_some()) {
            // A schema without any `required` has not been written with the question in mind.
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
        let schemas = self.schemas.iter().filter_map(|s| property(s, word));
        Shape::of_all(schemas.collect())
    }

    /// Returns the shape of the items of a list.
    fn items(&self) -> Shape<'s> {
        let items = self.schemas.iter().filter_map(|schema| schema.get("items"));
        Shape::of_all(items.filter(|items| items.is_object()).collect())
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

    /// Returns the types that the schemas allow together, or `None` if they do not say.
    fn types(&self) -> Option<Vec<&'s str>> {
        if let Some(name) = self.narrowed_to {
            return Some(vec![name]);
        }
        let named = self.schemas.iter().filter_map(|s| match s.get("type")? {
            Value::String(name) => Some(vec![name.as_str()]),
            Value::Array(names) => Some(names.iter().filter_map(Value::as_str).collect()),
            _ => None,
        });
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

    fn add_texts(&self, word: &str, texts: &mut Texts<'s>) {
        if self.presence(word) != Presence::Always {
            texts.absent = true;
        }
        for value in self.member(word).forms {
            let listed = value.schemas.iter().find_map(|s| match s.get("const") {
                Some(value) => Some(vec![value]),
                None => Some(s.get("enum")?.as_array()?.iter().collect()),
            });
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
fn forms_of(schema: &Value, depth: usize) -> Option<Vec<Form<'_>>> {
    let depth = depth.checked_sub(1)?;
    let list = |key: &str| schema.get(key).and_then(Value::as_array);
    let mut all = vec![Form {
        schemas: vec![schema],
        narrowed_to: None,
    }];
    for part in list("allOf").into_iter().flatten() {
        all = combine(&all, &forms_of(part, depth)?)?;
    }
    for options in ["oneOf", "anyOf"].into_iter().filter_map(list) {
        let mut either = Vec::new();
        for option in options {
            either.extend(forms_of(option, depth)?);
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

fn property<'s>(schema: &'s Value, word: &str) -> Option<&'s Value> {
    schema.get("properties")?.get(word)
}
