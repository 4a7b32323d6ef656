//! The fields of a form that was sent.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, StatusCode, header};
use http_body_util::{BodyExt, Limited};
use serde_json::{Map, Value};

use crate::asked::Fields;
use crate::guard::Visitor;
use crate::trouble::Refusal;

/// How large a body may be.
const MOST_BYTES: usize = 1024 * 1024;
/// How large the form to log in may be, which everybody can send, and other forms without a text.
const FEW_BYTES: usize = 8 * 1024;
/// How long a body may take to come.
const PATIENCE: Duration = Duration::from_secs(10);
/// The field with the key of the session.
pub(crate) const KEY_FIELD: &str = "key";

/// Reads the fields of a form, or those of a JSON object.
///
/// # Errors
/// When the body is too large, does not come in time, or is no object of plain values.
pub(crate) async fn fields_of(headers: &HeaderMap, body: Body) -> Result<Fields, Refusal> {
    let kind = headers.get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let is_json = kind.split(';').next().map(str::trim) == Some("application/json");
    let whole = bytes(body, MOST_BYTES).await?;
    match is_json {
        true => of_json(&whole),
        false => Ok(of_form(&whole)),
    }
}

/// Reads the fields of a form that has no text of a person.
///
/// # Errors
/// When the body is too large, or does not come in time.
pub(crate) async fn few_fields(body: Body) -> Result<Fields, Refusal> {
    Ok(of_form(&bytes(body, FEW_BYTES).await?))
}

fn of_form(bytes: &[u8]) -> Fields {
    Fields::parse(&String::from_utf8_lossy(bytes))
}

async fn bytes(body: Body, most: usize) -> Result<Bytes, Refusal> {
    let whole = tokio::time::timeout(PATIENCE, Limited::new(body, most).collect());
    match whole.await {
        Ok(Ok(whole)) => Ok(whole.to_bytes()),
        Ok(Err(_)) => {
            let message = format!("this form has at most {most} bytes");
            Err(Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "body", message))
        }
        Err(_) => {
            let message = "the form did not come in time";
            Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, "slow", message))
        }
    }
}

/// Returns the fields of a JSON object. An array stands for several fields of one name.
fn of_json(bytes: &[u8]) -> Result<Fields, Refusal> {
    let wrong = || {
        let message = "the body is no JSON object of texts, numbers and lists of them";
        Refusal::new(StatusCode::BAD_REQUEST, "body", message)
    };
    if bytes.is_empty() {
        return Ok(Fields::default());
    }
    let object: Map<String, Value> = serde_json::from_slice(bytes).map_err(|_| wrong())?;
    let mut fields = Vec::new();
    for (name, value) in object {
        let values = match value {
            Value::Array(values) => values,
            value => vec![value],
        };
        for value in values {
            let text = match value {
                Value::String(text) => text,
                Value::Number(number) => number.to_string(),
                Value::Bool(true) => "1".to_owned(),
                Value::Bool(false) | Value::Null => String::new(),
                Value::Array(_) | Value::Object(_) => return Err(wrong()),
            };
            fields.push((name.clone(), text));
        }
    }
    Ok(Fields::of(fields))
}

/// Refuses a form that does not have the key of the visitor's session. A program has the token instead.
///
/// # Errors
/// When the key is another, or the visitor has no session.
pub(crate) fn check_key(visitor: &Visitor, fields: &Fields) -> Result<(), Refusal> {
    let given = fields.get(KEY_FIELD).unwrap_or_default();
    let fits = match visitor {
        Visitor::Stranger => false,
        Visitor::Program => true,
        Visitor::Person { form_key, .. } => form_key.is(given),
    };
    if fits {
        return Ok(());
    }
    let message = "the form is not from your session";
    let refusal = Refusal::new(StatusCode::FORBIDDEN, "key", message);
    Err(refusal.hint("open the page again, and send the form from there"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_has_the_fields_of_a_form() {
        let read = |text: &str| of_json(text.as_bytes());
        let fields = read(
            r#"{"prompt":"a\nb","count":2,"restore":true,"name":"","raise":["a","b"],"x":null}"#,
        )
        .unwrap();
        assert_eq!(fields.get("prompt"), Some("a\nb"));
        assert_eq!(fields.get("count"), Some("2"));
        assert_eq!(fields.get("restore"), Some("1"));
        assert_eq!(fields.get("name"), None);
        assert_eq!(fields.all("raise").collect::<Vec<_>>(), ["a", "b"]);
        assert!(read("").unwrap().0.is_empty());
        for wrong in ["[]", "1", "{\"a\":{}}", "{\"a\":[[]]}", "a=b"] {
            assert_eq!(read(wrong).unwrap_err().code, "body", "{wrong}");
        }
    }
}
