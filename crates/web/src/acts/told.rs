//! What a command said although it succeeded: its notes and warnings. A person sees them on the page that follows, and a program
//! finds them in the answer.

use maud::{Markup, html};
use serde_json::Value;

use crate::asked::Asked;
use crate::guard::Visitor;
use crate::once::Outcome;
use crate::parts::{Said, with_field};

/// The field of an address that names what is to be told there.
const FIELD: &str = "told";

/// Returns the outcome that leads a person to a page of ours, which tells what a command said.
pub(super) fn outcome(asked: &Asked, address: String, notices: Vec<String>) -> Outcome {
    let number = match &asked.visitor {
        Visitor::Person { session, .. } if !notices.is_empty() => {
            asked.app.sessions.keep(session, notices)
        }
        Visitor::Person { .. } | Visitor::Program | Visitor::Stranger => None,
    };
    Outcome::leads(match number {
        Some(number) => with_field(&address, FIELD, &number.to_string()),
        None => address,
    })
}

/// Returns what is to be told at an address, if something is.
pub(crate) fn section(asked: &Asked) -> Markup {
    let number = asked.query.get(FIELD).and_then(|text| text.parse().ok());
    let kept = match (&asked.visitor, number) {
        (Visitor::Person { session, .. }, Some(number)) => asked.app.sessions.kept(session, number),
        _ => Vec::new(),
    };
    html! {
        @if !kept.is_empty() {
            section.told aria-label="What the command said" {
                @for notice in &kept { p { (Said(notice)) } }
            }
        }
    }
}

/// Returns what a command printed, with what else it said.
pub(super) fn with(mut printed: Value, notices: Vec<String>) -> Value {
    if let (Some(fields), false) = (printed.as_object_mut(), notices.is_empty()) {
        fields.insert("notices".to_owned(), notices.into());
    }
    printed
}
