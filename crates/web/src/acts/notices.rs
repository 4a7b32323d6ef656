//! The notices of a command that succeeded: its notes and warnings. A person sees them on the page that follows, and a program
//! finds them in the answer.

use maud::{Markup, html};
use serde_json::Value;

use crate::asked::Asked;
use crate::guard::Visitor;
use crate::once::Outcome;
use crate::parts::{Said, with_field};

/// The field of an address with the number of the notices that its page shows.
const FIELD: &str = "told";

/// Returns the outcome that leads a person to a page, which shows the notices of the command.
pub(super) fn outcome(asked: &Asked, address: String, notices: Vec<String>) -> Outcome {
    let number = match &asked.visitor {
        Visitor::Person { session, .. } if !notices.is_empty() => {
            asked.app.sessions.keep_notices(session, notices)
        }
        Visitor::Person { .. } | Visitor::Program | Visitor::Stranger => None,
    };
    Outcome::leads(match number {
        Some(number) => with_field(&address, FIELD, &number.to_string()),
        None => address,
    })
}

/// Returns the notices that an address names; nothing if it names none.
pub(crate) fn section(asked: &Asked) -> Markup {
    let number = asked.query.get(FIELD).and_then(|text| text.parse().ok());
    let notices = match (&asked.visitor, number) {
        (Visitor::Person { session, .. }, Some(number)) => {
            asked.app.sessions.notices(session, number)
        }
        (Visitor::Person { .. } | Visitor::Program | Visitor::Stranger, _) => Vec::new(),
    };
    html! {
        @if !notices.is_empty() {
            section.told aria-label="What the command said" {
                @for notice in &notices { p { (Said(notice)) } }
            }
        }
    }
}

/// Returns what a command printed, with its notices. They are left out if it printed no object.
pub(super) fn with(mut printed: Value, notices: Vec<String>) -> Value {
    if let (Some(fields), false) = (printed.as_object_mut(), notices.is_empty()) {
        fields.insert("notices".to_owned(), notices.into());
    }
    printed
}
