//! The notices of a command that succeeded: its notes and warnings. A person sees them on the page that follows, and a program
//! finds them in the answer.

use serde_json::Value;

use crate::asked::Asked;
use crate::once::Outcome;
use crate::parts::{NOTICES, with_field};
use crate::visitor::Visitor;

/// Returns the outcome that leads a person to a page, which shows the notices of the command.
pub(super) fn outcome(asked: &Asked, address: String, notices: Vec<String>) -> Outcome {
    let number = match &asked.visitor {
        Visitor::Person { session, .. } if !notices.is_empty() => {
            asked.app.sessions.keep_notices(session, notices)
        }
        Visitor::Person { .. } | Visitor::Program | Visitor::Stranger => None,
    };
    Outcome::leads(match number {
        Some(number) => with_field(&address, NOTICES, &number.to_string()),
        None => address,
    })
}

/// Returns what a command printed, with its notices. They are left out if it printed no object.
pub(super) fn with(mut printed: Value, notices: Vec<String>) -> Value {
    if let (Some(fields), false) = (printed.as_object_mut(), notices.is_empty()) {
        fields.insert("notices".to_owned(), notices.into());
    }
    printed
}
