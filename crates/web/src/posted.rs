//! The fields of a form that was sent.

use std::time::Duration;

use axum::body::Body;
use axum::http::StatusCode;
use http_body_util::{BodyExt, Limited};

use crate::asked::Query;
use crate::guard::Visitor;
use crate::trouble::Refusal;

/// How large a body may be.
pub(crate) const MOST_BYTES: usize = 1024 * 1024;
/// How long a body may take to come.
const PATIENCE: Duration = Duration::from_secs(10);
/// The field with the key of the session.
pub(crate) const KEY_FIELD: &str = "key";

/// Reads the fields of a form.
///
/// # Errors
/// When the body is too large, or does not come in time.
pub(crate) async fn fields(body: Body) -> Result<Query, Refusal> {
    let whole = tokio::time::timeout(PATIENCE, Limited::new(body, MOST_BYTES).collect());
    let whole = match whole.await {
        Ok(Ok(whole)) => whole.to_bytes(),
        Ok(Err(_)) => {
            let message = format!("a form has at most {MOST_BYTES} bytes");
            return Err(Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "body", message));
        }
        Err(_) => {
            let message = "the form did not come in time";
            return Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, "slow", message));
        }
    };
    Ok(Query::parse(&String::from_utf8_lossy(&whole)))
}

/// Refuses a form that does not have the key of the visitor's session. A program has the token instead.
///
/// # Errors
/// When the key is another, or the visitor has no session.
pub(crate) fn check_key(visitor: &Visitor, fields: &Query) -> Result<(), Refusal> {
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
