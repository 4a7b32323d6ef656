//! What people see when a request is not met.

use maud::{Markup, html};

use crate::pages::frame::bare;
use crate::parts::Said;
use crate::trouble::Refusal;

/// Returns the page of a refusal.
pub(crate) fn page(refusal: &Refusal) -> Markup {
    let title = match refusal.status.as_u16() {
        404 => "Not found",
        401 | 403 | 421 => "Not allowed",
        500..=599 => "Something is wrong",
        _ => "Not possible",
    };
    bare(
        title,
        &html! {
            h1 { (title) }
            p { (Said(&refusal.message)) "." }
            @if let Some(hint) = &refusal.hint { p.hint { (Said(hint)) "." } }
            p { a href="/" { "To the threads" } }
        },
    )
}
