//! The fields that a form or a program sent, and the check of the session's key.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, StatusCode, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde_json::{Map, Value};
use url::form_urlencoded;
use uwf_util::text::cut_line;

use crate::fields::Fields;
use crate::trouble::Refusal;
use crate::visitor::Visitor;

/// How large a body may be, in bytes.
const MOST_BYTES: usize = 1024 * 1024;
/// How large a form may be that a visitor without a session can send, in bytes.
const FEW_BYTES: usize = 8 * 1024;
/// How long a body may take to arrive.
const PATIENCE: Duration = Duration::from_secs(10);
/// The field with the key of the session.
pub(crate) const KEY_FIELD: &str = "key";
/// The media type of a form.
const FORM: &str = "application/x-www-form-urlencoded";
/// The media type of a JSON object.
const JSON: &str = "application/json";
/// How many characters of the name of an unknown field a refusal shows.
const SHOWN: usize = 64;

/// The kind of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The fields of a form.
    Form,
    /// A JSON object.
    Json,
    /// The request has no `Content-Type`.
    Unsaid,
    /// Something else.
    Other,
}

/// Reads the fields of a form or of a JSON object. It may have the `known` fields, and those that our own forms add (`ours`).
/// Another field is refused: it may be misspelt, and may have been meant to prevent something.
///
/// # Errors
/// When the body is too large, does not arrive whole and in time, is of another kind, is no object of plain values, or has another
/// field.
pub(crate) async fn fields_of(
    headers: &HeaderMap,
    body: Body,
    known: &[&str],
    ours: &[&str],
) -> Result<Fields, Refusal> {
    let kind = kind(headers);
    let whole = bytes(body, MOST_BYTES).await?;
    let fields = match kind {
        Kind::Form => of_form(&whole),
        Kind::Json => of_json(&whole)?,
        Kind::Unsaid if whole.is_empty() => Vec::new(),
        Kind::Unsaid | Kind::Other => return Err(of_another_kind()),
    };
    refuse_unknown(&fields, kind, known, ours)?;
    Ok(Fields::of(fields))
}

/// Returns the fields of a form. A browser ends each line of a text with `\r\n`, although the person typed a plain line end: it
/// becomes `\n` again.
fn of_form(bytes: &[u8]) -> Vec<(String, String)> {
    let fields = form_urlencoded::parse(bytes).into_owned();
    let typed = |(name, text): (String, String)| (name, text.replace("\r\n", "\n"));
    fields.map(typed).collect()
}

/// Returns the kind of a body, by its `Content-Type`.
fn kind(headers: &HeaderMap) -> Kind {
    let Some(kind) = headers.get(header::CONTENT_TYPE) else {
        return Kind::Unsaid;
    };
    let kind = kind.to_str().unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    match kind.to_ascii_lowercase().as_str() {
        FORM => Kind::Form,
        JSON => Kind::Json,
        _ => Kind::Other,
    }
}

fn of_another_kind() -> Refusal {
    let message = "this address takes a form or a JSON object";
    let refusal = Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "media-type", message);
    refusal.hint(format!(
        "send it as `Content-Type: {JSON}` or `Content-Type: {FORM}`"
    ))
}

fn refuse_unknown(
    fields: &[(String, String)],
    kind: Kind,
    known: &[&str],
    ours: &[&str],
) -> Result<(), Refusal> {
    let mut names = fields.iter().map(|(name, _)| name.as_str());
    let is_known = |name: &str| ours.contains(&name) || known.contains(&name);
    let Some(unknown) = names.find(|name| !is_known(name)) else {
        return Ok(());
    };
    let unknown = cut_line(unknown, SHOWN);
    let message = format!("`{unknown}` is an unknown field; nothing was done");
    let refusal = Refusal::new(StatusCode::BAD_REQUEST, "field", message);
    let takes = match known {
        [] => "this address takes no fields".to_owned(),
        known => format!("this address takes `{}`", known.join("`, `")),
    };
    Err(refusal.hint(match kind {
        Kind::Form => format!("{takes}; send a JSON object as `Content-Type: {JSON}`"),
        Kind::Json | Kind::Unsaid | Kind::Other => takes,
    }))
}

/// Reads the fields of a small form: to log in, to log out, or of a visitor without a session. It takes any `Content-Type` and any
/// field.
///
/// # Errors
/// When the body is too large, or does not arrive whole and in time.
pub(crate) async fn few_fields(body: Body) -> Result<Fields, Refusal> {
    let whole = bytes(body, FEW_BYTES).await?;
    Ok(Fields::parse(&String::from_utf8_lossy(&whole)))
}

async fn bytes(body: Body, most: usize) -> Result<Bytes, Refusal> {
    let whole = tokio::time::timeout(PATIENCE, Limited::new(body, most).collect());
    match whole.await {
        Ok(Ok(whole)) => Ok(whole.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            let message = format!("this form has at most {most} bytes");
            Err(Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "body", message))
        }
        Ok(Err(_)) => {
            let message = "the form did not come whole";
            Err(Refusal::new(StatusCode::BAD_REQUEST, "body", message))
        }
        Err(_) => {
            let message = "the form did not come in time";
            Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, "slow", message))
        }
    }
}

/// Returns the fields of a JSON object. An array becomes several fields of one name; `false` and `null` count as absent.
fn of_json(bytes: &[u8]) -> Result<Vec<(String, String)>, Refusal> {
    let wrong = || {
        let message = "the body is not a JSON object of texts, numbers, booleans and lists of them";
        Refusal::new(StatusCode::BAD_REQUEST, "body", message)
    };
    if bytes.is_empty() {
        return Ok(Vec::new());
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
                Value::Bool(true) => "true".to_owned(),
                Value::Bool(false) | Value::Null => String::new(),
                Value::Array(_) | Value::Object(_) => return Err(wrong()),
            };
            fields.push((name.clone(), text));
        }
    }
    Ok(fields)
}

/// Refuses a form that does not have the key of the visitor's session. A program that sent the token needs no key.
///
/// # Errors
/// When the key is missing or wrong, or the visitor is a stranger.
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
    let refusal = Refusal::of_access(StatusCode::FORBIDDEN, "key", message);
    Err(refusal.hint("open the page again, and send the form from there"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_form_end_as_they_were_typed() {
        let fields = of_form(b"prompt=a%0D%0Ab%0Ac%0Dd&x=y");
        let read = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        assert_eq!(fields, [read("prompt", "a\nb\nc\rd"), read("x", "y")]);
        let object = of_json(br#"{"prompt":"a\r\nb"}"#).unwrap();
        assert_eq!(object, [read("prompt", "a\r\nb")]);
    }

    #[test]
    fn an_object_has_the_fields_of_a_form() {
        let read = |text: &str| of_json(text.as_bytes()).map(Fields::of);
        let fields = read(
            r#"{"prompt":"a\nb","count":2,"restore":true,"name":"","raise":["a","b"],"x":null}"#,
        )
        .unwrap();
        assert_eq!(fields.get("prompt"), Some("a\nb"));
        assert_eq!(fields.get("count"), Some("2"));
        assert_eq!(fields.get("restore"), Some("true"));
        assert_eq!(fields.get("name"), None);
        assert_eq!(fields.all("raise").collect::<Vec<_>>(), ["a", "b"]);
        assert!(read("").unwrap().0.is_empty());
        for wrong in ["[]", "1", "{\"a\":{}}", "{\"a\":[[]]}", "a=b"] {
            assert_eq!(read(wrong).unwrap_err().code, "body", "{wrong}");
        }
    }

    #[test]
    fn the_kind_of_a_body_is_read_as_browsers_and_programs_write_it() {
        let of = |text: &'static str| {
            let value = header::HeaderValue::from_static(text);
            kind(&HeaderMap::from_iter([(header::CONTENT_TYPE, value)]))
        };
        assert_eq!(of("Application/JSON;charset=utf-8"), Kind::Json);
        assert_eq!(of("application/x-www-form-URLencoded"), Kind::Form);
        assert_eq!(of("text/plain"), Kind::Other);
        assert_eq!(of("application/json-patch"), Kind::Other);
        assert_eq!(kind(&HeaderMap::new()), Kind::Unsaid);
    }
}
