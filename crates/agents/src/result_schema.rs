//! The result schema: the parameters of the tool by which a model submits its result. They are made from the role's
//! schema, and a result is converted back to an answer.
//!
//! Pure. A result is checked by the kit's own extraction, so that the kit accepts every result that is accepted here.

mod strict;

use serde_json::{Map, Value, json};
use uwf_agent_kit::extract::{Rejected, RoleSchema};
use uwf_protocol::answer::{REASON_FIELD, STATUS_FIELD, is_suspension};
use uwf_protocol::ids::Status;
use uwf_protocol::schemas;
use uwf_schema::{Field, Schema, SchemaError, Shape, fields};

use crate::answer;

/// The longest name of a parameter that endpoints accept, in characters.
const MAX_NAME: usize = 64;

/// The result schema of one role.
pub(crate) struct ResultSchema {
    schema: RoleSchema,
    /// Parameter and field, for every field of the schema. They differ where endpoints do not accept the field's name.
    names: Vec<(String, String)>,
    /// The parameter with the Markdown.
    body: String,
    parameters: Value,
}

impl ResultSchema {
    /// Returns the result schema of a role.
    ///
    /// # Errors
    /// When the schema of the role cannot be used.
    pub(crate) fn new(schema: &Value) -> Result<Self, SchemaError> {
        let fields = fields(&[Schema::new(schema)], STATUS_FIELD);
        let mut names: Vec<(String, String)> = Vec::new();
        for field in &fields {
            let name = unused(parameter(field.name), &names);
            names.push((name, field.name.to_owned()));
        }
        let is_field = |name: &str| fields.iter().any(|field| field.name == name);
        for name in [STATUS_FIELD, REASON_FIELD] {
            if !is_field(name) {
                let parameter = unused(parameter(name), &names);
                names.push((parameter, name.to_owned()));
            }
        }
        let body = unused("body".to_owned(), &names);
        Ok(Self {
            parameters: parameters(schema, &fields, &names, &body),
            // The hash of the output's type is not used here.
            schema: RoleSchema::new(schemas::OBJECT, schema.clone())?,
            names,
            body,
        })
    }

    /// Returns the JSON Schema of the finishing tool.
    pub(crate) fn parameters(&self) -> &Value {
        &self.parameters
    }

    /// Returns the parameters in the form that endpoints ask for which enforce a schema, or `None` if the role's schema has
    /// something that this form cannot say. A result of this form is [given](Self::given).
    pub(crate) fn strict_parameters(&self) -> Option<Value> {
        strict::can_be_closed(self.schema.schema())
            .then(|| strict::closed(&self.parameters))
            .flatten()
    }

    /// Explains to the model which parameter stands for which part of the answer that the prompt asks for.
    pub(crate) fn explain(&self) -> String {
        let renamed = self
            .names
            .iter()
            .filter(|(parameter, field)| parameter != field);
        let renamed: Vec<String> = renamed
            .map(|(parameter, field)| format!("`{parameter}` stands for `{field}`"))
            .collect();
        let renamed = if renamed.is_empty() {
            String::new()
        } else {
            format!(" ({})", renamed.join(", "))
        };
        format!(
            "Pass each field of the front matter as a parameter{renamed}. Pass the Markdown after it as `{}`.",
            self.body
        )
    }

    /// Converts a result to an answer.
    ///
    /// # Errors
    /// Says for the model what does not fit.
    pub(crate) fn answer(&self, value: &Value) -> Result<String, String> {
        let result = value
            .as_object()
            .ok_or("the result must be a JSON object")?;
        let (data, body) = self.data_and_body(result);
        let text = answer::render(&data, &body);
        let problem = match self.check(&text) {
            Ok(()) => return Ok(text),
            Err(problem) => problem,
        };
        // Models pass null for optional fields: try again without those.
        let filled = data.into_iter().filter(|(_, value)| !value.is_null());
        let text = answer::render(&filled.collect(), &body);
        self.check(&text).map(|()| text).map_err(|_| problem)
    }

    /// Converts a result to an answer that the kit has yet to check: what enforced the parameters knows only a part of the
    /// role's schema. `prose` stands for an empty Markdown.
    pub(crate) fn given(&self, result: &Map<String, Value>, prose: &str) -> String {
        let (mut data, body) = self.data_and_body(result);
        if is_suspension(&Value::Object(data.clone())).is_some() {
            // What the role requires was forced on a model that only asks a question.
            let shape = Shape::of(self.schema.schema());
            let is_asked = |name: &str| name == STATUS_FIELD || name == REASON_FIELD;
            data.retain(|name, _| is_asked(name) || !shape.requires(name));
        }
        let schema = [Schema::new(self.schema.schema())];
        let data = strict::without_forced_nulls(&data, &schema);
        let body = if body.trim().is_empty() { prose } else { &body };
        answer::render(&data, body)
    }

    /// Checks an answer that was given as text. Returns `None` for a text without front matter: it is no answer.
    pub(crate) fn check_text(&self, text: &str) -> Option<Result<(), String>> {
        match self.schema.extract(text) {
            Err(Rejected::NoFrontMatter(_)) if !text.trim_start().starts_with("---") => None,
            result => Some(result.map(|_| ()).map_err(|error| error.to_string())),
        }
    }

    fn check(&self, text: &str) -> Result<(), String> {
        self.schema
            .extract(text)
            .map(|_| ())
            .map_err(|error| match error {
                Rejected::Unfit(problems) => problems.join("; "),
                other => other.to_string(),
            })
    }

    /// Splits a result into the data, under the schema's names for it, and the Markdown.
    fn data_and_body(&self, result: &Map<String, Value>) -> (Map<String, Value>, String) {
        let mut data = Map::new();
        let mut body = String::new();
        for (name, value) in result {
            let known = self.names.iter().find(|(parameter, _)| parameter == name);
            match (known, value) {
                (Some((_, field)), value) => {
                    data.insert(field.clone(), value.clone());
                }
                (None, Value::String(text)) if *name == self.body => body.clone_from(text),
                (None, Value::Null) if *name == self.body => {}
                (None, value) => {
                    data.insert(name.clone(), value.clone());
                }
            }
        }
        if let Some(status) = data.shift_remove(STATUS_FIELD) {
            data.shift_insert(0, STATUS_FIELD.to_owned(), status);
        }
        (data, body)
    }
}

/// Returns the field's name with only the characters that every endpoint accepts.
fn parameter(field: &str) -> String {
    let field = field.strip_prefix('$').unwrap_or(field);
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let name: String = field
        .chars()
        .map(|c| if allowed(c) { c } else { '_' })
        .take(MAX_NAME - 2)
        .collect();
    if name.is_empty() {
        return "field".to_owned();
    }
    name
}

/// Returns the name, with a number behind it if it is taken.
fn unused(name: String, taken: &[(String, String)]) -> String {
    let is_taken = |name: &str| taken.iter().any(|(parameter, _)| parameter == name);
    if !is_taken(&name) {
        return name;
    }
    let mut others = (2..).map(|number| format!("{name}{number}"));
    others
        .find(|other| !is_taken(other))
        .expect("numbers do not end")
}

fn parameters(
    schema: &Value,
    fields: &[Field<'_>],
    names: &[(String, String)],
    body: &str,
) -> Value {
    let shape = Shape::of(schema);
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (parameter, name) in names {
        let field = fields.iter().find(|field| field.name == *name);
        let described = match (field, name.as_str()) {
            (Some(field), STATUS_FIELD) => with_suspension(one_of(&field.schemas)),
            (Some(field), _) => one_of(&field.schemas),
            (None, STATUS_FIELD) => json!({
                "enum": [Status::SUSPEND],
                "description": "Leave this out, unless you need a decision by a person.",
            }),
            (None, _) => json!({
                "type": "string",
                "description": format!("Your question to the person. Required with the status {}.", Status::SUSPEND),
            }),
        };
        properties.insert(parameter.clone(), described);
        if field.is_some() && shape.requires(name) {
            required.push(Value::from(parameter.clone()));
        }
    }
    let description = "Your report in Markdown, for people and for later roles.";
    properties.insert(
        body.to_owned(),
        json!({ "type": "string", "description": description }),
    );
    required.push(body.into());
    json!({ "type": "object", "properties": properties, "required": required })
}

/// Merges what several parts of a schema say about a field into one schema.
fn one_of(schemas: &[Schema<'_>]) -> Value {
    let mut different: Vec<Schema<'_>> = Vec::new();
    for schema in schemas {
        if !different.contains(schema) {
            different.push(*schema);
        }
    }
    let values: Option<Vec<&Value>> = different.iter().map(|one| one.fixed_value()).collect();
    match (&different[..], values) {
        ([schema], _) => schema.value().clone(),
        (_, Some(values)) => json!({ "enum": values }),
        (_, None) => {
            let different: Vec<&Value> = different.iter().map(|one| one.value()).collect();
            json!({ "anyOf": different })
        }
    }
}

/// Adds `$SUSPEND` to the values of a status whose values are listed.
fn with_suspension(mut schema: Value) -> Value {
    if let Some(value) = Schema::new(&schema).fixed_value().cloned() {
        schema = json!({ "enum": [value] });
    }
    if let Some(values) = schema.get_mut("enum").and_then(Value::as_array_mut) {
        let suspend = Value::from(Status::SUSPEND);
        if !values.contains(&suspend) {
            values.push(suspend);
        }
    }
    schema
}

#[cfg(test)]
mod tests;
