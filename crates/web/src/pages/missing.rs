//! The pages for requests that failed or were refused.

use axum::response::Response;
use maud::{Markup, html};

use crate::answer::{self, because};
use crate::fields::{Fields, field};
use crate::once;
use crate::pages::frame::refused;
use crate::parts::{Room, Said, beginning, log_in_address};
use crate::posted::KEY_FIELD;
use crate::trouble::Refusal;

/// The fields of a form that no person typed.
const OURS: [&str; 6] = [
    KEY_FIELD,
    once::FIELD,
    field::HEAD,
    field::WHOLE,
    field::SHOWN,
    field::THEN,
];

/// Returns the fields of a form that a person typed.
pub(crate) fn typed(fields: Fields) -> Fields {
    let fields = fields.0.into_iter();
    Fields::of(fields.filter(|(name, _)| !OURS.contains(&name.as_str())))
}

/// Returns the way to log in, and then to the page of a form, and what was typed there, to copy it.
pub(crate) fn log_in(page: &str, typed: &Fields) -> Markup {
    html! {
        p { a href=(log_in_address(page)) { "Log in, and open the form again" } }
        (sent(typed))
    }
}

/// Returns what was typed in a form, to copy it. A text is shown whole: nothing else has it.
fn sent(typed: &Fields) -> Markup {
    let room = Room {
        bytes: usize::MAX,
        whole: None,
    };
    html! {
        @for (name, value) in &typed.0 {
            section.typed { h2 { "What you sent as " code { (Said(name)) } } (beginning(value, room)) }
        }
    }
}

/// Returns a refusal for people.
pub(crate) fn refused_page(refusal: &Refusal) -> Response {
    refused_with(refusal, &html! {})
}

/// Returns the refusal of a form, with what was typed and a link to the form.
pub(crate) fn refused_form(refusal: &Refusal, form: &str, fields: &Fields) -> Response {
    let way = html! {
        p { a href=(form) { "Open the form again" } }
        (sent(&typed(fields.clone())))
    };
    refused_with(refusal, &way)
}

/// Returns a refusal for people, with what leads on from it.
pub(crate) fn refused_with(refusal: &Refusal, way: &Markup) -> Response {
    because(
        refusal.into(),
        answer::html(refusal.status, page(refusal, way)),
    )
}

/// Returns the page for an error of the server itself.
pub(crate) fn broken() -> Response {
    refused_page(&Refusal::bug())
}

/// Answers at addresses without a page.
pub(crate) async fn page_not_found() -> Response {
    refused_page(&Refusal::not_found("no page is at this address"))
}

/// Answers requests with a method that a page does not have.
pub(crate) async fn page_without_method() -> Response {
    refused_page(&Refusal::method_not_allowed())
}

/// Returns the page of a refusal, with what leads on.
fn page(refusal: &Refusal, way: &Markup) -> Markup {
    let title = match refusal.status.as_u16() {
        404 => "Not found",
        401 | 403 | 421 => "Not allowed",
        500..=599 => "Something is wrong",
        _ => "Not possible",
    };
    refused(
        title,
        &html! {
            h1 { (title) }
            p { (Said(&refusal.message)) (stop(&refusal.message)) }
            @if let Some(hint) = &refusal.hint { p.hint { (Said(hint)) (stop(hint)) } }
            (way)
            @if let Some(thread) = &refusal.back { p { a href=(thread) { "Back to the thread" } } }
            p { a href="/" { "To the threads" } }
        },
    )
}

/// Returns the full stop of a sentence; nothing if the text has an end of its own.
fn stop(text: &str) -> &'static str {
    match text.ends_with(['?', '!', '.']) {
        true => "",
        false => ".",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_has_one_end() {
        assert_eq!(stop("did you mean `x`?"), "");
        assert_eq!(stop("nothing was done"), ".");
    }
}
