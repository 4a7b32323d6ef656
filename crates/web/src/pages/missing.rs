//! The page for a request that failed or was refused.

use maud::{Markup, html};

use crate::pages::frame::bare;
use crate::parts::Said;
use crate::trouble::Refusal;

/// Returns the page of a refusal, with a link back to the thread if the request was about one.
pub(crate) fn page(refusal: &Refusal, thread: Option<&str>) -> Markup {
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
            p { (Said(&refusal.message)) (stop(&refusal.message)) }
            @if let Some(hint) = &refusal.hint { p.hint { (Said(hint)) (stop(hint)) } }
            @if let Some(thread) = thread { p { a href=(thread) { "Back to the thread" } } }
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
