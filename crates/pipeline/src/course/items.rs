//! The items of a loop, when it is entered.

use std::sync::Arc;

use serde_json::Value;

use crate::fill::Filling;
use crate::result::{Captured, ErrorKind, Failure};
use crate::scope::Scope;
use crate::value::part;
use crate::{Items, Pointer, PointerField};

/// How many items a loop may have.
pub const MAX_ITEMS: usize = 100_000;

/// Returns the items of a loop.
///
/// # Errors
/// When there is no list where the loop looks for one, or a variable has no value.
pub(super) fn resolve(items: &Items, scope: &Scope<'_>) -> Result<Arc<[Value]>, Failure> {
    let items = match items {
        Items::List(items) => {
            let mut filling = Filling::new(scope);
            let items: Vec<Value> = items.iter().map(|item| filling.tree(item)).collect();
            filling.finish(&[])?;
            items
        }
        Items::From(pointer) => pointed(pointer, scope)?,
    };
    if items.len() > MAX_ITEMS {
        let message = format!(
            "the loop has {} items, and {MAX_ITEMS} are allowed",
            items.len()
        );
        return Err(Failure::new(ErrorKind::InvalidReference, message));
    }
    Ok(items.into())
}

fn pointed(pointer: &Pointer, scope: &Scope<'_>) -> Result<Vec<Value>, Failure> {
    let written = written(pointer);
    let wrong = |why: String| {
        let message = format!("`{written}` is no list: {why}");
        Failure::new(ErrorKind::InvalidReference, message).fact("items_from", written.clone())
    };
    let Some(recorded) = scope.recorded(&pointer.step) else {
        return Err(wrong(format!("step `{}` has not run", pointer.step)));
    };
    match (pointer.field, &recorded.result.captured) {
        (PointerField::Lines, Some(Captured::Lines { lines, .. })) => {
            Ok(lines.iter().cloned().map(Value::String).collect())
        }
        (PointerField::Json, Some(Captured::Json(json))) => match part(json, &pointer.path) {
            Some(Value::Array(items)) => Ok(items.clone()),
            Some(other) => Err(wrong(format!("it is {}", kind(other)))),
            None => Err(wrong("there is no such part".to_owned())),
        },
        _ => {
            let status = recorded.result.status.as_str();
            let why = format!("step `{}` is {status} without such output", pointer.step);
            Err(wrong(why))
        }
    }
}

fn written(pointer: &Pointer) -> String {
    let field = match pointer.field {
        PointerField::Lines => "lines",
        PointerField::Json => "json",
    };
    let mut parts = vec!["steps", &pointer.step, field];
    parts.extend(pointer.path.iter().map(String::as_str));
    parts.join(".")
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
